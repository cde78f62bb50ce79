"""Docstrings of public names: each has an example, and every example runs and returns what it shows.

An example sees `privet`, its packages, and a session over a table of visits, made anew for each docstring.
"""

from __future__ import annotations

import datetime
import doctest
import importlib
import inspect
import tempfile
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.ledger.memory import MemoryLedger

OTHERS = ("accounting", "audit", "config", "local", "mechanisms", "noise", "plots", "strategy", "stream", "survey")
PACKAGES = ("privet", *(f"privet.{name}" for name in OTHERS))
"""Where every public name has an example."""

ROWS = 100


def public(package: str) -> dict[str, Any]:
    """Return the public names of a package that are classes or functions, and what they name."""
    module = importlib.import_module(package)
    names = sorted(module._HOME) if module is privet else module.__all__
    found = {f"{package}.{name}": getattr(module, name) for name in names}
    return {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}


def methods(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods that a class defines itself."""
    for member, value in vars(kind).items():
        inner = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not member.startswith("_") and inspect.isfunction(inner):
            yield f"{name}.{member}", inner


EVERY = {name: value for package in PACKAGES for name, value in public(package).items()}
EVERY |= dict(methods("privet.Session", privet.Session))


def examples(value: Any) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


@cache
def visits() -> privet.Table:
    """Return a hundred visits of as many patients."""
    numbers = list(range(ROWS))
    wards, costs = ["A", "B"] * (ROWS // 2), list(map(float, numbers))
    columns = {
        "patient": privet.integer(),
        "ward": privet.category(["A", "B"]),
        "cost": privet.number(0, 100),
        "age": privet.integer(0, 110),
    }
    data = pa.table({"patient": numbers, "ward": wards, "cost": costs, "age": numbers})
    return privet.Table(
        data, unit=privet.Person("patient"), columns=columns, contribution=privet.Contribution(groups=1, rows=1)
    )


def known() -> dict[str, Any]:
    """Return what an example can use."""
    modules = {name: importlib.import_module(f"privet.{name}") for name in OTHERS}
    session = privet.Session({"visits": visits()}, budget=privet.Pure(epsilon=1))
    ledger = MemoryLedger(privet.Pure(epsilon=10))
    folder = f"{tempfile.mkdtemp()}/stream"
    own = {"visits": visits(), "session": session, "calls": calls(), "ledger": ledger, "folder": folder}
    return {"privet": privet, **modules, **own}


def calls() -> privet.Session:
    """Return a session over calls that are divided by month."""
    days = [datetime.date(2025, 1, 1) + datetime.timedelta(days=number) for number in range(90)]
    blocks = privet.Blocks("day", length="1 month", origin="2025-01-01", through="2025-03-31")
    columns = {"day": privet.date("2025-01-01", "2025-12-31")}
    table = privet.Table(pa.table({"day": days}), unit=privet.Rows(), columns=columns, blocks=blocks)
    return privet.Session({"calls": table}, budget=privet.Pure(epsilon=1))


@pytest.mark.parametrize("name", EVERY)
def test_every_public_name_has_an_example(name: str) -> None:
    assert "Example:" in (inspect.getdoc(EVERY[name]) or "")
    assert examples(EVERY[name])


def documented() -> dict[str, Any]:
    """Return everything with an example: public names of every package, and methods and properties of classes."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        for name, value in public(package).items():
            found.setdefault(name, value)
            if inspect.isclass(value):
                for member, held in vars(value).items():
                    inner = held.__func__ if isinstance(held, (classmethod, staticmethod)) else held
                    inner = inner.fget if isinstance(inner, property) else inner
                    inner = inner.func if isinstance(inner, cached_property) else inner
                    if inspect.isfunction(inner):
                        found.setdefault(f"{name}.{member}", inner)
    seen: set[int] = set()
    return {
        name: value
        for name, value in found.items()
        if id(value) not in seen and not seen.add(id(value)) and ">>> " in (inspect.getdoc(value) or "")
    }


@pytest.mark.parametrize(("name", "value"), documented().items())
def test_every_example_runs(name: str, value: Any) -> None:
    names = known()
    test = doctest.DocTest(examples(value), names, name, None, 0, inspect.getdoc(value))
    told: list[str] = []
    with names["session"]:
        doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert not told, "".join(told)


def test_help_for_ask_names_every_keyword_and_its_default() -> None:
    text = inspect.getdoc(privet.Session.ask) or ""
    for parameter in inspect.signature(privet.Session.ask).parameters:
        assert parameter == "self" or f"    {parameter}: " in text, parameter
    assert "e**epsilon" in text
    assert "Defaults to a tenth of the budget" in text
    assert "Defaults to 0.95" in text
