"""Tumult Analytics' side: the same question under the same limits on people; it asks for count and average apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from serve import serve
from spark_process import session, timed
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

GROUPS, EACH = 5, 6


@cache
def _opened(rows: int) -> tuple[Any, list[Any]]:
    from data import cities, visits

    opened = Session.from_dataframe(
        privacy_budget=PureDPBudget(10**6),
        source_id="visits",
        dataframe=session().read.parquet(str(visits(rows))),
        protected_change=AddRowsWithID(id_column="person"),
    )
    limited = QueryBuilder("visits").enforce(MaxGroupsPerID("city", GROUPS)).enforce(MaxRowsPerGroupPerID("city", EACH))
    grouped = limited.groupby(KeySet.from_dict({"city": cities()}))
    return opened, [grouped.count(), grouped.average("amount", 0, 1000)]


def on_spark(rows: int) -> Callable[[], Any]:
    opened, questions = _opened(rows)

    def call() -> None:
        for question in questions:
            opened.evaluate(question, PureDPBudget(1)).collect()

    return lambda: {**timed(call), "note": "two questions, as one of its queries has one aggregate"}


if __name__ == "__main__":
    serve("tmlt.analytics", {"on_spark": on_spark})
