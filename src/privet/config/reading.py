"""Reads a privet.toml: strictly, exactly, and all that is wrong with it at once. Opens no data and no ledger."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.exact import positive, read_seconds, whole
from privet.ledger.chain import read_head
from privet.pace import read_step

from .accounts import read_analysts, read_rules
from .locate import locate
from .problems import BadConfig, Problem, Problems, Section
from .scalars import above_zero, path_in
from .tables import read_tables
from .values import Config, EngineLimits, LedgerPlace
from .views import read_views

LARGEST = 2**20
"""How many bytes a privet.toml may have."""

_MOST_PARTS = 50
_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_KEY}){{{_MOST_PARTS}}}", re.MULTILINE)
"""A key of so many parts that the reader, whose time grows with their square, would not come back."""

TO_FILL_IN = "still to be filled in"
"""How a problem begins that a note in the file stands for."""

_MEMORY = re.compile(r"[1-9]\d{0,8}(\.\d{1,3})?([KMGT]i?B)")
_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def read_config(path: str | os.PathLike[str] = "privet.toml") -> Config:
    """Return what a privet.toml says, or raise `BadConfig` with all that is wrong with it, each with its line."""
    if not isinstance(path, (str, os.PathLike)):
        raise BadParameter("path", path, "the path of a privet.toml")
    file = Path(os.path.abspath(path))
    return parse_config(_text(file, str(path)), file, name=str(path))


def parse_config(text: str, file: Path, *, name: str) -> Config:
    """Return what the text of a privet.toml says; paths are relative to `file`, which messages call `name`."""
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
    views = read_views(root, tables)
    rules = read_rules(root)
    declared = root.data["tables"] if isinstance(root.data.get("tables"), dict) else {}
    analysts = read_analysts(root, declared, None if rules is None else rules.budget)
    engine = _engine(root)
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
    )


def _engine(root: Section) -> EngineLimits:
    section = root.section("engine", '[engine] with memory_limit = "4GB"')
    if section is None:
        return EngineLimits()
    usual = EngineLimits()
    made = EngineLimits(
        memory_limit=section.read("memory_limit", _memory, usual.memory_limit),
        threads=section.read("threads", lambda value: whole(value, "threads", least=1, most=1024), None),
        timeout=section.read("timeout", _seconds, positive(usual.timeout, "timeout")),
        time_step=section.read("time_step", read_step, None),
    )
    section.finish()
    return made


def _seconds(value: object) -> Fraction:
    return read_seconds(above_zero("timeout")(value), "timeout")


def _memory(value: object) -> str:
    if not isinstance(value, str) or not _MEMORY.fullmatch(value):
        raise BadParameter("memory_limit", value, 'a size in quotes, such as "4GB" or "512MB"')
    return value


def _ledger(root: Section, folder: Path) -> LedgerPlace:
    usual = folder / "privet.ledger"
    section = root.section("ledger", '[ledger] with path = "privet.ledger"')
    if section is None:
        return LedgerPlace(path=usual)
    made = LedgerPlace(
        path=section.read("path", path_in(folder, "path"), usual), head=section.read("head", _head, None)
    )
    section.finish()
    return made


def _head(value: object) -> str:
    return str(read_head(value))


def _text(file: Path, name: str) -> str:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise RequestError(f"{name} is not a file; give the path of a privet.toml")
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
        told = str(error)
    except RecursionError:
        told = "Brackets are nested too deeply (at line 1, column 1)"
    except ValueError:
        told = "A number has too many digits (at line 1, column 1)"
    found = _PLACE.search(told)
    line = int(found["line"]) if found and found["line"] else text.count("\n") + 1
    what = _PLACE.sub("", told)
    raise BadConfig(name, [Problem(line, "", f"this is not TOML: {what[:1].lower()}{what[1:]}")])


def _exactly(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise_alone(ValueError("not a decimal"))
