"""Questions as people write them, each asked of Privet with negligible noise and compared with plain DuckDB.

A world is public facts, `worlds/NAME.toml` in the form of a privet.toml, and data, `worlds/NAME.sql` in statements of
DuckDB. In a world a section `[tables.NAME]` or `[public.NAME]` needs no source, and there need be no `[budget]`. Views
for `"public"."NAME"` and for a declared `schema`, of all tables or of one, are made for plain DuckDB as well.

A question is a block of a file in `items` or `sources`: header lines, then the SQL, which ends with a semicolon at the
end of a line. The header lines are

    -- name: people_by_sex       a name of its own in the file
    -- world: pums               which world it is about
    -- plain: SELECT ...         the statement of DuckDB with the same meaning, where it is another one;
    --   GROUP BY sex            it goes on in lines that begin with three blanks after the dashes
    -- close: 0.02               a relative tolerance, for quantiles and what depends on them
    -- refused: words            the question must be refused, by this code or with these words in the message
    -- params: {"1": 30}         values for ?, $1 and :name: of ? and $1 by their place, of :name by that name
    -- unordered                 rows are compared as a set, although there is an ORDER BY
    -- like: SELECT ...          a question whose noise this one's may not exceed; if it does, it is not answered

Other lines that begin with two dashes are remarks. Rows are compared in order if the outermost SELECT has an ORDER BY,
and as a set otherwise. Where a question has OPTIONS(epsilon = ..., delta = ...), these numbers are replaced by those
of the run before it is asked.
"""

from __future__ import annotations

import datetime
import decimal
import inspect
import json
import math
import re
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import duckdb

from privet.config import BadConfig, Config, read_config
from privet.core.budget import Approximate
from privet.core.errors import PrivetError
from privet.session import Session

HERE = Path(__file__).resolve().parent
EPSILON = 10**20
"""What each question costs: so much that noise is negligible beside what is compared."""

BUDGET = Approximate(epsilon=EPSILON * 10**6, delta=Fraction(1, 2))
TIGHT = 1e-6
"""The tolerance of numbers, relative to the larger of the two and to 1, unless a question has another."""

NOTHING = 0.01
"""A count or a total of whole numbers that is nearer to 0 than this is that of an empty group."""

Kind = Literal["integer", "number", "text", "date", "boolean", "other", "none"]
Verdict = Literal["answered", "refused", "wrong", "rightly refused"]


@dataclass(frozen=True)
class Question:
    """One question of the corpus, as its block states it."""

    file: str
    name: str
    world: str
    sql: str
    plain: str
    close: float | None = None
    refused: str | None = None
    parameters: Mapping[str, Any] | None = None
    ordered: bool = False
    like: str | None = None

    @property
    def key(self) -> str:
        """The name that no other question of the corpus has."""
        return f"{self.file}:{self.name}"


@dataclass(frozen=True)
class Rows:
    """A result: names of columns, their kinds, rows, and which columns have noise."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: tuple[tuple[Any, ...], ...]
    noisy: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of a question: the verdict, why, and the seconds of processor time that planning took."""

    question: Question
    verdict: Verdict
    message: str = ""
    planning: float | None = None
    crashed: bool = False


# Questions


class BadQuestion(Exception):
    """A block that is not written as it must be."""


_HEADER = re.compile(r"--\s?(name|world|plain|close|refused|params|unordered|like)\b\s*:?\s*(.*)")


def files() -> list[Path]:
    """Return every file of questions."""
    return [*sorted((HERE / "items").glob("*.sql")), *sorted((HERE / "sources").glob("*.sql"))]


def read_questions(paths: Sequence[Path] | None = None) -> list[Question]:
    """Return the questions of some files, or of all."""
    return [question for path in (files() if paths is None else paths) for question in read_file(path)]


def read_file(path: Path) -> list[Question]:
    """Return the questions of a file, whose names must all be different."""
    label = f"{path.parent.name}/{path.stem}"
    found = [_question(label, header, sql) for header, sql in _blocks(path.read_text(encoding="utf-8"))]
    twice = [name for name, times in Counter(one.name for one in found).items() if times > 1]
    if twice:
        raise BadQuestion(f"{label}: two questions are named {twice[0]}")
    return found


def _blocks(text: str) -> Iterator[tuple[dict[str, str], str]]:
    header: dict[str, str] = {}
    sql: list[str] = []
    last = ""
    for line in text.splitlines():
        if not sql and not line.strip():
            continue
        if not sql and line.startswith("--"):
            if match := _HEADER.fullmatch(line.rstrip()):
                last = match[1]
                header[last] = match[2]
            elif last == "plain" and line.startswith("--   "):
                header[last] += "\n" + line[5:]
            else:
                last = ""
            continue
        sql.append(line)
        if line.rstrip().endswith(";"):
            yield header, "\n".join(sql).rstrip().removesuffix(";").rstrip()
            header, sql, last = {}, [], ""
    if sql or header:
        raise BadQuestion(f"a question does not end with a semicolon at the end of a line: {header.get('name', sql)}")


def _question(file: str, header: Mapping[str, str], sql: str) -> Question:
    if not header.get("name") or not header.get("world"):
        raise BadQuestion(f"{file}: a question has no name or no world: {sql[:60]}")
    return Question(
        file=file,
        name=header["name"],
        world=header["world"],
        sql=sql,
        plain=header.get("plain", "").strip().removesuffix(";") or sql,
        close=float(header["close"]) if "close" in header else None,
        refused=header.get("refused"),
        parameters=json.loads(header["params"]) if "params" in header else None,
        ordered="unordered" not in header and has_order(sql),
        like=header.get("like"),
    )


def has_order(sql: str) -> bool:
    """Return whether the outermost SELECT has an ORDER BY: one that no bracket encloses, comments and texts apart."""
    bare = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", " ", sql, flags=re.DOTALL)
    while (inner := re.sub(r"\([^()]*\)", " ", bare)) != bare:
        bare = inner
    return re.search(r"\border\s+by\b", bare, re.IGNORECASE) is not None


# Worlds


@dataclass
class World:
    """A world that is open: plain DuckDB and a session over the same data."""

    name: str
    plain: duckdb.DuckDBPyConnection
    session: Session
    folder: tempfile.TemporaryDirectory[str] = field(repr=False)

    def close(self) -> None:
        """Close both."""
        self.session.close()
        self.plain.close()
        self.folder.cleanup()


_SECTION = re.compile(r"\[(tables|public)\.(\"[^\"]+\"|[^.\]]+)\]\s*(?:#.*)?")


def open_world(name: str, worlds: Path = HERE / "worlds") -> World:
    """Return a world, opened: a connection to plain DuckDB and a session of Privet over the same data."""
    declared = (worlds / f"{name}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(declared)
    sections = {**data.get("tables", {}), **data.get("public", {})}
    plain = duckdb.connect(":memory:")
    plain.execute("SET threads = 1")
    plain.execute((worlds / f"{name}.sql").read_text(encoding="utf-8"))
    folder = tempfile.TemporaryDirectory(prefix=f"privet-corpus-{name}-")
    for number, table in enumerate(sections):
        if "source" not in sections[table]:
            path = Path(folder.name) / f"{number}.parquet"
            plain.execute(f"COPY (SELECT * FROM \"{table}\") TO '{path}' (FORMAT parquet)")
    for table, section in sections.items():
        for schema in {"public", section.get("schema", data.get("schema", "public")).split(".")[-1]}:
            plain.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
            plain.execute(f'CREATE OR REPLACE VIEW "{schema}"."{table}" AS SELECT * FROM main."{table}"')
    config = _config(declared, tuple(sections), sections, Path(folder.name))
    more = {"schema": config.schema} if hasattr(config, "schema") else {}
    return World(name, plain, Session(config.tables, views=config.views, budget=BUDGET, **more), folder)


def _config(declared: str, names: Sequence[str], sections: Mapping[str, Any], folder: Path) -> Config:
    lines = []
    for line in declared.splitlines():
        lines.append(line)
        if (match := _SECTION.fullmatch(line.strip())) and "source" not in sections[match[2].strip('"')]:
            lines.append(f'source = "{names.index(match[2].strip(chr(34)))}.parquet"')
    if not any(line.strip() == "[budget]" for line in lines):
        lines += ["", "[budget]", "epsilon = 1", "delta = 1e-6"]
    path = folder / "privet.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        return read_config(path)
    except BadConfig as error:
        if "schema" not in str(error):
            raise
    path.write_text("\n".join(line for line in lines if not re.match(r"schema\s*=", line)) + "\n", encoding="utf-8")
    return read_config(path)


class Worlds:
    """The worlds of a run, each opened once, when it is first needed."""

    def __init__(self) -> None:
        self._open: dict[str, World] = {}

    def __getitem__(self, name: str) -> World:
        if name not in self._open:
            self._open[name] = open_world(name)
        return self._open[name]

    def __enter__(self) -> Worlds:
        return self

    def __exit__(self, *_: object) -> None:
        for world in self._open.values():
            world.close()
        self._open.clear()


# Asking


def judge(question: Question, world: World) -> Outcome:
    """Return what becomes of a question: Privet is asked, and what it answers is compared with plain DuckDB."""
    try:
        expected = None if question.refused is not None else plain_rows(question, world.plain)
    except duckdb.Error as error:
        return Outcome(question, "wrong", f"plain DuckDB cannot run it: {error}")
    more: dict[str, Any] = {} if question.parameters is None else {"parameters": bound(question.parameters)}
    if more and "parameters" not in inspect.signature(world.session.ask).parameters:
        return _refused(question, "a session takes no parameters")
    try:
        sql = with_options(question.sql)
        more |= {"epsilon": EPSILON} if sql == question.sql else {}
        planning = planning_time(world.session, sql, more)
        answer = world.session.ask(sql, **more)
    except PrivetError as error:
        return _refused(question, f"{error.code}: {error}")
    except Exception as error:
        return Outcome(question, "wrong", f"crashed: {type(error).__name__}: {error}", crashed=True)
    if expected is None:
        return Outcome(question, "wrong", "answered, and must be refused", planning)
    difference = compare(expected, answer_rows(answer), question)
    if difference is not None:
        return Outcome(question, "wrong", difference, planning)
    more_noise = noisier(question, world.session)
    return Outcome(question, "answered" if more_noise is None else "refused", more_noise or "", planning)


def _refused(question: Question, message: str) -> Outcome:
    if question.refused is None:
        return Outcome(question, "refused", message)
    wanted = question.refused.strip().lower()
    if wanted in message.lower():
        return Outcome(question, "rightly refused", message)
    return Outcome(question, "refused", f"refused, but without {question.refused!r}: {message}")


_OPTION = re.compile(r"\b(epsilon|delta)(\s*=\s*)[0-9.]+(?:[eE][+-]?[0-9]+)?", re.IGNORECASE)


def with_options(sql: str) -> str:
    """Return a question whose OPTIONS, if it has any, state the epsilon and the delta of the run."""
    numbers = {"epsilon": str(EPSILON), "delta": "0.5"}
    return re.sub(
        r"\bOPTIONS\s*\([^()]*\)",
        lambda options: _OPTION.sub(lambda one: one[1] + one[2] + numbers[one[1].lower()], options[0]),
        sql,
        count=1,
        flags=re.IGNORECASE,
    )


def planning_time(session: Session, sql: str, more: Mapping[str, Any]) -> float:
    """Return the seconds of processor time that planning takes: the least of three tries, if the first is long."""
    times: list[float] = []
    for _ in range(3):
        start = time.thread_time()
        session.plan(sql, **more)
        times.append(time.thread_time() - start)
        if times[0] < 0.005:
            break
    return min(times)


def bound(parameters: Mapping[str, Any]) -> list[Any] | dict[str, Any]:
    """Return parameters as a call takes them: a list if they are numbered, and otherwise by their names."""
    if all(name.isdigit() for name in parameters):
        return [parameters[name] for name in sorted(parameters, key=int)]
    return dict(parameters)


def plain_rows(question: Question, plain: duckdb.DuckDBPyConnection) -> Rows:
    """Return what plain DuckDB answers."""
    parameters = None if question.parameters is None else bound(question.parameters)
    statement = re.sub(r"(?<![:\w]):(?=[A-Za-z_])", "$", question.plain) if parameters is not None else question.plain
    cursor = plain.execute(statement, parameters)
    described = cursor.description or []
    rows = tuple(tuple(_value(value) for value in row) for row in cursor.fetchall())
    return Rows(tuple(one[0] for one in described), tuple(_kind_of_type(str(one[1])) for one in described), rows)


def answer_rows(answer: Any) -> Rows:
    """Return what Privet answers, in the same form."""
    columns = [tuple(_value(value) for value in series.values) for series in answer.series]
    kinds = tuple(_kind_of_values(column) for column in columns)
    names = tuple(series.name for series in answer.series)
    return Rows(names, kinds, tuple(zip(*columns, strict=True)), tuple(series.noisy for series in answer.series))


def _value(value: Any) -> Any:
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None)
        return value.date() if value.time() == datetime.time() else value
    return value


def _kind_of_type(name: str) -> Kind:
    name = name.upper()
    if "INT" in name and not name.startswith("INTERVAL"):
        return "integer"
    if name.startswith(("DECIMAL", "DOUBLE", "FLOAT", "REAL", "NUMBER")):
        return "number"
    if name.startswith(("VARCHAR", "ENUM", "STRING", "TEXT")):
        return "text"
    if name.startswith(("DATE", "TIMESTAMP")):
        return "date"
    return "boolean" if name.startswith("BOOL") else "none" if name == '"NULL"' else "other"


def _kind_of_values(values: Sequence[Any]) -> Kind:
    kinds = {_kind_of_value(value) for value in values if value is not None}
    if kinds == {"integer", "number"}:
        return "number"
    return "none" if not kinds else kinds.pop() if len(kinds) == 1 else "other"


def _kind_of_value(value: Any) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, datetime.date) else "other"


def noisier(question: Question, session: Session) -> str | None:
    """Return how much more noise a question has, at the same price, than the one that it must be like; or None."""
    if question.like is None:
        return None
    own, other = (
        max(error for series in session.ask(sql, epsilon=1).series for error in series.error or () if error == error)
        for sql in (question.sql, question.like)
    )
    return f"too much noise: a standard error of {own:.4g} and not {other:.4g}" if own > other * 1.01 else None


# Comparing


def compare(plain: Rows, answer: Rows, question: Question) -> str | None:
    """Return the first difference between what DuckDB and what Privet answer, or None.

    Two things differ by design. A total of whole numbers is a number once it has noise. And a group that is declared
    is shown though it is empty: then each count in its row is 0.
    """
    if len(plain.names) != len(answer.names):
        return f"columns {answer.names} and not {plain.names}"
    for mine, theirs in zip(answer.names, plain.names, strict=True):
        if mine != theirs and _is_named(theirs, question.plain):
            return f"a column is named {mine!r} and not {theirs!r}"
    noisy = answer.noisy or (False,) * len(answer.names)
    for place, (mine, theirs) in enumerate(zip(answer.kinds, plain.kinds, strict=True)):
        numbers = {mine, theirs} == {"integer", "number"} and noisy[place]
        empty = mine == "none" or all(row[place] is None for row in plain.rows)
        if mine != theirs and not numbers and not empty:
            return f"the column {answer.names[place]!r} is of kind {mine} and not {theirs}"
    tolerance = TIGHT if question.close is None else question.close
    near = [kind == "date" and tolerance > TIGHT for kind in plain.kinds]
    rows = _without_empty_groups(plain, answer, [one or other for one, other in zip(noisy, near, strict=True)])
    if question.ordered:
        return _in_order(plain.rows, rows, tolerance)
    return _as_sets(plain.rows, rows, tolerance)


def _is_named(name: str, sql: str) -> bool:
    """Whether a column is named by the question: DuckDB makes up names such as count_star() for the others."""
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None or f'"{name}"' in sql


def _without_empty_groups(plain: Rows, answer: Rows, noisy: Sequence[bool]) -> tuple[tuple[Any, ...], ...]:
    if not any(noisy) or all(noisy):
        return answer.rows
    keys = [place for place, one in enumerate(noisy) if not one]
    counts = [place for place, kind in enumerate(plain.kinds) if kind == "integer" and noisy[place]]
    there = {tuple(map(_hashable, (row[place] for place in keys))) for row in plain.rows}
    return tuple(
        row
        for row in answer.rows
        if tuple(map(_hashable, (row[place] for place in keys))) in there
        or any(row[place] is not None and abs(row[place]) > NOTHING for place in counts)
    )


def _hashable(value: Any) -> Any:
    return (type(value).__name__, value) if isinstance(value, bool) else value


def _in_order(plain: Sequence[tuple[Any, ...]], rows: Sequence[tuple[Any, ...]], tolerance: float) -> str | None:
    for place, (theirs, mine) in enumerate(zip(plain, rows, strict=False)):
        if not _same(theirs, mine, tolerance):
            return f"row {place + 1} is {mine} and not {theirs}"
    return None if len(plain) == len(rows) else f"{len(rows)} rows and not {len(plain)}"


def _as_sets(plain: Sequence[tuple[Any, ...]], rows: Sequence[tuple[Any, ...]], tolerance: float) -> str | None:
    left: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        left.setdefault(_exact_part(row, tolerance), []).append(row)
    for theirs in plain:
        near = left.get(_exact_part(theirs, tolerance), [])
        found = next((place for place, mine in enumerate(near) if _same(theirs, mine, tolerance)), None)
        if found is None:
            return f"no row is {theirs}; " + (f"the nearest is {near[0]}" if near else f"the rows are {rows[:3]}")
        del near[found]
    extra = [row for near in left.values() for row in near]
    return f"{len(rows)} rows and not {len(plain)}, such as {extra[0]}" if extra else None


def _exact_part(row: tuple[Any, ...], tolerance: float) -> tuple[Any, ...]:
    kinds = (int, float, datetime.date) if tolerance > TIGHT else (int, float)
    return tuple(
        "near" if isinstance(value, kinds) and not isinstance(value, bool) else _hashable(value) for value in row
    )


def _same(theirs: tuple[Any, ...], mine: tuple[Any, ...], tolerance: float) -> bool:
    return all(_equal(one, other, tolerance) for one, other in zip(theirs, mine, strict=True))


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
    if tolerance > TIGHT and isinstance(one, datetime.date) and isinstance(other, datetime.date):
        days = abs((_moment(one) - _moment(other)).total_seconds()) / 86400
        return days <= tolerance * 365
    return bool(one == other)


def _moment(value: datetime.date) -> datetime.datetime:
    return value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
