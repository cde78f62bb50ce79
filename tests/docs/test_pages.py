"""What the documentation says is true: every example runs, every local link resolves, every citation has a source."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import privet

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LETTERS = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]

FENCE = re.compile(r"^(?P<indent> *)(?P<mark>```+|~~~+) *(?P<label>.*?) *$")
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
PYTHON = {"python", "python3", "py", "py3", "pycon"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its label and text, and the line of the page on which the text starts."""

    label: str
    text: str
    line: int


def read_blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown page in order."""
    opening, lines = None, list[str]()
    for number, line in enumerate(page.splitlines(), start=1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, first, lines = fence, number + 1, []
        elif fence and fence["mark"].startswith(opening["mark"]) and not fence["label"]:
            yield Block(opening["label"], textwrap.dedent("\n".join(lines)) + "\n", first)
            opening = None
        else:
            lines.append(line)
    if opening is not None:
        raise ValueError(f"the block that opens on line {first - 1} never closes")


def without_code(page: str) -> str:
    """Return a page with fenced blocks and inline code removed."""
    kept, inside = [], None
    for line in page.splitlines():
        fence = FENCE.match(line)
        if fence and inside is None:
            inside = fence["mark"]
        elif fence and inside is not None and fence["mark"].startswith(inside) and not fence["label"]:
            inside = None
        elif inside is None:
            kept.append(re.sub(r"`[^`]*`", "", line))
    return "\n".join(kept)


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


def anchors(page: str) -> set[str]:
    """Return the anchors that a page's headings make, as GitHub spells them."""
    found = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", page, flags=re.MULTILINE):
        found.add(re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", heading.lower())))
    return found


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run_blocks(text, relative(page))


@pytest.mark.parametrize("page", LETTERS, ids=relative)
def test_every_local_link_resolves(page: Path) -> None:
    broken = []
    for link in LINK.finditer(without_code(page.read_text(encoding="utf-8"))):
        target, _, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(link["target"])
    assert broken == []


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page.exists() and page not in reached:
            reached.add(page)
            links = LINK.finditer(without_code(page.read_text(encoding="utf-8")))
            waiting += [(page.parent / link["target"].partition("#")[0]).resolve() for link in links]
    assert set(DOCS.rglob("*.md")) - reached == set()


@pytest.mark.parametrize("name", privet.__all__)
def test_every_public_name_has_a_place_in_the_docs(name: str) -> None:
    told = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    code = re.findall(r"`[^`\n]+`", told) + [block.text for block in read_blocks(told)]
    assert any(re.search(rf"\b{re.escape(name)}\b", text) for text in code)


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


def known_keys() -> list[str]:
    return re.findall(r"^@\w+\{([^,\s]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.M)


def test_every_citation_has_a_source() -> None:
    known, files = set(known_keys()), sorted((ROOT / "src").rglob("*.py"))
    missing = [
        f"{relative(file)}: {key}"
        for file in files
        for key in cited_keys(file.read_text(encoding="utf-8"))
        if key not in known
    ]
    assert missing == []


def test_no_source_is_listed_twice() -> None:
    assert len(known_keys()) == len(set(known_keys()))


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


def test_a_citation_is_read_across_lines_and_a_field_without_keys_is_told() -> None:
    module = '"""A module.\n\nCites: [CKS20, Thm 7],\n[BS16].\n\nNot [AB12].\n"""\n'
    source = module + 'def f():\n    """F.\n\n    Cites: a friend.\n    """\n'
    assert list(cited_keys(source)) == ["CKS20", "BS16", "a field without a [key]: a friend."]
