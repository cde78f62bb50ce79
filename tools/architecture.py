"""Draws docs/architecture.svg from docs/architecture.md: the layers, and the way of a question through them.

    python tools/architecture.py

A test draws it again and fails if the page says something else by now.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "architecture.md", DOCS / "architecture.svg"
WIDTH, HEIGHT, GAP, LEFT, TOP = 620, 38, 6, 20, 46
STEPS_LEFT, STEPS_WIDTH = 670, 330
FONT = "font-family='system-ui, sans-serif'"


def layers(page: str) -> list[list[str]]:
    """Return the packages of each layer, from the top."""
    found = re.search(r"^```layers\n(.*?)^```", page, re.M | re.S)
    if found is None:
        raise ValueError("the page has no block of layers")
    return [line.split() for line in found[1].splitlines()]


def steps(page: str) -> list[tuple[str, str]]:
    """Return the functions that a question passes, in order, each as module and qualified name."""
    return re.findall(r"^\| \d+ \| `([\w.]+):([\w.]+)` \|", page, re.M)


def picture(page: str) -> str:
    """Return the drawing."""
    rows, way = layers(page), steps(page)
    height = TOP + max(len(rows) * (HEIGHT + GAP), len(way) * 58) + 20
    met: dict[str, list[int]] = {}
    for number, (module, _) in enumerate(way, start=1):
        met.setdefault(module.split(".")[1], []).append(number)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {STEPS_LEFT + STEPS_WIDTH + 20} {height}' {FONT}>",
        f"<rect width='{STEPS_LEFT + STEPS_WIDTH + 20}' height='{height}' fill='#ffffff'/>",
        _text(LEFT, 28, "Layers: each imports only those below", 16, "#222222", weight="bold"),
        _text(STEPS_LEFT, 28, "The way of a question", 16, "#222222", weight="bold"),
    ]
    for index, row in enumerate(rows):
        y, width = TOP + index * (HEIGHT + GAP), (WIDTH - GAP * (len(row) - 1)) / len(row)
        for column, package in enumerate(row):
            x = LEFT + column * (width + GAP)
            parts.append(
                f"<rect x='{x:g}' y='{y}' width='{width:g}' height='{HEIGHT}' rx='5' fill='#e8f0f8' stroke='#4a7ba6'/>"
            )
            parts.append(_text(x + 12, y + 25, package, 16, "#16354f"))
            for back, number in enumerate(reversed(met.get(package, []))):
                parts += _badge(x + width - 18 - 26 * back, y + HEIGHT / 2, number)
    for index, (module, name) in enumerate(way):
        y = TOP + index * 58
        parts.append(f"<rect x='{STEPS_LEFT}' y='{y}' width='{STEPS_WIDTH}' height='46' rx='5' fill='#fbf1e8'/>")
        parts += _badge(STEPS_LEFT + 20, y + 23, index + 1)
        parts.append(_text(STEPS_LEFT + 42, y + 20, name, 15, "#5c3110", weight="bold"))
        parts.append(_text(STEPS_LEFT + 42, y + 37, module, 12, "#5c3110"))
    return "\n".join([*parts, "</svg>", ""])


def _badge(x: float, y: float, number: int) -> list[str]:
    circle = f"<circle cx='{x:g}' cy='{y:g}' r='11' fill='#b0632a'/>"
    return [circle, _text(x, y + 5, str(number), 13, "#ffffff", anchor="middle", weight="bold")]


def _text(x: float, y: float, text: str, size: int, fill: str, *, anchor: str = "start", weight: str = "normal") -> str:
    style = f"font-size='{size}' font-weight='{weight}' fill='{fill}' text-anchor='{anchor}'"
    return f"<text x='{x:g}' y='{y:g}' {style}>{escape(text)}</text>"


if __name__ == "__main__":
    PICTURE.write_text(picture(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
