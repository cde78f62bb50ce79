"""The public surface: what `import privet` offers, and what it does not load to offer it."""

from __future__ import annotations

import ast
import builtins
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import privet

HEAVY = ("numpy", "scipy", "duckdb", "sqlglot", "rich", "click", "msgspec", "matplotlib")


def run(*lines: str) -> str:
    """Return what a fresh interpreter prints; this one has long since loaded everything."""
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], check=True, capture_output=True, text=True, timeout=120
    ).stdout.strip()


def test_importing_privet_loads_no_heavy_package() -> None:
    loaded = run("import sys, privet", f"print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]"


def test_importing_privet_loads_no_room() -> None:
    assert run("import sys, privet", "print([name for name in sys.modules if name.startswith('privet.')])") == "[]"


def test_reading_an_error_loads_no_heavy_package() -> None:
    program = ("import sys, privet", "privet.RequestError", f"print([name for name in {HEAVY} if name in sys.modules])")
    assert run(*program) == "[]"


@pytest.mark.parametrize("name", sorted(privet._HOME))
def test_every_public_name_is_found_and_listed(name: str) -> None:
    assert getattr(privet, name) is not None
    assert name in dir(privet)


def test_a_public_name_is_the_same_object_each_time() -> None:
    assert privet.Laplace is privet.Laplace
    assert privet.Laplace is privet.mechanisms.Laplace


def test_a_name_that_is_not_public_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="Laplce"):
        privet.Laplce  # type: ignore[attr-defined]  # noqa: B018


def test_a_type_checker_sees_every_public_name() -> None:
    tree = ast.parse(Path(privet.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module or alias.name for node in imports for alias in node.names}
    assert seen == privet._HOME
    listed = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(listed) == privet.__all__
    outside = {alias.asname for node in imports for alias in node.names if alias.name not in privet.__all__}
    assert outside == {"open", "sum"}


def test_a_star_import_hides_no_builtin() -> None:
    names: dict[str, object] = {}
    exec("from privet import *", names)
    hidden = set(names) & set(dir(builtins)) - {"__builtins__", "__name__", "__doc__"}
    assert not hidden
    assert privet.sum is not sum
    assert privet.open is not open


def test_the_names_are_kept_in_order_and_once() -> None:
    assert privet.__all__ == sorted(set(privet.__all__))


def test_privet_says_nothing_unless_asked() -> None:
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("privet").handlers)
