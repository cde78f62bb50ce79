"""Chi-squared tests through a session and in the shell: what is counted, what is public, what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.study import EqualProportions, GoodnessOfFit, Hypothesis, Independence
from privet.study.counted_tables import noisy_table, public_size, rows_of_each

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "who": privet.integer(),
    "ward": privet.category(["a", "b", "c"]),
    "sex": privet.category(["f", "m"]),
    "smokes": privet.category(["no", "yes"], nullable=True),
    "only": privet.category(["x"]),
    "year": privet.integer(0, 5000),
    "free": privet.text(),
}
SIZE = 6000


def session(*, unit: Any = None, budget: Any = None, rows: int = SIZE, **options: Any) -> privet.Session:
    """Return a session over rows, of which every four belong to one person; in ward c more of them smoke."""
    ward = ["abc"[i // 4 % 3] for i in range(rows)]
    smokes = [None if i % 10 == 0 else ("yes" if i % 4 < (3 if ward[i] == "c" else 1) else "no") for i in range(rows)]
    data = pa.table(
        {
            "who": [i // 4 for i in range(rows)],
            "ward": ward,
            "sex": ["fm"[i // 12 % 2] for i in range(rows)],
            "smokes": smokes,
            "only": ["x"] * rows,
            "year": [0] * rows,
            "free": ["a"] * rows,
        }
    )
    limit = privet.Contribution(groups=2, rows=2) if isinstance(unit, privet.Person) else None
    table = privet.Table(data, unit=unit or privet.Rows(), columns=COLUMNS, contribution=limit, **options)
    return privet.Session({"visits": table}, budget=budget or privet.Pure(epsilon=1000))


@pytest.mark.parametrize("options", [{}, {"neighbors": "change-one", "units": SIZE}])
def test_what_is_true_is_kept_and_what_is_false_rejected(options: dict[str, Any]) -> None:
    # at epsilon 50 noise of 3 or more has a probability below 1e-20: the tables are exact
    with session(**options) as place:
        independent = place.test("visits", Independence("ward", "sex"), epsilon=50)
        smokers = place.test("visits", Independence("ward", "smokes"), epsilon=50)
        fit = place.test("visits", GoodnessOfFit("ward", {"c": 0.5, "a": 0.25, "b": 0.25}), epsilon=50)
        shares = place.test("visits", EqualProportions("smokes", "yes", by="ward"), epsilon=50)
    assert (independent.p_value or 0) > 0.5
    assert independent.degrees == 2
    assert (smokers.p_value or 0) < 1e-6
    assert (fit.p_value or 0) < 1e-6
    assert (shares.p_value or 0) < 1e-6
    assert list(shares.estimates) == ["ward = a", "ward = b", "ward = c", "Cramer's V"]
    assert shares.estimates["ward = c"].value > 0.6 > 0.4 > shares.estimates["ward = a"].value
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in shares.estimates.values())


def test_two_groups_have_a_difference() -> None:
    with session() as place:
        found = place.test("visits", EqualProportions("smokes", "yes", by="sex"), epsilon=50)
    gap = found.estimates["difference"]
    assert gap.low < gap.value < gap.high
    assert gap.value == pytest.approx(found.estimates["sex = f"].value - found.estimates["sex = m"].value)


def test_the_order_of_the_shares_chooses_no_p_value() -> None:
    shares = {"a": 0.3, "b": 0.35, "c": 0.35}
    with session(rows=12) as place:  # few rows, so that the law is simulated
        first = place.test("visits", GoodnessOfFit("ward", shares), epsilon=1)
        other = place.test("visits", GoodnessOfFit("ward", dict(reversed(shares.items()))), epsilon=1)
        assert len(place.history()) == 1
    assert "simulated" in first.method
    assert (first.p_value, first.statistic) == (other.p_value, other.statistic)


def test_the_size_is_public_where_it_is_declared_and_nothing_chooses_rows() -> None:
    declared = {"neighbors": "change-one", "units": SIZE}
    with session(**declared) as place:
        table = place.table("visits")
        for rows, hypothesis, known in (
            (table, Independence("ward", "sex"), True),
            (table, Independence("ward", "smokes"), False),  # of some rows it is not known whether they smoke
            (table.where(privet.col("sex") == "f"), GoodnessOfFit("ward", {"a": 0.2, "b": 0.4, "c": 0.4}), False),
        ):
            plan = place.plan_test(rows, hypothesis, epsilon=1).plan
            assert public_size(plan) == (SIZE if known else None)
    with session() as place:
        assert public_size(place.plan_test("visits", Independence("ward", "sex"), epsilon=1).plan) is None


def test_people_count_once_or_with_a_factor() -> None:
    limit = privet.Contribution(groups=2, rows=2)
    for budget in (privet.Pure(epsilon=1000), privet.Zcdp(rho=1000)):
        cost = {"epsilon": 50} if isinstance(budget, privet.Pure) else {"rho": 50}
        with session(unit=privet.Person("who"), budget=budget) as place:
            hypothesis = Independence("ward", "smokes")
            once = place.test("visits", hypothesis, **cost)
            assert rows_of_each(place.plan_test("visits", hypothesis, **cost).plan) == 1
            assert "Each person counts once" in once.notes[0]
            more = place.test("visits", hypothesis, contribution=limit, bound="groups", **cost)
            assert "at most 4 rows" in more.assumptions[0]
            assert "conservative" in more.assumptions[0]
            scaled = {"contribution": limit, "bound": "norm", **cost}
            if isinstance(budget, privet.Pure):
                assert "weighted" in place.test("visits", hypothesis, **scaled).notes[0]
            else:
                before = len(place.history())
                with pytest.raises(privet.RequestError, match="scaled to an L2 norm cannot be tested"):
                    place.test("visits", hypothesis, **scaled)
                assert len(place.history()) == before


def test_the_table_has_the_counts_that_were_released() -> None:
    with session() as place:
        answer = place.ask(place.table("visits").group_by("ward", "smokes").agg(n=privet.count()), epsilon=50)
    table = noisy_table(answer, (("a", "b", "c"), ("no", "yes")))
    rows = {(row["ward"], row["smokes"]): row["n"] for row in answer}
    assert table.counts.tolist() == [[rows[ward, says] for says in ("no", "yes")] for ward in "abc"]
    assert table.digest == answer.receipt.digest
    assert table.noise.variance < 0.01


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Independence("ward", "ward"), "another column than the first"),
        (lambda: Independence("ward", "free"), "the values of free are not declared"),
        (lambda: Independence("ward", "only"), "one declared value only"),
        (lambda: Independence("ward", "nothing"), "nothing"),
        (lambda: Independence("ward", "year"), "at most 500 cells, and this has 15,003"),
        (lambda: Independence("ward", "sex", method="usual"), "method must be"),
        (lambda: EqualProportions("smokes", "maybe", by="ward"), "a declared value of smokes: no, yes"),
        (lambda: EqualProportions("smokes", 2.5, by="ward"), "a value of the column"),  # type: ignore[arg-type]
        (lambda: EqualProportions("ward", "a", by="ward"), "another column"),
        (lambda: EqualProportions("smokes", "yes", by="only"), "one declared value only"),
        (lambda: GoodnessOfFit("ward", {"a": 0.5, "b": 0.5}), "a share for each declared value: a, b, c"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_the_charge(make: Any, words: str) -> None:
    with session() as place:
        with pytest.raises(privet.RequestError, match=words):
            place.test("visits", make(), epsilon=1)
        assert place.history() == ()


def test_a_column_of_nulls_is_judged_like_any_other() -> None:
    data = pa.table({"ward": ["a", "b"] * 50, "smokes": pa.array([None] * 100, pa.string())})
    columns = {"ward": COLUMNS["ward"], "smokes": COLUMNS["smokes"]}
    table = privet.Table(data, unit=privet.Rows(), columns=columns)
    with privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000)) as place:
        for hypothesis in (Independence("ward", "smokes"), EqualProportions("smokes", "yes", by="ward")):
            found = place.test("visits", hypothesis, epsilon=50)
            assert 0 < (found.p_value or 0) <= 1


def test_every_way_is_free_after_the_first() -> None:
    ways = ("auto", "projected", "projected-simulated", "pearson-simulated", "naive")
    with session() as place:
        found = [place.test("visits", Independence("ward", "sex", method=way), epsilon=1) for way in ways]  # type: ignore[arg-type]
        assert len(place.history()) == 1
    assert [one.p_value is None for one in found] == [False] * 4 + [True]
    assert len({one.method for one in found}) >= 4


def test_the_shell_tests_independence_and_proportions(tmp_path: Path) -> None:
    write_visits(tmp_path)
    config = tmp_path / "privet.toml"
    config.write_text(config.read_text().replace('name = "text"', 'name = "text"\nold = { values = ["no", "yes"] }'))
    rows = (tmp_path / "visits.csv").read_text().splitlines()
    made = [f"{row},{'yes' if k % 3 else 'no'}" for k, row in enumerate(rows[1:])]
    (tmp_path / "visits.csv").write_text("\n".join([f"{rows[0]},old", *made, ""]))
    given = ["--epsilon=0.2", "--analyst=ana", f"--config={config}"]
    for words in (
        ["independence", "visits", "ward", "old"],
        ["proportions-equal", "visits", "old", "--value=yes", "--by=ward"],
    ):
        first, again = (
            json.loads(CliRunner().invoke(main, ["test", *words, *given, "--json"]).output) for _ in range(2)
        )
        assert (first["charged"], again["charged"]) == (True, False)
        assert first["p_value"] == again["p_value"]
    shown = CliRunner().invoke(main, ["test", "independence", "visits", "ward", "old", *given, "--method=naive"])
    assert "WRONG" in shown.output
    assert isinstance(Independence("ward", "old"), Hypothesis)
