"""Every function that PostgreSQL's dialect has, in a real server, with the most extreme values its types hold.

A row of trouble must not fail the statement: each value is tried as the only row and beside all others.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import psycopg
import pytest

from privet.core.errors import Unsupported
from privet.core.relation import Call, ColumnRef
from privet.engines.dialects.postgres import POSTGRES
from privet.engines.scan_sql.dialect import Renderer
from privet.engines.scan_sql.row_values import clamped
from privet.query.expressions import evaluate_row, typed
from privet.query.functions import FUNCTIONS

sys.path.insert(0, str(Path(__file__).parent))

from test_expression_contracts import COLUMNS, INEXACT, KINDS, NAMES, RENDERER, STORED, calls, same

PG = Renderer(RENDERER.columns, POSTGRES)
LACKING = {"lower", "upper", "log2", "power"}
REFUSED = {"modulo": "number", "to_number": "text"}
"""What is refused although the function is there: by the kind of its argument."""

_BC = re.compile(r"(\S+) \(BC\)(.*)")


def stored(kind: str) -> list[object]:
    """Return the values of a kind as PostgreSQL takes them."""
    found = []
    for value in STORED[kind]:
        if isinstance(value, str) and "\0" in value:
            continue  # which no text of PostgreSQL's has
        if isinstance(value, str) and kind in ("date", "timestamp"):
            value = _BC.sub(r"\1\2 BC", value)
        if value in ("5877642-06-25 BC", "290309-12-22 00:00:00 BC"):
            value = "4714-11-24 BC" if kind == "date" else "4714-11-24 00:00:00 BC"  # PostgreSQL's own first day
        if value == "294247-01-10 04:00:54.775806":
            value = "294276-12-31 23:59:59.999999"
        if value == "5881580-07-10":
            value = "5874897-12-31"
        found.append(value)
    return [*found, None]


@pytest.fixture(scope="module")
def server(postgres):
    with postgres.database() as name, psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for kind in KINDS:
            connection.execute(f"CREATE TABLE stored_{kind} (n int, v {POSTGRES.types[kind]})")
            with connection.cursor().copy(f"COPY stored_{kind} FROM STDIN") as copy:
                for number, value in enumerate(stored(kind)):
                    copy.write_row([number, value])
            few = random.Random(7).sample(range(len(stored(kind))), min(5, len(stored(kind))))
            connection.execute(f"CREATE TABLE few_{kind} AS SELECT * FROM stored_{kind} WHERE n = ANY(%s)", [few])
        yield connection


def rows_of(server, call, where: str = "") -> list[tuple[dict[str, object], object]]:
    """Return the value of a call for every combination of stored values, each with the row as it is read."""
    used = [one.name for one in call.arguments if isinstance(one, ColumnRef)]
    rendered = PG.render(call).sql.replace("%%", "%")
    if not used:
        return [({}, server.execute(f"SELECT {rendered}").fetchone()[0])]
    size = "few" if len(used) > 2 else "stored"
    tables = ", ".join(f"{size}_{name.split()[0]} AS t{place}" for place, name in enumerate(used))
    read_as = [
        f"{clamped(_read(f't{place}.v', name), COLUMNS[name], POSTGRES)} AS {NAMES[name]}"
        for place, name in enumerate(used)
    ]
    names = ", ".join(NAMES[name] for name in used)
    inner = f"SELECT {', '.join(read_as)} FROM {tables}{where}"
    found = server.execute(f"SELECT {names}, {rendered} FROM ({inner}) AS r").fetchall()
    return [(dict(zip(used, row[:-1], strict=True)), row[-1]) for row in found]


def _read(sql: str, name: str) -> str:
    return f'({sql} COLLATE "C")' if name.startswith("text") else sql


def refused(call) -> bool:
    kinds = [typed(one, COLUMNS).kind for one in call.arguments]
    return REFUSED.get(call.function) in kinds and None not in kinds


def test_the_dialect_lacks_only_what_cannot_be_guarded_or_differs():
    assert FUNCTIONS.keys() - POSTGRES.forms.keys() == LACKING


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_differs_is_refused_by_name(name):
    several = [call for form in ("open", "bounded") for call in calls(name, form) if refused(call)]
    assert several
    for call in several:
        with pytest.raises(Unsupported, match="PostgreSQL has no"):
            PG.render(call)


@pytest.mark.parametrize("form", ["open", "bounded"])
@pytest.mark.parametrize("name", sorted(POSTGRES.forms))
def test_every_function_is_total_in_postgres_and_equals_the_oracle(server, name, form):
    several = [call for call in calls(name, form) if not refused(call)]
    assert several
    for call in several:
        for row, value in rows_of(server, call):
            expected = evaluate_row(call, row, COLUMNS)
            assert agree(value, expected, name), (call, row, value, expected)


def agree(value: object, expected: object, name: str) -> bool:
    if isinstance(value, float) and isinstance(expected, float) and max(abs(value), abs(expected)) <= 5e-324:
        return True  # whether the last bit of all becomes 0 is decided one bit earlier here
    return same(value, expected, name not in INEXACT)


@pytest.mark.parametrize("name", sorted(POSTGRES.forms))
def test_a_value_of_trouble_as_the_only_row_raises_nothing(server, name):
    """A plan for one row may compute constants early, and leaves out nothing beside it."""
    for call in calls(name, "open"):
        used = [one.name.split()[0] for one in call.arguments if isinstance(one, ColumnRef)]
        if refused(call) or len(used) != 1:
            continue
        for number in range(len(stored(used[0]))):
            for row, value in rows_of(server, call, f" WHERE t0.n = {number}"):
                assert agree(value, evaluate_row(call, row, COLUMNS), name), (call, row, value)


EDGES = [0.0, 5e-324, 2.0**-1022, 2.0**-600, 2.0**-538, 2.0**-537, 2.0**-500, 2.0**-475, 0.5, 1.0, 3.0, 2.0**424]
EDGES += [2.0**500, 2.0**511.5, 2.0**512, 2.0**524, 2.0**525, 2.0**969, 2.0**970, 2.0**1022, 2.0**1023]
EDGES += [1.7976931348623157e308, 1.7976931348623155e308, 1.0000000000000002, float("inf")]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_guards_decide_as_the_operation_rounds(server, name):
    both = [*EDGES, *(-edge for edge in EDGES), *(3 * 2.0**exponent for exponent in range(960, 1022, 3))]
    values = ", ".join(f"('{x!r}'::float8)" for x in both)
    call = Call(name, (ColumnRef("number open 0"), ColumnRef("number open 1")))
    sql = PG.render(call).sql
    x, y = NAMES["number open 0"], NAMES["number open 1"]
    found = server.execute(f"SELECT {x}, {y}, {sql} FROM (VALUES {values}) a({x}), (VALUES {values}) b({y})").fetchall()
    assert len(found) == len(both) ** 2
    for left, right, value in found:
        expected = evaluate_row(call, {"number open 0": left, "number open 1": right}, COLUMNS)
        assert agree(value, expected, name), (left, right, value, expected)
