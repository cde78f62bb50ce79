"""Records a terminal as docs/pictures/recording.svg, from real commands on a hospital that is made for it.

The commands and their output are what a shell printed; only the pace of typing is made up. The drawing loads nothing:
fonts are those of the reader. Where animations are off, all lines are shown at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "recording.svg"
COMMANDS = (
    """privet ask "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost
            FROM visits GROUP BY ward" --epsilon 0.25""",
    """# the same numbers in other words are free
privet ask "SELECT ward, AVG(cost) * COUNT(*) AS total FROM visits GROUP BY ward
            HAVING COUNT(*) > 90000" --epsilon 0.25 | head -5""",
    """# what would expose people is refused
privet ask "SELECT * FROM visits\"""",
    "privet budget | head -2",
)
COLUMNS = 80
CELL, LINE, MARGIN, BAR = 8.4, 19, 18, 34
TYPING, READING = 0.025, 1.2
"""Seconds for a character that is typed, and between commands."""


@dataclass(frozen=True)
class Shown:
    """One line of the terminal: its text, whether it was typed, and when it appears."""

    text: str
    typed: bool
    at: float


def shell(command: str, folder: Path) -> str:
    """Return what a shell prints for a command."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def record(commands: Sequence[str], folder: Path) -> list[Shown]:
    """Return the lines of a terminal in which commands are typed and run, one after the other."""
    shown, now = list[Shown](), 0.5
    for command in commands:
        for place, line in enumerate(command.splitlines()):
            continued = place and not command.splitlines()[place - 1].startswith("#")
            shown.append(Shown(("  " if continued else "$ ") + line, True, now))
            now += TYPING * len(line)
        now += 0.3
        for line in shell(command, folder).rstrip("\n").splitlines():
            parts = range(0, max(1, len(line)), COLUMNS)  # a terminal breaks lines at its edge
            shown += [Shown(line[start : start + COLUMNS].rstrip(), False, now) for start in parts]
        shown.append(Shown("", False, now))
        now += READING
    return shown[:-1]


def drawn(lines: Sequence[Shown]) -> str:
    """Return a terminal with these lines as SVG."""
    width = 2 * MARGIN + CELL * max(COLUMNS, *(len(line.text) for line in lines))
    height = BAR + LINE * len(lines) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" role="img">',
        "<title>A terminal in which privet answers questions</title>",
        "<style>",
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}",
        "text{fill:#d7dde5;white-space:pre}",
        ".p{fill:#7ee0a1}.c{fill:#8b98a8}.t{fill:#fff;font-weight:600}",
        "g{animation:appear 1ms linear backwards}@keyframes appear{from{opacity:0}to{opacity:1}}",
        "@media (prefers-reduced-motion:reduce){g{animation:none}}",
        "</style>",
        f'<rect width="{width:.0f}" height="{height}" rx="9" fill="#161b22"/>',
        *(
            f'<circle cx="{MARGIN + 4 + 18 * place}" cy="17" r="5.5" fill="{colour}"/>'
            for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        ),
    ]
    for place, line in enumerate(lines):
        y = BAR + LINE * place + 14
        if line.text:
            parts.append(f'<g style="animation-delay:{line.at:.2f}s">{spans(line, y)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def spans(line: Shown, y: float) -> str:
    """Return one line as text elements; each is as wide as its characters, whatever the font."""

    def text(kind: str, written: str, column: int) -> str:
        where = f'x="{MARGIN + CELL * column:.1f}" y="{y}" textLength="{CELL * len(written):.1f}"'
        return f'<text class="{kind}" {where} lengthAdjust="spacingAndGlyphs">{escape(written)}</text>'

    if not line.typed:
        indent = len(line.text) - len(line.text.lstrip())
        return text("o", line.text.lstrip(), indent)
    prompt, written = line.text[:2], line.text[2:]
    typed = text("c" if written.startswith("#") else "t", written.lstrip(), 2 + len(written) - len(written.lstrip()))
    return (text("p", "$", 0) if prompt == "$ " else "") + typed


def main() -> None:
    from privet.demo.hospital import make_hospital

    with tempfile.TemporaryDirectory() as name:
        make_hospital(Path(name))
        lines = record(COMMANDS, Path(name))
    PICTURE.write_text(drawn(lines), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
