"""What every command keeps to, those of the future too: help with an example, JSON for machines."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from privet import cli


def commands(one: click.Command, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if name:
        yield name, one
    if isinstance(one, click.Group):
        context = click.Context(one)
        for inner in one.list_commands(context):
            found = one.get_command(context, inner)
            assert found is not None
            yield from commands(found, (*name, inner))


ALL = list(commands(cli.main))


@pytest.mark.parametrize(("name", "command"), ALL, ids=[" ".join(name) for name, _ in ALL])
def test_every_command_has_help_with_an_example_of_itself(name: tuple[str, ...], command: click.Command) -> None:
    shown = CliRunner().invoke(cli.main, [*name, "--help"], prog_name="privet")
    assert shown.exit_code == 0
    assert "Example:" in shown.stdout
    assert f"    privet {' '.join(name)}" in shown.stdout.partition("Example:")[2]
    assert command.get_short_help_str()


@pytest.mark.parametrize(
    ("name", "command"),
    [(name, one) for name, one in ALL if not isinstance(one, click.Group)],
    ids=[" ".join(name) for name, one in ALL if not isinstance(one, click.Group)],
)
def test_every_command_speaks_json(name: tuple[str, ...], command: click.Command) -> None:
    flags = [flag for parameter in command.params for flag in parameter.opts]
    assert "--json" in flags


def test_every_command_of_the_command_line_was_looked_at() -> None:
    assert {"ask", "budget", "certificate", "demo", "ledger", "plan"} <= {name[0] for name, _ in ALL}
    assert {name[1] for name, _ in ALL if name[0] == "ledger" and len(name) == 2} == {
        "adopt", "backup", "clear", "export", "freeze", "import", "init", "limit", "list",
        "reschedule", "review", "show", "top-up", "verify",
    }  # fmt: skip
