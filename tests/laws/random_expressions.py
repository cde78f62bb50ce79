"""Random expressions over a small hostile table, with constants at which doubles and exact numbers part."""

from __future__ import annotations

import datetime
import math
import random
from fractions import Fraction

from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import category, date, integer, number, timestamp

COLUMNS: dict[str, Facts] = {
    "i": integer(-3, 9),
    "j": integer(0, 120),
    "wide": integer(-(2**63), 2**63 - 1),
    "odd": integer(2**53 - 1, 2**53 + 3),
    "few": category([2, 5, 11]),
    "x": number(0, Fraction("0.3")),
    "y": number(Fraction("-1.1"), Fraction("2.7")),
    "part": number(Fraction("0.49999999999999994"), Fraction("0.99999999999999999999")),
    "vast": number(-(10**308), 10**308),
    "tiny": number(0, Fraction("5e-324")),
    "day": date(datetime.date(2023, 12, 30), datetime.date(2024, 3, 1)),
    "at": timestamp(datetime.datetime(2024, 2, 28, 23, 59), datetime.datetime(2024, 3, 1)),
}

_NEAR = [0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 2.0**53, 2.0**62, 2.0**63, 1e308]
_NEIGHBOURS = [math.nextafter(value, end) for value in _NEAR for end in (-math.inf, math.inf)]
_DECIMALS = ["0.1", "0.2", "0.3", "0.7", "1.1", "100.01", "1e-320", "5e-324", "1e308", "9007199254740993.0", "1e-30"]
_DIGITS = [
    "0.999999999999999999999999999999",
    "0.499999999999999999999999999999",
    "2.999999999999999999999999999999",
    "0.000000000000000000000000000001",
    "1.000000000000000000000000000001",
]
_SHARP = [math.nextafter(value, 0) for value in (0.5, 1.0, 1.5, 2.0, 3.0)] + [2.0**52 + 1, 2.0**52 + 3, 0.1, 0.3]
"""Where adding a half, or a product with a decimal, is rounded to the next whole number."""
NUMBERS = [Fraction(value) for value in [*_NEIGHBOURS, *_DECIMALS, *_DIGITS, *_SHARP, *_SHARP, *_SHARP]]
NUMBERS += [-value for value in NUMBERS]
WHOLES = [0, 1, -1, 2, 3, 7, 10, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**53) - 1]


def rows(draw: random.Random, many: int) -> list[tuple[object, ...]]:
    """Return rows of every column: its ends, their neighbours, what lies between, and what is beyond."""
    return [tuple(_stored(draw, facts) for facts in COLUMNS.values()) for _ in range(many)]


def _stored(draw: random.Random, facts: Facts) -> object:
    if facts.values is not None:
        return draw.choice(facts.values)
    low, high = facts.low, facts.high
    if facts.kind == "integer":
        ends = [int(low), int(high), int(low) + 1, int(high) - 1, draw.randint(int(low), int(high)), 0, 1, -(2**63)]  # type: ignore[arg-type]
        return min(max(draw.choice([*ends, 2**63 - 1]), -(2**63)), 2**63 - 1)
    if facts.kind == "number":
        bottom, top = float(low), float(high)  # type: ignore[arg-type]
        inside = [bottom, top, draw.uniform(bottom / 2, top / 2) * 2, math.nextafter(top, bottom)]
        return draw.choice(
            [*inside, math.nextafter(bottom, top), 0.0, -0.0, 0.5, math.inf, -math.inf, 5e-324, top, top]
        )
    span = high - low  # type: ignore[operator]
    if facts.kind == "date":
        return draw.choice([low, high, low + datetime.timedelta(days=draw.randint(0, span.days))])
    return draw.choice([low, high, low + span * draw.random()])


class Writer:
    """Writes expressions of a kind."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def column(self, kind: str) -> Expression:
        return ColumnRef(self.draw.choice([name for name, facts in COLUMNS.items() if facts.kind == kind]))

    def numeric(self, depth: int) -> Expression:
        return self.integer(depth) if self.draw.random() < 0.4 else self.number(depth)

    def call(self, function: str, *arguments: Expression) -> Call:
        return Call(function, arguments)

    def integer(self, depth: int) -> Expression:
        if depth <= 0:
            return self.column("integer") if self.draw.random() < 0.6 else Literal(self.draw.choice(WHOLES))
        choice = self.draw.randrange(14)
        if choice < 5:  # where numbers become whole is where facts are tried hardest
            return self.call(
                self.draw.choice(["floor", "ceil", "truncate", "round", "to_integer", "sign"]), self.number(depth - 1)
            )
        if choice < 8:
            function = self.draw.choice(["add", "subtract", "multiply", "modulo", "divide_whole", "least", "greatest"])
            return self.call(function, self.integer(depth - 1), self.integer(depth - 1))
        if choice == 8:
            return self.call(self.draw.choice(["negate", "abs"]), self.integer(depth - 1))
        if choice == 9:
            return self.call("bin", self.numeric(depth - 1), Literal(self.draw.choice([1, 3, 10, 2**53 + 1])))
        if choice == 10:
            low, high = sorted(self.draw.sample(NUMBERS, 2))
            bins = Literal(self.draw.choice([1, 7, 1000]))
            return self.call("bucket", self.numeric(depth - 1), Literal(low), Literal(high), bins)
        if choice == 11:
            return self.moment()
        return self.either(self.integer, depth)

    def number(self, depth: int) -> Expression:
        if depth <= 0:
            return self.column("number") if self.draw.random() < 0.6 else Literal(self.draw.choice(NUMBERS))
        choice = self.draw.randrange(12)
        if choice < 5:
            function = self.draw.choice(["add", "subtract", "multiply", "divide", "modulo"])
            both = [self.number(depth - 1), self.numeric(depth - 1)]
            self.draw.shuffle(both)
            return self.call(function, *both)
        if choice == 5:
            return self.call(self.draw.choice(["sqrt", "ln", "log10", "log2", "exp"]), self.numeric(depth - 1))
        if choice == 6:
            exponent = self.draw.choice([0, 1, 2, 3, -1, -2, 7, Fraction(1, 2), Fraction("0.1"), Fraction("-1.5")])
            return self.call("power", self.numeric(depth - 1), Literal(exponent))
        if choice == 7:
            return self.call("round_to", self.numeric(depth - 1), Literal(self.draw.choice([-2, 0, 1, 2, 15, -15])))
        if choice == 8:
            widths = [Fraction("0.1"), Fraction("0.3"), Fraction("2.5"), Fraction("1e-300")]
            return self.call("bin", self.numeric(depth - 1), Literal(self.draw.choice(widths)))
        if choice == 9:
            return self.call(self.draw.choice(["negate", "abs"]), self.number(depth - 1))
        if choice == 10:
            function = self.draw.choice(["least", "greatest", "coalesce"])
            return self.call(function, self.number(depth - 1), self.numeric(depth - 1))
        return self.either(self.number, depth)

    def either(self, kind, depth: int) -> Expression:
        where = self.call(
            self.draw.choice(["equal", "less", "greater_equal"]), self.numeric(depth - 2), self.numeric(depth - 2)
        )
        return self.call("case", where, kind(depth - 1), kind(depth - 1))

    def moment(self) -> Expression:
        when = self.column(self.draw.choice(["date", "timestamp"]))
        if self.draw.random() < 0.5:
            return self.call(self.draw.choice(["year", "month", "week", "day", "day_of_week", "day_of_year"]), when)
        if self.draw.random() < 0.2:
            return self.call("epoch_us", when)
        part = Literal(self.draw.choice(["day", "week", "month", "quarter", "year"]))
        return self.call("date_diff", part, when, self.column(self.draw.choice(["date", "timestamp"])))
