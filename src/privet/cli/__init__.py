"""The command line: `privet`. A front door only: it reads arguments, calls the library and prints.

A command lives in a file of its own and is imported when it is asked for. To add one, write the file, with a click
command named `command`, and add a line to `COMMANDS`.
"""

from __future__ import annotations

import importlib
import json

import click

from privet import PrivetError, __version__

from .output import wants_json

COMMANDS = {
    "calibrate": "Tell the least noise with which releases fit a budget.",
    "demo": "Ask a made-up hospital questions, and see the truth beside the answers.",
    "epsilon": "Tell what releases cost together.",
}
"""Each command's name and its line in `privet --help`; its file has the same name."""


class _Door(click.Group):
    """A group that imports a command when it is used and turns Privet's errors into messages and exit statuses."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except PrivetError as error:
            told = json.dumps({"error": error.to_dict()}, default=str) if wants_json(ctx) else f"Error: {error}"
            click.echo(told, err=True)
            ctx.exit(error.exit_status)


@click.command(cls=_Door, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="privet", message="%(prog)s %(version)s")
def main() -> None:
    """Ask private data questions, with differential privacy."""
