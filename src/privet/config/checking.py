"""A custodian's check: do the sources fit the declarations of privet.toml? Its result is for the custodian alone."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context
from fractions import Fraction
from pathlib import Path

from privet.accounting.summaries import promise
from privet.core import given
from privet.core.budget import Approximate, Budget, Pure
from privet.core.errors import PrivetError, RequestError, raise_alone
from privet.core.schema import ColumnFacts, Schema, Table, followed
from privet.core.unit import Nobody, Person, Rows, Window, person_column
from privet.engines.duckdb.sources import DatabaseTable, paths_at
from privet.engines.postgres.stored_tables import PostgresTable
from privet.engines.scan_sql.row_values import LITTLE, Excess

from .declared import Config, check_config
from .engine_kinds import inspect_sources, open_engine


@dataclass(frozen=True)
class Checked:
    """The result of a check: problems by table, those between tables, the number of undeclared columns of each source.

    `excesses` are the losses of totals by the limits on contributions, by table.
    """

    problems: Mapping[str, tuple[str, ...]]
    links: tuple[str, ...]
    undeclared: Mapping[str, int]
    excesses: Mapping[str, tuple[Excess, ...]] = field(default_factory=dict)

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Everything that is wrong, table by table."""
        return (*(problem for problems in self.problems.values() for problem in problems), *self.links)


class BadSources(RequestError):
    """The sources differ from the declarations; for the custodian alone."""

    code = "request.sources"

    def __init__(self, file: str, problems: tuple[str, ...]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n  ".join([f"the sources are not what {file} declares:", *problems]))


def check_sources(config: Config) -> Checked:
    """Return the problems of the sources: columns and types, numbers of rows and units, keys and links."""
    check_config(config)
    sources = inspect_sources(config)
    problems = {name: source.problems for name, source in sources.items()}
    links: tuple[str, ...] = ()
    excesses: Mapping[str, tuple[Excess, ...]] = {}
    if not any(problems.values()):
        try:
            with open_engine(config, config.tables) as engine:
                links = tuple(engine.broken_links())
                excesses = {} if links else engine.excesses()
        except PrivetError as error:
            links = (str(error),)
    return Checked(problems, links, {name: source.undeclared for name, source in sources.items()}, excesses)


# A fingerprint of the data, for the custodian alone: has a table changed although its version has not?
#
# It is an HMAC under the custodian's key over the bytes of the sources. It is kept in a file beside the privet.toml,
# and is not part of a plan, a digest, an export or a certificate: without the key it reveals nothing.


_DOMAIN = b"privet fingerprint 1\n"
_FORMAT = 1
_LEAST_KEY = 32
_LARGEST_KEY = 4096
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Compared:
    """The result of a comparison: tables that are new in their version, unchanged ones, changed ones."""

    file: Path
    new: tuple[str, ...]
    same: tuple[str, ...]
    changed: tuple[str, ...]


def compare(config: Config, key_file: Path) -> Compared:
    """Return which tables have changed since the first check of their version, and remember those that are new."""
    check_config(config)
    key = read_key(Path(given.path(key_file, "key_file", "the path of the custodian's key")))
    place = config.path.with_name(f"{config.path.stem}.fingerprints.json")
    known = _read(place, key)
    new, same, changed = list[str](), list[str](), list[str]()
    for name, table in config.tables.items():
        digest, versions = fingerprint(key, name, table), known.setdefault(name, {})
        held = versions.get(table.schema.version)
        if held is None:
            versions[table.schema.version] = digest
            new.append(name)
        else:
            (same if hmac.compare_digest(held, digest) else changed).append(name)
    if new:
        _write(place, key, known)
    return Compared(place, tuple(new), tuple(same), tuple(changed))


def fingerprint(key: bytes, name: str, table: Table) -> str:
    """Return the HMAC-SHA256 of the bytes of a table's files, each after its length, in the order of their paths.

    Guarantee: a pseudorandom function of the files, so that without the key two tables cannot be told apart by it.
    """
    source = table.source
    if isinstance(source, PostgresTable):
        raise RequestError(f"table {name!r} is in PostgreSQL, and only files have fingerprints; change its version")
    patterns = [source.path] if isinstance(source, DatabaseTable) else [source] if isinstance(source, str) else source
    paths = sorted(path for pattern in patterns for path in paths_at(str(pattern)))  # type: ignore[attr-defined]
    if not paths:
        raise RequestError(f"table {name!r}: there is no file at the path that is declared for it")
    code = hmac.new(key, _DOMAIN, hashlib.sha256)
    try:
        for path in paths:
            with open(path, "rb") as file:
                code.update(os.fstat(file.fileno()).st_size.to_bytes(8, "big"))
                while block := file.read(_BLOCK):
                    code.update(block)
    except OSError:
        raise_alone(RequestError(f"the source of table {name!r} cannot be read"))
    return code.hexdigest()


def read_key(path: Path) -> bytes:
    """Return the custodian's key; one is made where there is no file, and others may not read it."""
    try:
        if not path.exists():
            _create(path, secrets.token_bytes(_LEAST_KEY))
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise RequestError(f"the key_file {str(path)!r} is not a file")
        if os.name == "posix" and mode & 0o077:
            raise RequestError(f"others may read or write the key {str(path)!r}; run: chmod 600 {path}")
        with path.open("rb") as file:
            key = file.read(_LARGEST_KEY + 1)
    except OSError:
        message = f"the key_file {str(path)!r} cannot be read or made; check its folder and who owns it"
        raise_alone(RequestError(message))
    if not _LEAST_KEY <= len(key) <= _LARGEST_KEY:
        raise RequestError(f"the key_file {str(path)!r} must have {_LEAST_KEY} to {_LARGEST_KEY} random bytes")
    return key


def _read(place: Path, key: bytes) -> dict[str, dict[str, str]]:
    if not place.exists():
        return {}
    try:
        held = json.loads(place.read_text(encoding="utf-8"))
        known = {str(name): {str(k): str(v) for k, v in versions.items()} for name, versions in held["tables"].items()}
        written = held["format"], held["key"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise_alone(RequestError(f"{place} is not a file of fingerprints; move it away to start anew"))
    if written != (_FORMAT, _name_of(key)):
        raise RequestError(f"{place} was made with another key_file; use that one, or move the file away to start anew")
    return known


def _write(place: Path, key: bytes, known: dict[str, dict[str, str]]) -> None:
    text = json.dumps({"format": _FORMAT, "key": _name_of(key), "tables": known}, indent=2, sort_keys=True)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        _create(temporary, text.encode())
        os.replace(temporary, place)
    except OSError:
        raise_alone(RequestError(f"{place} cannot be written; check its folder and who owns it"))


def _create(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _name_of(key: bytes) -> str:
    """Return what distinguishes keys and discloses nothing about them."""
    return hmac.new(key, b"privet fingerprint key\n", hashlib.sha256).hexdigest()[:16]


# The promises of a privet.toml in plain words; and declarations that are valid and still worth a second look.


_LARGE_DELTA = Fraction(1, 10**4)


def tables_in_words(config: Config) -> dict[str, tuple[str, ...]]:
    """Return whom each table protects, and its public facts."""
    check_config(config)
    owned = followed({name: table.schema for name, table in config.tables.items()})
    return {name: tuple(_table(owned[name])) for name in config.tables}


def promise_in_words(config: Config) -> tuple[str, ...]:
    """Return the promise of the data set's budget to each person whom its tables protect."""
    check_config(config)
    schemas = followed({name: table.schema for name, table in config.tables.items()})
    private = [schema for schema in schemas.values() if not schema.unit.public]
    changed = private and all(schema.neighbors == "change-one" for schema in private)
    columns = {person_column(schema.unit) or "row" for schema in private}
    who = f"one {columns.pop()}" if len(columns) == 1 else "one person"
    return promise(config.rules.budget, neighbors="change-one" if changed else "add-remove", who=who)


def notes(config: Config) -> tuple[str, ...]:
    """Return declarations that are allowed and may not be meant."""
    return tuple(_notes(config))


def _table(schema: Schema) -> Iterator[str]:
    match schema.unit:
        case Nobody():
            yield "Public: it protects no one and can be joined to private tables."
            return
        case Rows(group=group):
            yield "Protects each row separately: a person with several rows is not fully protected."
            subject = "one row"
        case Person(column=column, group=group):
            yield f"Protects all rows of each {column} together."
            subject = f"one {column}"
        case Window(person=person, group=group):
            yield f"Protects {replace(schema.unit, group=1)}; a person's rows further apart are not protected together."
            subject = f"one {person} in such a time"
    if group > 1:
        yield f"Any {group} of them are protected as if they were one, at {group} times the noise."
    if schema.link is not None:
        yield f"Whose a row is follows from {schema.link.via}, which leads to {schema.link.column} of {schema.link.to}."
    if schema.neighbors == "add-remove":
        yield f"Whether {subject} is in the table at all is part of what is protected."
    else:
        number = "" if schema.units is None else f", {schema.units:,},"
        yield f"What {subject} contributes is protected; how many there are{number} is public."
    if isinstance(schema.unit, (Person, Window)):
        give = schema.contribution
        each = "" if give.groups == 1 else f" in each of {give.groups} groups"
        yield (
            f"{subject[0].upper()}{subject[1:]} counts in full up to {_several(give.rows, 'row')}{each}; "
            "contributions above that are scaled down, and totals lose them."
        )
    said = {schema.unit.column} if isinstance(schema.unit, Person) else set()
    said |= set() if schema.link is None else {schema.link.via}
    yield from _columns({name: column for name, column in schema.columns.items() if name not in said})


def excesses_in_words(config: Config, checked: Checked) -> dict[str, tuple[str, ...]]:
    """Return the losses of totals by the limit of each table. For the custodian alone: they depend on the data."""
    schemas = followed({name: table.schema for name, table in config.tables.items()})
    return {name: _excess_in_words(excesses, schemas[name]) for name, excesses in checked.excesses.items()}


def _excess_in_words(excesses: Sequence[Excess], schema: Schema) -> tuple[str, ...]:
    """Return the losses of totals by the limit of a table, and a limit that would do. For the custodian alone."""
    unit = schema.unit
    who = f"{person_column(unit)}s" + (f" (in each {unit.duration})" if isinstance(unit, Window) else "")
    everything, *by = excesses
    most = _several(schema.contribution.groups * schema.contribution.rows, "row")
    if everything.above:
        sentences = [f"In the data, {_part(everything.above)} of {who} have more than {most}: {_low(everything)}."]
    else:
        sentences = [f"In the data, none of the {who} have more than {most}: {_low(everything)}."]
    worst = max(by, key=lambda excess: excess.lost, default=everything)
    if worst.lost > everything.lost:
        sentences.append(f"Grouped by {worst.by}, {_part(worst.above)} of them are above the limit: {_low(worst)}.")
    if max(worst.lost, everything.lost) > LITTLE:
        times = everything.enough / (schema.contribution.groups * schema.contribution.rows)
        sentences.append(
            f"Totals would lose at most {_part(LITTLE)} with {{ groups = 1, rows = {everything.enough} }}, at about "
            f"{times:.2g} times the noise. A limit that is read from the data reveals something about them once it is "
            "declared: choose one from what is known without them, or pay for a private one: privet check --private "
            "--epsilon 0.1."
        )
    return tuple(sentences)


def _part(share: float) -> str:
    """Return a share in percent, in two significant digits."""
    return f"{Context(prec=2).create_decimal(repr(share * 100)).normalize():f}%"


def _low(excess: Excess) -> str:
    return f"totals come out {_part(excess.lost)} too low" if excess.lost else "totals lose nothing"


def _columns(columns: Mapping[str, ColumnFacts]) -> Iterator[str]:
    bounded = [name for name, column in columns.items() if column.low is not None]
    listed = [name for name, column in columns.items() if column.values is not None]
    neither = [name for name in columns if name not in bounded and name not in listed]
    facts = ["names and kinds of columns"]
    facts += [f"bounds ({', '.join(bounded)})"] if bounded else []
    facts += [f"values ({', '.join(listed)})"] if listed else []
    yield f"Public: {', '.join(facts)}."
    if neither:
        yield f"Cannot be summed, and groups of them must be found in the data: {', '.join(neither)}."


def _notes(config: Config) -> Iterator[str]:
    budget = config.rules.budget
    if isinstance(budget, Approximate) and budget.delta > _LARGE_DELTA:
        yield (
            f"A delta of {float(budget.delta):g} allows that all about one person in "
            f"{int(1 / budget.delta):,} comes out; it is usually far below one in the number of people."
        )
    for name, table in config.tables.items():
        units = table.schema.units
        if isinstance(budget, Approximate) and units is not None and budget.delta * units >= 1:
            yield f"The delta is no smaller than one in the {units:,} units of {name}: it could disclose a whole row."
        if not table.schema.version and not table.schema.unit.public:
            yield f'{name} has no version: set one (version = "...") when its data change, or old answers stay.'
    for name, analyst in config.analysts.items():
        if analyst.budget is not None and _exceeds(analyst.budget, budget):
            yield f"The cap of {name} is larger than the data set's budget, which applies all the same."
        if isinstance(analyst.budget, Pure) and isinstance(budget, Approximate):
            yield f"{name} has a pure epsilon: groups must be declared ones; a delta would allow others."
    if not config.analysts:
        yield "No analysts are named: everyone who can open this file shares the one budget."


def _exceeds(cap: Budget, budget: Budget) -> bool:
    return cap.measure == budget.measure and cap.amount > budget.amount


def _several(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
