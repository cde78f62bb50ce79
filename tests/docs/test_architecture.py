"""The page on the architecture is true: its layers are those of the imports, and a question passes what it says."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pyarrow as pa

import privet

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


drawing = load(ROOT / "tools" / "architecture.py")


def code_of(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found.__code__


def test_every_package_has_a_layer_and_a_line_of_its_own() -> None:
    listed = [package for layer in drawing.layers(PAGE) for package in layer]
    source = ROOT / "src" / "privet"
    there = {path.name for path in source.iterdir() if path.is_dir() and list(path.glob("*.py"))}
    there |= {path.stem for path in source.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(listed) == sorted(there)
    table = PAGE.split("## The way of a question")[0]
    assert [package for package in listed if f"`{package}`" not in table] == []


def test_a_question_passes_the_functions_of_the_page_in_their_order() -> None:
    steps = drawing.steps(PAGE)
    assert len(steps) >= 5
    wanted = {code_of(*step): step for step in steps}
    passed: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in wanted and wanted[frame.f_code] not in passed:
            passed.append(wanted[frame.f_code])

    rows = pa.table({"ward": ["A", "B"], "cost": [1.0, 2.0]})
    columns = {"ward": privet.category(["A", "B"]), "cost": privet.number(0, 10)}
    table = privet.Table(rows, unit=privet.Rows(), columns=columns)
    with privet.Session({"visits": table}, budget=privet.Pure(epsilon=1)) as session:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            session.ask("SELECT ward, AVG(cost) FROM visits GROUP BY ward", epsilon=1)
        finally:
            sys.setprofile(before)
    assert passed == steps


def test_the_picture_is_drawn_from_the_page() -> None:
    assert (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8") == drawing.picture(PAGE)
