"""The command line's entry point: errors become messages and exit statuses; commands load when they are used."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from privet import cli
from privet.cli.screen import json_option, print_error
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


# Commands of other packages, registered as entry points


def install(folder: Path, name: str, commands: dict[str, str], module: str = "") -> None:
    """Lay a distribution into a folder, as an installer would: its metadata with entry points, and one module."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{command} = {place}" for command, place in commands.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[privet.commands]", *lines, ""]))
    (folder / f"{name}_module.py").write_text(module)


SERVE = """
import click
from privet.core.errors import BadParameter

@click.command()
@click.option("--port", type=int, default=8000)
def serve(port):
    '''Answer questions over HTTP.'''
    if port < 1:
        raise BadParameter("port", port, "at least 1")
    click.echo(f"listening on {port}")

@click.command()
def ask():
    '''Answer for nothing.'''
    click.echo("replaced")

not_a_command = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, from which nothing stays imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.endswith("_module"):
            del sys.modules[name]


def test_a_package_above_registers_a_command_that_the_command_line_does_not_import(folder: Path) -> None:
    install(folder, "above", {"uphold": "above_module:serve"}, SERVE)
    assert CliRunner().invoke(cli.main, ["budget", "--help"]).exit_code == 0
    assert "above_module" not in sys.modules
    assert "uphold" not in cli.COMMANDS
    shown = CliRunner().invoke(cli.main, ["--help"])
    assert "Answer questions over HTTP." in shown.stdout
    ran = CliRunner().invoke(cli.main, ["uphold", "--port", "80"])
    assert (ran.exit_code, ran.stdout) == (0, "listening on 80\n")


def test_errors_of_a_registered_command_are_messages_and_statuses_as_well(folder: Path) -> None:
    install(folder, "above", {"uphold": "above_module:serve"}, SERVE)
    result = CliRunner().invoke(cli.main, ["uphold", "--port", "0"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "port" in result.stderr


def test_no_package_replaces_a_command(folder: Path) -> None:
    install(folder, "above", {"ask": "above_module:ask"}, SERVE)
    assert "replaced" not in CliRunner().invoke(cli.main, ["ask"]).output
    assert "Answer for nothing" not in CliRunner().invoke(cli.main, ["--help"]).output
    assert "above_module" not in sys.modules


@pytest.mark.parametrize(
    ("place", "module", "reason"),
    [
        ("above_module:serve", "raise ValueError('patient 17')", "cannot be loaded: ValueError"),
        ("above_module:serve", "raise SystemExit(17)", "cannot be loaded: SystemExit"),
        ("nowhere_at_all:serve", "", "cannot be loaded: ModuleNotFoundError"),
        ("above_module:nothing", SERVE, "cannot be loaded: AttributeError"),
        ("above_module:not_a_command", SERVE, "not a click command"),
    ],
)
def test_a_registered_command_that_cannot_be_loaded_is_refused_and_help_still_works(
    folder: Path, place: str, module: str, reason: str
) -> None:
    install(folder, "above", {"uphold": place}, module)
    result = CliRunner().invoke(cli.main, ["uphold"])
    assert result.exit_code == 2
    assert reason in result.stderr
    assert "17" not in result.output
    shown = CliRunner().invoke(cli.main, ["--help"], terminal_width=300)
    assert shown.exit_code == 0
    assert "Not available" in shown.stdout


def test_a_command_that_two_packages_register_is_refused(folder: Path) -> None:
    install(folder, "above", {"uphold": "above_module:serve"}, SERVE)
    install(folder, "beside", {"uphold": "beside_module:serve"}, SERVE)
    result = CliRunner().invoke(cli.main, ["uphold"])
    assert result.exit_code == 2
    assert "above_module:serve and beside_module:serve" in result.stderr
    assert {"above_module", "beside_module"}.isdisjoint(sys.modules)


def test_names_that_could_move_a_cursor_are_not_listed(folder: Path) -> None:
    install(folder, "above", {"uph\x1bold": "above_module:serve", "Uphold It": "above_module:serve"}, SERVE)
    assert cli.registered().keys() <= {"serve", "stream", "survey", "token"}  # which Privet registers itself


def test_what_help_tells_of_commands_of_higher_packages_is_what_they_tell() -> None:
    for (place,) in cli.registered().values():
        if place.value.startswith("privet."):
            assert cli._OWN[place.value] == place.load().get_short_help_str(limit=80)


@pytest.mark.parametrize("terminal", [True, False])
def test_long_errors_are_wrapped_on_a_terminal_alone_and_places_marked_by_a_caret_never(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("COLUMNS", "50")
    question = "SELECT " + ", ".join(f"column_{number}" for number in range(12))
    print_error(f"there is no column 'column_0'; {'known are many others ' * 4}\n{question}\n       ^")
    shown = capsys.readouterr().err.splitlines()
    assert shown[-2:] == [question, "       ^"]
    assert all(len(line) <= 50 for line in shown[:-2]) is terminal
    assert " ".join(shown[:-2]).startswith("Error: there is no column")
