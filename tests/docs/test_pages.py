"""What the documentation says is true: every example runs, every local link resolves, every name has a place."""

from __future__ import annotations

import re
import sys
import traceback
import types
from pathlib import Path

import pytest

import privet

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import LINK, anchors, ragged_rows, read_blocks, without_code

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LETTERS = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]

PYTHON = {"python", "python3", "py", "py3", "pycon"}


def run_blocks(page: str, name: str) -> None:
    """Run the Python blocks of one page in order, in one namespace, as a reader would."""
    module = types.ModuleType("page_of_the_docs")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        for block in read_blocks(page):
            if not block.label or block.label.split()[0].lower() not in PYTHON:
                continue
            if block.label != "python":
                pytest.fail(f"{name}:{block.line - 1}: every example runs, so a block is ```python and nothing more")
            try:
                code = compile("\n" * (block.line - 1) + block.text, name, "exec", dont_inherit=True)
                exec(code, vars(module))
            except Exception as error:
                line = where(error, name) or block.line
                told = "".join(traceback.format_exception_only(error)).strip()
                pytest.fail(f"{name}:{line}: {told}", pytrace=False)
    finally:
        del sys.modules[module.__name__]


def where(error: Exception, name: str) -> int | None:
    """Return the line of the page on which the error was raised."""
    if isinstance(error, SyntaxError) and error.filename == name:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return lines[-1] if lines else None


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run_blocks(text, relative(page))


def broken_links(text: str, page: Path) -> list[str]:
    """Return the links of a page to files that are not there, or to headings that these do not have."""
    broken = []
    for link in LINK.finditer(without_code(text)):
        target, _, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        told = text if file == page else file.read_text(encoding="utf-8") if file.is_file() else ""
        if not file.exists() or (anchor and anchor not in anchors(told)):
            broken.append(link["target"])
    return broken


@pytest.mark.parametrize("page", LETTERS, ids=relative)
def test_every_local_link_resolves(page: Path) -> None:
    assert broken_links(page.read_text(encoding="utf-8"), page) == []


def test_a_link_to_nowhere_is_told() -> None:
    page = (
        "# Here\n\n[a](#here) [b](#there) [c](gone.md) ![d](gone.png) [e](queries.md#gone)\n```python\n# there\n```\n"
    )
    page += "[two\nlines](gone.md#here), `[code](gone.md)`, [far](https://example.org/gone)\n"
    broken = ["#there", "gone.md", "gone.png", "queries.md#gone", "gone.md#here"]
    assert broken_links(page, DOCS / "index.md") == broken


@pytest.mark.parametrize("page", LETTERS, ids=relative)
def test_every_row_of_a_table_has_as_many_cells_as_its_heading(page: Path) -> None:
    assert ragged_rows(page.read_text(encoding="utf-8")) == []


def test_a_ragged_table_is_told() -> None:
    assert ragged_rows("| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n| `x | y` |\n| x \\| y |\n") == []
    assert ragged_rows("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |\n| 1 | 2\n") == ["| 1 |", "| 1 | 2 | 3 |", "| 1 | 2"]


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page.exists() and page not in reached:
            reached.add(page)
            links = LINK.finditer(without_code(page.read_text(encoding="utf-8")))
            waiting += [(page.parent / link["target"].partition("#")[0]).resolve() for link in links]
    assert set(DOCS.rglob("*.md")) - reached == set()


@pytest.mark.parametrize("name", sorted(privet._HOME))
def test_every_public_name_has_a_place_in_the_docs(name: str) -> None:
    told = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    code = re.findall(r"`[^`\n]+`", told) + [block.text for block in read_blocks(told)]
    assert any(re.search(rf"\b{re.escape(name)}\b", text) for text in code)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("# A\n\n```python\nx = 1\n```\ntext\n```python\n\nx / 0\n```\n", "page.md:9: ZeroDivisionError"),
        ("```python\ndef f():\n    raise ValueError('no')\n```\n\n```python\nf()\n```\n", "page.md:3: ValueError: no"),
        ("```python no-run\nx = 1\n```\n", "page.md:1: every example runs"),
        ("```py\nx = 1\n```\n", "page.md:1: every example runs"),
        ("1. item\n\n   ```python\n   x = = 1\n   ```\n", "page.md:4"),
    ],
)
def test_a_failing_example_is_told_with_its_page_and_line(page: str, told: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=re.escape(told)):
        run_blocks(page, "page.md")


def test_blocks_of_one_page_share_a_namespace_and_other_blocks_are_not_run() -> None:
    run_blocks("```python\nx = 1\n```\n```sh\nfalse\n```\n```\nraise\n```\n```python\nassert x == 1\n```\n", "page.md")
