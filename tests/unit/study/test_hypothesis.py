"""A hypothesis through a session: one charge, free again, each person once, refusals before the charge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.inference.finding import Finding
from privet.study import GoodnessOfFit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

pa = pytest.importorskip("pyarrow")

EVEN = GoodnessOfFit("ward", {"a": 0.5, "b": 0.5})


def session(*, people: bool = False) -> privet.Session:
    """Return a session over 4,000 rows of 1,000 people, half of them in ward a."""
    rows = pa.table({"who": [i // 4 for i in range(4000)], "ward": ["ab"[i // 4 % 2] for i in range(4000)]})
    table = privet.Table(
        rows,
        unit=privet.Person("who") if people else privet.Rows(),
        columns={"who": privet.integer(), "ward": privet.category(["a", "b"])},
        contribution=privet.Contribution(groups=1, rows=4) if people else None,
    )
    return privet.Session({"visits": table}, budget=privet.Pure(epsilon=100))


def test_a_test_is_charged_once_and_found_again() -> None:
    with session() as place:
        plan = place.plan_test("visits", EVEN, epsilon=1)
        before = place.remaining().largest_epsilon
        first, again = (place.test("visits", EVEN, epsilon=1) for _ in range(2))
        assert place.remaining().largest_epsilon == pytest.approx(before - 1)
    assert first == again
    assert first.receipt is not None
    assert first.receipt.digest == plan.digest
    assert dict(first.cost) == dict(plan.price)
    assert "whether ward has the shares a 0.5, b 0.5" in plan.explain()


def test_each_person_counts_once_unless_a_limit_is_given() -> None:
    with session(people=True) as place:
        once = place.test("visits", EVEN, epsilon=50)
        counted = place.table("visits").group_by("ward").agg(n=privet.count())
        limit = privet.Contribution(groups=1, rows=1)
        rows = place.ask(counted, epsilon=50, bound="groups", contribution=limit)
    # 500 people in each ward; at epsilon 50 noise of 2 has probability below 1e-21
    assert all(abs(n - 500) < 2 for n in rows["n"].values)
    assert once.receipt is not None
    assert once.receipt.digest == rows.receipt.digest


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        (GoodnessOfFit("ward", {"a": 0.5, "c": 0.5}), "a share for each declared value: a, b"),
        (GoodnessOfFit("who", {"a": 0.5, "b": 0.5}), "the values of who are not declared"),
        ("ward", "hypothesis must be a hypothesis"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_the_charge(hypothesis: Any, words: str) -> None:
    with session() as place:
        with pytest.raises(privet.RequestError, match=words):
            place.test("visits", hypothesis, epsilon=1)
        with pytest.raises(privet.RequestError, match="confidence"):
            place.test("visits", EVEN, epsilon=1, confidence=2)
        assert place.history() == ()


def test_the_shell_tests_plans_and_prints_json(tmp_path: Path) -> None:
    write_visits(tmp_path)
    words = ["test", "fit", "visits", "ward", "--share=heart=0.5", "--share=lung=0.5", "--epsilon=0.2"]
    words += ["--analyst=ana", f"--config={tmp_path / 'privet.toml'}"]
    planned = CliRunner().invoke(main, [*words, "--plan"])
    assert planned.exit_code == 0, planned.output
    assert "Tests whether ward has the shares" in planned.output
    first, again = (json.loads(CliRunner().invoke(main, [*words, "--json"]).output) for _ in range(2))
    assert (first["charged"], again["charged"]) == (True, False)
    assert first["p_value"] == again["p_value"]
    shown = CliRunner().invoke(main, words)
    assert "p-value" in shown.output
    wrong = CliRunner().invoke(main, [*words, "--share=x"])
    assert wrong.exit_code != 0
    assert "emergency=0.5" in wrong.output


def test_a_finding_shows_intervals_without_ends() -> None:
    from privet.core.estimate import Estimate

    half = Estimate(value=2.0, low=1.0, high=float("inf"), confidence=0.95, standard_error=0.5, covers="population")
    found = Finding(name="A ratio", p_value=1e-9, estimates={"ratio": half})
    assert found.interval == (1.0, float("inf"))
    assert "no bound" in repr(found)
    assert "below 0.0001" in repr(found)
    assert found.to_dict()["estimates"]["ratio"]["high"] is None
    assert found.plot() is not None
    with pytest.raises(privet.RequestError):
        Finding(name="A test", p_value=2.0)
