"""The index of the lectures is true: every row is there, every name is worked, every misprint is refuted."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import LINK, code_of, sections

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "inventory-index.md"
PAGES = sorted((DOCS / "worked-examples").glob("*.md"))
LECTURES = ("First", "Second", "Third", "Fourth", "Fifth")
ROWS_OF_EACH = (40, 10, 22, 10, 31)
INVENTORY = ROOT.parent / "shared" / "INVENTORY.md"
ERRATA = ROOT.parent / "shared" / "ERRATA.md"
NAME = re.compile(r"`([\w.]+):([\w.]+)`")
MISPRINT = re.compile(r"^\*\*Lines? ([^*]+)\.\*\*", re.M)


@dataclass(frozen=True)
class Row:
    """One row of the index: lecture and lines, the names that implement it, where it is worked, what it waits for."""

    lecture: int
    lines: str
    where: str
    worked: str
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
            lines, _, where, worked, waits = (cell.strip() for cell in line.strip("|").split("|"))
            rows.append(Row(lecture, lines, where, worked, waits))
    return rows


ROWS = read_index(INDEX.read_text(encoding="utf-8"))


def markers(text: str) -> set[tuple[int, str]]:
    """Return (lecture, lines) of each row of a table whose first cell is like S0:764-779."""
    found = re.findall(r"^\| S(\d):([^|]+?) \|", text, re.M)
    return {(int(lecture), lines.replace("–", "-")) for lecture, lines in found}


def uncovered(inventory: str, rows: Iterable[Row]) -> set[tuple[int, str]]:
    """Return which rows are in the inventory or in the index, and not in both."""
    return markers(inventory) ^ {(row.lecture, row.lines) for row in rows}


def resolve(module: str, name: str) -> object:
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def faults(row: Row) -> list[str]:
    """Return what is wrong with a row: names that are none or not there, and neither a name nor what it waits for."""
    found = [] if row.names or row.waits else ["names nothing and waits for nothing"]
    if NAME.sub("", row.where).strip(", "):
        found.append(f"not a name: {row.where}")
    for module, name in row.names:
        try:
            resolve(module, name)
        except (ImportError, AttributeError):
            found.append(f"does not import: {module}:{name}")
    return found


def unworked(row: Row, docs: Path = DOCS) -> list[str]:
    """Return what of a row is not worked: names that its sections do not use, and sections that check nothing."""
    targets = [link["target"].partition("#") for link in LINK.finditer(row.worked)]
    if not row.names:
        return []
    found, code = [], ""
    if not any(file == f"worked-examples/{PAGES[row.lecture].name}" for file, _, _ in targets):
        found.append("no section on the page of its lecture")
    for file, _, anchor in targets:
        page = (docs / file).read_text(encoding="utf-8")
        section = code_of(sections(page)[anchor] if anchor else page)
        if not re.search(r"^ *assert ", section, re.M):
            found.append(f"checks nothing: {file}#{anchor}")
        code += section
    used = {name for _, name in row.names if re.search(rf"\b{name.rpartition('.')[2]}\b", code)}
    return [*found, *(f"not used: {module}:{name}" for module, name in row.names if name not in used)]


def misprints(page: str) -> dict[str, str]:
    """Return what a page says on each misprint, by its lines, up to the next one."""
    _, *parts = re.split(MISPRINT, sections(page)["misprints"])
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.lecture + 1}:{row.lines}")
def test_every_row_names_what_can_be_imported_or_says_what_it_waits_for(row: Row) -> None:
    assert faults(row) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.lecture + 1}:{row.lines}")
def test_every_name_of_a_row_is_used_where_the_row_is_worked(row: Row) -> None:
    assert unworked(row) == []


def test_every_lecture_has_a_page_and_rows() -> None:
    assert len(PAGES) == len(LECTURES)
    assert tuple(sum(row.lecture == lecture for row in ROWS) for lecture in range(len(LECTURES))) == ROWS_OF_EACH


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_section_of_a_page_is_listed_on_the_first_one(page: Path) -> None:
    listed = {link["target"] for link in LINK.finditer((DOCS / "worked-examples.md").read_text(encoding="utf-8"))}
    headings = list(sections(page.read_text(encoding="utf-8")))[1:]
    here = {f"worked-examples/{page.name}#{anchor}" for anchor in headings if anchor != "not-here-yet"}
    assert here - listed == set()


def test_no_lines_are_listed_twice() -> None:
    assert len({(row.lecture, row.lines) for row in ROWS}) == len(ROWS)


def test_the_index_covers_every_row_of_the_inventory() -> None:
    if not INVENTORY.exists():
        pytest.skip("the inventory of the lectures is not beside the project")
    inventory = INVENTORY.read_text(encoding="utf-8")
    assert len(markers(inventory)) == sum(ROWS_OF_EACH)
    assert uncovered(inventory, ROWS) == set()


def test_every_misprint_is_told_on_the_page_of_its_lecture() -> None:
    if not ERRATA.exists():
        pytest.skip("the list of the lectures' misprints is not beside the project")
    given = re.findall(r"^\| E\d+ \| S(\d):(\d+)", ERRATA.read_text(encoding="utf-8"), re.M)
    assert len(given) > 40
    told = {
        (lecture, line)
        for lecture, page in enumerate(PAGES)
        for lines in misprints(page.read_text(encoding="utf-8"))
        for line in re.findall(r"\d+", lines)
    }
    assert [(lecture, line) for lecture, line in given if (int(lecture), line) not in told] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_misprint_has_a_check_that_refutes_it(page: Path) -> None:
    told = misprints(page.read_text(encoding="utf-8"))
    assert told
    assert [lines for lines, text in told.items() if "assert " not in code_of(text)] == []


# The checks above can fail.

HEADING = "## First lecture\n\n| lines | what | where | worked | waits for |\n|---|---|---|---|---|\n"
SECTION = "[Noise on a count](worked-examples/1-foundations.md#noise-on-a-count)"


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (f"`privet.mechanisms:Laplace` | {SECTION} | ", []),
        ("`privet.mechanisms:Laplace.gone` | | ", ["does not import: privet.mechanisms:Laplace.gone"]),
        ("`privet.gone:Laplace` | | ", ["does not import: privet.gone:Laplace"]),
        (f" | {SECTION} | ", ["names nothing and waits for nothing"]),
        ("Laplace | | later", ["not a name: Laplace"]),
        (" | | later", []),
    ],
)
def test_a_faulty_row_is_told(cells: str, told: list[str]) -> None:
    (row,) = read_index(f"{HEADING}| 1-2 | a count | {cells} |\n")
    assert faults(row) == told


@pytest.mark.parametrize(
    ("where", "worked", "told"),
    [
        ("`privet.mechanisms:Laplace.interval`", SECTION, []),
        (
            "`privet.mechanisms:Laplace`",
            "",
            ["no section on the page of its lecture", "not used: privet.mechanisms:Laplace"],
        ),
        ("`privet.mechanisms:Exponential`", SECTION, ["not used: privet.mechanisms:Exponential"]),
        (
            "`privet.session:Session`",
            "[The curator](worked-examples/3-survey.md#what-the-definition-says)",
            ["no section on the page of its lecture"],
        ),
        (
            "`privet.mechanisms:Laplace`",
            f"{SECTION}, [Not here yet](worked-examples/5-statistics.md#not-here-yet)",
            ["checks nothing: worked-examples/5-statistics.md#not-here-yet"],
        ),
    ],
)
def test_a_row_that_is_not_worked_is_told(where: str, worked: str, told: list[str]) -> None:
    assert unworked(Row(0, "1-2", where, worked, "")) == told


def test_a_row_of_the_inventory_that_is_missing_is_told() -> None:
    inventory = "| where | item |\n|---|---|\n| S0:1–2 | a count |\n| S3:41 | a definition |\n"
    index = f"{HEADING}| 1-2 | a count | | | later |\n| 7 | made up | | | later |\n"
    assert uncovered(inventory, read_index(index)) == {(3, "41"), (0, "7")}


def test_a_misprint_without_a_check_is_told() -> None:
    page = "## Misprints\n\n**Line 3.** Wrong.\n\n**Lines 5–6.** Wrong.\n\n```python\nassert 1\n```\n\n## Next\n"
    assert [lines for lines, text in misprints(page).items() if "assert " not in code_of(text)] == ["3"]
