"""What the documentation says is true: every example runs, every local link resolves, every name has a place."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import postgres_server
import privet

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import LINK, Block, anchors, ragged_rows, read_blocks, without_code
from running_pages import NEEDS_POSTGRES, REACH, Failed, cells_of, check_blocks, difference, rewritten, served

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LETTERS = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if NEEDS_POSTGRES in text and (lacking := postgres_server.missing()) is not None:
        pytest.skip(lacking)
    with served(text):
        checked(list(read_blocks(text)), relative(page))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=relative)
def test_every_cell_of_a_notebook_runs_and_prints_what_is_kept(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checked(cells_of(notebook), relative(notebook), shows_values=True)


def checked(blocks: list[Block], name: str, *, shows_values: bool = False) -> None:
    """Run blocks, and fail with the page and the line where one does not run or prints something else than is shown."""
    try:
        check_blocks(blocks, name, shows_values=shows_values)
    except Failed as failed:
        pytest.fail(f"{name}:{failed.line}: {failed}", pytrace=False)


def broken_links(text: str, page: Path) -> list[str]:
    """Return the links of a page to files that are not there, or to headings that these do not have."""
    broken = []
    for link in LINK.finditer(without_code(text)):
        target, _, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        told = text if file == page else file.read_text(encoding="utf-8") if anchor and file.is_file() else ""
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
        checked(list(read_blocks(page)), "page.md")


def test_blocks_of_one_page_share_a_namespace_and_other_blocks_are_not_run() -> None:
    page = "```python\nx = 1\n```\n```sh\nfalse\n```\n```\nraise\n```\n```python\nassert x == 1\n```\n"
    checked(list(read_blocks(page)), "page.md")


@pytest.mark.parametrize(
    ("shown", "printed", "tolerance"),
    [
        ("ward  n\nA   5", "ward n\nA  5", None),
        ("━━━━┓\n1,234 ± 20", "━━━━━━┓\n1,270 ± 20", None),
        ("cost 236.1 ± 1.9", "cost 233.0 ± 2.1", None),
        ("median 172 [154, 189]", "median 180 [160, 201]", None),
        ("median 172 [154, 189]", "median 180 ± 20", None),
        ("first\n...\nlast 3 ± 1", "first\nsecond\nthird\nlast 4 ± 1", None),
        ("█████░░░ 71.6%", "██████░░ 77%", "9"),
        ("0.5 (0.4, 0.6) of 10", "0.55 (0.45, 0.65) of 10", None),
        ("about 140 of 200", "about 155 of 200", "20"),
        ("about 140 of 200", "about 155 of 200", "15%"),
        ("2025-01-03 is 95% of 1e-06", "2025-01-03 is 95% of 1e-06", None),
    ],
)
def test_output_may_differ_by_its_noise(shown: str, printed: str, tolerance: str | None) -> None:
    assert difference(shown, printed, tolerance) is None


@pytest.mark.parametrize(
    ("shown", "printed", "tolerance"),
    [
        ("patients 5", "visits 5", None),
        ("patients 5", "patients 6", None),
        ("one line", "one line\nand another", None),
        ("one line\nand another", "one line", None),
        ("first\n...\nlast", "first\nsecond\nthird", None),
        ("first\n...\nlast", "last", None),
        ("1,234 ± 20", f"{1235 + 20 * REACH:,} ± 20", None),
        ("1,234 ± 20", "1,234 ± 70", None),
        ("172 [154, 189]", "472 [454, 489]", None),
        ("172 [154, 189]", "172 [154, 489]", "1"),
        ("epsilon 0.1, 1,234 ± 20", "epsilon 0.2, 1,234 ± 20", None),
        ("about 140 of 200", "about 155 of 200", "10"),
        ("about 140 of 200", "about 155 of 200", "5%"),
        ("on 2025-01-03", "on 2025-01-04", None),
    ],
)
def test_output_that_differs_by_more_than_noise_is_told(shown: str, printed: str, tolerance: str | None) -> None:
    assert difference(shown, printed, tolerance) is not None


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("mean 5 ± 2, median 172 ± 3", "mean 6 ± 2, median 180 ± 40", True),
        ("mean 5 ± 2, median 172 ± 3", "mean 6 ± 2, median 173 ± 0.01", True),
        ("mean 5 ± 2, median 172 ± 3", "mean 6 ± 2, median 195 ± 3", True),
        ("mean 5 ± 2, median 172 ± 3", "mean 6 ± 2, median 197 ± 3", False),
        ("mean 5 ± 2, median 172 ± 3", "mean 6 ± 2, median 200 ± 40", False),
        ("mean 5 ± 2, median 172 ± 3", "mean 25 ± 2, median 172 ± 3", False),
        ("median 172 ± 3 of 9", "median 172 ± 30 of 8", False),
    ],
)
def test_where_half_widths_are_drawn_values_differ_by_what_is_stated(shown: str, printed: str, alike: bool) -> None:
    assert (difference(shown, printed, None, "10%") is None) is alike


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", "page.md:6: shown: 2"),
        ("```python\nprint(1)\n```\n\n```output\n```\n", "page.md:6: 0 lines are shown and 1 were printed"),
        ("```sh\nls\n```\n\n```output\n2\n```\n", "page.md:5: an output block follows"),
        ("```python\nprint(1)\n```\n\n```output skip\n2\n```\n", "page.md:5: an output block may state"),
        ("```console\n$ privet --version\nprivet 99\n```\n", "page.md:2: shown: privet 99"),
        ("```console\n$ privet gone\n```\n", "page.md:2: privet gone"),
        ("```console\n$ rm -rf .\n```\n", "page.md:2: a console block runs privet and cd"),
    ],
)
def test_output_that_is_not_printed_is_told_with_its_page_and_line(page: str, told: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=re.escape(told)):
        checked(list(read_blocks(page)), "page.md")


def test_outputs_are_written_anew_and_nothing_else() -> None:
    page = "# A\n\n```python\nfor x in (1, 2):\n    print(x)\n```\n\nthen\n\n```output\nold\n```\n\nend\n"
    fresh = rewritten(page, "page.md")
    assert fresh == page.replace("old", "1\n2")
    assert rewritten(page.replace("old\n", ""), "page.md") == fresh
    assert rewritten(fresh, "page.md") == fresh
