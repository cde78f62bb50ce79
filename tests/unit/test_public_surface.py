"""The public surface: what `import privet` offers, and what it does not load to offer it."""

from __future__ import annotations

import ast
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


@pytest.mark.parametrize("name", privet.__all__)
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
    tree = ast.parse(Path(privet.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(privet.__all__)


def test_the_names_are_kept_in_order_and_once() -> None:
    assert privet.__all__ == sorted(set(privet.__all__))


def test_privet_says_nothing_unless_asked() -> None:
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("privet").handlers)
