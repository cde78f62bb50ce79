"""The made-up visits as a table of Privet's, under limits on people, and the question that is asked about it."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import cities, visits

import privet

GROUPS, EACH = 5, 6
QUESTION = "SELECT city, COUNT(*) AS n, AVG(amount) AS mean FROM visits GROUP BY city"
BUDGET = privet.Approximate(epsilon=1000, delta=Fraction(1, 10**6))


def visits_table(rows: int, *, found: bool = False) -> privet.Table:
    """Return the table; its cities are public, unless they are to be found."""
    columns = {
        "person": privet.integer(),
        "city": privet.text() if found else privet.category(cities()),
        "amount": privet.number(0, 1000),
        "age": privet.integer(0, 120),
    }
    limit = privet.Contribution(groups=GROUPS, rows=EACH)
    return privet.Table(str(visits(rows)), unit=privet.Person("person"), columns=columns, contribution=limit)
