"""A small hospital with and without one person, whom hostile questions are after; and how they are asked."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa

from privet.answer import Answer
from privet.core.budget import Approximate
from privet.core.schema import (
    Contribution,
    PublicTable,
    Schema,
    Table,
    category,
    date,
    integer,
    number,
    text,
    timestamp,
)
from privet.core.unit import Link, Person, Rows, Window
from privet.session import Session

DAYS = (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
TABLES: dict[str, Schema] = {
    "visits": Schema(
        unit=Person("user_id"),
        columns={
            "id": integer(),
            "user_id": integer(),
            "day": date(*DAYS, nullable=True),
            "at": timestamp(nullable=True),
            "hospital": category(["A", "B", "C"]),
            "cost": number(0, 1000, nullable=True),
            "age": integer(0, 120),
            "diag": text(nullable=True),
        },
    ),
    "drugs": Schema(unit=Link("visit", to="visits", column="id"), columns={"visit": integer(), "dose": number(0, 4)}),
    "users": Schema(
        unit=Person("user_id"),
        columns={"user_id": integer(), "sex": category(["F", "M"]), "zip": text(), "income": number(0, 200_000)},
    ),
    "sensors": Schema(unit=Person("house"), columns={"house": integer(), "user_id": integer(), "watt": number(0, 100)}),
    "moves": Schema(
        unit=Window("user_id", "day", 7), columns={"user_id": integer(), "day": date(*DAYS), "km": number(0, 9)}
    ),
    "votes": Schema(unit=Rows(), columns={"user_id": integer(), "party": category(["x", "y"])}),
    "others": Schema(
        unit=Person("user_id"), neighbors="change-one", columns={"user_id": integer(), "pay": number(0, 9)}
    ),
    "regions": PublicTable(None, columns={"zip": text(), "region": category(["N", "S"])}, key="zip").schema,
    "bands": PublicTable(None, columns={"low": number(0, 999), "band": integer(0, 9)}, rows=100).schema,
}
ENGINE = {"integer": pa.int64(), "number": pa.float64(), "text": pa.string(), "date": pa.date32()}
ENGINE["timestamp"] = pa.timestamp("us")
Rows_ = dict[str, list[dict[str, Any]]]


def rows(*, with_42: bool) -> Rows_:
    """Return the rows of all tables. The one person has what is extreme: bounds exceeded, NULLs, odd texts."""
    people = [*range(7), *([42] if with_42 else [])]
    day, noon = DAYS[0], datetime.datetime(2024, 1, 1, 12)
    found: Rows_ = {name: [] for name in TABLES}
    for who in people:
        odd = who == 42
        for index in range(9 if odd else 2):
            found["visits"].append(
                {
                    "id": 100 * who + index,
                    "user_id": who,
                    "day": None if odd and index % 2 else day,
                    "at": None if odd and index == 3 else noon,
                    "hospital": "ABC"[index % 3],
                    "cost": [5000.0, None, float("nan"), float("inf"), -1e300][index % 5] if odd else 10.0 * who,
                    "age": [None, 2**63 - 1, -(2**63)][index % 3] if odd else 20 + who,
                    "diag": ["HIV", "x\\", "2024-02-30", None, "%", "1e999", "9" * 30, "other"][index % 8]
                    if odd
                    else "flu",
                }
            )
            found["drugs"].append({"visit": 100 * who + index, "dose": 1e9 if odd else 1.0})
        found["users"].append({"user_id": who, "sex": "F", "zip": "1", "income": 1e4 * who})
        found["sensors"].append({"house": who, "user_id": who, "watt": 1.0})
        found["moves"].append({"user_id": who, "day": day, "km": 1.0})
        found["votes"].append({"user_id": who, "party": "x"})
        found["others"].append({"user_id": who, "pay": 1.0})
    found["regions"] = [{"zip": "1", "region": "N"}]
    found["bands"] = [{"low": 10.0 * band, "band": band} for band in range(10)]
    return found


def hospital(*, with_42: bool) -> Session:
    """Return a session over the hospital."""
    tables: dict[str, Table] = {}
    for name, listed in rows(with_42=with_42).items():
        facts = TABLES[name]
        kinds = pa.schema([(column, ENGINE[one.kind]) for column, one in facts.columns.items()])
        source = pa.Table.from_pylist(listed, schema=kinds)
        if name in {"regions", "bands"}:
            tables[name] = PublicTable(source, columns=facts.columns, key=facts.key, rows=facts.rows)
        else:
            tables[name] = Table(
                source,
                unit=facts.unit,
                columns=facts.columns,
                contribution=Contribution(groups=1, rows=1),
                neighbors=facts.neighbors,
            )
    return Session(tables, budget=Approximate(epsilon=10**6, delta=1e-6))


def text_of(entry: dict[str, Any]) -> str:
    """Return the text of an entry, of which a part may come many times."""
    many = entry.get("times", 1)
    return (
        str(entry["sql"]).replace("{many}", entry.get("many", "") * many).replace("{end}", entry.get("end", "") * many)
    )


def asked(entry: dict[str, Any]) -> dict[str, Any]:
    """Return how a hostile question is to be answered: it may say itself what it is to cost."""
    sql = str(entry["sql"])
    own = "DIFFERENTIAL_PRIVACY" in sql or " WITHIN " in sql.replace(" WITHIN GROUP ", " ")
    return {**({} if own else {"epsilon": 1}), **entry.get("options", {})}


def ask(session: Session, entry: dict[str, Any]) -> Answer:
    """Ask a hostile question."""
    return session.ask(text_of(entry), **asked(entry))
