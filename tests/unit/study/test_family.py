"""Families of tests: one charge for all, adjusted p-values, refusals before the charge."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom

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


FOUND = proportion_test(62.3, people=100, epsilon=1, equals=0.5)


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


def test_spending_decides_each_test_by_its_own_share_for_good() -> None:
    assert adjusted_p_values(P_VALUES, method="spending") == pytest.approx((0.02, 0.16, 0.24, 0.08, 1.0))
    shares = [0.5, 0.2, 0.1, 0.1, 0.1]
    declared = adjusted_p_values(P_VALUES, method="spending", shares=shares)
    assert declared == pytest.approx((0.02, 0.2, 0.3, 0.05, 1.0))
    for many in range(1, 5):
        assert adjusted_p_values(P_VALUES[:many], method="spending", shares=shares) == declared[:many]
        assert adjusted_p_values(P_VALUES[:many]) != adjusted_p_values(P_VALUES)[:many]
    assert adjusted_p_values([0.01] * 10, method="spending", shares=[0.1] * 10) == pytest.approx([0.1] * 10)
    assert adjusted_p_values([1e-300] * 1000, method="spending")[-1] <= 1


LOOKS, RUNS, LEVEL = 20, 4_000, 0.05
MOST_REJECTED = binom.isf(1e-6, RUNS, LEVEL)
LEAST_REJECTED = binom.ppf(1e-6, RUNS, LEVEL)


def stopped_at_a_rejection(p_values: Sequence[float], rejects: Callable[[Sequence[float]], bool]) -> bool:
    """Return whether an analyst who goes on until something is rejected stops with a false rejection."""
    return any(rejects(p_values[: look + 1]) for look in range(len(p_values)))


@pytest.mark.parametrize("shares", [None, [Fraction(1, LOOKS)] * LOOKS])
def test_spending_keeps_the_level_of_an_analyst_who_stops_when_it_suits(shares: Any) -> None:
    random = np.random.default_rng(20)
    apart = random.random((RUNS, LOOKS))
    # the worst dependence: no two of the true hypotheses are ever rejected together
    parts = np.array([float(Fraction(1, 2**k)) for k in range(1, LOOKS + 1)] if shares is None else shares, dtype=float)
    before = LEVEL * np.concatenate([[0.0], np.cumsum(parts)[:-1]])
    never_together = (random.random((RUNS, 1)) - before) % 1.0

    def spends(seen: Sequence[float]) -> bool:
        # a p-value above the level is rejected at no share of it, and earlier decisions stay as they were
        return seen[-1] <= LEVEL and adjusted_p_values(seen, method="spending", shares=shares)[-1] <= LEVEL

    def rejected(p_values: Any) -> int:
        return sum(stopped_at_a_rejection(row, spends) for row in p_values.tolist())

    assert rejected(apart) <= MOST_REJECTED
    assert LEAST_REJECTED <= rejected(never_together) <= MOST_REJECTED
    naive = sum(stopped_at_a_rejection(row, lambda seen: seen[-1] <= LEVEL) for row in apart.tolist())
    assert naive >= binom.ppf(1e-6, RUNS, 0.64)  # 1 - 0.95^20 = 0.6415


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
        (lambda: adjusted_p_values([0.1], shares=[1]), 'method="spending"'),
        (lambda: adjusted_p_values([0.1, 0.2], method="spending", shares=[0.5]), "one for each of 2"),
        (lambda: adjusted_p_values([0.1, 0.2], method="spending", shares=[0.6, 0.41]), "at most 1 in all"),
        (lambda: adjusted_p_values([0.1], method="spending", shares=[0.6, 0.41]), "at most 1 in all"),
        (lambda: adjusted_p_values([0.1], method="spending", shares=[0]), "above 0"),
        (lambda: Family(BOTH.hypotheses, shares=(0.5, 0.3, 0.2)), 'method="spending"'),
        (lambda: Family(BOTH.hypotheses, method="spending", shares=(0.5, 0.5)), "one number for each"),
        (lambda: Family(BOTH.hypotheses, method="spending", shares=(0.5, 0.5, 0.1)), "at most 1 in all"),
        (lambda: BOTH.judge([FOUND]), "needs the findings of all 3"),
        (lambda: BOTH.judge([FOUND] * 4), "at most 3"),
    ],
)
def test_families_are_complete_at_birth(make: Any, words: str) -> None:
    with pytest.raises(privet.RequestError, match=words):
        make()


def test_tests_one_after_another_stop_without_paying_for_the_rest() -> None:
    plan = Family(BOTH.hypotheses[1:], method="spending", shares=(0.25, 0.75))
    with session() as place:
        first = place.test("visits", plan.hypotheses[0], epsilon=400)
        so_far = plan.judge([first])
        assert place.remaining().largest_epsilon == pytest.approx(600)
        assert (so_far.rejected, so_far.shares) == ((True,), (0.25,))
        assert so_far.adjusted[0] == pytest.approx(4 * (first.p_value or 0.0))
        both = plan.judge([first, place.test("visits", plan.hypotheses[1], epsilon=400)])
        assert both.adjusted[0] == so_far.adjusted[0]
        assert both.rejected == (True, False)
        assert both.to_dict()["shares"] == [0.25, 0.75]
        assert "share" in repr(both)
        assert place.test_all("visits", plan, epsilon=200).shares == (0.25, 0.75)


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
    spent = json.loads(shell(tmp_path, *words, "--method=spending", "--share=0.8", "--share=0.2", "--json").output)
    assert (spent["method"], spent["shares"], spent["charged"]) == ("spending", [0.8, 0.2], False)
    assert [one["adjusted_p_value"] for one in spent["tests"]] == pytest.approx(
        [min(1.0, one["p_value"] / share) for one, share in zip(found["tests"], (0.8, 0.2), strict=True)]
    )


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
