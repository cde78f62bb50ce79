"""Reports on the wire, and servers that count each once, reject the rest, and change no estimate silently."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from privet import local
from privet.core.errors import BadParameter, ParseError, RequestError

LABELS = ["north", "south", "east", "west"]


@pytest.mark.parametrize("kind", local.ORACLES)
def test_batches_in_any_order_and_form_give_the_same_counts(kind: Any) -> None:
    oracle = kind(LABELS, epsilon=1)
    reports = oracle.client.reports(LABELS * 50)
    whole = oracle.server()
    assert whole.add(reports) == 200
    parts = oracle.server()
    assert parts.add([reports[150:].to_json(), reports[:150].to_bytes()]) == 200
    single, rest = oracle.server(), oracle.server()
    assert single.add(iter(reports[:100])) == 100
    rest.add(reports[100:])
    single.merge(rest)
    for other in (parts, single):
        assert other.estimate().values.tolist() == whole.estimate().values.tolist()
        assert other.n == 200
        assert other.rejected == {}


@pytest.mark.parametrize("kind", local.ORACLES)
def test_what_is_no_report_of_the_survey_is_rejected_and_counted(kind: Any) -> None:
    oracle = kind(LABELS, epsilon=1)
    reports = oracle.client.reports(LABELS * 25)
    server = oracle.server()
    server.add(reports)
    before = server.estimate().values.tolist()
    wire = reports[:3].to_bytes()
    others = [
        kind(LABELS, epsilon=1.5).client.report("north"),
        kind(LABELS[:3], epsilon=1).client.report("north"),
        kind(LABELS, epsilon=1, survey="another").client.report("north"),
    ]
    forged = np.full((1, oracle.width), 255, dtype=np.uint8)
    server.add([*others, wire[:-1], wire + b"x", b"", b"PVL", b"\x00" * 50, "[]", "{}", "nonsense", "[" * 10**5])
    server.add(local.Reports(oracle.digest, np.array([[1, 2]], dtype=np.uint64), forged))
    server.add(local.Reports(oracle.digest, np.array([[1, 2]], dtype=np.uint64), np.zeros((1, 99), dtype=np.uint8)))
    server.add(wire)
    assert server.estimate().values.tolist() == before
    assert server.n == 100
    assert server.rejected == {"another survey": 3, "not whole": 10, "impossible content": 1, "repeated": 3}
    assert "17 rejected" in repr(server)


def test_sets_of_another_size_are_impossible() -> None:
    oracle = local.SubsetSelection(16, epsilon=1)
    forged = np.array([[255, 0], [255, 255], [0, 0], [0b00000111, 0b00000001]], dtype=np.uint8)
    ids = np.arange(8, dtype=np.uint64).reshape(4, 2)
    server = oracle.server()
    assert oracle.size == 4
    assert server.add(local.Reports(oracle.digest, ids, forged)) == 1
    assert server.rejected == {"impossible content": 3}


def test_json_and_bytes_return_the_same_reports() -> None:
    reports = local.OptimizedUnary(LABELS, epsilon=1).client.reports(LABELS)
    assert local.read_reports(reports.to_bytes()) == local.read_reports(reports.to_json()) == reports
    assert len(reports[1]) == len(reports[-1]) == 1
    assert reports[-1] == reports[3]
    with pytest.raises(IndexError):
        reports[4]
    told = json.loads(reports.to_json())
    for broken in (
        {**told, "privet_local": 2},
        {**told, "survey": "ab"},
        {**told, "reports": [["ab", "AA=="]]},
        {**told, "reports": [[told["reports"][0][0], "*"]]},
        {**told, "reports": 3},
        {**told, "reports": [[told["reports"][0][0], "AA=="], [told["reports"][1][0], "AAAA"]]},
    ):
        with pytest.raises(ParseError):
            local.read_reports(json.dumps(broken))


def test_reports_cannot_be_changed() -> None:
    reports = local.KaryResponse(4, epsilon=1).client.reports([0, 1])
    with pytest.raises(ValueError, match="read-only"):
        reports.data[0] = 3


def test_identifiers_do_not_repeat_and_say_nothing() -> None:
    reports = local.KaryResponse(2, epsilon=1).client.reports([1] * 5000)
    assert len({row.tobytes() for row in reports.ids}) == 5000


def test_servers_that_have_counted_the_same_report_are_not_merged() -> None:
    oracle = local.KaryResponse(2, epsilon=1)
    one, other = oracle.server(), oracle.server()
    reports = oracle.client.reports([0, 1, 1])
    one.add(reports)
    other.add(reports[:1])
    with pytest.raises(RequestError, match="same reports"):
        one.merge(other)
    assert one.n == 3
    with pytest.raises(RequestError, match="same oracle and survey"):
        one.merge(local.KaryResponse(3, epsilon=1).server())
    with pytest.raises(RequestError, match="same oracle"):
        one.merge(3)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        one.add(3)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="no report"):
        oracle.server().estimate()


def test_equal_oracles_are_equal_and_others_are_not() -> None:
    assert local.KaryResponse(4, epsilon=1) == local.KaryResponse([0, 1, 2, 3], epsilon=1)
    assert len({local.KaryResponse(4, epsilon=1), local.KaryResponse(range(4), epsilon=1)}) == 1
    assert local.KaryResponse(4, epsilon=1) != local.KaryResponse(4, epsilon=1, survey="b")
    assert local.OptimizedHashing(16, epsilon=1, buckets=2) != local.BinaryHashing(16, epsilon=1)
