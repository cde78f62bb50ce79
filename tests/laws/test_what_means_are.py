"""An answer over people says what its means are means of: rows, of each person at most a number."""

from __future__ import annotations

import datetime
import random
import re

import pytest

import privet

pa = pytest.importorskip("pyarrow")

ROWS = [
    {"who": at % 17, "day": datetime.date(2024, 1, 1 + at % 28), "x": at % 50, "y": at % 7, "g": "ab"[at % 2]}
    for at in range(200)
]
COLUMNS = {
    "who": privet.integer(),
    "day": privet.date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
    "x": privet.number(0, 50),
    "y": privet.number(0, 10),
    "g": privet.category(["a", "b"]),
}
TYPICAL = [
    "AVG(x)",
    "VAR_SAMP(x)",
    "STDDEV(y)",
    "CORR(x, y)",
    "COVAR_POP(x, y)",
    "MEDIAN(x)",
    "QUANTILE(y, 0.9)",
    "MIN(x)",
    "AVG(x) * 2",
    "SUM(x) / COUNT(*) + AVG(y)",
]
OTHERS = ["COUNT(*)", "SUM(x)", "COUNT(DISTINCT who)"]
PEOPLE = [privet.Person("who"), privet.Window("who", "day", 7)]
SENTENCE = re.compile(
    r"^[A-Z][a-z, ]+ are computed over rows "
    r"(weighted so that each who(, in each bucket of [^,]+,)? counts as at most [\d,]+ rows?"
    r"|of which each who(, in each bucket of [^,]+,)? has at most [\d,]+( in each of at most [\d,]+ groups?)?, "
    r"chosen at random), not over all rows equally\.$"
)


def some_question(rng: random.Random) -> tuple[str, bool]:
    """Return a question, and whether some of it is about a typical row."""
    typical = rng.sample(TYPICAL, rng.randint(0, 2))
    asked = typical + rng.sample(OTHERS, rng.randint(0 if typical else 1, 2))
    rng.shuffle(asked)
    listed = ", ".join(f"{one} AS c{at}" for at, one in enumerate(asked))
    where = rng.choice(["", " WHERE x > 3"])
    group = rng.choice(["", " GROUP BY g", " GROUP BY ROLLUP (g)"])
    if "ROLLUP" in group and any(one.startswith(("MEDIAN", "QUANTILE", "MIN")) for one in asked):
        group = " GROUP BY g"
    return f"SELECT {'g, ' if group else ''}{listed} FROM t{where}{group}", bool(typical)


def said(answer: privet.Answer) -> list[str]:
    return [note for note in answer.notes if SENTENCE.match(note)]


@pytest.mark.parametrize("seed", range(24))
def test_a_mean_over_people_says_how_much_each_counts(seed: int) -> None:
    rng = random.Random(seed)
    unit = rng.choice([*PEOPLE, privet.Rows()])
    sql, typical = some_question(rng)
    table = privet.Table(
        pa.Table.from_pylist(ROWS), unit=unit, columns=COLUMNS, contribution=privet.Contribution(groups=1, rows=1)
    )
    budget = rng.choice([privet.Pure(epsilon=1000), privet.Approximate(epsilon=1000, delta=1e-6)])
    with privet.Session({"t": table}, budget=budget) as s:
        terms = {} if isinstance(unit, privet.Rows) else {"bound": rng.choice(["norm", "groups"])}
        if not isinstance(unit, privet.Rows) and rng.random() < 0.5:
            terms["contribution"] = privet.Contribution(groups=2, rows=3)
        answer = s.ask(sql, epsilon=10, **terms)
        people = not isinstance(unit, privet.Rows)
        assert bool(said(answer)) == (typical and people), (sql, answer.notes)
        if terms.get("contribution") and typical and terms["bound"] == "groups" and "GROUP BY" in sql:
            assert any("at most 3" in note for note in said(answer))


def test_the_number_is_the_declared_one() -> None:
    table = privet.Table(
        pa.Table.from_pylist(ROWS),
        unit=privet.Person("who"),
        columns=COLUMNS,
        contribution=privet.Contribution(groups=1, rows=1),
    )
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=1000)) as s:
        answer = s.ask("SELECT AVG(x) AS m FROM t", epsilon=1, contribution=privet.Contribution(groups=1, rows=7))
        assert said(answer) == [
            "Means are computed over rows weighted so that each who counts as at most 7 rows, "
            "not over all rows equally."
        ]
        both = s.ask_all(["SELECT AVG(x) AS m FROM t", "SELECT COUNT(*) AS n FROM t"], epsilon=1)
        assert [bool(said(one)) for one in both] == [True, False]
