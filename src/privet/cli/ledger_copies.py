"""`privet ledger export`, `import` and `backup`: copies of a ledger, each checked as it is made or read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .output import json_option, print_json
from .places import existing_ledger, ledger_command
from .screen import print_text, working


@ledger_command("export")
@click.option("--output", type=click.Path(path_type=Path), help="A new file, instead of standard output.")
def export(config: Path, ledger_path: Path | None, output: Path | None, as_json: bool) -> None:
    """Write every entry with its hash as a line of JSON, oldest first.

    \b
    Example:
      privet ledger export --output ledger.jsonl
    """
    from privet.core.errors import RequestError

    with existing_ledger(config, ledger_path) as ledger:
        lines, head = list(ledger.export()), ledger.head()
    if output is None:
        click.echo("\n".join(lines))
        return
    try:
        with output.open("x", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise RequestError(f"{str(output)!r} exists already; choose another name") from None
    except OSError:
        raise RequestError(f"{str(output)!r} cannot be written; check the folder and who may write to it") from None
    if as_json:
        print_json({"entries": len(lines), "head": head, "output": str(output)})
        return
    print_text(f"{len(lines):,} entries are in {output}. Head:\n{head}")


@click.command("import")
@click.argument("source", type=click.File(encoding="utf-8"))
@click.option("--ledger", "ledger_path", type=click.Path(path_type=Path), required=True, help="The new ledger.")
@click.option("--head", help="A head that you kept: the lines must hold that entry.")
@json_option
def restore(source: Any, ledger_path: Path, head: str | None, as_json: bool) -> None:
    """Make a new ledger of exported lines, after checking all of them. SOURCE is a file, or - for standard input.

    An old export has forgotten what was spent after it: give the last head that you know.

    \b
    Example:
      privet ledger import ledger.jsonl --ledger restored.ledger --head 12:9f3c...
    """
    from privet.core.errors import RequestError
    from privet.ledger.sqlite import SqliteLedger

    try:
        lines = [line for line in source.read().splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise RequestError("the lines are not text in UTF-8, so they are no exported ledger") from None
    with working("checking every line"), SqliteLedger.restore(ledger_path, lines, head=head) as ledger:
        ledger.verify()
        last = ledger.head()
    if as_json:
        print_json({"entries": len(lines), "head": last, "ledger": str(ledger_path)})
        return
    print_text(f"{len(lines):,} entries are in {ledger_path}, the ledger is whole. Head:\n{last}")


@ledger_command("backup")
@click.argument("target", type=click.Path(path_type=Path))
def backup(config: Path, ledger_path: Path | None, target: Path, as_json: bool) -> None:
    """Copy the ledger to a new one while others go on spending.

    \b
    Example:
      privet ledger backup copy.ledger
    """
    with existing_ledger(config, ledger_path) as ledger:
        ledger.backup(target)
        head = ledger.head()
    if as_json:
        print_json({"copy": str(target), "head": head})
        return
    print_text(f"The copy is {target}. The ledger's head:\n{head}")
