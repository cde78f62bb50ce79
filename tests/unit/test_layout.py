"""The rooms of src/privet: who may import whom, and what no file may hold. Reads the source; imports nothing of it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "privet"
MODULES = sorted(PACKAGE.rglob("*.py"))

FLOORS = (
    ("core",),
    ("noise",),
    ("accounting",),
    ("mechanisms", "local", "shuffle"),
    ("aggregates", "query", "strategy", "inference", "plots"),
    ("planner", "engines", "ledger"),
    ("release", "answer"),
    ("results",),
    ("execution",),
    ("config", "session"),
    ("audit", "testing", "demo", "learn", "synth", "stream"),
    ("cli", "server"),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
STRANGERS = {("cli", "server"), ("server", "cli"), ("local", "mechanisms"), ("shuffle", "mechanisms")}
FRONT_DOORS = {"cli", "server"}
SURFACE = "privet"
"""The package's own `__init__`, which names every room and which no room but a front door may lean on."""

BANNED = {"utils", "util", "helper", "helpers", "manager", "base", "common", "process", "handle"}


@dataclass(frozen=True)
class Import:
    """One import statement: who says it, what it names, and whether only a type checker runs it."""

    file: Path
    line: int
    room: str
    target: str
    for_types: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.target}"

    @property
    def target_room(self) -> str | None:
        """Return the room of Privet that is imported; None for other packages."""
        parts = self.target.split(".")
        if parts[0] != "privet":
            return None
        return parts[1] if len(parts) > 1 and (parts[1] in FLOOR or is_module(parts[1])) else SURFACE


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def room_of(file: Path, package: Path = PACKAGE) -> str:
    relative = file.relative_to(package)
    return (
        SURFACE
        if relative.name == "__init__.py" and len(relative.parts) == 1
        else relative.parts[0].removesuffix(".py")
    )


def read_imports(file: Path, source: str, package: Path = PACKAGE) -> Iterator[Import]:
    """Yield the imports of one file, at any depth, with relative names resolved."""
    room, here = room_of(file, package), ("privet", *file.relative_to(package).parent.parts)

    def walk(node: ast.AST, for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(file, child.lineno, room, alias.name, for_types)
            elif isinstance(child, ast.ImportFrom):
                start = here[: len(here) - child.level + 1] if child.level else ()
                prefix = ".".join((*start, *filter(None, [child.module])))
                for alias in child.names:
                    yield Import(file, child.lineno, room, f"{prefix}.{alias.name}", for_types)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for statement in child.body:
                    yield from walk(ast.Module([statement], []), True)
                for statement in child.orelse:
                    yield from walk(ast.Module([statement], []), for_types)
            else:
                yield from walk(child, for_types)

    yield from walk(ast.parse(source), False)


def against_the_current(imports: list[Import]) -> list[str]:
    """Return the imports that point up, across a wall, or at the surface from inside a room."""
    wrong = []
    for statement in imports:
        room, target = statement.room, statement.target_room
        if target is None or room == SURFACE or target == room:
            continue
        if target == SURFACE:
            allowed = room in FRONT_DOORS
        else:
            allowed = FLOOR[target] <= FLOOR[room] and (room, target) not in STRANGERS
        if not allowed:
            wrong.append(str(statement))
    return wrong


def imports_of_the_package() -> list[Import]:
    return [statement for file in MODULES for statement in read_imports(file, file.read_text(encoding="utf-8"))]


def test_every_file_lives_in_a_room_of_the_map() -> None:
    rooms = {room_of(file) for file in MODULES} - {SURFACE, "__main__"}
    assert rooms <= FLOOR.keys()


def test_imports_point_one_way() -> None:
    assert against_the_current(imports_of_the_package()) == []


def test_no_two_rooms_import_each_other() -> None:
    edges = {(i.room, i.target_room) for i in imports_of_the_package() if i.target_room not in {None, i.room, SURFACE}}
    edges = {(room, target) for room, target in edges if room != SURFACE}
    while edges:
        sources = {room for room, _ in edges}
        removable = {edge for edge in edges if edge[1] not in sources}
        assert removable, f"these rooms import each other in a circle: {sorted(edges)}"
        edges -= removable


def test_core_needs_only_the_standard_library() -> None:
    foreign = [
        str(statement)
        for statement in imports_of_the_package()
        if statement.room == "core"
        and statement.target_room is None
        and not statement.for_types
        and statement.target.split(".")[0] not in sys.stdlib_module_names
    ]
    assert foreign == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/event.py", "from ..noise import discrete"),
        ("core/event.py", "from privet.mechanisms import Laplace"),
        ("noise/source.py", "import privet.accounting.renyi"),
        ("accounting/renyi.py", "def f():\n    from ..mechanisms import laplace"),
        ("mechanisms/laplace.py", "from __future__ import annotations\nfrom privet import Gaussian"),
        ("cli/demo.py", "from ..server import app"),
        ("local/oracle.py", "from ..mechanisms.laplace import Laplace"),
        ("query/sql/parse.py", "if TYPE_CHECKING:\n    from privet.planner.plan import Plan"),
    ],
)
def test_an_import_against_the_current_is_seen(path: str, source: str) -> None:
    assert len(against_the_current(list(read_imports(PACKAGE / path, source)))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("mechanisms/laplace.py", "from ..core.event import Atom\nfrom .grid import Grid\nimport numpy as np"),
        ("session.py", "from .release import release\nfrom .engines import duckdb"),
        ("cli/demo.py", "from privet import Laplace\nfrom ..mechanisms import Gaussian"),
        ("local/oracle.py", "from ..noise import bernoulli\nfrom ..accounting import epsilon"),
    ],
)
def test_an_import_with_the_current_is_let_through(path: str, source: str) -> None:
    assert against_the_current(list(read_imports(PACKAGE / path, source))) == []


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_says_what_it_is_for(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


CARELESS = ("audit/unsafe.py", "noise comes from privet.noise alone")
"""What attacks are shown against has the noise of a careless program."""


def faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what no file of the package may hold, with its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Assert):
            yield line, "assert is removed by python -O; raise InvariantError"
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"np.random", "numpy.random"}:
            yield line, "noise comes from privet.noise alone"
        if isinstance(node, ast.Import) and any(a.name.split(".")[:2] == ["numpy", "random"] for a in node.names):
            yield line, "noise comes from privet.noise alone"
        if isinstance(node, ast.Import) and any(a.name.split(".")[0] == "random" for a in node.names):
            yield line, "noise comes from privet.noise alone"
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            if any(name.startswith(("random.", "numpy.random")) for name in names):
                yield line, "noise comes from privet.noise alone"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and words(node.name) & BANNED:
            yield line, f"{node.name} is not a name"


def words(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


def test_no_file_holds_what_the_house_bans() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {why}"
        for file in MODULES
        for line, why in faults(ast.parse(file.read_text(encoding="utf-8")))
        if (file.relative_to(PACKAGE).as_posix(), why) != CARELESS
    ]
    found += [f"{file.relative_to(ROOT)} is not a name" for file in MODULES if words(file.stem) & BANNED]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    assert x",
        "x = np.random.default_rng()",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import numpy.random",
        "import random",
        "from random import gauss",
        "class BaseMechanism: ...",
        "def process_rows(): ...",
    ],
)
def test_what_the_house_bans_is_seen(source: str) -> None:
    assert list(faults(ast.parse(source)))
