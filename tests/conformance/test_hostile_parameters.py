"""Every parameter of every public callable, given about 150 hostile values.

What is allowed: a result that is what a number can be, or a `RequestError` that names the parameter, within a second of
CPU time beyond what the call takes anyway. A result without NaN, from a value of a kind that the parameter's annotation
or an example allows; an opaque object is refused by all, which also shows that no argument goes unread.

A fixed tenth of the trials runs always, and all of them with `PRIVET_SOAK`.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hostile_examples import KEYWORDS
from hostile_kinds import holds_nan, is_allowed, is_like
from hostile_surface import Entry, Missing, Working, entries, working
from hostile_values import OPAQUE, VALUES, Hostile

from privet.core.errors import (
    BudgetExceeded,
    InvariantError,
    LedgerError,
    ParseError,
    RequestError,
    Unbounded,
    UnknownName,
    Unsupported,
    WrongKind,
)

SOAK = bool(os.environ.get("PRIVET_SOAK"))
REFUSED = {
    "privet.ledger.memory.MemoryLedger.backup": "what is in memory cannot be copied to a path",
    "privet.engines.duckdb.engine.DuckDB.check": "takes scans that the planner made",
    "privet.engines.duckdb.engine.DuckDB.scan": "takes scans that the planner made",
    "privet.engines.duckdb.engine.DuckDB.list_public": "takes a relation over public tables from a plan",
    "privet.engines.duckdb.engine.DuckDB.public_rows": "takes the name of a public table from a plan",
    "privet.dbapi.connection.Cursor.executemany": "each set of parameters would be charged",
    "privet.stream.resume_stream": "takes the folder and the ledger of one stream, which belong together",
}
"""Callables that refuse every argument, or that only a session calls, and why."""

ENTRIES = [entry for entry in entries() if entry.name not in REFUSED]
SECONDS = 1.0

ABOUT_THE_QUESTION = (ParseError, UnknownName, Unsupported, Unbounded, WrongKind)
"""What refuses a value of the right kind for what it says: these name the column, the function or the place in it."""

ANYTHING = {
    "privet.audit.Moved.unit": "whatever a table has in its unit column",
    "privet.core.numbers.positive.parameter": "the name that a refusal uses, and nothing else",
    "privet.stream.Arrival.value": "private: a row whose value is no number is dropped",
    "privet.stream.Arrival.group": "private: a row of no known group is dropped",
    "privet.stream.Arrival.person": "private: a row without a person is dropped",
    "privet.mechanisms.Local.value": "private: read, and refused unquoted, where it is released",
    "privet.mechanisms.Local.at_distance": "private: read, and refused unquoted, where it is released",
}
"""Parameters that take anything at all, and why."""


PATIENT = {
    "privet.TopK.delta": 10.0,
    "privet.accounting.calibrate_by_theorem.times": 20.0,
    "privet.plots.plot_composition.delta": 20.0,
    "privet.sensitivity_by_enumeration.domain": 20.0,
}
"""Seconds where a small delta, many releases or a large domain take work that is bounded: slow, and yet answered."""

OURS = {
    "privet.SqliteLedger.store.released": "made by a release alone",
    "privet.SqliteLedger.close_steps.released": "made by a release alone",
    "privet.ledger.memory.MemoryLedger.close_steps.released": "made by a release alone",
    "privet.ledger.memory.MemoryLedger.store.released": "made by a release alone",
}
"""Parameters that Privet alone gives; what is wrong with them is an `InvariantError`."""


class TooLong(BaseException):
    """A trial took more than its time; not an Exception, so that nothing catches it."""


@dataclass(frozen=True)
class Fault:
    """What a value did to a parameter that it should not."""

    entry: str
    parameter: str
    value: str
    what: str

    def __str__(self) -> str:
        return f"{self.entry}({self.parameter}= {self.value}): {self.what}"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` inside after a number of seconds of CPU time, or thirty times as many by the clock."""

    def stop(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 30 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])


def chosen(entry: Entry, parameter: str) -> list[Hostile]:
    """Return the values to try: all, or a tenth that is always the same, and the opaque one in any case."""
    if SOAK:
        return list(VALUES)
    return [
        value
        for value in VALUES
        if value is OPAQUE or zlib.crc32(f"{entry.name}.{parameter}.{value.name}".encode()) % 10 == 0
    ]


def names_it(message: str, parameter: str) -> bool:
    """Return whether a message names a parameter, in the singular or the plural."""
    stem = f"{parameter[:-3]}y" if parameter.endswith("ies") else parameter.removesuffix("s")
    return parameter in message or (len(stem) > 1 and stem in message) or parameter.replace("_", " ") in message


def try_value(entry: Entry, call: Working, parameter: str, hostile: Hostile, seconds: float) -> Fault | None:
    """Give one parameter one value, and return what is wrong with what came of it."""

    def fault(what: str) -> Fault:
        return Fault(entry.name, parameter, hostile.name, what)

    def allowed(value: object) -> bool:
        hint, default = entry.hint(parameter), entry.parameters[parameter].default
        example = call.arguments[parameter]()
        if "NaN" in (entry.function.__doc__ or "") and holds_nan(value):
            return True
        return value is default or is_allowed(value, hint, example) or is_like(value, example)

    value = hostile.make()
    ready = call.prepare(**{parameter: value})
    started = time.process_time()
    try:
        with limited(seconds):
            result = ready()
            unread = holds_nan(result) and "NaN" not in (entry.function.__doc__ or "")
    except RequestError as error:
        operator = parameter == "other" and entry.name.split(".")[-1].startswith("__")
        several = entry.parameters[parameter].kind is inspect.Parameter.VAR_KEYWORD
        named = KEYWORDS.get(parameter, parameter) if several else parameter
        if operator or names_it(str(error), named) or value is entry.parameters[parameter].default:
            return None
        if isinstance(error, ABOUT_THE_QUESTION) and allowed(value):
            return None
        return fault(f"the message names nothing: {error}")
    except LedgerError as error:
        told = allowed(value) or parameter == "lines"  # a line that is read before the one that is none
        return None if told else fault(f"the ledger is blamed: {error}")
    except InvariantError as error:
        return None if f"{entry.name}.{parameter}" in OURS else fault(f"Privet blames itself: {error}")
    except BudgetExceeded:
        return None
    except TooLong:
        return fault("takes too long")
    except Exception as error:
        if isinstance(error, TypeError) and error.__traceback__ and _from_signature(error):
            return None
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        return fault(f"{type(error).__name__} at {where}: {_told(error)[:100]}")
    if result is NotImplemented:
        return None  # Python tells the caller that there is no such comparison
    if time.process_time() - started > seconds:
        return fault(f"takes {time.process_time() - started:.1f} s")
    if f"{entry.name}.{parameter}" in ANYTHING:
        return None
    if unread:
        return fault("NaN is in the result")
    if hostile is OPAQUE:
        return fault("accepted unread")
    return None if allowed(value) else fault("accepted, though it is of another kind")


def _from_signature(error: TypeError) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return "argument" in str(error) and Path(frames[-1].filename).name in (
        "hostile_surface.py",
        "test_hostile_parameters.py",
    )


def _told(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "?"


COUNTS = {"callables": 0, "parameters": 0, "trials": 0}


def faults_of(entry: Entry) -> Iterator[Fault]:
    """Yield what is wrong with a callable."""
    COUNTS["callables"] += 1
    for parameter in entry.parameters:
        COUNTS["parameters"] += 1
        try:
            call = working(entry, parameter)
        except Missing as missing:
            yield Fault(entry.name, parameter, "", str(missing))
            continue
        started = time.process_time()
        call.call()
        seconds = PATIENT.get(f"{entry.name}.{parameter}", SECONDS + 2 * (time.process_time() - started))
        for hostile in chosen(entry, parameter):
            COUNTS["trials"] += 1
            found = try_value(entry, call, parameter, hostile, seconds)
            if found is not None:
                yield found


@pytest.fixture(scope="module", autouse=True)
def told() -> Iterator[None]:
    """Print how much was tried, where output is shown."""
    started = time.process_time()
    yield
    counts = ", ".join(f"{count:,} {name}" for name, count in COUNTS.items())
    print(f"\n{counts}, in {time.process_time() - started:.0f} s of CPU time")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own: a text is a path to some parameters."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_a_hostile_value_is_refused_by_name_or_answered(entry: Entry) -> None:
    faults = list(faults_of(entry))
    assert not faults, "\n".join(map(str, faults))
