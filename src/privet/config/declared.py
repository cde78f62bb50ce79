"""The declarations of a privet.toml as frozen values, and how single values are read."""

from __future__ import annotations

import datetime
import glob
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from privet.core.budget import Budget
from privet.core.errors import BadParameter
from privet.core.given import instance, moment, read_fields, set_fields
from privet.core.numbers import open_probability, positive, whole
from privet.core.schema import PublicTable, Table
from privet.engines.duckdb.engine import MEMORY_LIMIT, TIMEOUT
from privet.engines.duckdb.sources import SUPPORTED
from privet.engines.postgres.reader_address import WORK_MEM
from privet.engines.spark.cluster import read_remote
from privet.ledger.entries import Time
from privet.ledger.state import KEYS_SHARE

# Single values as privet.toml writes them: text, whole numbers, exact numbers, times, paths.


def text(parameter: str, *, most: int = 200) -> Callable[[object], str]:
    """Return a reader of text that is not empty."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > most or "\x00" in value:
            raise BadParameter(parameter, value, f"text in quotes, of 1 to {most} characters")
        return value

    return read


def label(value: object) -> str:
    """Return a version: any short text."""
    if not isinstance(value, str) or len(value) > 200:
        raise BadParameter("version", value, 'a label in quotes, such as "2025-03"')
    return value


def integer(parameter: str, *, least: int, most: int) -> Callable[[object], int]:
    """Return a reader of whole numbers in a range."""
    return lambda value: whole(value, parameter, least=least, most=most)


def above_zero(parameter: str) -> Callable[[object], Fraction]:
    """Return a reader of numbers above zero: a decimal in the file is exactly that decimal."""

    def read(value: object) -> Fraction:
        _check_number(value, parameter)
        return positive(value, parameter)

    return read


def part(parameter: str) -> Callable[[object], Fraction]:
    """Return a reader of numbers strictly between 0 and 1, exactly."""

    def read(value: object) -> Fraction:
        _check_number(value, parameter)
        return open_probability(value, parameter)

    return read


def _check_number(value: object, parameter: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise BadParameter(parameter, value, "a number, written without quotes, such as 0.5 or 1e-6")


def instant(value: object) -> Time:
    """Return a point in time with its zone."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        raise BadParameter("expires", str(value), "a time with its zone and without quotes: 2026-12-31T23:59:59Z")
    return moment(value, "expires")


def path_in(folder: Path, parameter: str) -> Callable[[object], Path]:
    """Return a reader of paths, which are relative to a folder."""

    def read(value: object) -> Path:
        return Path(os.path.abspath(folder / _plain_path(value, parameter)))

    return read


def pattern_in(folder: Path, parameter: str) -> Callable[[object], str]:
    """Return a reader of paths that may contain *, ? and [...], which the folder's own name may not."""

    def read(value: object) -> str:
        written = _plain_path(value, parameter)
        if "://" in written:
            raise BadParameter(parameter, value, f"a path to files on this machine: {SUPPORTED}")
        if os.path.isabs(written) or not glob.has_magic(written):
            return os.path.abspath(folder / written)
        return os.path.join(glob.escape(os.path.abspath(folder)), written)

    return read


def _plain_path(value: object, parameter: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\x00" in value or len(value) > 4096:
        raise BadParameter(parameter, value, 'a path in quotes, such as "data/visits.parquet"')
    return value


# The contents of a privet.toml, as frozen values. The custodian declares all of it; none of it is read from data.


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The data set's budget, the most that one query may cost, when spending ends, and the part of delta for keys.

    Example:
        >>> config.Rules(budget=privet.Pure(epsilon=1)).keys_share
        Fraction(1, 2)
    """

    budget: Budget
    per_query: Budget | None = None
    expires: Time | None = None
    keys_share: Fraction = KEYS_SHARE

    def __post_init__(self) -> None:
        read_fields(self)
        open_probability(self.keys_share, "keys_share")


@dataclass(frozen=True, kw_only=True)
class Analyst:
    """Who may ask: up to which budget (None: up to the data set's) and about which private tables.

    Example:
        >>> config.Analyst(budget=None, tables=("visits",)).tables
        ('visits',)
    """

    budget: Budget | None
    tables: tuple[str, ...]

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True, kw_only=True)
class EngineLimits:
    """Public constants of the engine: memory, threads (None: all of the machine's) and seconds for one scan.

    `kind` is the engine, DuckDB if left out; tables in PostgreSQL also need the `url` of the server, and perhaps a
    `password_file`. There, `work_mem` is the memory of one sort or hash. `remote` is the address of a Spark Connect
    server, for Spark.
    `scans` is the number of scans that run at once; None: as many as the machine has processors.
    `parts` is the number of parts in which DuckDB reads people, one after the other; None: as many as declared rows and
    memory call for.
    `time_step` is the grid of seconds on which fresh answers are handed over; None: as soon as they are there.

    Example:
        >>> config.EngineLimits(memory_limit="1GB").timeout
        Fraction(600, 1)
    """

    memory_limit: str = MEMORY_LIMIT
    threads: int | None = None
    scans: int | None = None
    timeout: Fraction = Fraction(TIMEOUT)
    time_step: Fraction | None = None
    kind: Literal["duckdb", "postgres", "spark"] = "duckdb"
    url: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    work_mem: str = WORK_MEM
    remote: str | None = field(default=None, repr=False)
    parts: int | None = None

    def __post_init__(self) -> None:
        read_fields(self)
        positive(self.timeout, "timeout")
        for name in ("threads", "scans", "parts"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, least=1, most=1024)
        if self.remote is not None:
            read_remote(self.remote)


@dataclass(frozen=True, kw_only=True)
class LedgerPlace:
    """Where the ledger is: its file, or its address in a PostgreSQL server; and the head that it must still contain.

    Example:
        >>> import pathlib
        >>> config.LedgerPlace(path=pathlib.Path("ledger")).head is None
        True
    """

    path: Path
    head: str | None = None
    url: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def where(self) -> Path | str:
        """The address, where there is one, and otherwise the path."""
        return self.path if self.url is None else self.url


@dataclass(frozen=True, kw_only=True)
class Config:
    """All that a privet.toml declares. Paths are absolute; relative ones in the file are relative to it.

    `tables` are private tables, those that are linked to them, and public ones; `views`, SELECTs over them by name.
    `schema` is the word that questions may write before a table's name; `public` where it is None.

    Example:
        >>> from dataclasses import fields
        >>> [field.name for field in fields(config.Config)][:4]
        ['path', 'tables', 'rules', 'ledger']
    """

    path: Path
    tables: Mapping[str, Table]
    rules: Rules
    ledger: LedgerPlace
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    engine: EngineLimits = field(default_factory=EngineLimits)
    key_file: Path | None = None
    views: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None

    def __post_init__(self) -> None:
        read_fields(self)
        for name in ("tables", "analysts", "views"):
            set_fields(self, **{name: MappingProxyType(dict(getattr(self, name)))})

    @property
    def public(self) -> tuple[str, ...]:
        """The names of the public tables, which everybody may use."""
        return tuple(name for name, table in self.tables.items() if isinstance(table, PublicTable))


def check_config(config: object) -> None:
    """Refuse a value that is not the `Config` of a privet.toml."""
    instance(config, Config, "config", "what read_config returned")
