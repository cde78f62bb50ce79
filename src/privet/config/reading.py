"""Reads a privet.toml: strictly, exactly, and with all its problems at once. Opens no data and no ledger."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.given import alike
from privet.core.numbers import positive, read_seconds, whole
from privet.engines.duckdb.engine import read_memory_limit
from privet.engines.postgres.reader_address import has_password, read_work_mem
from privet.engines.spark.cluster import read_remote
from privet.execution.pace import read_step
from privet.ledger.codec import read_head
from privet.ledger.postgres.server_address import read_address
from privet.ledger.state import KEYS_SHARE
from privet.query.sql.rewrites import read_schema

from .declared import Analyst, Config, EngineLimits, LedgerPlace, Rules, above_zero, instant, part, path_in
from .engine_kinds import ENGINES
from .problems import BadConfig, Problem, Problems, Section, locate, nearest
from .tables import read_tables, read_views

# Budgets and analysts as privet.toml writes them. Amounts are exactly the decimals that are written.


_BUDGET = "epsilon = 1 (pure), epsilon = 1 and delta = 1e-6, or rho = 0.1"


def read_rules(root: Section) -> Rules | None:
    """Return the data set's budget and its rules, or None where they are not declared well, which is noted."""
    section = root.section("budget", "[budget] with epsilon = 1 and delta = 1e-6")
    if section is None:
        if not root.has("budget"):
            root.problem("budget", f"no budget is declared; write [budget] and under it {_BUDGET}")
        return None
    budget = read_budget(section, needed=True)
    expires = section.read("expires", instant, None)
    share = section.read("keys_share", part("keys_share"), KEYS_SHARE)
    if section.has("keys_share") and isinstance(budget, (Pure, Zcdp)):
        section.problem("keys_share", "is a part of delta, and this budget has none; leave it out")
    inner = section.section("per_query", "per_query = { epsilon = 0.5, delta = 1e-6 }")
    most = None if inner is None else read_budget(inner, needed=True)
    if inner is not None:
        inner.finish()
        if most is not None and budget is not None and type(most) is not type(budget):
            inner.problem(None, f"must be of the same kind as the budget, which is {budget.describe()}")
    section.finish()
    if budget is None:
        return None
    return Rules(budget=budget, per_query=most, expires=expires, keys_share=share)


def read_budget(section: Section, *, needed: bool) -> Budget | None:
    """Return the budget of a TOML table: epsilon, epsilon and delta, or rho."""
    epsilon = section.read("epsilon", above_zero("epsilon"), None)
    delta = section.read("delta", part("delta"), None)
    rho = section.read("rho", above_zero("rho"), None)
    given = {key for key in ("epsilon", "delta", "rho") if section.has(key)}
    if not given:
        if needed:
            section.problem(None, f"{NO_AMOUNT}; write {_BUDGET}")
        return None
    if "rho" in given and len(given) > 1:
        section.problem("rho", f"a budget is counted in one way; write {_BUDGET}")
        return None
    if given == {"delta"}:
        section.problem("delta", "is given without epsilon; write both")
        return None
    if epsilon is not None and delta is not None:
        return Approximate(epsilon=epsilon, delta=delta)
    if epsilon is not None and "delta" not in given:
        return Pure(epsilon=epsilon)
    return None if rho is None else Zcdp(rho=rho)


def read_analysts(root: Section, tables: Iterable[str], budget: Budget | None) -> dict[str, Analyst]:
    """Return who may ask, about what and up to which budget."""
    section = root.section("analysts", "[analysts.alice] with epsilon = 0.5")
    if section is None:
        return {}
    known = tuple(tables)
    analysts: dict[str, Analyst] = {}
    for name, own in section.sections("[analysts.alice] with epsilon = 0.5").items():
        if not name.strip() or len(name) > 200 or not name.isprintable():
            own.problem(None, "must be a name, of 1 to 200 characters")
        other = alike(name, analysts)
        if other is not None:
            own.problem(None, f"looks like {other!r}, and one could pass for the other; choose another name")
        cap = read_budget(own, needed=False)
        if cap is not None and budget is not None and not _fits_under(cap, budget):
            own.problem(None, f"a cap of this kind cannot be counted under the budget, which is {budget.describe()}")
        chosen = own.read("tables", _names(own, known), known)
        own.finish()
        analysts[name] = Analyst(budget=cap, tables=chosen)
    return analysts


def _fits_under(cap: Budget, budget: Budget) -> bool:
    return isinstance(budget, Approximate) or isinstance(cap, Pure) or type(cap) is type(budget)


def _names(section: Section, known: tuple[str, ...]) -> Callable[[object], tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise BadParameter("tables", value, 'a list of names in quotes, such as ["visits"]')
        for name in value:
            if name not in known:
                section.problem("tables", f"there is no table {name!r}; {nearest(name, known)}")
            if value.count(name) > 1:
                section.problem("tables", f"names {name!r} twice")
        return tuple(value)

    return read


LARGEST = 2**20
"""How many bytes a privet.toml may have."""

_MOST_PARTS = 50
_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_KEY}){{{_MOST_PARTS}}}", re.MULTILINE)
"""More parts of a key than the reader, whose time grows with their square, can read in reasonable time."""

NO_AMOUNT = "no amount is declared"
TO_FILL_IN = "still to be filled in"
"""The first words of a problem that a note in the file marks."""

_MEMORY = re.compile(r"[1-9]\d{0,8}(\.\d{1,3})?([KMGT]i?B)")
_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def read_config(path: str | os.PathLike[str] = "privet.toml") -> Config:
    """Return the contents of a privet.toml, or raise `BadConfig` with all its problems, each with its line.

    Args:
        path: the file.

    Raises:
        BadConfig: if the file has problems, which it lists.

    Example:
        >>> try:
        ...     config.read_config("absent.toml")
        ... except privet.RequestError as refused:
        ...     print(refused.code)
        request
    """
    if not isinstance(path, (str, os.PathLike)):
        raise BadParameter("path", path, "the path of a privet.toml")
    file = Path(os.path.abspath(path))
    return parse_config(_text(file, str(path)), file, name=str(path))


def parse_config(text: str, file: Path, *, name: str) -> Config:
    """Return the contents of the text of a privet.toml; paths are relative to `file`, which messages call `name`."""
    data, problems = _parse(name, text)
    config = _config(Section(data, (), problems), file)
    for line, what in problems.places.todos:
        problems.found.append(Problem(line, "", f"{TO_FILL_IN}: {what}; then remove this line"))
    if problems.found:
        raise BadConfig(name, problems.found)
    if config is None:
        raise RequestError(f"{name} cannot be used")
    return config


def _config(root: Section, file: Path) -> Config | None:
    folder = file.parent
    tables = read_tables(root, folder)
    schema = root.read("schema", read_schema, None)
    views = read_views(root, tables, schema)
    rules = read_rules(root)
    declared = root.data["tables"] if isinstance(root.data.get("tables"), dict) else {}
    analysts = read_analysts(root, declared, None if rules is None else rules.budget)
    engine = _engine(root, folder)
    ledger = _ledger(root, folder)
    fingerprint = root.section("fingerprint", '[fingerprint] with key = "fingerprint.key"')
    key_file = None
    if fingerprint is not None:
        key_file = fingerprint.need("key", path_in(folder, "key"), 'the path of your key: key = "fingerprint.key"')
        fingerprint.finish()
    root.finish()
    if rules is None:
        return None
    return Config(
        path=file,
        tables=tables,
        views=views,
        rules=rules,
        analysts=analysts,
        engine=engine,
        ledger=ledger,
        key_file=key_file,
        schema=schema,
    )


def _engine(root: Section, folder: Path) -> EngineLimits:
    section = root.section("engine", '[engine] with memory_limit = "4GB"')
    if section is None:
        return EngineLimits()
    usual = EngineLimits()
    made = EngineLimits(
        memory_limit=section.read("memory_limit", _memory, usual.memory_limit),
        threads=section.read("threads", lambda value: whole(value, "threads", least=1, most=1024), None),
        scans=section.read("scans", lambda value: whole(value, "scans", least=1, most=1024), None),
        parts=section.read("parts", lambda value: whole(value, "parts", least=1, most=1024), None),
        timeout=section.read("timeout", _seconds, positive(usual.timeout, "timeout")),
        time_step=section.read("time_step", read_step, None),
        kind=section.read("kind", _engine_kind, usual.kind),
        url=section.read("url", _server, None),
        password_file=section.read("password_file", path_in(folder, "password_file"), None),
        work_mem=section.read("work_mem", read_work_mem, usual.work_mem),
        remote=section.read("remote", read_remote, None),
    )
    _of_kind(section, made)
    section.finish()
    return made


_OWN = {
    "duckdb": ("memory_limit", "threads", "parts"),
    "postgres": ("url", "password_file", "work_mem"),
    "spark": ("remote",),
}
"""Settings that engines of one kind alone have."""


def _of_kind(section: Section, made: EngineLimits) -> None:
    """Refuse settings that an engine of this kind would ignore, and missing ones that it needs."""
    for name in (name for kind, names in _OWN.items() if kind != made.kind for name in names):
        if section.has(name):
            section.problem(name, f'is no setting of an engine of the kind "{made.kind}"; leave it out')
    if made.kind == "postgres" and made.url is None and not section.has("url"):
        section.problem("url", 'is missing: the address of the server, such as "postgresql://reader@db/hospital"')


def _server(value: object) -> str:
    """Return the address of a server; a password does not belong into a file that many read."""
    if has_password(value):
        allowed = "an address without a password: set PGPASSWORD, or name a password_file, or use ~/.pgpass"
        raise BadParameter("url", "an address with one", allowed)
    return str(value)


def _engine_kind(value: object) -> Any:
    if value not in ENGINES:
        raise BadParameter("kind", value, f"the engine: {' or '.join(map(repr, ENGINES))}")
    return value


def _seconds(value: object) -> Fraction:
    return read_seconds(above_zero("timeout")(value), "timeout")


def _memory(value: object) -> str:
    if not isinstance(value, str) or not _MEMORY.fullmatch(value):
        raise BadParameter("memory_limit", value, 'a size in quotes, such as "4GB" or "512MB"')
    read_memory_limit(value)
    return value


def _ledger(root: Section, folder: Path) -> LedgerPlace:
    usual = folder / "privet.ledger"
    section = root.section("ledger", '[ledger] with path = "privet.ledger"')
    if section is None:
        return LedgerPlace(path=usual)
    made = LedgerPlace(
        path=section.read("path", path_in(folder, "path"), usual),
        head=section.read("head", _head, None),
        url=section.read("url", _url, None),
    )
    if section.has("path") and section.has("url"):
        section.problem("url", "and path are both given: a ledger is in a file or in a server; leave one of them out")
    section.finish()
    return made


def _url(value: object) -> str:
    """Return the address of a ledger; a password does not belong into a file that many read."""
    if read_address(value).has_password:
        allowed = "an address without a password: set PGPASSWORD, or keep it in a password file (PGPASSFILE, ~/.pgpass)"
        raise BadParameter("url", "an address with one", allowed)
    return str(value)


def _head(value: object) -> str:
    return str(read_head(value))


def _text(file: Path, name: str) -> str:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise RequestError(f"{name} is not a file; pass the path of a privet.toml")
        with file.open("rb") as opened:
            read = opened.read(LARGEST + 1)
    except (OSError, ValueError):
        raise_alone(RequestError(f"{name} cannot be read; check the path, or make one: privet init"))
    if len(read) > LARGEST:
        raise RequestError(f"{name} is larger than {LARGEST >> 20} MiB, which no privet.toml needs to be")
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        line = read[: error.start].count(b"\n") + 1
    raise BadConfig(name, [Problem(line, "", "the text is not UTF-8; save the file as UTF-8")])


def _parse(name: str, text: str) -> tuple[dict[str, Any], Problems]:
    long = _LONG_KEY.search(text)
    if long is not None:
        line = text.count("\n", 0, long.end()) + 1
        raise BadConfig(name, [Problem(line, "", f"a key has more than {_MOST_PARTS} parts, which none needs")])
    try:
        data = tomllib.loads(text, parse_float=_exactly)
        return data, Problems(locate(text))
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    except RecursionError:
        message = "Brackets are nested too deeply (at line 1, column 1)"
    except ValueError:
        message = "A number has too many digits (at line 1, column 1)"
    match = _PLACE.search(message)
    line = int(match["line"]) if match and match["line"] else text.count("\n") + 1
    what = _PLACE.sub("", message)
    raise BadConfig(name, [Problem(line, "", f"this is not TOML: {what[:1].lower()}{what[1:]}")])


def _exactly(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise_alone(ValueError("not a decimal"))
