"""A custodian's check: do the sources fit what privet.toml declares? What it finds is for the custodian alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privet.core.errors import PrivetError, RequestError
from privet.engines.inspection import inspect
from privet.ledger.folder import locate
from privet.ledger.sqlite import SqliteLedger

from .sessions import open_engine
from .values import Config, check_config


@dataclass(frozen=True)
class Checked:
    """What was found: problems by table, those between tables, and how many columns of each source are undeclared."""

    problems: Mapping[str, tuple[str, ...]]
    links: tuple[str, ...]
    undeclared: Mapping[str, int]

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Everything that is wrong, table by table."""
        return (*(one for found in self.problems.values() for one in found), *self.links)


class BadSources(RequestError):
    """The sources are not what is declared; for the custodian alone."""

    code = "request.sources"

    def __init__(self, file: str, problems: tuple[str, ...]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n  ".join([f"the sources are not what {file} declares:", *problems]))


def check_sources(config: Config) -> Checked:
    """Return what is wrong with the sources: columns and types, numbers of rows and units, keys and links."""
    check_config(config)
    found = {name: inspect(name, table) for name, table in config.tables.items()}
    problems = {name: one.problems for name, one in found.items()}
    links: tuple[str, ...] = ()
    if not any(problems.values()):
        try:
            with open_engine(config, config.tables) as engine:
                links = tuple(engine.broken_links())
        except PrivetError as error:
            links = (str(error),)
    return Checked(problems, links, {name: one.undeclared for name, one in found.items()})


def check_ledger(config: Config) -> None:
    """Raise unless the ledger, where there is one, keeps to the file's rules and holds the head that is pinned."""
    rules, place = config.rules, config.ledger
    if locate(place.path).exists() or place.head is not None:
        SqliteLedger(
            place.path,
            rules.budget,
            per_query=rules.per_query,
            expires=rules.expires,
            keys_share=rules.keys_share,
            head=place.head,
        ).close()
