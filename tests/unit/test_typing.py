"""Type checkers on what people write: a program that uses every public name, the README's code, and mistakes.

Both checkers come from the `dev` extra; pyright brings its own Node. Neither needs a network.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import privet

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "typing"
PACKAGES = ("accounting", "audit", "config", "mechanisms", "noise", "plots")
UNTYPED = ("pyarrow", "matplotlib")
"""Packages of others that a program here uses and that have no types."""

Found = list[tuple[int, str]]


def by_mypy(file: Path) -> Found:
    """Return what `mypy --strict` says about a file: lines and messages."""
    rules = file.with_suffix(".ini")
    rules.write_text("[mypy]\n" + "".join(f"[mypy-{name}.*]\nignore_missing_imports = true\n" for name in UNTYPED))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(rules), "--no-error-summary"]
    run = subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache"), str(file)],
        capture_output=True,
        text=True,
        cwd=file.parent,
        timeout=600,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    pattern = re.compile(rf"^{re.escape(file.name)}:(\d+): error: (.*)$", re.M)
    found = [(int(line), message) for line, message in pattern.findall(run.stdout)]
    assert bool(found) == bool(run.returncode), run.stdout + run.stderr
    return found


def by_pyright(file: Path) -> Found:
    """Return what pyright says about a file: lines and messages."""
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(file)],
        capture_output=True,
        text=True,
        cwd=file.parent,
        timeout=600,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    told = json.loads(run.stdout)
    assert told["summary"]["filesAnalyzed"] == 1
    return [
        (one["range"]["start"]["line"] + 1, one["message"])
        for one in told["generalDiagnostics"]
        if one["severity"] == "error"
    ]


CHECKERS = pytest.mark.parametrize("check", [by_mypy, by_pyright])


def copied(text: str, name: str, folder: Path) -> Path:
    """Return a file outside the project, where no rules of its own hold."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def shown(found: Found) -> str:
    return "\n".join(f"{line}: {message}" for line, message in found)


def names_used(text: str) -> dict[str, set[str]]:
    """Return the attributes of each public package that a program uses."""
    used: dict[str, set[str]] = {name: set() for name in ("privet", *PACKAGES)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in used:
            used[node.value.id].add(node.attr)
    return used


def test_the_program_uses_every_public_name() -> None:
    used = names_used((PROGRAMS / "every_name.py").read_text(encoding="utf-8"))
    missing = [f"privet.{name}" for name in privet.__all__ if name not in used["privet"]]
    for package in PACKAGES:
        public = importlib.import_module(f"privet.{package}").__all__
        missing += [f"privet.{package}.{name}" for name in public if name not in used[package]]
    assert missing == []


def test_the_program_runs() -> None:
    run = subprocess.run([sys.executable, str(PROGRAMS / "every_name.py")], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr


@CHECKERS
def test_a_checker_finds_nothing_wrong_with_the_program(check: Callable[[Path], Found], tmp_path: Path) -> None:
    text = (PROGRAMS / "every_name.py").read_text(encoding="utf-8")
    assert "# type:" not in text
    found = check(copied(text, "program.py", tmp_path))
    assert not found, shown(found)


@CHECKERS
def test_a_checker_finds_nothing_wrong_with_the_readme(check: Callable[[Path], Found], tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) >= 2
    found = check(copied("\n".join(blocks), "readme_code.py", tmp_path))
    assert not found, shown(found)


@CHECKERS
def test_a_checker_finds_every_mistake_and_nothing_else(check: Callable[[Path], Found], tmp_path: Path) -> None:
    text = (PROGRAMS / "wrong_uses.py").read_text(encoding="utf-8")
    wrong = [number for number, line in enumerate(text.splitlines(), start=1) if line.endswith("# wrong")]
    found = check(copied(text, "wrong_uses.py", tmp_path))
    told = {line for line, _ in found}
    missed = [text.splitlines()[number - 1].strip() for number in wrong if number not in told]
    assert not missed, "\n".join(missed)
    assert told == set(wrong), shown([one for one in found if one[0] not in wrong])
