"""Every command of the command line stands in the docs. That the commands shown there run, test_pages checks."""

from __future__ import annotations

from pathlib import Path

from privet import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"


def test_every_command_is_told_in_the_docs() -> None:
    told = "\n".join(page.read_text(encoding="utf-8") for page in PAGE.parent.rglob("*.md"))
    missing = [name for name in cli.COMMANDS if f"privet {name}" not in told]
    assert missing == []
