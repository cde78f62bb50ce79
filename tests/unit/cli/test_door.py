"""The command line's door: errors become messages and exit statuses; commands load when they are used."""

from __future__ import annotations

import json
import subprocess
import sys
import types

import click
import pytest
from click.testing import CliRunner

from privet import cli
from privet.cli.screen import json_option
from privet.core.errors import BadParameter, InvariantError, PrivetError


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[PrivetError]:
    """A command named `broken` that raises the error put into this list."""
    errors: list[PrivetError] = []

    @click.command()
    @json_option
    def command(as_json: bool) -> None:
        raise errors[0]

    module = types.ModuleType("privet.cli.broken")
    module.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cli.COMMANDS, "broken", "Fail.")
    return errors


@pytest.mark.parametrize(
    ("error", "status"), [(BadParameter("epsilon", -1, "above 0"), 2), (InvariantError("a proof is wrong"), 70)]
)
def test_an_error_becomes_its_message_and_its_exit_status(
    broken: list[PrivetError], error: PrivetError, status: int
) -> None:
    broken.append(error)
    result = CliRunner().invoke(cli.main, ["broken"])
    assert result.exit_code == status
    assert result.stderr == f"Error: {error}\n"
    assert result.stdout == ""


def test_an_error_is_json_where_json_was_asked_for(broken: list[PrivetError]) -> None:
    broken.append(BadParameter("epsilon", -1, "above 0"))
    result = CliRunner().invoke(cli.main, ["broken", "--json"])
    assert json.loads(result.stderr)["error"]["code"] == "request.parameter"
    assert json.loads(result.stderr)["error"]["parameter"] == "epsilon"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_listed_command_exists(name: str) -> None:
    assert CliRunner().invoke(cli.main, [name, "--help"]).exit_code == 0


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_load_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys; from privet.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "print([name for name in ('numpy', 'scipy', 'duckdb', 'rich') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_an_error_that_nobody_expected_tells_its_kind_and_nothing_else(broken: list[PrivetError]) -> None:
    broken.append(KeyError("patient 17"))  # type: ignore[arg-type]
    for arguments in (["broken"], ["broken", "--json"]):
        result = CliRunner().invoke(cli.main, arguments)
        assert result.exit_code == 70
        assert "KeyError" in result.stderr
        assert "17" not in result.output
        assert "Traceback" not in result.output


def test_a_command_line_that_is_not_understood_is_told_in_json_where_that_was_asked_for() -> None:
    for arguments in (["budget", "--json", "--frob"], ["ledger", "show", "x", "--json"], ["frob", "--json"]):
        result = CliRunner().invoke(cli.main, arguments)
        assert result.exit_code == 2
        assert json.loads(result.stderr)["error"]["code"] == "request.usage"
