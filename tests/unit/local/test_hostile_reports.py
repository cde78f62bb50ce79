"""Reports of another version, domain or epsilon, cut, repeated, forged or random: rejected, and counted, everywhere."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet import local

TRIES = 4000 if "PRIVET_SOAK" in os.environ else 150
LETTERS = "abcdefgh"


def _frequencies(kind: Any) -> Callable[..., Any]:
    return lambda **given: kind(**{"domain": 5, "epsilon": 1, **given})


def _numbers(kind: Any, **more: Any) -> Callable[..., Any]:
    return lambda **given: kind(**{"low": 0, "high": 9, "epsilon": 1, **more, **given})


def _attributes(method: str) -> Callable[..., Any]:
    return lambda **given: local.AttributeSurvey(
        **{"attributes": {"a": 3, "b": (0, 10)}, "epsilon": 2, "method": method, **given}
    )


def _rappor(**given: Any) -> Any:
    flip = {"flip": 0.25} if given.pop("epsilon", None) else {}
    return local.Rappor(**{"domain": 5, "hashes": 2, "bits": 11, "cohorts": 3, **flip, **given})


PERSON = {"a": 1, "b": 4}
ORACLES: dict[str, tuple[Callable[..., Any], Any, dict[str, Any]]] = {
    **{kind.__name__: (_frequencies(kind), 3, {"domain": 6}) for kind in local.ORACLES},
    "Rappor": (_rappor, 3, {"domain": 6}),
    **{kind.__name__: (_numbers(kind), 4, {"high": 10}) for kind in local.MEANS},
    "SquareWave": (_numbers(local.SquareWave, bins=6), 4, {"bins": 7}),
    "HierarchicalHistogram": (_numbers(local.HierarchicalHistogram, bins=16), 4, {"bins": 64}),
    "HeavyHitters": (
        lambda **given: local.HeavyHitters(**{"epsilon": 1, "length": 3, "alphabet": LETTERS, **given}),
        "abc",
        {"length": 4},
    ),
    "CountMeanSketch": (lambda **given: local.CountMeanSketch(**{"epsilon": 1, **given}), "tea", {"tables": 32}),
    "ShuffledCount": (
        lambda **given: local.ShuffledCount(**{"epsilon": 1, "delta": 1e-4, "people": 50, **given}),
        True,
        {"people": 51},
    ),
    "PlanarLaplace": (
        lambda **given: local.PlanarLaplace(**{"box": (0, 0, 500, 500), "radius": 100, "epsilon": 1, **given}),
        (100, 200),
        {"box": (0, 0, 500, 510)},
    ),
    "PlanarLaplace along axes": (
        lambda **given: local.PlanarLaplace(
            **{"box": (0, 0, 500, 500), "radius": 100, "epsilon": 1, "metric": "manhattan", **given}
        ),
        (100, 200),
        {"metric": "euclidean"},
    ),
    "PlanarLaplace in degrees": (
        lambda **given: local.PlanarLaplace(
            **{"box": local.MapProjection(52, 13, 53, 14), "radius": 500, "epsilon": 1, **given}
        ),
        (52.5, 13.5),
        {"box": local.MapProjection(52, 13, 53, 14.5)},
    ),
    "AttributeSurvey": (_attributes("sampling"), PERSON, {"attributes": {"a": 4, "b": (0, 10)}}),
    "AttributeSurvey, split": (_attributes("splitting"), PERSON, {"attributes": {"a": 3, "b": (0, 11)}}),
    "MarginalSurvey": (
        lambda **given: local.MarginalSurvey(**{"attributes": {"a": 2, "b": 3}, "epsilon": 1, **given}),
        {"a": 1, "b": 2},
        {"attributes": {"a": 2, "b": 4}},
    ),
}
every = pytest.mark.parametrize("name", ORACLES)


def filled(oracle: Any, answer: Any) -> tuple[local.Server, local.Reports]:
    server, reports = oracle.server(), oracle.client.reports([answer] * 20)
    server.add(reports)
    return server, reports


def ids(count: int) -> np.ndarray:
    return np.random.default_rng().integers(0, 2**62, (count, 2)).astype(np.uint64)


def test_every_oracle_is_here() -> None:
    kinds = {name.split(",")[0].split(" ")[0] for name in ORACLES}
    found = {
        name
        for name in local.__all__
        if inspect.isclass(one := getattr(local, name))
        and issubclass(one, local.Randomizer)
        and not inspect.isabstract(one)
    }
    assert found == kinds


@every
def test_what_is_no_report_of_the_survey_is_rejected_and_counted(name: str) -> None:
    make, answer, another = ORACLES[name]
    oracle = make()
    server, reports = filled(oracle, answer)
    before, n = server._tally.copy(), server.n
    others = [make(survey="b"), make(epsilon=1.5), make(**another)]
    assert len({one.digest for one in [oracle, *others]}) == 4
    foreign = [one.client.report(answer) for one in others]
    assert server.add(foreign) == 0
    assert server.rejected == {"another survey": sum(map(len, foreign))}
    wire, text = reports[:2].to_bytes(), reports[:2].to_json()
    cut = [wire[:size] for size in range(len(wire))]
    cut += [wire + b"\0", wire[:3] + b"\2" + wire[4:], b"pvl" + wire[3:], wire[:12] + b"\xff" * 8 + wire[20:]]
    told = json.loads(text)
    broken = [text[:-1], text[:20], "", "null", "[]", json.dumps({**told, "privet_local": 2})]
    broken += [json.dumps({**told, "reports": [[told["reports"][0][0], ""]]})]  # no content at all
    assert server.add([*cut, *broken]) == 0
    assert server.rejected["not whole"] == len(cut) + len(broken)
    assert server.add([reports, wire, text]) == 0
    assert server.rejected["repeated"] == len(reports) + 4
    forged = np.full((3, oracle.width), 255, dtype=np.uint8)
    accepted = server.add(local.Reports(oracle.digest, ids(3), forged))
    assert server.rejected.get("impossible content", 0) == 3 - accepted
    for width in (0, oracle.width + 1):
        assert server.add(local.Reports(oracle.digest, ids(1), np.zeros((1, width), dtype=np.uint8))) == 0
    assert server.n == n + accepted
    if not accepted:
        assert (server._tally == before).all()


@every
def test_random_bytes_never_break_a_server_nor_change_it_unseen(name: str) -> None:
    """Flipped, cut, repeated and exchanged bytes: a server that accepts nothing keeps its counts, and says why."""
    make, answer, _ = ORACLES[name]
    oracle = make()
    server, reports = filled(oracle, answer)
    generator = np.random.default_rng()
    wires: list[Any] = [reports[:3].to_bytes(), reports[:3].to_json()]
    for _ in range(TRIES):
        wire = wires[int(generator.integers(2))]
        text = isinstance(wire, str)
        raw = bytearray(wire.encode() if text else wire)
        for _ in range(int(generator.integers(1, 4))):
            place = int(generator.integers(len(raw)))
            match int(generator.integers(4)):
                case 0:
                    raw[place] ^= 1 << int(generator.integers(8))
                case 1:
                    raw[place] = int(generator.integers(256))
                case 2:
                    del raw[place : place + int(generator.integers(1, 20))]
                case 3:
                    raw[place:place] = bytes(generator.integers(0, 256, int(generator.integers(1, 20))).tolist())
            raw = raw or bytearray(b"x")
        sent = bytes(raw).decode("utf-8", "replace") if text else bytes(raw)
        before, n, refused = server._tally.copy(), server.n, sum(server.rejected.values())
        accepted = server.add(sent)
        assert server.n == n + accepted
        assert sum(server.rejected.values()) + accepted > refused
        if not accepted:
            assert (server._tally == before).all()


@every
def test_random_contents_are_counted_or_impossible(name: str) -> None:
    """Forged contents with fresh identifiers: each is accepted or rejected, and what is estimated stays finite."""
    make, answer, _ = ORACLES[name]
    oracle = make()
    server, _ = filled(oracle, answer)
    n = 40 * oracle.messages
    for _ in range(5):
        data = np.random.default_rng().integers(0, 256, (n, oracle.width)).astype(np.uint8)
        data[: n // 4] = 0
        accepted = server.add(local.Reports(oracle.digest, ids(n), data))
        assert 0 <= accepted <= n
    assert server.n + server.rejected.get("impossible content", 0) == 20 * oracle.messages + 5 * n
    found = server.estimate(of=["tea"]) if name == "CountMeanSketch" else server.estimate()
    assert "nan" not in repr(found).lower()
    other = oracle.server()
    other.add(oracle.client.report(answer))
    server.merge(other)
