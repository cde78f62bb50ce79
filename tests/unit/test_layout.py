"""The layers of src/privet: who may import whom, and what no file may contain. Reads the source, imports none of it."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "privet"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    ("core",),
    ("display",),
    ("noise",),
    ("accounting",),
    ("mechanisms", "local", "shuffle"),
    ("aggregates", "query", "strategy", "inference", "plots"),
    ("planner", "engines", "ledger"),
    ("release", "answer"),
    ("results",),
    ("execution",),
    ("study",),
    ("config", "session"),
    ("audit", "testing", "demo", "learn", "synth", "stream", "survey", "dbapi", "remote"),
    ("cli", "server"),
)
"""From the lowest; some packages are still to come. docs/architecture.md shows those that are there."""

HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}
SEPARATE = {("cli", "server"), ("server", "cli"), ("local", "mechanisms"), ("shuffle", "mechanisms")}
WHEN_CALLED = {("session", "learn"), ("session", "synth"), ("session", "stream")}
"""The only imports that point up: short methods of a session import these when they are called."""

ENTRY_POINTS = {"cli", "server"}
SURFACE = "privet"
"""The package's own `__init__`, which names every package and which only entry points may import."""

BANNED = {"utils", "util", "helper", "helpers", "manager", "base", "common", "process", "handle"}


@dataclass(frozen=True)
class Import:
    """One import statement: where it is, what it names, whether only a type checker runs it, or only a call."""

    file: Path
    line: int
    package: str
    target: str
    for_types: bool
    when_called: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.target}"

    @property
    def target_package(self) -> str | None:
        """Return the package of Privet that is imported; None for other packages."""
        parts = self.target.split(".")
        if parts[0] != "privet":
            return None
        return parts[1] if len(parts) > 1 and (parts[1] in HEIGHT or is_module(parts[1])) else SURFACE


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def package_of(file: Path, root: Path = PACKAGE) -> str:
    relative = file.relative_to(root)
    return (
        SURFACE
        if relative.name == "__init__.py" and len(relative.parts) == 1
        else relative.parts[0].removesuffix(".py")
    )


def read_imports(file: Path, source: str, root: Path = PACKAGE) -> Iterator[Import]:
    """Yield the imports of one file, at any depth, with relative names resolved."""
    package, here = package_of(file, root), ("privet", *file.relative_to(root).parent.parts)

    def walk(node: ast.AST, for_types: bool, called: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(file, child.lineno, package, alias.name, for_types, called)
            elif isinstance(child, ast.ImportFrom):
                start = here[: len(here) - child.level + 1] if child.level else ()
                prefix = ".".join((*start, *filter(None, [child.module])))
                for alias in child.names:
                    yield Import(file, child.lineno, package, f"{prefix}.{alias.name}", for_types, called)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for statement in child.body:
                    yield from walk(ast.Module([statement], []), True, called)
                for statement in child.orelse:
                    yield from walk(ast.Module([statement], []), for_types, called)
            else:
                yield from walk(child, for_types, called or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    yield from walk(ast.parse(source), False, False)


def pointing_up(imports: list[Import]) -> list[str]:
    """Return the imports that point up, between packages that stay separate, or at the surface from inside."""
    wrong = []
    for statement in imports:
        package, target = statement.package, statement.target_package
        if target is None or package == SURFACE or target == package:
            continue
        if target == SURFACE:
            allowed = package in ENTRY_POINTS
        elif (package, target) in WHEN_CALLED:
            allowed = statement.when_called or statement.for_types
        else:
            allowed = HEIGHT[target] <= HEIGHT[package] and (package, target) not in SEPARATE
        if not allowed:
            wrong.append(str(statement))
    return wrong


def imports_of_the_package() -> list[Import]:
    return [statement for file in MODULES for statement in read_imports(file, file.read_text(encoding="utf-8"))]


def test_every_file_is_in_a_package_of_the_map() -> None:
    assert {package_of(file) for file in MODULES} - {SURFACE, "__main__"} <= HEIGHT.keys()


def test_the_page_on_the_architecture_shows_these_layers() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = re.search(r"^```layers\n(.*?)^```", page, re.M | re.S)
    assert found is not None
    shown = [set(line.split()) for line in found[1].splitlines()]
    there = [{package for package in layer if is_module(package)} for layer in reversed(LAYERS)]
    assert shown == [layer for layer in there if layer]


def test_imports_point_down() -> None:
    assert pointing_up(imports_of_the_package()) == []


def test_no_two_packages_import_each_other() -> None:
    edges = {(i.package, i.target_package) for i in imports_of_the_package() if not i.when_called or not up(i)}
    edges = {(package, target) for package, target in edges if target not in {None, package, SURFACE}}
    edges = {(package, target) for package, target in edges if package != SURFACE}
    while edges:
        sources = {package for package, _ in edges}
        removable = {edge for edge in edges if edge[1] not in sources}
        assert removable, f"these packages import each other in a circle: {sorted(edges)}"
        edges -= removable


def up(statement: Import) -> bool:
    return (statement.package, statement.target_package) in WHEN_CALLED


@pytest.mark.parametrize("kind", ["class", "module"])
def test_no_name_is_used_twice(kind: str) -> None:
    if kind == "class":
        trees = [ast.parse(file.read_text(encoding="utf-8")) for file in MODULES]
        names = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    else:
        names = [file.stem for file in MODULES if file.name != "__init__.py"]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_core_needs_only_the_standard_library() -> None:
    foreign = [
        str(statement)
        for statement in imports_of_the_package()
        if statement.package == "core"
        and statement.target_package is None
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
def test_an_import_that_points_up_is_found(path: str, source: str) -> None:
    assert len(pointing_up(list(read_imports(PACKAGE / path, source)))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("mechanisms/laplace.py", "from ..core.event import Atom\nfrom .grid import Grid\nimport numpy as np"),
        ("session.py", "from .release import release\nfrom .engines import duckdb"),
        ("session.py", "def f():\n    from .synth import synthesize"),
        ("cli/demo.py", "from privet import Laplace\nfrom ..mechanisms import Gaussian"),
        ("local/oracle.py", "from ..noise import bernoulli\nfrom ..accounting import epsilon"),
    ],
)
def test_an_import_that_points_down_is_allowed(path: str, source: str) -> None:
    assert pointing_up(list(read_imports(PACKAGE / path, source))) == []


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_says_what_it_is_for(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


CARELESS = ("audit/unsafe.py", "noise comes from privet.noise alone")
"""What attacks are shown against has the noise of a careless program."""


def faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what no file of the package may contain, with its line."""
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


def test_no_file_contains_what_is_banned() -> None:
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
def test_what_is_banned_is_found(source: str) -> None:
    assert list(faults(ast.parse(source)))
