"""Reads Markdown pages for the tests of the documentation: their fenced blocks, links, anchors and sections."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^(?P<indent> *)(?P<mark>```+|~~~+) *(?P<label>.*?) *$")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its label and text, and the line of the page on which the text starts."""

    label: str
    text: str
    line: int

    @property
    def kind(self) -> str:
        """The first word of the label, such as python."""
        return self.label.partition(" ")[0]


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


def anchors(page: str) -> set[str]:
    """Return the anchors that a page's headings make, as GitHub spells them."""
    return set(sections(page))


def sections(page: str) -> dict[str, str]:
    """Return the text under each heading, up to the next heading of any level, by the heading's anchor."""
    found, anchor, inside = dict[str, list[str]](), None, None
    for line in page.splitlines():
        fence, heading = FENCE.match(line), re.match(r"#{1,6} +(.*?) *#*$", line)
        if fence and inside is None:
            inside = fence["mark"]
        elif fence and inside is not None and fence["mark"].startswith(inside) and not fence["label"]:
            inside = None
        elif heading and inside is None:
            anchor = re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", heading[1].lower()))
            found[anchor] = []
            continue
        if anchor is not None:
            found[anchor].append(line)
    return {anchor: "\n".join(lines) + "\n" for anchor, lines in found.items()}


def code_of(page: str) -> str:
    """Return the Python of a page, all its blocks one after the other."""
    return "\n".join(block.text for block in read_blocks(page) if block.label == "python")


def ragged_rows(page: str) -> list[str]:
    """Return the rows of a page's tables that have more or fewer cells than the row that opens their table."""
    found, cells = [], None
    for line in re.sub(r"`[^`\n]*`", "code", page).splitlines():
        if not line.startswith("|"):
            cells = None
            continue
        count = len(re.split(r"(?<!\\)\|", line.strip())) - 2
        cells = count if cells is None else cells
        if count != cells or not line.rstrip().endswith("|"):
            found.append(line)
    return found
