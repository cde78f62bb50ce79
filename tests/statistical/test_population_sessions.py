"""Intervals for a population, asked of sessions: each group of one table is a sample of its own from one population.

A group has its own people, whose rows have anything in common: nothing, a part, or everything. Seeds of the data are
fixed, the noise is not: with M groups a coverage of 94% is seen below its bound less than once in a million runs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet

GROUPS = 200
PEOPLE, EACH = 60, 3
NAMES = [f"g{place:03d}" for place in range(GROUPS)]
LEAST = 0.94 - 4.75 * math.sqrt(0.94 * 0.06 / GROUPS)
"""4.75 standard deviations below the coverage that is asked for: less than one run in a million."""

TRUTHS = {
    "AVG(x)": 2 / 7,
    "VAR(x)": 10 / (49 * 8),
    "STDDEV(x)": math.sqrt(10 / (49 * 8)),
    "AVG(CASE WHEN x > 0.3 THEN 1 ELSE 0 END)": 0.420175,
    "1.0 * COUNT(*) FILTER (WHERE x > 0.3) / COUNT(*)": 0.420175,
    "SUM(x) / SUM(z)": (2 / 7) / (1 / 2),
    "AVG(z) - AVG(x)": 1 / 2 - 2 / 7,
}
"""Numbers of the population: x has a Beta(2, 5) law and z an even one; 0.420175 = P[x > 0.3] = 7^5 (1 + 3/2) / 10^5."""


def world(icc: float, each: int, seed: int) -> Any:
    """Return rows of people, a value of whom is common to their rows with a probability of sqrt(icc) each time."""
    rng = np.random.default_rng(seed)
    shape = (GROUPS, PEOPLE, each)
    found = {}
    for name, law in (("x", (2, 5)), ("z", (1, 1))):
        own, common = rng.beta(*law, shape), rng.beta(*law, (GROUPS, PEOPLE, 1))
        found[name] = np.where(rng.random(shape) < math.sqrt(icc), common, own).ravel()
    people = np.repeat(np.arange(GROUPS * PEOPLE), each)
    return pa.table({"person": people, "g": np.repeat(NAMES, PEOPLE * each), **found})


def session(icc: float, each: int, seed: int = 5, budget: Any = None) -> privet.Session:
    columns = {
        "person": privet.integer(),
        "g": privet.category(NAMES),
        "x": privet.number(0, 1),
        "z": privet.number(0, 1),
    }
    limit = privet.Contribution(groups=1, rows=each)
    table = privet.Table(world(icc, each, seed), unit=privet.Person("person"), columns=columns, contribution=limit)
    return privet.Session({"t": table}, budget=budget or privet.Pure(epsilon=1000))


def test_the_share_above_is_that_of_the_law() -> None:
    from scipy.special import betainc

    assert 1 - betainc(2, 5, 0.3) == pytest.approx(TRUTHS["AVG(CASE WHEN x > 0.3 THEN 1 ELSE 0 END)"], abs=1e-6)


@pytest.mark.parametrize("budget", [privet.Pure(epsilon=1000), privet.Zcdp(rho=1000)], ids=["pure", "zcdp"])
@pytest.mark.parametrize(("icc", "each"), [(0.0, 1), (0.0, EACH), (0.2, EACH), (1.0, EACH)])
def test_intervals_of_a_session_cover_the_population(icc: float, each: int, budget: Any) -> None:
    asked = ", ".join(f"{what} AS c{place}" for place, what in enumerate(TRUTHS))
    spend = {"epsilon": 12} if isinstance(budget, privet.Pure) else {"rho": 6}
    with session(icc, each, budget=budget) as place:
        answer = place.ask(f"SELECT g, {asked} FROM t GROUP BY g", **spend)
    assert len(answer) == GROUPS
    for column, (what, truth) in enumerate(TRUTHS.items()):
        found = answer.estimates(f"c{column}", covers="population")
        held = np.mean([one.low <= truth <= one.high for one in found])
        assert held >= LEAST, (what, held)
        assert all("sampling from a population" in one.covers for one in found)
        # and they say something: half of the widths are below a third of what is declared possible
        assert np.median([one.high - one.low for one in found]) < {"VAR(x)": 0.25, "STDDEV(x)": 0.5}.get(what, 1.0)


def test_the_noise_alone_does_not_cover_it() -> None:
    with session(1.0, EACH) as place:
        answer = place.ask("SELECT g, AVG(x) AS m FROM t GROUP BY g", epsilon=12)
    assert np.mean([one.low <= 2 / 7 <= one.high for one in answer.estimates("m")]) < 0.85


@pytest.mark.parametrize("icc", [0.0, 1.0])
def test_two_groups_and_two_answers_of_one_population_are_told_apart_at_the_level(icc: float) -> None:
    """Half of the groups against the other half: all have one law, so that p-values below 5% are false."""
    with session(icc, 2, seed=8) as place:
        first = place.ask("SELECT g, AVG(x) AS m, COUNT(*) AS n FROM t GROUP BY g", epsilon=4)
        other = place.ask("SELECT g, AVG(z) AS m, COUNT(*) AS n FROM t GROUP BY g", epsilon=4)
        pairs = list(zip(NAMES[:120:2], NAMES[1:120:2], strict=True))
        groups = [first.compare(*pair, column="m", covers="population") for pair in pairs]
        answers = [first.compare(pair[0], pair[1], column="m", covers="population", to=other) for pair in pairs[:30]]
    most = 0.05 + 4.75 * math.sqrt(0.05 * 0.95 / len(pairs))
    assert np.mean([(one.p_value or 0) < 0.05 for one in groups]) <= most
    held = np.mean([one.interval[0] <= 2 / 7 - 1 / 2 <= one.interval[1] for one in answers])
    assert held >= 0.94 - 4.75 * math.sqrt(0.94 * 0.06 / len(answers))
