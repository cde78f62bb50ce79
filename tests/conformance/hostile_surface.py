"""Every public callable of Privet, found by introspection, with arguments that work.

Public is what some `__all__` of a documented package lists, what a documented example imports, and the methods of every
class that a public callable says it returns. Arguments come from examples by the name of a parameter or by its type;
which optional ones must come along is found by trying. A callable for which none are found is reported, not skipped.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import hostile_examples
from hostile_kinds import read_hint

import privet
from privet.ledger.bookkeeping import Bookkeeping

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from reading_pages import read_blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Make = Callable[[], Any]
_MOST_CHOICES = 64
PROTOCOL = {"__init__", "__eq__", "__ne__", "__hash__", "__repr__", "__str__", "__reduce__", "__exit__", "__enter__"}
PROTOCOL |= {"__setattr__", "__delattr__", "__getattr__", "__getattribute__", "__init_subclass__", "__subclasshook__"}
PROTOCOL |= {"__new__", "__class_getitem__", "__format__", "__reduce_ex__", "__getstate__", "__setstate__"}
PROTOCOL |= {"__copy__", "__deepcopy__", "__post_init__", "__array__", "__class_getitem__", "__arrow_c_stream__"}


@dataclass(frozen=True)
class Entry:
    """A public callable: a function, a class that is called, or a method together with how to get an instance."""

    name: str
    function: Any = field(compare=False)
    owner: type | None = None
    bound: bool = False
    """Whether it is a method of an instance."""

    def __str__(self) -> str:
        return self.name

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that a caller gives, by name."""
        every = list(signature(self.function).parameters.values())
        kept = every[1:] if self.bound else every
        return {one.name: one for one in kept}

    def hint(self, name: str) -> Any:
        """Return the type that is written for a parameter."""
        function = self.function
        if isinstance(function, type):
            function = function.__init__ if "__init__" in vars(function) else function
        return read_hint(self.parameters[name], function if inspect.getmodule(function) else self.function)


class Missing(Exception):
    """No arguments are known that work."""


def signature(function: Any) -> inspect.Signature:
    """Return a signature, empty for classes that have none of their own."""
    try:
        return inspect.signature(function)
    except ValueError:
        return inspect.Signature()


FOR_AUTHORS = {"extending.md", "server.md"}
"""Pages for authors of engines, ledgers, mechanisms and the rest, for which `privet.testing` checks what they add; and
the server's, whose example starts one within its own process, where readers have the command `privet serve`."""


_OF_SUMS = {
    "advance", "checked", "draw", "drawn_before", "noise_of", "noise_rows", "read_state", "step_of", "write_state",
}  # fmt: skip

INSIDE = {
    "Plan": {
        "across", "at_limits", "bias", "is_weighted", "law", "limits", "measure_at", "noise_within", "notes",
        "released_notes", "weights", "without_rows",
    },
    "Query": {"facts_known"},
    **{name: {"draw"} for name in ("TableDescription", "MarginalsPlan", "RangesPlan", "RunningPlan")},
    **{name: {"over"} for name in ("Postgres", "Spark")},
    **{name: {"rows"} for name in ("DeltaTable", "IcebergTable")},
    "Progress": {"differs"},
    "PostgresLedger": set(dir(Bookkeeping)) - {"backup"},  # tried on ledgers in memory and in files
    **{
        name: {"question", "check", "check_plan", "planned", "conclude"}
        for name in ("Hypothesis", *privet.study.__all__)
    },
    "Blocks": {"count", "identity", "name", "start", "until"},
    "StepClock": {"empty_before"},
    **dict.fromkeys(("RunningSums", "TreeSums", "RootSums"), _OF_SUMS),
    "BufferedSums": {*_OF_SUMS, "measure"},
}  # fmt: skip
"""Methods by which results and releases ask a plan or a question about its own parts, the command line has one drawn,
and a stream goes on from its state; what a session asks a hypothesis, or of a server: no caller has such parts."""


def documented() -> Iterator[tuple[str, str]]:
    """Yield each module of Privet and each name that an example in the documentation imports from it."""
    for page in PAGES:
        if page.name in FOR_AUTHORS:
            continue
        for block in read_blocks(page.read_text()):
            if block.label != "python":
                continue
            for node in ast.walk(ast.parse(block.text)):
                module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
                if isinstance(node, ast.ImportFrom) and module.split(".")[0] == "privet" and "demo" not in module:
                    yield from ((node.module or "", alias.name) for alias in node.names)


def names() -> dict[int, tuple[str, Any]]:
    """Return every public object by identity, with the first name under which it is public."""
    found: dict[int, tuple[str, Any]] = {}
    listed = sorted(set(documented()))
    modules = {"privet", *(f"privet.{name}" for name, home in privet._HOME.items() if name == home)}
    modules |= {module for module, _ in listed if module.count(".") == 1}
    every = [(module, name) for module in sorted(modules) for name in _listed(_module(module))]
    for module, name in [*every, *listed]:
        value = _named(module, name)
        if not inspect.ismodule(value) and (getattr(value, "__module__", "") or "").startswith("privet"):
            found.setdefault(id(value), (f"{module}.{name}", value))
    return found


def _listed(module: Any) -> list[str]:
    return sorted(module._HOME) if module is privet else list(getattr(module, "__all__", ()))


def _named(module: str, name: str) -> Any:
    """Return what `from module import name` binds: an attribute, or a module of a package."""
    found = _module(module)
    return getattr(found, name) if hasattr(found, name) else _module(f"{module}.{name}")


def _module(name: str) -> Any:
    return importlib.import_module(name)


def is_plain(kind: type) -> bool:
    """Return whether a class is one whose constructor callers use: no error, no protocol, nothing abstract."""
    abstract = inspect.isabstract(kind) or getattr(kind, "_is_protocol", False)
    return not abstract and not issubclass(kind, BaseException) and not issubclass(kind, dict)


def entries() -> list[Entry]:
    """Return every public callable that has a parameter."""
    found: dict[str, Entry] = {}
    classes: dict[type, str] = {}
    waiting: list[Entry] = []

    def add(entry: Entry) -> None:
        if entry.name not in found:
            found[entry.name] = entry
            waiting.append(entry)

    def add_class(kind: type, name: str) -> None:
        if kind in classes or issubclass(kind, BaseException) or kind.__module__.split(".")[0] != "privet":
            return
        if kind.__name__.endswith("Pair"):
            return  # the curves of accountants, over arrays that they make themselves
        classes[kind] = name
        if inspect.isabstract(kind) or getattr(kind, "_is_protocol", False):
            return
        for method, static in members(kind):
            if isinstance(static, (classmethod, staticmethod)):
                add(Entry(f"{name}.{method}", getattr(kind, method), kind))
            else:
                add(Entry(f"{name}.{method}", static, kind, bound=True))

    for name, value in names().values():
        if isinstance(value, type):
            if is_plain(value):
                add(Entry(name, value))
            add_class(value, name)
        elif callable(value):
            add(Entry(name, value))
    while waiting:
        entry = waiting.pop()
        for kind in returned(entry):
            add_class(kind, f"{kind.__module__}.{kind.__name__}")
    return [entry for _, entry in sorted(found.items()) if entry.parameters]


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the methods of a class that callers use, as they stand in the class that defines them."""
    for name in sorted(set(dir(kind)) - INSIDE.get(kind.__name__, set())):
        static = inspect.getattr_static(kind, name)
        function = static.__func__ if isinstance(static, (classmethod, staticmethod)) else static
        if not inspect.isfunction(function) or not (function.__module__ or "").startswith("privet"):
            continue
        special = name.startswith("__") and name.endswith("__")
        if (special and name not in PROTOCOL) or not name.startswith("_"):
            yield name, static


def returned(entry: Entry) -> Iterator[type]:
    """Yield the classes of Privet that a callable says it returns, by itself, in a union or in a tuple."""
    if isinstance(entry.function, type):
        return
    hint = signature(entry.function).return_annotation
    if hint is inspect.Signature.empty:
        return
    stand_in = inspect.Parameter("returned", inspect.Parameter.KEYWORD_ONLY, annotation=hint)
    yield from _classes(read_hint(stand_in, entry.function))


def _classes(hint: Any, *, within: bool = True) -> Iterator[type]:
    if get_origin(hint) in (Union, types.UnionType) or (within and get_origin(hint) in (tuple, list)):
        for one in get_args(hint):
            yield from _classes(one, within=within)
    elif isinstance(hint, type) and hint.__module__.startswith("privet."):
        yield hint


# Arguments that work


def examples(entry: Entry, name: str) -> list[Make]:
    """Return what makes arguments that may work for a parameter: by its type, and by its name."""
    kinds = list(_classes(entry.hint(name), within=False))
    found = [hostile_examples.INSTANCES[kind] for kind in kinds if kind in hostile_examples.INSTANCES]
    own = ".".join([*entry.name.split(".")[-2:], name])
    found += hostile_examples.OWN.get(own, hostile_examples.NAMED.get(name, ()))
    default = entry.parameters[name].default
    if not found and entry.hint(name) is bool:
        found = [lambda: True]
    if not found and default is not inspect.Parameter.empty and default is not None:
        found = [lambda: default]
    if not found:
        for kind in kinds:
            with contextlib.suppress(Missing):
                instance(kind)
                found.append(lambda kind=kind: instance(kind))  # type: ignore[misc]
    if not found:
        raise Missing(f"{entry.name}({name}): add an example by this name, or of this type, to hostile_examples.py")
    return found


_producers: dict[type, Entry] = {}


def instance(kind: type) -> Any:
    """Return an instance of a class: from the table of instances, from its constructor, or from who returns one."""
    if kind in hostile_examples.INSTANCES:
        return hostile_examples.INSTANCES[kind]()
    if is_plain(kind) and kind.__module__.startswith("privet"):
        with contextlib.suppress(Missing):
            return working(Entry(kind.__name__, kind), None).call()
    if not _producers:
        for entry in entries():
            for made in returned(entry):
                _producers.setdefault(made, entry)
    if kind in _producers:
        result = working(_producers[kind], None).call()
        found = result if isinstance(result, kind) else next((one for one in result if isinstance(one, kind)), None)
        if found is not None:
            return found
    raise Missing(f"{kind.__name__}: add an instance to hostile_examples.py")


@dataclass(frozen=True)
class Working:
    """A call that works: how each of its arguments is made."""

    entry: Entry
    arguments: dict[str, Callable[[], Any]]

    def call(self, **replaced: Any) -> Any:
        """Make the call, with some arguments replaced, and use up what is lazy."""
        return self.prepare(**replaced)()

    def prepare(self, **replaced: Any) -> Callable[[], Any]:
        """Return the call with fresh arguments, ready to be made."""
        given = {name: make() for name, make in self.arguments.items() if name not in replaced} | replaced
        ordered, named = [], {}
        for name, parameter in self.entry.parameters.items():
            if name not in given:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                ordered.append(given[name])
                ordered += hostile_examples.COMPANIONS.get(f"{self.entry.name.split('.')[-1]}.{name}", ())
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                named[hostile_examples.KEYWORDS.get(name, "named")] = given[name]
            elif parameter.kind in POSITIONAL and not named:
                ordered.append(given[name]) if _unbroken(self.entry, name, given) else named.update({name: given[name]})
            else:
                named[name] = given[name]
        function = self.entry.function
        if self.entry.bound:
            made = hostile_examples.OWNERS.get(self.entry.name)
            function = types.MethodType(function, made() if made else instance(self.entry.owner))  # type: ignore[arg-type]
        return lambda: _used(function(*ordered, **named))


def _unbroken(entry: Entry, name: str, given: dict[str, Any]) -> bool:
    for earlier in entry.parameters:
        if earlier == name:
            return True
        if earlier not in given:
            return False
    return True


def _used(result: Any) -> Any:
    return list(itertools.islice(result, 20)) if inspect.isgenerator(result) else result


def working(entry: Entry, wanted: str | None) -> Working:
    """Return arguments with which a call works, the wanted parameter among them, with as few others as do."""
    needed, optional = [], []
    for name, parameter in entry.parameters.items():
        variable = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        if name in (wanted, *hostile_examples.WORK) or (parameter.default is inspect.Parameter.empty and not variable):
            needed.append(name)
        else:
            optional.append(name)
    known = {name: examples(entry, name) for name in needed}
    for name in optional:
        with contextlib.suppress(Missing):
            known[name] = examples(entry, name)
    failure: Exception | None = None
    for size in range(3):
        for extra in itertools.combinations([name for name in optional if name in known], size):
            chosen = [*needed, *extra]
            for makers in itertools.islice(itertools.product(*(known[name] for name in chosen)), _MOST_CHOICES):
                tried = Working(entry, dict(zip(chosen, makers, strict=True)))
                try:
                    tried.call()
                except Missing:
                    raise
                except Exception as error:
                    failure = failure or error
                    continue
                return tried
    raise Missing(
        f"{entry.name}({wanted or ''}): no arguments were found that work; {type(failure).__name__}: {failure}"
    )
