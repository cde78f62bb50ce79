"""Families of tests: one charge for all, adjusted p-values, refusals before the charge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.inference import adjusted_p_values, judge_together, proportion_test
from privet.study import Family, GoodnessOfFit, Proportion, TwoProportions

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

pa = pytest.importorskip("pyarrow")

P_VALUES = (0.01, 0.04, 0.03, 0.005, 0.5)


def session(epsilon: float = 1000) -> privet.Session:
    """Return a session over 4,000 rows of 2,000 people: 0.375 of them are old, and half are in ward a."""
    ages = [70 if i // 2 % 8 < 3 else 30 for i in range(4000)]
    rows = pa.table(
        {"who": [i // 2 for i in range(4000)], "age": ages, "ward": ["ab"[i // 2 % 2] for i in range(4000)]}
    )
    columns = {"who": privet.integer(), "age": privet.integer(0, 100), "ward": privet.category(["a", "b"])}
    limit = privet.Contribution(groups=1, rows=2)
    table = privet.Table(rows, unit=privet.Person("who"), columns=columns, contribution=limit)
    return privet.Session({"visits": table}, budget=privet.Pure(epsilon=epsilon))


BOTH = Family(
    [  # type: ignore[arg-type]
        Proportion("age > 65", equals=0.375),
        Proportion("age > 65", equals=0.2),
        GoodnessOfFit("ward", {"a": 0.5, "b": 0.5}),
    ],
    weights=(1, 1, 2),
)


def test_adjusted_p_values_are_those_of_the_definitions() -> None:
    assert adjusted_p_values(P_VALUES) == pytest.approx((0.04, 0.09, 0.09, 0.025, 0.5))
    hochberg = adjusted_p_values(P_VALUES, method="benjamini-hochberg", disjoint=True)
    assert hochberg == pytest.approx((0.025, 0.05, 0.05, 0.025, 0.5))
    yekutieli = adjusted_p_values(P_VALUES, method="benjamini-yekutieli")
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5
    assert yekutieli == pytest.approx([min(1.0, p * harmonic) for p in hochberg])


def test_a_family_rejects_anything_true_at_its_level() -> None:
    # exact for one uniform p-value copied five times, the worst dependence: Holm rejects iff 5 p <= level
    uniform = (np.arange(1000) + 0.5) / 1000
    any_false = np.mean([min(adjusted_p_values([p] * 5)) <= 0.05 for p in uniform])
    assert any_false == pytest.approx(0.01)
    shared = np.mean([min(adjusted_p_values([p] * 5, method="benjamini-yekutieli")) <= 0.05 for p in uniform])
    assert shared <= 0.05


def test_a_family_is_charged_once_and_found_again() -> None:
    with session() as place:
        before = place.remaining().largest_epsilon
        first, again = (place.test_all("visits", BOTH, epsilon=400) for _ in range(2))
        assert place.remaining().largest_epsilon == pytest.approx(before - 400)
        assert len(place.history()) == 1
    assert first == again
    assert dict(first.cost)["epsilon"] == 400
    # at 100 and more for each, noise of 1 has a probability below 1e-40
    assert first.rejected == (False, True, False)
    assert first.findings[0].estimate.value == pytest.approx(0.375, abs=0.001)
    assert first.adjusted == adjusted_p_values([one.p_value or 0.0 for one in first.findings])
    assert "rejected" in repr(first)
    assert first.to_dict()["tests"][1]["rejected"] is True


def test_tests_that_could_share_a_release_have_their_own() -> None:
    one = Proportion("age > 65", equals=0.375)
    finer = TwoProportions("age > 65", by="ward", groups=("a", "b"))
    with session() as place:
        found = place.test_all("visits", Family((one, finer)), epsilon=400)
    assert found.findings[0].estimate.value == pytest.approx(0.375, abs=0.001)
    assert found.findings[1].estimate.value == pytest.approx(0.25, abs=0.001)


def test_a_family_that_the_budget_does_not_cover_is_not_charged_in_part() -> None:
    with session(1) as place:
        with pytest.raises(privet.BudgetExceeded):
            place.test_all("visits", BOTH, epsilon=2)
        assert place.history() == ()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Family([]), "list of hypotheses"),  # type: ignore[arg-type]
        (lambda: Family(["ward"]), "list of hypotheses"),  # type: ignore[arg-type,list-item]
        (lambda: Family((BOTH.hypotheses[0],), method="benjamini-hochberg"), "independent"),
        (lambda: Family(BOTH.hypotheses, weights=(1,)), "one whole number for each"),
        (lambda: Family(BOTH.hypotheses, level=2), "level"),
        (lambda: Family((GoodnessOfFit("ward", {"a": 0.5, "b": 0.5}, method="naive"),)), "without a p-value"),
        (lambda: adjusted_p_values([0.1], method="benjamini-hochberg"), "disjoint=True"),
        (lambda: adjusted_p_values([]), "at least one"),
        (lambda: adjusted_p_values([2]), "p_values"),
        (lambda: judge_together([]), "at least one"),
    ],
)
def test_families_are_complete_at_birth(make: Any, words: str) -> None:
    with pytest.raises(privet.RequestError, match=words):
        make()


def test_one_bad_test_refuses_the_family_before_the_charge() -> None:
    bad = Family((BOTH.hypotheses[0], TwoProportions("age > 65", by="ward", groups=("a", "z"))))
    with session() as place:
        with pytest.raises(privet.RequestError, match="declared values"):
            place.test_all("visits", bad, epsilon=1)
        with pytest.raises(privet.RequestError, match="Family"):
            place.test_all("visits", BOTH.hypotheses, epsilon=1)  # type: ignore[arg-type]
        assert place.history() == ()


@pytest.mark.parametrize(
    "hypothesis",
    [
        Proportion("age > 65", equals=0.3),
        TwoProportions("age > 65", by="ward", groups=("a", "b")),
        TwoProportions("age > 65", by="ward", groups=("a", "b"), people=(500, 500)),
    ],
)
def test_a_confidence_that_no_interval_reaches_is_refused_before_the_charge(hypothesis: Any) -> None:
    with session() as place:
        for confidence in (0.99995, 1 - 1e-12):
            with pytest.raises(privet.RequestError, match=r"at most 0\.9999"):
                place.test("visits", hypothesis, epsilon=1, confidence=confidence)
            with pytest.raises(privet.RequestError, match=r"at most 0\.9999"):
                place.test_all("visits", Family((hypothesis,)), epsilon=1, confidence=confidence)
        assert place.history() == ()
        assert place.test("visits", hypothesis, epsilon=1, confidence=0.9999).p_value is not None


def shell(folder: Path, *words: str) -> Any:
    where = ["--analyst=ana", f"--config={folder / 'privet.toml'}"]
    return CliRunner().invoke(main, ["test", "family", "visits", *words, *where])


def test_the_shell_tests_a_family_at_one_price(tmp_path: Path) -> None:
    write_visits(tmp_path)
    words = ["--test", 'proportion "age > 65" --equals 0.3', "--test", "mean age --equals 40", "--epsilon=0.2"]
    plan = json.loads(shell(tmp_path, *words, "--plan", "--json").output)
    assert (plan["answered"], plan["fits"]) == (False, True)
    found, again = (json.loads(shell(tmp_path, *words, "--json").output) for _ in range(2))
    assert (found["charged"], again["charged"]) == (True, False)
    assert found["tests"] == again["tests"]
    assert [0 <= one["p_value"] <= one["adjusted_p_value"] <= 1 for one in found["tests"]] == [True, True]
    assert found["cost"]["epsilon"] == 0.2
    assert "adjusted" in shell(tmp_path, *words).output
    weighted = json.loads(
        shell(tmp_path, *words, "--weight=1", "--weight=3", "--method=benjamini-yekutieli", "--json").output
    )
    assert (weighted["method"], weighted["charged"]) == ("benjamini-yekutieli", True)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("", "as it is written by itself"),
        ('proportion "age', "as it is written by itself"),
        ("needed --equals 0.3", "begins with one of fit"),
        ("mean age", "Missing option"),
        ("mean age --equals x", "not a number"),
        ("mean age --equals 40 --epsilon 0.1", "for the whole family"),
        ("mean height --equals 40", "height"),
        ("fit ward --share heart=0.5 --share lung=0.5 --method naive", "without a p-value"),
    ],
)
def test_the_shell_refuses_a_family_with_one_bad_test(tmp_path: Path, test: str, words: str) -> None:
    write_visits(tmp_path)
    found = shell(tmp_path, "--test", "mean age --equals 40", "--test", test)
    assert found.exit_code == 2
    assert words in " ".join(found.output.split())


def test_findings_that_were_made_before_are_judged_together() -> None:
    found = [proportion_test(z, people=100, epsilon=1, equals=0.5) for z in (62.3, 50.2)]
    together = judge_together(found, level=0.05)
    assert together.rejected == (True, False)
    assert together.adjusted[0] == pytest.approx(2 * (found[0].p_value or 0))
    assert dict(together.cost) == {}
