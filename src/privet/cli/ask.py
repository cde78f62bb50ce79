"""`privet ask`: a private answer with error bars, what it cost, what is left, and what it covers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .answers import note_facts, print_answer
from .budget import percent, room
from .ledger_words import cost_words
from .output import print_json
from .questions import Opened, find_option, more_argument, opened, other_option, question_options, read_several
from .screen import print_facts, print_text, working

_OF_ONE = ("other", "find_groups")
"""What can be said of one question only."""

if TYPE_CHECKING:
    from privet.answer import Answer


@click.command()
@question_options
@more_argument
@other_option
@find_option
@click.option("--key", help="A name for this question: trying again with it after a failure is charged once.")
def command(
    sql: str | None,
    more: tuple[str, ...],
    file: Path | None,
    analyst: str | None,
    config: Path,
    terms: dict[str, Any],
    key: str | None,
    as_json: bool,
) -> None:
    """Ask a question in SQL. It is charged to the ledger before a row is read; the same question again is free.

    SQL is the question itself, or - to read it from standard input. Several questions are one charge, for all of them.

    \b
    Example:
      privet ask "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
      privet ask "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --within 50 --confidence 0.99
      privet ask "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --within 2% --at-most 0.5
      privet ask "SELECT COUNT(*) FROM visits" "SELECT SUM(cost) FROM visits" --epsilon 0.5
      privet ask --file question.sql --analyst ana --json
    """
    texts = read_several(sql, more, file, terms)
    with opened(config, analyst) as place:
        before = place.ledger.head()
        if more:
            _ask_several(texts, place, terms, key=key, as_json=as_json)
            return
        with working("asking"):
            answer = place.session.ask(texts[0], **terms, key=key)
        told = _told(answer, place, before)
    if as_json:
        print_json({**json.loads(answer.to_json()), **told})
        return
    print_answer(answer)
    print_text("")
    print_facts(_facts(answer, told))


def _ask_several(texts: list[str], place: Opened, terms: dict[str, Any], *, key: str | None, as_json: bool) -> None:
    """Ask several questions for one charge, and print one answer after the other."""
    before = place.ledger.head()
    with working("asking"):
        batch = place.session.plan_all(texts, **{name: said for name, said in terms.items() if name not in _OF_ONE})
        answers = place.session.run_all(batch, confidence=terms["confidence"], key=key)
    told = _told(answers[0], place, before)
    if as_json:
        print_json([{**json.loads(answer.to_json()), **told} for answer in answers])
        return
    for index, answer in enumerate(answers):
        print_text(f"Question {index + 1}", style="bold")
        print_answer(answer)
        print_text("")
    paid, left, *_ = _facts(answers[0], told, batch.cost())
    covers = dict.fromkeys(answer.notes[0] for answer in answers)
    others = [note for note in dict.fromkeys(note for one in answers for note in one.notes[1:]) if note not in covers]
    told_of = (("covers", tuple(covers)), ("but", others))
    notes = [("" if index else name, note) for name, several in told_of for index, note in enumerate(several)]
    print_facts([paid, left, *notes])


def _told(answer: Answer, place: Opened, before: str) -> dict[str, Any]:
    balance = place.ledger.balances()
    own = next((one for one in balance if one.account == place.session.account), balance[0])
    return {
        "charged": answer.receipt.entry > int(before.partition(":")[0]),
        "left": {name: own.to_dict()[name] for name in ("largest_epsilon", "largest_rho", "spent_share", "keys_delta")},
        "head": place.ledger.head(),
    }


def _facts(answer: Answer, told: dict[str, Any], price: dict[str, float] | None = None) -> list[tuple[str, str]]:
    cost = cost_words(answer.certificate()["cost"] if price is None else price)
    entries = [answer.receipt.entry] if answer.accuracy is None else [one.entry for one in answer.accuracy.receipts]
    named = f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
    paid = f"{cost or 'nothing'}, {named} of the ledger"
    again = f"nothing: it was answered before, and paid for in {named}"
    more = room(told["left"]["largest_epsilon"], told["left"]["largest_rho"])
    spent = percent(told["left"]["spent_share"])
    return [
        ("cost", paid if told["charged"] else again),
        ("left", f"{more} for one more question; {spent} of the budget is spent"),
        *note_facts(answer),
    ]
