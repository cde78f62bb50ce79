"""The index of the lectures is true: every name can be imported, every row is there, every misprint is told."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "inventory-index.md"
PAGES = sorted((ROOT / "docs" / "worked-examples").glob("*.md"))
LECTURES = ("First", "Second", "Third", "Fourth", "Fifth")
INVENTORY = ROOT.parent / "shared" / "INVENTORY.md"
ERRATA = ROOT.parent / "shared" / "ERRATA.md"
NAME = re.compile(r"`([\w.]+):([\w.]+)`")


@dataclass(frozen=True)
class Row:
    """One row of the index: which lecture, which lines, the names that implement it, what it still waits for."""

    lecture: int
    lines: str
    where: str
    waits: str

    @property
    def names(self) -> list[tuple[str, str]]:
        return NAME.findall(self.where)


def read_index(page: str) -> list[Row]:
    rows, lecture = [], None
    for line in page.splitlines():
        if heading := re.match(r"## (\w+) lecture$", line):
            lecture = LECTURES.index(heading[1])
        elif lecture is not None and re.match(r"\| \d", line):
            lines, _, where, waits = (cell.strip() for cell in line.strip("|").split("|"))
            rows.append(Row(lecture, lines, where, waits))
    return rows


ROWS = read_index(INDEX.read_text(encoding="utf-8"))


def markers(text: str) -> set[tuple[int, str]]:
    """Return (lecture, lines) of each row of a table whose first cell is like S0:764-779."""
    found = re.findall(r"^\| S(\d):([^|]+?) \|", text, re.M)
    return {(int(lecture), lines.replace("–", "-")) for lecture, lines in found}


def resolve(module: str, name: str) -> object:
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.lecture + 1}:{row.lines}")
def test_every_row_names_what_can_be_imported_or_says_what_it_waits_for(row: Row) -> None:
    assert row.names or row.waits
    assert NAME.sub("", row.where).strip(", ") == ""
    for module, name in row.names:
        resolve(module, name)


def test_a_name_that_is_gone_is_told() -> None:
    with pytest.raises(AttributeError):
        resolve("privet.mechanisms", "Laplace.gone")
    with pytest.raises(ImportError):
        resolve("privet.gone", "Laplace")


def test_every_lecture_has_a_page_and_rows() -> None:
    assert len(PAGES) == len(LECTURES)
    assert {row.lecture for row in ROWS} == set(range(len(LECTURES)))


def test_no_lines_are_listed_twice() -> None:
    assert len({(row.lecture, row.lines) for row in ROWS}) == len(ROWS) > 100


def test_the_index_covers_every_row_of_the_inventory() -> None:
    if not INVENTORY.exists():
        pytest.skip("the inventory of the lectures is not beside the project")
    given = markers(INVENTORY.read_text(encoding="utf-8"))
    assert len(given) > 100
    assert given == {(row.lecture, row.lines) for row in ROWS}


def test_every_misprint_is_told_on_the_page_of_its_lecture() -> None:
    if not ERRATA.exists():
        pytest.skip("the list of the lectures' misprints is not beside the project")
    given = re.findall(r"^\| E\d+ \| S(\d):(\d+)", ERRATA.read_text(encoding="utf-8"), re.M)
    assert len(given) > 40
    told = {
        (lecture, line)
        for lecture, page in enumerate(PAGES)
        for lines in re.findall(r"^\*\*Lines? ([^*]+)\.\*\*", page.read_text(encoding="utf-8"), re.M)
        for line in re.findall(r"\d+", lines)
    }
    assert [(lecture, line) for lecture, line in given if (int(lecture), line) not in told] == []
