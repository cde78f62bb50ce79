"""Tests of means through a session: one mean, two, several, pairs; one charge, and what they say."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.study import MeansTest, MeanTest, PairedTest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

ONCE = "each person counting at most 1 row"


def rows(people: int = 1500) -> pa.Table:
    """Return two visits of each person: 3 higher after than before, and 5 higher in c than in a and b."""
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], people)
    before = rng.normal(50, 10, people) + 5 * (group == "c")
    after = before + 3 + rng.normal(0, 3, people)
    return pa.table(
        {
            "person": np.repeat(np.arange(people), 2),
            "x": np.clip(np.ravel(np.column_stack([before, after])), 0, 100),
            "y": np.clip(np.repeat(before + 3, 2), 0, 100),
            "period": np.tile(["before", "after"], people),
            "g": np.repeat(group, 2),
            "name": np.repeat(group, 2),
        }
    )


COLUMNS = {
    "person": privet.integer(),
    "x": privet.number(0, 100),
    "y": privet.number(0, 100),
    "period": privet.category(["before", "after"]),
    "g": privet.category(["a", "b", "c"]),
    "name": privet.text(),
}


@pytest.fixture(scope="module")
def people() -> Iterator[privet.Session]:
    limit = privet.Contribution(groups=2, rows=2)
    table = privet.Table(rows(), unit=privet.Person("person"), columns=COLUMNS, contribution=limit)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=2000)) as session:
        yield session


@pytest.fixture(scope="module")
def each() -> Iterator[privet.Session]:
    with privet.Session(
        {"t": privet.Table(rows(), unit=privet.Rows(), columns=COLUMNS)}, budget=privet.Pure(epsilon=2000)
    ) as session:
        yield session


def test_a_mean_that_is_far_off_is_rejected_and_a_near_one_is_not(people: privet.Session) -> None:
    far = people.test("t", MeanTest("x", equals=60), epsilon=20)
    assert far.p_value is not None
    assert far.p_value < 1e-6
    estimate = far.estimate
    assert 51 < estimate.low < estimate.value < estimate.high < 56
    near = people.test("t", MeanTest("x", equals=estimate.value), epsilon=20)
    assert near.p_value == pytest.approx(1.0, abs=1e-6)
    assert near.receipt == far.receipt  # the same question: it was paid for
    effect = near.estimates["Cohen's d"]
    assert effect.low < 0 < effect.high
    assert far.estimates["Cohen's d"].value == pytest.approx((estimate.value - 60) / 10.8, abs=0.1)
    assert ONCE in estimate.covers
    assert any(ONCE in one for one in far.assumptions)


def test_the_interval_holds_what_the_test_does_not_reject(people: privet.Session) -> None:
    low, high = people.test("t", MeanTest("x", equals=50), epsilon=20, confidence=0.9).interval
    for value, within in ((low, 0.1), (high, 0.1)):
        found = people.test("t", MeanTest("x", equals=value), epsilon=20).p_value
        assert found == pytest.approx(within, rel=1e-3)


def test_one_sided_tests_are_halves_of_each_other(people: privet.Session) -> None:
    above, below, both = (
        people.test("t", MeanTest("x", equals=52.5, alternative=side), epsilon=20).p_value or 0.0
        for side in ("greater", "less", "two-sided")
    )
    assert above + below == pytest.approx(1)
    assert min(above, below) == pytest.approx(both / 2)


def test_equivalence_is_found_within_a_wide_margin_only(people: privet.Session) -> None:
    wide, narrow = (
        people.test("t", MeanTest("x", equals=53, margin=margin), epsilon=20).p_value or 0.0 for margin in (10, 0.01)
    )
    assert wide < 1e-6
    assert narrow > 0.05


def test_two_means_and_several(people: privet.Session) -> None:
    apart = people.test("t", MeansTest("x", by="g", groups=("c", "a")), epsilon=20)
    assert apart.p_value is not None
    assert apart.p_value < 0.01  # 5 apart, with a standard error of 0.7 and noise of 0.1: 7 deviations
    assert list(apart.estimates) == ["difference", "Cohen's d", "mean in c", "mean in a"]
    assert 2 < apart.estimate.value < 8
    effect = apart.estimates["Cohen's d"]
    assert 0.1 < effect.low < effect.value < effect.high < 0.9
    several = people.test("t", MeansTest("x", by="g"), epsilon=20)
    assert several.name == "Analysis of variance"
    assert several.degrees == 2
    assert several.p_value is not None
    assert several.p_value < 0.01
    assert list(several.estimates) == ["mean in a", "mean in b", "mean in c", "eta squared"]
    effect = several.estimates["eta squared"]
    assert 0 < effect.low < effect.value < effect.high < 0.2
    turned = people.test("t", MeansTest("x", by="g", groups=("c", "a", "b")), epsilon=20, confidence=0.95)
    assert turned.estimates["eta squared"] == effect
    again = people.test("t", MeansTest("x", by="g"), epsilon=20)
    assert again.p_value == several.p_value  # the points are fixed by the digest


def test_a_simulated_p_value_is_the_same_each_time(people: privet.Session) -> None:
    """At epsilon 0.02 the noise is of the size of the means, and p-values lie in the middle."""
    found = {people.test("t", MeansTest("y", by="g"), epsilon=0.02).p_value for _ in range(4)}
    assert len(found) == 1


def test_equal_margins_and_sides_of_two_means(people: privet.Session) -> None:
    pair = ("c", "a")
    greater = people.test("t", MeansTest("x", by="g", groups=pair, alternative="greater"), epsilon=20)
    less = people.test("t", MeansTest("x", by="g", groups=pair, alternative="less"), epsilon=20)
    assert (greater.p_value or 0) + (less.p_value or 0) == pytest.approx(1)
    assert (greater.p_value or 1) < 0.01
    far = people.test("t", MeansTest("x", by="g", groups=pair, margin=20), epsilon=20)
    assert (far.p_value if far.p_value is not None else 1) < 1e-6


def test_pairs_are_taken_within_each_person(people: privet.Session) -> None:
    found = people.test("t", PairedTest("after", "before", column="x", by="period"), epsilon=50)
    assert found.p_value is not None
    assert found.p_value < 1e-6
    # 3 apart, with a deviation of 3 within people where it is 11 between them
    assert found.estimate.value == pytest.approx(3, abs=0.6)
    assert found.interval[1] - found.interval[0] < 1.2
    columns = people.test("t", PairedTest("y", "x"), epsilon=50)
    assert columns.estimate.value == pytest.approx(1.5, abs=1)


def test_rows_that_are_people_are_tested_as_such(each: privet.Session) -> None:
    found = each.test("t", MeanTest("x", equals=60), epsilon=20)
    assert "rows being drawn independently" in found.estimate.covers
    assert each.test("t", PairedTest("y", "x"), epsilon=20).estimate.value == pytest.approx(1.5, abs=1)
    with pytest.raises(privet.RequestError, match="person"):
        each.test("t", PairedTest("after", "before", column="x", by="period"), epsilon=20)


def test_a_limit_of_several_rows_multiplies_the_variance(people: privet.Session) -> None:
    limit = privet.Contribution(groups=2, rows=2)
    found = people.test("t", MeanTest("x", equals=60), epsilon=20, contribution=limit)
    assert "each person counting at most 4 rows" in found.estimate.covers


def test_an_empty_group_is_a_result_and_no_error() -> None:
    table = privet.Table(pa.table({"x": [1.0, 2.0], "g": ["a", "a"]}), unit=privet.Rows(), columns=SMALL)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=2000)) as session:
        for hypothesis in (MeansTest("x", by="g"), MeansTest("x", by="g", groups=("a", "b")), MeanTest("x", equals=5)):
            for epsilon in (0.01, 1, 50):
                found = session.test("t", hypothesis, epsilon=epsilon)
                assert found.p_value is not None
                assert 0 <= found.p_value <= 1
                json.dumps(found.to_dict(), allow_nan=False)
                assert repr(found)


SMALL = {"x": privet.number(0, 10), "g": privet.category(["a", "b", "c"])}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MeanTest("x", equals="much"), "equals"),
        (lambda: MeanTest("x", equals=math.nan), "equals"),
        (lambda: MeanTest("x", 1, alternative="both"), "alternative"),
        (lambda: MeanTest("x", 1, margin=0), "margin"),
        (lambda: MeanTest("x", 1, alternative="less", margin=1), "alternative"),
        (lambda: MeansTest("x", "g", groups=("a",)), "groups"),
        (lambda: MeansTest("x", "g", groups=("a", "a")), "groups"),
        (lambda: MeansTest("x", "g", groups=["a", "b"]), "groups"),
        (lambda: MeansTest("x", "g", margin=1), "groups"),
        (lambda: MeansTest("x", "g", groups=("a", "b", "c"), alternative="less"), "groups"),
        (lambda: PairedTest("x", "x"), "second"),
        (lambda: PairedTest("x", "y", column="z"), "by"),
        (lambda: PairedTest("x", 3), "second"),
    ],
)
def test_what_is_no_hypothesis_is_refused(make: Any, words: str) -> None:
    with pytest.raises(privet.RequestError, match=words):
        make()


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        (MeansTest("x", by="name"), "declare"),
        (MeansTest("x", by="g", groups=("a", "z")), "declared values"),
        (MeanTest("nothing", equals=1), "nothing"),
        (MeanTest("name", equals=1), "numbers"),
        (MeanTest("person", equals=1), "person"),
    ],
)
def test_what_is_not_declared_is_refused_before_the_charge(people: privet.Session, hypothesis: Any, words: str) -> None:
    before = people.ledger.head()
    with pytest.raises(privet.RequestError, match=words):
        people.test("t", hypothesis, epsilon=1)
    assert people.ledger.head() == before


def test_windows_of_time_are_refused_before_the_charge() -> None:
    moments = pa.table({"person": [1, 2, 3], "day": pa.array([1, 2, 3], pa.date32()), "x": [1.0, 2.0, 3.0]})
    columns = {"person": privet.integer(), "day": privet.date(), "x": privet.number(0, 10)}
    once = privet.Contribution(groups=1, rows=1)
    own = privet.Table(moments, unit=privet.Window("person", "day", 7), columns=columns, contribution=once)
    with privet.Session({"t": own}, budget=privet.Pure(epsilon=10)) as session:
        before = session.ledger.head()
        with pytest.raises(privet.RequestError, match="independent"):
            session.test("t", MeanTest("x", equals=5), epsilon=1)
        assert session.ledger.head() == before


@pytest.mark.parametrize(
    "given",
    [
        ["mean", "visits", "age", "--equals", "40"],
        ["mean", "visits", "age", "--equals", "40", "--margin", "5"],
        ["means", "visits", "age", "--by", "ward"],
        ["means", "visits", "age", "--by", "ward", "--group", "heart", "--group", "lung", "--alternative", "less"],
        ["paired", "visits", "heart", "lung", "--column", "age", "--by", "ward"],
    ],
)
def test_means_are_tested_at_the_shell(given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_visits(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(main, ["test", *given, "--epsilon", "0.5", "--analyst", "ana", "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.output)
    assert 0 <= told["p_value"] <= 1
    assert told["estimates"]
