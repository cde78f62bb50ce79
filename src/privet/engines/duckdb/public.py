"""A DuckDB connection without private tables, for public lists and released rows. It can read no file."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from privet.core.errors import EngineError, raise_alone

if TYPE_CHECKING:
    import duckdb

_SERIAL = threading.Lock()


class Bound:
    """Columns on their way into the engine: lists as parameters, arrays in place."""

    def __init__(self, parameters: dict[str, list[Any]] | None = None) -> None:
        self.parameters = {} if parameters is None else parameters
        self.arrays: dict[str, Any] = {}
        self.sql = ""


def fetch(sql: str, bound: Bound, *, arrays: bool = False) -> Any:
    """Return the rows of a query over what is bound to it, or its columns as arrays."""
    import duckdb

    with _SERIAL:
        connection = _connection()
        try:
            if bound.arrays:
                connection.register("released", bound.arrays)
            result = connection.execute(sql, bound.parameters or None)
            return result.fetchnumpy() if arrays else result.fetchall()
        except duckdb.Error:
            connection.abort()
            raise_alone(EngineError())
        finally:
            if bound.arrays:
                connection.unregister("released")


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "pandas_analyze_sample = 0",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}").fetchall()
    return connection
