"""The page on the command line is true: every command that it shows runs, in order, in one folder."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from privet import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"


def commands() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = commands()
    assert len(shown) > 10
    for line in shown:
        program, *arguments = shlex.split(line)
        if program == "cd":
            os.chdir(arguments[0])
            continue
        assert program == "privet"
        result = CliRunner().invoke(cli.main, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
    assert (tmp_path / "hospital.png").stat().st_size > 10_000


def test_every_command_is_told_in_the_docs() -> None:
    told = "\n".join(page.read_text(encoding="utf-8") for page in PAGE.parent.rglob("*.md"))
    missing = [name for name in cli.COMMANDS if f"privet {name}" not in told]
    assert missing == []
