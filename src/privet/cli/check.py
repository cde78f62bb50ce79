"""`privet check`: is a privet.toml valid, do the sources match it, and what does it protect?"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import cost_words, printable

from .asking import opened
from .screen import json_option, number, print_facts, print_json, print_text, working
from .targets import config_option

if TYPE_CHECKING:
    from privet.config.checking import Checked, Compared
    from privet.config.declared import Config
    from privet.execution.clipping import ContributionProposal


@click.command()
@config_option
@click.option("--fingerprint", is_flag=True, help="Report tables whose data changed while their version did not.")
@click.option(
    "--key", "key_file", type=click.Path(path_type=Path), help="Your key for --fingerprint, if none is declared."
)
@click.option(
    "--private", is_flag=True, help="Choose a limit on contributions privately; needs --epsilon, and charges."
)
@click.option("--epsilon", type=number, help="What --private costs for each table.")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="A table for --private; all of people if left out."
)
@click.option("--analyst", help="Whose account pays for --private, where the file names analysts.")
@json_option
def command(
    config: Path,
    fingerprint: bool,
    key_file: Path | None,
    private: bool,
    epsilon: Fraction | None,
    tables: tuple[str, ...],
    analyst: str | None,
    as_json: bool,
) -> None:
    """Check a privet.toml and its sources, and explain what they protect. For the custodian alone.

    It reads the data to see that declared numbers, keys and links hold, and what limits on contributions take away from
    totals, so what it prints is not for analysts. No value of a row is shown.

    A limit that is read from the data reveals something about them once it is declared. --private chooses one with
    differential privacy instead, which is charged to the ledger and may be declared.

    \b
    Example:
      privet check
      privet check --private --epsilon 0.1 --table visits
      privet check --config hospital/privet.toml --fingerprint --key my.key
    """
    from privet.config import read_config
    from privet.config.checking import BadSources, check_sources
    from privet.config.sessions import check_ledger
    from privet.core.errors import RequestError

    if private != (epsilon is not None) or (not private and (tables or analyst)):
        raise RequestError("--private needs --epsilon; --epsilon, --table and --analyst are for --private alone")
    declared = read_config(config)
    check_ledger(declared)
    with working("looking at the sources"):
        checked = check_sources(declared)
    compared = None
    if fingerprint and not checked.all_problems:
        compared = _compare(declared, key_file)
    failure = BadSources(str(config), checked.all_problems) if checked.all_problems else None
    chosen = {} if failure is not None or epsilon is None else _choose(config, analyst, declared, tables, epsilon)
    if not as_json:
        _print(declared, checked)
    elif failure is None:
        print_json({**_facts(declared, checked, compared), **({"chosen": _chosen_facts(chosen)} if private else {})})
    if failure is not None:
        raise failure
    if not as_json:
        _print_compared(compared)
        _print_chosen(chosen)
        print_text("The file is valid, and the sources match it.")


def _choose(
    config: Path, analyst: str | None, declared: Config, tables: tuple[str, ...], epsilon: Fraction
) -> dict[str, ContributionProposal]:
    """Return a limit for each table, chosen privately, each for its own charge."""
    from privet.core.errors import UnknownName
    from privet.execution.clipping import propose_contribution

    units = {name: table.schema.unit for name, table in declared.tables.items()}
    people = [name for name, unit in units.items() if not unit.rowwise and not unit.public]
    for name in tables:
        if name not in people:
            raise UnknownName("table of people", name, people)
    with opened(config, analyst) as place, working("choosing limits"):
        executor = place.session._executor
        return {name: propose_contribution(executor, name, epsilon=epsilon) for name in dict.fromkeys(tables or people)}


def _print_chosen(chosen: dict[str, ContributionProposal]) -> None:
    if not chosen:
        return
    print_text("Limits that were chosen privately, and may be declared", style="bold")
    print_facts(
        [
            (
                f"  {printable(name)}",
                f"contribution = {{ groups = {proposal.contribution.groups}, rows = {proposal.contribution.rows} }}   "
                f"(cost {cost_words(proposal.cost)}, entry {proposal.receipt.entry} of the ledger)",
            )
            for name, proposal in chosen.items()
        ]
    )
    print_text("")


def _chosen_facts(chosen: dict[str, ContributionProposal]) -> dict[str, Any]:
    return {
        name: {
            "contribution": {"groups": proposal.contribution.groups, "rows": proposal.contribution.rows},
            "cost": dict(proposal.cost),
            "entry": proposal.receipt.entry,
        }
        for name, proposal in chosen.items()
    }


def _compare(declared: Config, key_file: Path | None) -> Compared:
    from privet.config.checking import compare
    from privet.core.errors import RequestError

    key = key_file or declared.key_file
    if key is None:
        raise RequestError('a fingerprint needs a key: pass --key FILE, or write [fingerprint] key = "FILE"')
    with working("reading the sources"):
        compared = compare(declared, Path(key).absolute())
    if compared.changed:
        raise RequestError(
            f"the data of {', '.join(compared.changed)} changed since this version was first seen, and the version did "
            "not; set a new version in privet.toml, or earlier answers are returned for the new data"
        )
    return compared


def _print(declared: Config, checked: Checked) -> None:
    from privet.config.checking import excesses_in_words, notes, promise_in_words, tables_in_words

    undeclared, lost = checked.undeclared, excesses_in_words(declared, checked)
    for name, words in tables_in_words(declared).items():
        print_text(printable(name), style="bold")
        for sentence in (*words, *lost.get(name, ())):
            print_text(printable(sentence), indent="  ")
        if undeclared.get(name):
            what = "1 column" if undeclared[name] == 1 else f"{undeclared[name]} columns"
            print_text(f"Not declared, so no question can use it: {what} of its source.", indent="  ")
        print_text("")
    print_text(f"The budget: {declared.rules.budget.describe()}", style="bold")
    for sentence in promise_in_words(declared):
        print_text(printable(sentence), indent="  ")
    for rule in _rules(declared):
        print_text(rule, indent="  ")
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
    rules, lines = declared.rules, []
    if rules.per_query is not None:
        lines.append(f"One question may cost at most {rules.per_query.describe()}.")
    if rules.expires is not None:
        lines.append(f"Nothing can be spent after {rules.expires:%Y-%m-%d %H:%M:%S} UTC; what is left then is lost.")
    return lines


def _analysts(declared: Config) -> dict[str, str]:
    whole = "the data set's budget"
    return {
        name: f"{', '.join(analyst.tables)}: up to {whole if analyst.budget is None else analyst.budget.describe()}"
        for name, analyst in declared.analysts.items()
    }


def _print_compared(compared: Compared | None) -> None:
    if compared is None:
        return
    if compared.new:
        print_text(f"Fingerprints of {', '.join(compared.new)} are now kept in {compared.file}.")
    if compared.same:
        print_text(f"The data of {', '.join(compared.same)} are those that were seen before.")


def _facts(declared: Config, checked: Checked, compared: Compared | None) -> dict[str, Any]:
    from privet.config.checking import excesses_in_words, notes, promise_in_words, tables_in_words

    lost = excesses_in_words(declared, checked)
    words_of_budget = [*promise_in_words(declared), *_rules(declared)]
    return {
        "file": str(declared.path),
        "tables": {
            name: {
                "protects": str(declared.tables[name].schema.unit),
                "words": (*words, *lost.get(name, ())),
                "limits": [
                    {"by": excess.by, "people_above": excess.above, "rows_lost": excess.lost}
                    for excess in checked.excesses.get(name, ())
                ],
            }
            for name, words in tables_in_words(declared).items()
        },
        "budget": {"promise": declared.rules.budget.describe(), "words": words_of_budget},
        "analysts": _analysts(declared),
        "notes": notes(declared),
        **({} if compared is None else {"fingerprints": {"new": compared.new, "same": compared.same}}),
    }
