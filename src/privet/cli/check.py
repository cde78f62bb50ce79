"""`privet check`: is a privet.toml valid, do the sources match it, and what does it protect?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import printable

from .screen import json_option, print_facts, print_json, print_text, working
from .targets import config_option

if TYPE_CHECKING:
    from privet.config.checking import Compared
    from privet.config.declared import Config


@click.command()
@config_option
@click.option("--fingerprint", is_flag=True, help="Tell whether a table's data changed while its version did not.")
@click.option(
    "--key", "key_file", type=click.Path(path_type=Path), help="Your key for --fingerprint, if none is declared."
)
@json_option
def command(config: Path, fingerprint: bool, key_file: Path | None, as_json: bool) -> None:
    """Check a privet.toml and its sources, and explain what they protect. For the custodian alone.

    It reads the data to see that declared numbers, keys and links hold, so what it finds is not for analysts. No
    bound, value or count is shown.

    \b
    Example:
      privet check
      privet check --config hospital/privet.toml --fingerprint --key my.key
    """
    from privet.config import read_config
    from privet.config.checking import BadSources, check_sources
    from privet.config.sessions import check_ledger

    declared = read_config(config)
    check_ledger(declared)
    with working("looking at the sources"):
        checked = check_sources(declared)
    compared = None
    if fingerprint and not checked.all_problems:
        compared = _compare(declared, key_file)
    failure = BadSources(str(config), checked.all_problems) if checked.all_problems else None
    if not as_json:
        _print(declared, config, checked.undeclared)
    elif failure is None:
        print_json(_facts(declared, compared))
    if failure is not None:
        raise failure
    if not as_json:
        _print_compared(compared)
        print_text("The file is valid, and the sources match it.")


def _compare(declared: Config, key_file: Path | None) -> Compared:
    from privet.config.checking import compare
    from privet.core.errors import RequestError

    key = key_file or declared.key_file
    if key is None:
        raise RequestError('a fingerprint needs a key: pass --key FILE, or write [fingerprint] key = "FILE"')
    with working("reading the sources"):
        found = compare(declared, Path(key).absolute())
    if found.changed:
        raise RequestError(
            f"the data of {', '.join(found.changed)} changed since this version was first seen, and the version did "
            "not; set a new version in privet.toml, or earlier answers are returned for the new data"
        )
    return found


def _print(declared: Config, config: Path, undeclared: Any) -> None:
    from privet.config.checking import notes, promise_in_words, tables_in_words

    for name, words in tables_in_words(declared).items():
        print_text(printable(name), style="bold")
        for sentence in words:
            print_text(printable(sentence), indent="  ")
        if undeclared.get(name):
            what = "1 column" if undeclared[name] == 1 else f"{undeclared[name]} columns"
            print_text(f"Not declared, so no question can use it: {what} of its source.", indent="  ")
        print_text("")
    print_text(f"The budget: {declared.rules.budget.describe()}", style="bold")
    for sentence in promise_in_words(declared):
        print_text(printable(sentence), indent="  ")
    for told in _rules(declared):
        print_text(told, indent="  ")
    print_text("")
    if declared.analysts:
        print_text("Who may ask", style="bold")
        print_facts([(f"  {printable(name)}", printable(words)) for name, words in _analysts(declared).items()])
        print_text("")
    worth = notes(declared)
    if worth:
        print_text("Worth a second look", style="bold")
        for note in worth:
            print_text(printable(note), indent="  ")
        print_text("")


def _rules(declared: Config) -> list[str]:
    rules, told = declared.rules, []
    if rules.per_query is not None:
        told.append(f"One question may cost at most {rules.per_query.describe()}.")
    if rules.expires is not None:
        told.append(f"Nothing can be spent after {rules.expires:%Y-%m-%d %H:%M:%S} UTC; what is left then is lost.")
    return told


def _analysts(declared: Config) -> dict[str, str]:
    whole = "the data set's budget"
    return {
        name: f"{', '.join(one.tables)}: up to {whole if one.budget is None else one.budget.describe()}"
        for name, one in declared.analysts.items()
    }


def _print_compared(compared: Compared | None) -> None:
    if compared is None:
        return
    if compared.new:
        print_text(f"Fingerprints of {', '.join(compared.new)} are now kept in {compared.file}.")
    if compared.same:
        print_text(f"The data of {', '.join(compared.same)} are those that were seen before.")


def _facts(declared: Config, compared: Compared | None) -> dict[str, Any]:
    from privet.config.checking import notes, promise_in_words, tables_in_words

    words_of_budget = [*promise_in_words(declared), *_rules(declared)]
    return {
        "file": str(declared.path),
        "tables": {
            name: {"protects": str(declared.tables[name].schema.unit), "words": words}
            for name, words in tables_in_words(declared).items()
        },
        "budget": {"promise": declared.rules.budget.describe(), "words": words_of_budget},
        "analysts": _analysts(declared),
        "notes": notes(declared),
        **({} if compared is None else {"fingerprints": {"new": compared.new, "same": compared.same}}),
    }
