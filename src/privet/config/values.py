"""What a privet.toml says, as frozen values. All of it is declared by the custodian; none of it is read from data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from privet.core.budget import Budget
from privet.core.exact import open_probability, positive, whole
from privet.core.given import instance, read_fields
from privet.core.schema import PublicTable, Table
from privet.engines.duckdb import MEMORY_LIMIT, TIMEOUT
from privet.ledger.records import Time
from privet.ledger.rules import KEYS_SHARE


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The data set's budget, the most that one query may cost, when spending ends, and the part of delta for keys."""

    budget: Budget
    per_query: Budget | None = None
    expires: Time | None = None
    keys_share: Fraction = KEYS_SHARE

    def __post_init__(self) -> None:
        read_fields(self)
        open_probability(self.keys_share, "keys_share")


@dataclass(frozen=True, kw_only=True)
class Analyst:
    """Who may ask: up to which budget (None: up to the data set's) and about which private tables."""

    budget: Budget | None
    tables: tuple[str, ...]

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True, kw_only=True)
class EngineLimits:
    """Public constants of the engine: memory, threads (None: all of the machine's) and seconds for one scan.

    `time_step` is the grid of seconds on which fresh answers are handed over; None: as soon as they are there.
    """

    memory_limit: str = MEMORY_LIMIT
    threads: int | None = None
    timeout: Fraction = Fraction(TIMEOUT)
    time_step: Fraction | None = None

    def __post_init__(self) -> None:
        read_fields(self)
        positive(self.timeout, "timeout")
        if self.threads is not None:
            whole(self.threads, "threads", least=1, most=1024)


@dataclass(frozen=True, kw_only=True)
class LedgerPlace:
    """Where the ledger's file is, and the head that it must still hold, if one is pinned."""

    path: Path
    head: str | None = None

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True, kw_only=True)
class Config:
    """All that a privet.toml says. Paths are absolute; relative ones in the file are relative to it.

    `tables` holds private tables, those that are linked to them, and public ones; `views`, SELECTs over them by name.
    """

    path: Path
    tables: Mapping[str, Table]
    rules: Rules
    ledger: LedgerPlace
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    engine: EngineLimits = field(default_factory=EngineLimits)
    key_file: Path | None = None
    views: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        read_fields(self)
        for name in ("tables", "analysts", "views"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def public(self) -> tuple[str, ...]:
        """The names of the public tables, which everybody may use."""
        return tuple(name for name, table in self.tables.items() if isinstance(table, PublicTable))


def check_config(config: object) -> None:
    """Refuse what is not a privet.toml that was read."""
    instance(config, Config, "config", "what read_config returned")
