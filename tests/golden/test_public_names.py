"""Every public name, signature, error code and command: what a program that uses Privet can rely on.

`public_surface.json` has what people can write today. What is missing or different breaks programs, so the
file is written anew only on purpose, by

    PRIVET_WRITE_GOLDEN=surface .venv/bin/python -m pytest tests/golden/test_public_names.py

Annotations stand by themselves, beside the signatures, for they may become more precise where nothing else changes.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import functools
import importlib
import inspect
import json
import pkgutil
import sys
import types
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

import privet

sys.path.insert(0, str(Path(__file__).parent))

from golden_hospital import HERE, tables, to_be_written, written

FILE = HERE / "public_surface.json"
PACKAGES = ("privet", *(f"privet.{one}" for one in ("accounting", "audit", "config", "mechanisms", "noise", "plots")))
PLAIN = (bool, int, float, str, Fraction, tuple, frozenset, datetime.date, datetime.timedelta, type(None))
INHERITED = set(dir(Exception)) | set(dir(tuple))
"""What a class has from Python itself."""

DATACLASS = {"__annotations__", "__dataclass_fields__", "__dataclass_params__", "__match_args__", "__weakref__"}
EVERY = (
    set(dir(object))
    | {"__dict__", "__slotnames__", "__module__", "__slots__", "__abstractmethods__", "__parameters__"}
    | DATACLASS
)
EVERY |= {"__post_init__", "__orig_bases__", "__replace__", "__static_attributes__", "__firstlineno__", "__del__"}
EVERY |= {"__setstate__", "__getstate__", "__protocol_attrs__", "__non_callable_proto_members__", "__rich__"}

PLAN = {"digest", "event", "explain", "price", "query", "rounds", "spend", "target", "to_dict"}
RELIED_ON: Mapping[str, set[str]] = {
    "Session.plan()": PLAN,
    "Session.plan() of levels": PLAN,
    "Session.plan_all()": {"cost", "digest", "event", "explain", "plans", "releases", "spend"},
    "Table().schema": {"unit", "columns", "neighbors", "contribution", "rows", "units", "version", "key"},
}


def default(value: Any) -> str:
    """Return a default as text; what is no plain value is told by its kind alone."""
    if value is inspect.Parameter.empty:
        return ""
    if type(value) in PLAIN:
        return f"={value!r}"
    return "=<function>" if callable(value) else "=<value>"


def signature_of(what: Any) -> str:
    """Return how something is called: the names and kinds of its parameters and their defaults."""
    try:
        found = inspect.signature(what)
    except (TypeError, ValueError):
        return "?"
    bare = [
        one.replace(annotation=inspect.Parameter.empty, default=inspect.Parameter.empty)
        for one in found.parameters.values()
    ]
    texts, star = [], False
    for one, given in zip(bare, found.parameters.values(), strict=True):
        if one.kind is one.KEYWORD_ONLY and not star:
            texts.append("*")
        star = star or one.kind in (one.VAR_POSITIONAL, one.KEYWORD_ONLY)
        texts.append(f"{one}{default(given.default)}")
        if one.kind is one.POSITIONAL_ONLY:
            texts.append("/")
    last = max((at for at, text in enumerate(texts) if text == "/"), default=-1)
    return f"({', '.join(text for at, text in enumerate(texts) if text != '/' or at == last)})"


def annotations_of(what: Any) -> dict[str, str]:
    """Return the annotation of each parameter, and of what is returned, as text."""
    try:
        found = inspect.signature(what)
    except (TypeError, ValueError):
        return {}
    listed = {name: one.annotation for name, one in found.parameters.items()}
    listed["return"] = found.return_annotation
    return {
        name: one if isinstance(one, str) else inspect.formatannotation(one)
        for name, one in listed.items()
        if one is not inspect.Signature.empty
    }


def members_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members of a class, its own and inherited, and the operators that it has of its own."""
    for name in sorted(dir(kind)):
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        owner = next(one for one in kind.__mro__ if name in vars(one)) if name in _held(kind) else None
        if owner is None or not owner.__module__.startswith("privet"):
            continue
        if name in EVERY or (name in INHERITED and name.startswith("__")):
            operators = {"__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__iter__", "__len__", "__getitem__"}
            operators |= {"__add__", "__mul__", "__rmul__", "__contains__", "__hash__", "__init__"}
            if name not in operators or name in ("__init__", "__hash__", "__eq__"):
                continue
        yield name, inspect.getattr_static(kind, name)


def _held(kind: type) -> set[str]:
    return {name for one in kind.__mro__ for name in vars(one)}


def member(what: Any) -> str:
    """Return what a member of a class is: how it is called, or that it is read."""
    if isinstance(what, (property, functools.cached_property)):
        return "property"
    if isinstance(what, (classmethod, staticmethod)):
        return f"{type(what).__name__} {signature_of(what.__func__)}"
    if inspect.isfunction(what):
        return signature_of(what)
    return "attribute"


def class_of(kind: type) -> dict[str, Any]:
    """Return what can be done with a class: how it is made, its fields and its members."""
    fields = [one.name for one in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    members = {name: member(what) for name, what in members_of(kind) if name not in fields}
    return {"fields": [name for name in fields if not name.startswith("_")], "members": members}


def described(what: Any) -> dict[str, Any]:
    """Return what a public name stands for."""
    if isinstance(what, type):
        return {"kind": "class", "signature": signature_of(what), **class_of(what)}
    if isinstance(what, types.ModuleType):
        return {"kind": "module"}
    if isinstance(what, (types.FunctionType, functools.partial)):
        return {"kind": "function", "signature": signature_of(what)}
    return {"kind": "value"}


def returned() -> dict[str, Any]:
    """Return what can be done with the values that calls return, under the calls: their classes have no public name."""
    budget = privet.Approximate(epsilon=100, delta=1e-6)
    count = privet.Laplace(sensitivity=1, epsilon=1)
    with privet.Session(tables(), budget=budget) as session:
        visit = session.table("visit")
        mean = "SELECT kind, AVG(cost) AS cost FROM visit GROUP BY kind"
        answer = session.ask(mean, within="50%", at_most=1)
        values = {
            "col()": privet.col("cost"),
            "col().desc()": privet.col("cost").desc(),
            "count()": privet.count(),
            "integer()": privet.integer(),
            "Table().schema": tables()["visit"].schema,
            "Session.table()": visit,
            "Session.table().agg()": visit.agg(n=privet.count()),
            "Session.plan()": session.plan(mean, epsilon=1),
            "Session.plan() of levels": session.plan("SELECT kind, COUNT(*) FROM visit GROUP BY ROLLUP (kind)"),
            "Session.plan_all()": session.plan_all([mean], epsilon=1),
            "Session.ask()": answer,
            "Session.ask()[]": answer["cost"],
            "Session.ask().receipt": answer.receipt,
            "Session.ask().accuracy": answer.accuracy,
            "Session.ask().estimate": session.ask("SELECT COUNT(*) FROM staff", epsilon=1).estimate,
            "Session.clipping()": session.clipping("SELECT AVG(cost) FROM visit", epsilon=1),
            "Session.remaining()": session.remaining(),
            "Session.history()[0]": session.history()[0],
            "Session.ledger": session.ledger,
            "Laplace().event": count.event,
            "accounting.loss_distribution()": privet.accounting.loss_distribution(count.event),
        }
        return {call: narrowed(call, class_of(type(value))) for call, value in values.items()}


def narrowed(call: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return what people are told to use of a value whose other fields are for the package itself."""
    if call not in RELIED_ON:
        return found
    members = {name: what for name, what in found["members"].items() if name in RELIED_ON[call]}
    return {"fields": [name for name in found["fields"] if name in RELIED_ON[call]], "members": members}


def modules() -> list[types.ModuleType]:
    """Return every module of the package."""
    listed = pkgutil.walk_packages(privet.__path__, "privet.")
    return [importlib.import_module(one.name) for one in listed if not one.name.endswith("__main__")]


def errors() -> dict[str, Any]:
    """Return every error with its code, exit status and HTTP status, and what it is a kind of."""
    modules()

    def kinds(kind: type[privet.PrivetError]) -> Iterator[type[privet.PrivetError]]:
        yield kind
        for one in kind.__subclasses__():
            home = sys.modules[one.__module__]
            # the database API joins classes at run time, each of which is named as one of its two
            if one.__module__.startswith("privet.") and getattr(home, one.__qualname__, None) is one:
                yield from kinds(one)

    listed = {one.__name__: one for one in kinds(privet.PrivetError)}
    return {
        name: {
            "code": kind.code,
            "exit status": kind.exit_status,
            "HTTP status": kind.http_status,
            "is a": kind.__mro__[1].__name__,
            "signature": signature_of(kind),
        }
        for name, kind in sorted(listed.items())
    }


def parameter(one: click.Parameter) -> str:
    """Return an option or argument of a command in one line, without the words that explain it."""
    facts = [type(one).__name__.lower(), one.type.name if one.nargs == 1 else f"{one.type.name} x {one.nargs}"]
    if isinstance(one.type, click.Choice):
        facts.append("|".join(str(choice) for choice in one.type.choices))
    facts += [name for name in ("required", "multiple", "is_flag", "hidden") if getattr(one, name, False)]
    if type(one.default) in (int, float, str) and one.default:
        facts.append(f"default {one.default!r}")
    return f"{' '.join((*one.opts, *one.secondary_opts))}: {', '.join(facts)}"


def commands(command: click.Command, name: str = "privet") -> Iterator[tuple[str, list[str]]]:
    """Yield every command with its options and arguments."""
    yield name, [parameter(one) for one in command.params]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from commands(found, f"{name} {inner}")


def names_in(package: str, pinned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public names of a package, those that were public before among them, and what they stand for."""
    module = importlib.import_module(package)
    names = {*module.__all__, *(one for one in pinned if hasattr(module, one))}
    return {name: getattr(module, name) for name in sorted(names)}


def surface(pinned: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything public, as plain data."""
    main = importlib.import_module("privet.cli").main
    found: dict[str, Any] = {"names": {}, "listed": {}, "annotations": {}}
    for package in PACKAGES:
        names = names_in(package, pinned.get("names", {}).get(package, {}))
        found["names"][package] = {name: described(what) for name, what in names.items()}
        found["listed"][package] = sorted(importlib.import_module(package).__all__)
        for name, what in names.items():
            if isinstance(what, type):
                found["annotations"][f"{package}.{name}"] = annotations_of(what)
                for inner, held in members_of(what):
                    called = held.__func__ if isinstance(held, (classmethod, staticmethod)) else held
                    if inspect.isfunction(called):
                        found["annotations"][f"{package}.{name}.{inner}"] = annotations_of(called)
            elif isinstance(what, (types.FunctionType, functools.partial)):
                found["annotations"][f"{package}.{name}"] = annotations_of(what)
    return {**found, "returned": returned(), "errors": errors(), "commands": dict(commands(main))}


def flat(value: Any, path: str = "") -> Iterator[str]:
    """Yield plain data line by line, each with the whole path to it."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from flat(inner, f"{path} > {name}" if path else name)
    else:
        yield f"{path}: {json.dumps(value)}"


def differences(then: Any, now: Any) -> str:
    """Return the lines that are not the same, - for what was and + for what is."""
    lines = difflib.unified_diff(list(flat(then)), list(flat(now)), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


@functools.cache
def current() -> Any:
    """Return what is public now, as JSON has it."""
    return json.loads(json.dumps(surface(json.loads(FILE.read_text(encoding="utf-8")))))


def check(parts: tuple[str, ...]) -> None:
    pinned = json.loads(FILE.read_text(encoding="utf-8"))
    now = current()
    told = differences({part: pinned[part] for part in parts}, {part: now[part] for part in parts})
    assert not told, f"the public surface is not what it was; if that is meant, write {FILE.name} anew\n{told}"


def test_every_public_name_is_what_it_was() -> None:
    if to_be_written("surface"):
        pinned = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        FILE.write_text(json.dumps(surface(pinned), indent=1) + "\n", "utf-8")
        written(FILE.name)
    check(("names", "listed", "returned"))


def test_every_error_code_and_command_is_what_it_was() -> None:
    check(("errors", "commands"))


def test_every_annotation_of_a_public_name_is_what_it_was() -> None:
    check(("annotations",))


def test_a_difference_is_told_by_its_path() -> None:
    then = {"names": {"privet": {"ask": {"signature": "(question)"}, "gone": {"kind": "value"}}}}
    now = {"names": {"privet": {"ask": {"signature": "(query)"}}}}
    assert differences(then, now).splitlines() == [
        '-names > privet > ask > signature: "(question)"',
        '-names > privet > gone > kind: "value"',
        '+names > privet > ask > signature: "(query)"',
    ]
    assert not differences(then, then)
