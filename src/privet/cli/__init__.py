"""The command line: `privet`. An entry point only: it reads arguments, calls the library and prints.

A command is imported when it is used. To add one here, write a click command and add a line to `COMMANDS`. Packages
that stand above this one register theirs as entry points of the group `privet.commands`, so that nothing here imports
them: `serve = "privet.server.command:serve"` in `[project.entry-points."privet.commands"]` of their pyproject.toml.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from io import TextIOWrapper

import click

from privet import PrivetError, __version__
from privet.core.errors import InvariantError, RequestError, raise_alone, without_passwords

COMMANDS = {
    "above": "Test whether counts or sums are above a threshold, for one charge.",
    "ask": "Ask a question, charged to the ledger first.",
    "audit": "Try to refute the guarantees, and run the attacks that break careless programs.",
    "budget": "Show what is left of each budget.",
    "calibrate": "Compute the least noise with which releases fit a budget.",
    "certificate": "Print the certificate of a release.",
    "check": "Check a privet.toml and its sources, and explain what they protect.",
    "choose": "Choose one of several options by a private score.",
    "clipping": "Estimate what clamping and contribution bounding remove from an answer.",
    "demo": "Ask a made-up hospital questions, and compare the answers with the truth.",
    "epsilon": "Compute the total privacy loss of releases.",
    "init": "Write a first privet.toml for some files.",
    "ledger": "Inspect, verify, copy and repair the ledger.",
    "marginals": "Count by every set of some columns, for one charge.",
    "plan": "Show what a question would cost and how wide its intervals would be.",
    "practice": "Ask questions of made-up rows that fit a privet.toml, at no cost.",
    "ranges": "Count one column so that any range or quantile of it is free.",
    "regress": "Fit a linear regression to a private table.",
    "running": "Release the running counts or sums of a history, for one charge.",
    "tables": "List the tables that may be asked about, with example questions.",
    "test": "Test hypotheses about private tables.",
}
"""Each command's name and its line in `privet --help`."""

_PLACES = {
    "above": "choices_command:above_command",
    "ask": "asking:ask_command",
    "budget": "budgets:command",
    "calibrate": "costs:calibrate_command",
    "certificate": "ledger:certificate_command",
    "choose": "choices_command:choose_command",
    "clipping": "asking:clipping_command",
    "epsilon": "costs:epsilon_command",
    "plan": "asking:plan_command",
    "practice": "asking:practice_command",
    "regress": "regress_command:command",
    "running": "running_command:command",
    "tables": "asking:tables_command",
    "test": "hypotheses_command:command",
}
"""Where a command is, unless it is `command` in the file of its name."""

GROUP = "privet.commands"
"""The group of entry points under which other packages register commands."""

_OWN = {
    "privet.server.serve_command:command": "Answer analysts over HTTP, each charged to their own account.",
    "privet.server.token_command:command": "Make, list and revoke the tokens of a server's accounts.",
    "privet.stream.command:command": "Release running sums of a stream, step by step.",
    "privet.survey.survey_command:command": "Ask a survey in which each person randomises before sending.",
}
"""The help of the commands of higher packages of Privet, so that help need not import them."""

_NAME = re.compile("[a-z][a-z0-9-]{0,30}")


def registered() -> dict[str, list[EntryPoint]]:
    """Return the commands that installed packages register, by name; none replaces one of `COMMANDS`."""
    commands: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        if entry.name not in COMMANDS and _NAME.fullmatch(entry.name):
            same = commands.setdefault(entry.name, [])
            if entry.value not in [other.value for other in same]:
                same.append(entry)
    return commands


def load_registered(name: str, places: Sequence[EntryPoint]) -> click.Command:
    """Return a registered command, or raise `RequestError` where it cannot be loaded or two packages register it."""
    values = " and ".join(place.value for place in places)
    if len(places) != 1:
        raise RequestError(f"two installed packages register the command {name!r}: {values}; uninstall one of them")
    try:
        command = places[0].load()
    except (Exception, SystemExit) as error:  # a foreign package may raise anything
        raise_alone(RequestError(f"the command {name!r} ({values}) cannot be loaded: {type(error).__name__}"))
    if not isinstance(command, click.Command):
        raise RequestError(f"the command {name!r} ({values}) is not a click command")
    return command


class CommandGroup(click.Group):
    """A group that imports a command when it is used and turns errors into messages and exit statuses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            try:
                os.fsencode(word)
            except UnicodeEncodeError:
                raise click.UsageError(f"{word[:60]!a} is not valid text", ctx) from None
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *registered()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            places = registered().get(cmd_name)
            return None if places is None else load_registered(cmd_name, places)
        module, _, name = _PLACES.get(cmd_name, f"{cmd_name}:command").partition(":")
        command: click.Command = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = list(COMMANDS.items())
        for name, places in registered().items():
            if len(places) == 1 and places[0].value in _OWN:
                lines.append((name, _OWN[places[0].value]))
                continue
            try:
                lines.append((name, load_registered(name, places).get_short_help_str(limit=80)))
            except PrivetError as error:
                lines.append((name, f"Not available: {error}"))
        with formatter.section("Commands"):
            formatter.write_dl(lines)

    def invoke(self, ctx: click.Context) -> object:
        as_json = "--json" in ctx.args
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal without ± still shows the numbers
        try:
            return super().invoke(ctx)
        except PrivetError as error:
            from .screen import wants_json

            self._report(error, as_json=as_json or wants_json(ctx))
            ctx.exit(error.exit_status)
        except click.UsageError as error:
            message = without_passwords(error.format_message())
            if not as_json:
                raise click.UsageError(message, ctx=error.ctx) from None
            click.echo(json.dumps({"error": {"code": "request.usage", "message": message}}), err=True)
            ctx.exit(error.exit_code)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:  # the reader has left, as `head` does
                raise
            # no traceback and no text of the exception: either could quote a private value
            wrong = InvariantError(f"unexpected error in Privet ({type(error).__name__}); please report it")
            self._report(wrong, as_json=as_json)
            ctx.exit(wrong.exit_status)

    def _report(self, error: PrivetError, *, as_json: bool) -> None:
        problems = [] if as_json else getattr(error, "problems", [])
        if problems and isinstance(problems[0], dict):
            from .screen import print_problems

            print_problems(str(error).splitlines()[0], problems)
            return
        if as_json:
            click.echo(json.dumps({"error": error.to_dict()}, default=str), err=True)
            return
        from .screen import print_error

        print_error(str(error))


@click.command(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="privet", message="%(prog)s %(version)s")
def main() -> None:
    """Ask private data questions, with differential privacy."""
