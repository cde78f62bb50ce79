"""A column is marked where bounding can move it, to the side to which it can, and nowhere else; in every form."""

from __future__ import annotations

import json
import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet

COLUMNS = {
    "p": privet.integer(),
    "g": privet.category(["a", "b", "c"]),
    "x": privet.integer(0, 9),
    "y": privet.integer(-9, 9),
}
ARROW = pa.schema([("p", pa.int64()), ("g", pa.string()), ("x", pa.int64()), ("y", pa.int64())])
LIMIT = privet.Contribution(groups=2, rows=2)
LARGE = 10**8
"""An epsilon at which noise is far below 0.01."""

TOTALS = {
    "n": "COUNT(*)",
    "f": "COUNT(*) FILTER (WHERE x > 4)",
    "s": "SUM(x)",
    "t": "SUM(y)",
    "people": "COUNT(DISTINCT p)",
    "twice": "2 * COUNT(*) + 1",
    "less": "100 - COUNT(*)",
    "difference": "SUM(x) - COUNT(*)",
    "negative": "-SUM(x)",
    "shown": "ROUND(SUM(x) / 3)",
    "most": "GREATEST(COUNT(*), 3)",
    "each": "COUNT(*) / COUNT(DISTINCT p)",
    "inverse": "-100 / COUNT(*)",
    "area": "AVG(x) * COUNT(*)",
    "owed": "-2 * COUNT(*)",
}
INSIDE = "(SELECT p, COUNT(*) AS n, SUM(x) AS s, SUM(y) AS t FROM v GROUP BY p) AS w"
WITHIN = {"n": "SUM(n)", "s": "SUM(s)", "t": "SUM(t)", "c": "COUNT(*)", "l": "SUM(LEAST(n, 2))"}
JOINED = "v JOIN q ON v.p = q.p"


def rows_of(rng: random.Random, most: int) -> list[dict[str, Any]]:
    """Return the rows of a few people, some of whom have far more than others."""
    found = []
    for person in range(12):
        for _ in range(rng.choice([1, 1, 2, most])):
            values = {"g": rng.choice("abc"), "x": rng.randint(0, 9), "y": rng.randint(-9, 9)}
            found.append({"p": person, **values})
    return found


def session(rows: list[dict[str, Any]], /, **facts: Any) -> privet.Session:
    told = {"unit": privet.Person("p"), "contribution": LIMIT, **facts}
    people = [
        {"p": row["p"], "g": row["g"], "x": row["x"], "y": row["y"]} for row in {r["p"]: r for r in rows}.values()
    ]
    tables = {
        "v": privet.Table(pa.Table.from_pylist(rows, ARROW), columns=COLUMNS, **told),
        "q": privet.Table(pa.Table.from_pylist(people, ARROW), columns=COLUMNS, **told, key="p"),
    }
    return privet.Session(tables, budget=privet.Approximate(epsilon=10**12, delta=1e-6))


def truth(rows: list[dict[str, Any]], sql: str) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        v = pa.Table.from_pylist(rows, ARROW)
        q = pa.Table.from_pylist(list({row["p"]: row for row in rows}.values()), ARROW)
        connection.register("v", v)
        connection.register("q", q)
        return connection.sql(sql).to_arrow_table().to_pylist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bound", ["norm", "groups"])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_number_is_moved_to_no_side_but_those_it_is_marked_for(seed: int, bound: Any, grouped: bool) -> None:
    rng = random.Random(f"{seed} {bound} {grouped}")
    rows = rows_of(rng, rng.choice([1, 2, 9]))
    limit = privet.Contribution(groups=rng.choice([1, 2, 3]), rows=rng.choice([1, 2]))
    for source, every in (("v", TOTALS), ("q", TOTALS), (INSIDE, WITHIN), (JOINED, {"n": "COUNT(*)"})):
        group = grouped and source in ("v", "q")
        listed = ", ".join(f"{sql} AS {name}" for name, sql in every.items())
        sql = f"SELECT g, {listed} FROM {source} GROUP BY g ORDER BY g" if group else f"SELECT {listed} FROM {source}"
        with session(rows, contribution=limit) as asked:
            answer = asked.ask(sql, epsilon=LARGE, bound=bound)
        exact = truth(rows, sql)
        if group and len(exact) < 3:
            continue  # a group without rows is answered here, and not there
        for name in every:
            for value, row in zip(answer[name].values, exact, strict=True):
                off = float(value) - float(row[name])
                assert answer[name].may_be_low or off > -0.5, (sql, name, value, row[name])
                assert answer[name].may_be_high or off < 0.5, (sql, name, value, row[name])


def marks(asked: privet.Session, sql: str, **terms: Any) -> dict[str, str]:
    return {one.name: one.mark for one in asked.ask(sql, epsilon=LARGE, **terms).series if one.noisy}


def test_what_can_only_be_lowered_is_at_least_and_what_is_subtracted_at_most() -> None:
    listed = ", ".join(f"{sql} AS {name}" for name, sql in TOTALS.items())
    with session(rows_of(random.Random(1), 9)) as asked:
        assert marks(asked, f"SELECT {listed} FROM v") == {
            "n": "≥", "f": "≥", "s": "≥", "t": "≈", "people": "", "twice": "≥", "less": "≤", "difference": "≈",
            "negative": "≤", "shown": "≥", "most": "≥", "each": "≥", "inverse": "≥", "area": "≥", "owed": "≤",
        }  # fmt: skip
        assert marks(asked, "SELECT SUM(x) / COUNT(*) AS r, AVG(x) AS m, STDDEV(x) AS d, MEDIAN(x) AS h FROM v") == {
            "r": "≈", "m": "", "d": "", "h": "",
        }  # fmt: skip


def test_what_no_limit_can_lower_is_not_marked() -> None:
    rows = rows_of(random.Random(2), 9)
    listed = "COUNT(*) AS n, SUM(x) AS s, SUM(y) AS t, COUNT(DISTINCT g) AS v"
    with session(rows) as asked:
        answer = asked.ask(f"SELECT {listed} FROM q", epsilon=LARGE)  # one row of each person, by its key
        assert [one.mark for one in answer.series] == ["", "", "", ""]
        assert not any("too low" in note or "≥" in note for note in answer.notes)
        assert "n_may_be_understated" not in answer.to_dict()
        three = privet.Contribution(groups=3, rows=1)
        people = "SELECT g, COUNT(DISTINCT p) AS n FROM v GROUP BY g"
        assert marks(asked, people) == {"n": "≥"}  # three groups, and two count
        assert marks(asked, people, contribution=three) == {"n": ""}
        assert marks(asked, people, contribution=three, bound="groups") == {"n": ""}
        assert marks(asked, people, bound="groups") == {"n": "≥"}
        values = "SELECT COUNT(DISTINCT g) AS n, COUNT(DISTINCT x) AS m FROM v"
        assert marks(asked, values) == {"n": "", "m": "≥"}  # three values of g, and a person may have four
    table = privet.Table(pa.Table.from_pylist(rows, ARROW), unit=privet.Rows(), columns=COLUMNS)
    with privet.Session({"v": table}, budget=privet.Approximate(epsilon=10**9, delta=1e-6)) as alone:
        assert set(marks(alone, f"SELECT {listed} FROM v").values()) == {""}


def test_what_is_computed_within_people_is_marked_where_their_limit_clamps_it() -> None:
    listed = ", ".join(f"{sql} AS {name}" for name, sql in WITHIN.items())
    with session(rows_of(random.Random(3), 9)) as asked:
        assert marks(asked, f"SELECT {listed} FROM {INSIDE}") == {"n": "≥", "s": "≥", "t": "≈", "c": "", "l": ""}
        assert marks(asked, f"SELECT AVG(n) AS n, MEDIAN(n) AS h, CORR(n, s) AS r FROM {INSIDE}") == {
            "n": "≥", "h": "≥", "r": "≈",
        }  # fmt: skip


def test_a_join_that_drops_rows_marks_what_it_can_lower() -> None:
    with session(rows_of(random.Random(4), 9), rows=1000) as asked:  # few enough that no limit but the join's is met
        many = privet.Contribution(groups=10**6, rows=10**6)
        assert marks(asked, "SELECT COUNT(*) AS n FROM v", contribution=many) == {"n": ""}
        crossed = "SELECT COUNT(*) AS n FROM v AS a JOIN v AS b ON a.p = b.p"
        assert marks(asked, crossed, contribution=many) == {"n": "≥"}


def test_the_mark_is_beside_the_number_in_every_form(tmp_path: Any) -> None:
    with session(rows_of(random.Random(5), 9)) as asked:
        answer = asked.ask("SELECT g, COUNT(*) AS n, -COUNT(*) AS m, AVG(x) AS a FROM v GROUP BY g", epsilon=LARGE)
    assert repr(answer).splitlines()[1].count("≥ ") == repr(answer).splitlines()[1].count("≤ -") == 1
    assert answer._repr_html_().count(">≥ ") == answer._repr_html_().count(">≤ ") + 1 == 4  # and the legend
    assert "≥ means at least, up to noise. ≤ means at most, up to noise." in answer.notes
    assert "≥ means" in repr(answer).replace("\n", " ")
    assert answer.to_dict()["n_may_be_understated"] == answer.to_dict()["m_may_be_overstated"] == [True] * 3
    assert (
        not {"n_may_be_overstated", "m_may_be_understated", "a_may_be_understated", "g_may_be_understated"}
        & answer.to_dict().keys()
    )
    told = json.loads(answer.to_json())
    assert all(row["n_may_be_understated"] is True for row in told["rows"])
    assert told["certificate"]["may_be_low"] == ["n"]
    assert told["certificate"]["may_be_high"] == ["m"]
    for table in (answer.to_arrow().to_pydict(), answer.to_pandas().to_dict("list"), answer.to_polars().to_dict()):
        assert list(table["n_may_be_understated"]) == [True] * 3
    assert [axes.get_ylabel() for axes in answer.plot().axes] == ["≥ n", "≤ m", "a"]
    assert "do not cover" in answer.plot().axes[0].get_title(loc="left")
    with session(rows_of(random.Random(5), 9)) as asked:
        one = asked.ask("SELECT COUNT(*) AS n FROM v", epsilon=LARGE)
    assert one.estimate.covers == "the noise, not what bounding removes"


def test_levels_and_rounds_are_marked_alike() -> None:
    with session(rows_of(random.Random(6), 9)) as asked:
        levels = asked.ask("SELECT g, COUNT(*) AS n, AVG(x) AS a FROM v GROUP BY ROLLUP(g)", epsilon=LARGE)
        assert [one.mark for one in levels.series] == ["", "≥", ""]
        assert "≥ means at least, up to noise." in levels.notes
        rounds = asked.ask("SELECT COUNT(*) AS n, AVG(x) AS a FROM v", within={"a": 1}, at_most=100)
        assert [one.mark for one in rounds.series] == ["≥", ""]
        assert any("≥ means" in note for note in rounds.notes)
