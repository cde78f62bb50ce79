"""Proportions through a session and at the shell: charged once, each person once, the number of people covered."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.inference import proportion_test
from privet.mechanisms import Tulap
from privet.study import Proportion, TwoProportions
from privet.study.proportions import seen_count

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

pa = pytest.importorskip("pyarrow")


def session(
    budget: Any = None, *, people: bool = True, ledger: privet.SqliteLedger | None = None, **facts: Any
) -> privet.Session:
    """Return a session over 4,000 rows of 2,000 people: a quarter of ward a and a half of ward b are old."""
    ages = [70 if i // 2 % 4 < (1 if i // 2 % 8 < 4 else 2) else 30 for i in range(4000)]
    wards = ["a" if i // 2 % 8 < 4 else "b" for i in range(4000)]
    rows = pa.table({"who": [i // 2 for i in range(4000)], "age": ages, "ward": wards})
    table = privet.Table(
        rows,
        unit=privet.Person("who") if people else privet.Rows(),
        columns={
            "who": privet.integer(),
            "age": privet.integer(0, 100, nullable=True),
            "ward": privet.category(["a", "b"]),
        },
        contribution=privet.Contribution(groups=1, rows=2) if people else None,
        **facts,
    )
    if ledger is not None:
        return privet.Session({"visits": table}, ledger=ledger)
    return privet.Session({"visits": table}, budget=budget or privet.Pure(epsilon=1000))


OLD = Proportion("age > 65", equals=0.375)


def test_the_share_is_that_of_people_and_is_charged_once() -> None:
    with session() as place:
        before = place.remaining().largest_epsilon
        first, again = (place.test("visits", OLD, epsilon=100) for _ in range(2))
        assert place.remaining().largest_epsilon == pytest.approx(before - 100)
        known = place.test("visits", Proportion("age > 65", equals=0.375, people=2000), epsilon=100)
    assert first == again
    # at epsilon 100 there is noise with a probability below 1e-40: 750 of 2,000 people
    for found in (first, known):
        assert found.estimate.value == pytest.approx(0.375, abs=0.0005)
        assert found.interval == pytest.approx((0.354, 0.397), abs=0.003)
        assert found.p_value is not None
        assert found.p_value > 0.9
    assert "About 2,000 people" in first.notes[0]
    assert any("one counts" in text for text in first.assumptions)
    assert "most powerful" in known.method


def test_a_false_hypothesis_is_rejected_by_both_ways() -> None:
    with session() as place:
        for people in (None, 2000):
            found = place.test("visits", Proportion("age > 65", equals=0.3, people=people), epsilon=10)
            assert found.p_value is not None
            assert found.p_value < 1e-4
            above = Proportion("age > 65", equals=0.3, alternative="less", people=people)
            assert (place.test("visits", above, epsilon=10).p_value or 0) > 0.99
            near = Proportion("age > 65", within=(0.3, 0.45), people=people)
            assert (place.test("visits", near, epsilon=10).p_value or 1) < 1e-4


KNOWN = Proportion("age > 65", equals=0.375, people=2000)


def test_the_uniform_number_was_drawn_with_the_count_and_is_not_drawn_again(tmp_path: Path) -> None:
    found, words = [], []
    for name in ("one", "one", "other"):
        ledger = privet.SqliteLedger(tmp_path / name, privet.Pure(epsilon=10))
        with ledger, session(ledger=ledger) as place:
            found.append(place.test("visits", KNOWN, epsilon=1))
            answer = place.run(place.plan_test("visits", KNOWN, epsilon=1).plan)
        words.append(answer.released[0].word)
        (row,) = answer.measurements()
        seen = seen_count(row.released, words[-1])
        assert -0.5 <= seen.upward == seen.downward <= 0.5
        assert found[-1].statistic == row.released + seen.upward
        by_hand = proportion_test(row.released + seen.upward, people=2000, epsilon=1, equals=0.375)
        assert found[-1].p_value == pytest.approx(by_hand.p_value, rel=1e-6)
    # a ledger returns the same; another one, for the same question and digest, has drawn another: 64 equal bits
    assert found[0] == found[1]
    assert words[0] == words[1] != words[2]
    assert found[0].receipt is not None
    assert found[2].receipt is not None
    assert found[0].receipt.digest == found[2].receipt.digest


@pytest.mark.parametrize(("word", "part"), [(0, -0.5), (2**62, -0.25), (2**63, 0.0), (2**64 - 1, 0.5), (None, None)])
def test_a_word_is_a_uniform_number_from_minus_a_half_to_a_half(word: int | None, part: float | None) -> None:
    seen = seen_count(7, word)
    assert (seen.upward, seen.downward) == ((-0.5, 0.5) if part is None else (part, part))
    assert seen.drawn == (word is not None)


def test_an_answer_that_was_stored_without_a_uniform_number_is_read_conservatively() -> None:
    with session() as place:
        plan = place.plan_test("visits", KNOWN, epsilon=1).plan
        receipt = place.ledger.charge(plan.event, plan.digest, account=place.account)
        place.ledger.store(receipt, (((),), (((760,),),)))
        before = place.remaining().largest_epsilon
        found = place.test("visits", KNOWN, epsilon=1)
        assert place.remaining().largest_epsilon == before
    ends = [proportion_test(760 + part, people=2000, epsilon=1, equals=0.375).p_value for part in (-0.4999, 0.4999)]
    assert found.p_value == pytest.approx(max(one or 0 for one in ends), rel=1e-3)
    assert any("conservative" in note for note in found.notes)
    assert "most powerful" not in found.method


SPARE = privet.Approximate(epsilon=1000, delta=0.5)
TRUNCATED = Proportion("age > 65", equals=0.375, people=2000, delta=0.01)


@pytest.mark.parametrize("facts", [{}, {"people": False}, {"neighbors": "change-one", "units": 2000}])
def test_with_a_delta_the_noise_is_truncated_and_its_uniform_part_is_drawn_once(facts: Any, tmp_path: Path) -> None:
    size = 2000 if facts.get("people", True) else 4000
    hypothesis = Proportion("age > 65", equals=0.375, people=size, delta=0.01)
    found, released = [], []
    for name in ("one", "one", "other"):
        ledger = privet.SqliteLedger(tmp_path / name, SPARE)
        with ledger, session(ledger=ledger, **facts) as place:
            before = place.remaining()
            found.append(place.test("visits", hypothesis, epsilon=0.1))
            spent = before.delta - place.remaining().delta
            assert spent == (0 if len(found) == 2 else Fraction(0.01))
            answer = place.run(place.plan_test("visits", hypothesis, epsilon=0.1).plan)
        (nearest, part) = answer.measurements()
        released.append((nearest.released, part.released))
        z = nearest.released + part.released * part.step
        assert abs(z - 3 * size / 8) <= Tulap(epsilon=0.1, delta=0.01).most < 24
        by_hand = proportion_test(z, people=size, epsilon=0.1, delta=0.01, equals=0.375)
        assert found[-1].p_value == by_hand.p_value
        assert found[-1].interval == by_hand.interval
        assert found[-1].cost == {"epsilon": 0.1, "delta": 0.01}
        assert "most powerful" in found[-1].method
    assert found[0] == found[1]
    assert released[0] == released[1] != released[2]


@pytest.mark.parametrize(
    ("budget", "spend", "words"),
    [
        (privet.Pure(epsilon=10), {"epsilon": 1}, "has no delta"),
        (privet.Zcdp(rho=10), {"rho": 1}, "at a stated epsilon"),
        (SPARE, {"rho": 1}, "at a stated epsilon"),
    ],
)
def test_a_delta_that_an_account_cannot_spend_is_refused_before_the_charge(budget: Any, spend: Any, words: str) -> None:
    with session(budget) as place:
        with pytest.raises(privet.RequestError, match=words):
            place.test("visits", TRUNCATED, **spend)
        assert place.history() == ()


def test_a_delta_above_what_is_left_for_it_is_over_budget() -> None:
    with session(privet.Approximate(epsilon=10, delta=1e-3)) as place:
        with pytest.raises(privet.BudgetExceeded):
            place.test("visits", TRUNCATED, epsilon=1)
        assert place.history() == ()


def test_a_family_shares_no_release_with_a_test_that_has_its_own_noise() -> None:
    family = privet.study.Family([TRUNCATED, OLD])
    with session(SPARE) as place:
        with pytest.raises(privet.RequestError, match="shares no release"):
            place.test_all("visits", family, epsilon=1)
        assert place.history() == ()


def test_two_groups_differ_by_what_they_differ_by_and_other_pairs_are_free() -> None:
    with session() as place:
        found = place.test("visits", TwoProportions("age > 65", by="ward", groups=("b", "a")), epsilon=100)
        before = place.remaining().largest_epsilon
        turned = place.test("visits", TwoProportions("age > 65", by="ward", groups=("a", "b")), epsilon=100)
        assert place.remaining().largest_epsilon == before
        sizes = TwoProportions("age > 65", by="ward", groups=("b", "a"), people=(1000, 1000))
        known = place.test("visits", sizes, epsilon=100)
    for one in (found, known):
        assert one.estimate.value == pytest.approx(0.25, abs=0.001)
        assert one.interval == pytest.approx((0.209, 0.291), abs=0.004)
        assert one.p_value is not None
        assert one.p_value < 1e-4
    assert turned.interval == pytest.approx((-found.interval[1], -found.interval[0]), abs=0.002)
    assert found.estimates["share of b"].value == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize("budget", [privet.Pure(epsilon=1000), privet.Zcdp(rho=1000), SPARE])
def test_a_count_above_the_stated_people_is_marked(budget: Any) -> None:
    spend = {"rho": 1} if isinstance(budget, privet.Zcdp) else {"epsilon": 1}
    deltas = (None, 0.01) if budget is SPARE else (None,)
    with session(budget) as place:
        for delta, people in product(deltas, (20, 600, 2000)):
            found = place.test("visits", Proportion("age > 65", equals=0.375, people=people, delta=delta), **spend)
            # 750 people meet the condition, with noise that exceeds 100 with a probability below 1e-30
            assert any("larger than" in note and "check people=" in note for note in found.notes) == (people < 750)
        for people in (20, 1000):
            sizes = TwoProportions("age > 65", by="ward", groups=("b", "a"), people=(1000, people))
            notes = place.test("visits", sizes, **spend).notes
            assert [note for note in notes if "check people=" in note] == (
                ["The released count of a is larger than 20 people and its noise explain: check people=."]
                if people == 20
                else []
            )


def test_a_count_that_noise_explains_is_not_marked() -> None:
    # at epsilon 1 Tulap noise is above 14 with a probability of 6e-7, and above 13 with 1.7e-6
    marked = [proportion_test(100 + z, people=100, epsilon=1, equals=0.5).notes != () for z in (12.9, 14.1)]
    assert marked == [False, True]
    assert proportion_test(-14.1, people=100, epsilon=1, equals=0.5).notes == ()


def test_a_plan_with_noise_of_its_own_has_no_note_about_groups() -> None:
    with session(SPARE) as place:
        notes = place.run(place.plan_test("visits", TRUNCATED, epsilon=0.1).plan).notes
    assert notes == ("Nothing here is a column: the test or study that planned this reads it.",)


def test_a_zcdp_budget_is_exact_too() -> None:
    with session(privet.Zcdp(rho=1000)) as place:
        found = place.test("visits", Proportion("age > 65", equals=0.375, people=2000), rho=200)
        assert found.interval == pytest.approx((0.354, 0.397), abs=0.003)
        assert "most powerful" not in found.method


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Proportion("age > 65"), "equals="),
        (lambda: Proportion("age > 65", equals=1.5), "equals"),
        (lambda: Proportion("age > 65", equals=0.5, people=0), "people"),
        (lambda: Proportion("age > 65", equals=0.5, people=9, delta=0), "delta"),
        (lambda: Proportion("age > 65", equals=0.5, people=9, delta=1), "delta"),
        (lambda: Proportion("age > 65", equals=0.5, delta=0.1), "people="),
        (lambda: TwoProportions("age > 65", by="ward", groups=("a", "a")), "two different"),
        (lambda: TwoProportions("age > 65", by="ward", groups=("a", "b"), people=(1,)), "two whole"),  # type: ignore[arg-type]
        (lambda: TwoProportions("age > 65", by="ward", groups=("a", "b"), equals=1), "between -1 and 1"),
    ],
)
def test_hypotheses_are_complete_at_birth(make: Any, words: str) -> None:
    with pytest.raises(privet.RequestError, match=words):
        make()


@pytest.mark.parametrize(
    ("hypothesis", "words"),
    [
        (Proportion("height > 65", equals=0.5), "height"),
        (Proportion("age > 65 GROUP BY ward", equals=0.5), "must be a condition"),
        (Proportion("age > 65 LIMIT 1", equals=0.5), "must be a condition"),
        (Proportion("age > 65 ORDER BY n", equals=0.5), "must be a condition"),
        (Proportion("age > 65) OR (TRUE", equals=0.5), "not valid SQL"),
        (TwoProportions("age > 65", by="who", groups=(1, 2)), "who"),
        (TwoProportions("age > 65", by="ward", groups=("a", "z")), "declared values: a, b"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_the_charge(hypothesis: Any, words: str) -> None:
    with session() as place:
        with pytest.raises(privet.RequestError, match=words):
            place.test("visits", hypothesis, epsilon=1)
        with pytest.raises(privet.RequestError, match="each person once"):
            place.test("visits", OLD, epsilon=1, contribution=privet.Contribution(groups=1, rows=2))
        assert place.history() == ()


def test_people_who_are_protected_by_the_month_are_refused() -> None:
    table = privet.Table(
        pa.table({"who": [1, 2], "day": ["2024-01-01", "2024-02-01"], "age": [1, 2]}),
        unit=privet.Window("who", "day", 30),
        columns={"who": privet.integer(), "day": privet.date("2024-01-01", "2024-12-31"), "age": privet.integer(0, 9)},
        contribution=privet.Contribution(groups=1, rows=1),
    )
    place = privet.Session({"visits": table}, budget=privet.Pure(epsilon=1))
    with place, pytest.raises(privet.RequestError, match="window"):
        place.test("visits", Proportion("age > 1", equals=0.5), epsilon=1)


def test_more_people_than_are_declared_are_refused() -> None:
    place = session(people=False, neighbors="change-one", units=4000)
    with place, pytest.raises(privet.RequestError, match="declared"):
        place.test("visits", Proportion("age > 65", equals=0.5, people=5000), epsilon=1)


def run(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(
        main, ["test", *arguments, "--config", str(write_visits(folder) / "privet.toml"), "--json"]
    )


def test_proportions_are_tested_at_the_shell(tmp_path: Path) -> None:
    given = ["--analyst", "ana", "--epsilon", "0.25"]
    one = run(tmp_path, "proportion", "visits", "age > 40", "--equals", "0.5", "--where", "age >= 18", *given)
    assert one.exit_code == 0, one.output
    assert 0 <= json.loads(one.output)["p_value"] <= 1
    known = ["proportion", "visits", "age > 40", "--equals", "0.5", "--people", "50", "--delta", "1e-9"]
    cut = run(tmp_path, *known, *given)
    assert cut.exit_code == 0, cut.output
    assert json.loads(cut.output)["cost"] == {"epsilon": 0.25, "delta": 1e-9}
    assert run(tmp_path, *known[:-4], "--delta", "1e-9", *given).exit_code == 2
    names = ["--by", "ward", "--first", "heart", "--second", "lung"]
    two = run(tmp_path, "proportions", "visits", "age > 40", *names, "--within", "-0.5", "0.5", *given)
    assert two.exit_code == 0, two.output
    assert set(json.loads(two.output)["estimates"]) == {"difference", "share of heart", "share of lung"}


def test_what_is_needed_is_said_at_the_shell() -> None:
    arguments = ["test", "needed", "--equals", "0.5", "--when", "0.6", "--alternative", "greater"]
    assert CliRunner().invoke(main, [*arguments, "--epsilon", "1"]).output == "people: 160\n"
    found = CliRunner().invoke(main, [*arguments, "--people", "300", "--json"])
    assert json.loads(found.output) == {"epsilon": 0.158}
    assert CliRunner().invoke(main, arguments).exit_code != 0
