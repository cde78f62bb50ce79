"""The command line: `privet`. A front door only: it reads arguments, calls the library and prints.

A command lives in a file of its own and is imported when it is asked for. To add one, write the file, with a click
command named `command`, and add a line to `COMMANDS`.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import sys
from io import TextIOWrapper

import click

from privet import PrivetError, __version__
from privet.core.errors import without_passwords

COMMANDS = {
    "ask": "Ask a question, charged to the ledger first.",
    "audit": "Try to refute the guarantees, and show the attacks that break careless programs.",
    "budget": "Tell what is left of each budget.",
    "calibrate": "Tell the least noise with which releases fit a budget.",
    "certificate": "Give the certificate of a release.",
    "check": "Check a privet.toml and its sources, and tell what they protect.",
    "clipping": "Estimate what clamping and bounding take away from an answer.",
    "demo": "Ask a made-up hospital questions, and see the truth beside the answers.",
    "epsilon": "Tell what releases cost together.",
    "init": "Write a first privet.toml for some files.",
    "ledger": "See, prove, copy and mend the ledger.",
    "plan": "Tell what a question would cost and how wide its answer would be.",
    "practice": "Ask made-up rows that fit a privet.toml, at no cost.",
}
"""Each command's name and its line in `privet --help`."""

_HOMES = {
    "ask": "asking:ask_command",
    "budget": "budgets:command",
    "calibrate": "costs:calibrate_command",
    "certificate": "ledger:certificate_command",
    "clipping": "asking:clipping_command",
    "epsilon": "costs:epsilon_command",
    "plan": "asking:plan_command",
    "practice": "asking:practice_command",
}
"""Where a command is, unless it is `command` in the file of its name."""


class _Door(click.Group):
    """A group that imports a command when it is used and turns errors into messages and exit statuses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            try:
                os.fsencode(word)
            except UnicodeEncodeError:
                raise click.UsageError(f"{word[:60]!a} is no text that can be written down", ctx) from None
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = _HOMES.get(cmd_name, f"{cmd_name}:command").partition(":")
        command: click.Command = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        as_json = "--json" in ctx.args
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that knows no ± still gets its numbers
        try:
            return super().invoke(ctx)
        except PrivetError as error:
            from .screen import wants_json

            self._tell(error, as_json=as_json or wants_json(ctx))
            ctx.exit(error.exit_status)
        except click.UsageError as error:
            message = without_passwords(error.format_message())
            if not as_json:
                raise click.UsageError(message, ctx=error.ctx) from None
            told = {"code": "request.usage", "message": message}
            click.echo(json.dumps({"error": told}), err=True)
            ctx.exit(error.exit_code)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:  # who reads has left, as `head` does
                raise
            from privet.core.errors import InvariantError

            # no traceback and no text of the exception: either could quote a private value
            wrong = InvariantError(f"Privet met an error that it did not expect ({type(error).__name__}); report it")
            self._tell(wrong, as_json=as_json)
            ctx.exit(wrong.exit_status)

    def _tell(self, error: PrivetError, *, as_json: bool) -> None:
        click.echo(json.dumps({"error": error.to_dict()}, default=str) if as_json else f"Error: {error}", err=True)


@click.command(cls=_Door, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="privet", message="%(prog)s %(version)s")
def main() -> None:
    """Ask private data questions, with differential privacy."""
