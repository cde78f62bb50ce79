"""Every citation has a source, and every source is cited: in docstrings and on the pages of the documentation."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import without_code

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs" / "references.bib"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCE_FILES = sorted((ROOT / "src").rglob("*.py"))
KEY = r"[A-Z][A-Za-z]*\d\d"


def cited_keys(source: str) -> Iterator[str]:
    """Yield the keys of the `Cites:` fields in a module's docstrings."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for field in re.findall(
            r"^ *Cites:(.*?)(?:\n *\n|\n *[A-Z]\w+:|\Z)", ast.get_docstring(node) or "", re.M | re.S
        ):
            keys = re.findall(r"\[([^\],\s]+)[^\]]*\]", field)
            if keys or not re.match(r"\s*as `\w+`", field):  # "as `f`": the same theorem as a neighbour's
                yield from keys or [f"a field without a [key]: {' '.join(field.split())}"]


def told_keys(page: str) -> set[str]:
    """Return the keys that a page names in brackets, as in [AB12] and [AB12, Thm 3], links left out."""
    return set(re.findall(rf"\[({KEY})(?:,[^\]]*)?\](?!\()", without_code(page)))


def known_keys() -> list[str]:
    return re.findall(r"^@\w+\{([^,\s]+),", SOURCES.read_text(encoding="utf-8"), re.M)


def by_source() -> set[str]:
    """Return every key that some docstring or page names."""
    told = {key for page in PAGES for key in told_keys(page.read_text(encoding="utf-8"))}
    return told.union(*(cited_keys(file.read_text(encoding="utf-8")) for file in SOURCE_FILES))


def test_every_citation_has_a_source() -> None:
    assert by_source() - set(known_keys()) == set()


def test_every_source_is_cited() -> None:
    assert set(known_keys()) - by_source() == set()


def test_sources_are_listed_once_and_in_order() -> None:
    keys = known_keys()
    assert len(keys) > 40
    assert keys == sorted(set(keys), key=str.casefold)


def test_every_source_has_authors_a_title_and_a_year() -> None:
    entries = SOURCES.read_text(encoding="utf-8").split("\n@")[1:]
    assert len(entries) == len(known_keys())
    short = [
        entry.splitlines()[0]
        for entry in entries
        if not all(re.search(rf"^  {field} +=", entry, re.M) for field in ("author", "title", "year"))
    ]
    assert short == []


def test_a_key_names_the_year_of_its_source() -> None:
    years = re.findall(
        r"^@\w+\{[A-Za-z]+(\d\d),(?:.|\n)*?^  year +=.*?(\d\d)\}", SOURCES.read_text(encoding="utf-8"), re.M
    )
    assert len(years) == len(known_keys())
    assert [pair for pair in years if pair[0] != pair[1]] == []


def test_a_citation_is_read_across_lines_and_a_field_without_keys_is_told() -> None:
    module = '"""A module.\n\nCites: [CKS20, Thm 7],\n[BS16].\n\nNot [AB12].\n"""\n'
    source = module + 'def f():\n    """F.\n\n    Cites: a friend.\n    """\n'
    assert list(cited_keys(source)) == ["CKS20", "BS16", "a field without a [key]: a friend."]


def test_a_page_is_searched_for_keys_and_not_for_links() -> None:
    page = "[AB12], [CDE99, Thm 3 and 4], [x](y.md), [FG01](y.md), `[HI02]`, [not a key]\n```\n[JK03]\n```\n"
    assert told_keys(page) == {"AB12", "CDE99"}
