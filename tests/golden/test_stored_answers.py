"""Ledgers with stored answers: every question of theirs is found again, free of charge, with the very numbers.

Two ledgers were written by a session over the golden hospital, and lie here as files and as exports, with what their
answers were. A later version opens them over tables that have no rows: what is stored is found without reading any.
They stand for the ledgers that people have, so they are never mended; new kinds of question go into ledgers of their
own. Only to that end are they written, by

    PRIVET_WRITE_GOLDEN=ledgers .venv/bin/python -m pytest tests/golden/test_stored_answers.py
"""

from __future__ import annotations

import datetime
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import privet

sys.path.insert(0, str(Path(__file__).parent))

from golden_hospital import HERE, QUESTIONS, VIEWS, Asked, asked, tables, to_be_written, written

LEDGERS = HERE / "ledgers"
WRITTEN = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)

BUDGETS: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "approximate": (privet.Approximate(epsilon=100, delta=1e-6), {}),
    "zcdp": (privet.Zcdp(rho=50), {"ana": privet.Zcdp(rho=30), "ben": privet.Pure(epsilon=12)}),
}
"""The budget of each ledger, and of its analysts; without any, the account is `session`."""

ASKED: Mapping[str, Mapping[str, list[str]]] = {
    "approximate": {
        "session": [
            "count of people",
            "count of different values",
            "sum of an expression",
            "sum of many",
            "mean of people",
            "ratio",
            "spread of people",
            "correlation",
            "least and greatest",
            "median of people by kind",
            "three quantiles",
            "mode by group",
            "mode of text",
            "bounds",
            "found groups by a threshold",
            "found groups by the optimal rule",
            "one more group",
            "found and public groups",
            "histogram",
            "months",
            "joined by person",
            "joined to a public table",
            "first visits",
            "sub-query of people",
            "rollup",
            "grouping sets",
            "kept groups",
            "options of googlesql",
            "width of a count",
            "rounds of a mean",
            "rounds of a count",
            "built: every aggregate",
            "batch",
            "batch with found groups",
            "batch with widths",
        ]
    },
    "zcdp": {
        "ana": [
            "sum in rho",
            "mean in rho",
            "correlation in rho",
            "median in rho",
            "deciles in rho",
            "mode in rho",
            "bounds in rho",
            "public groups that change",
            "joined three ways in rho",
            "different rows of people",
            "cube in rho",
            "week by month",
            "kept groups in rho",
            "width in rho",
            "rounds in rho",
            "batch in rho",
        ],
        "ben": ["count of rows", "week", "week and choice", "top k", "public groups", "batch with weights"],
    },
}


def to_ask(ledger: str, account: str) -> Iterator[tuple[str, Asked]]:
    """Yield the questions of an account, by name, as its budget has them."""
    for name in ASKED[ledger][account]:
        yield name, QUESTIONS[name]


def plain(value: Any) -> Any:
    """Return what JSON has for a value of an answer."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def told(question: Asked, session: privet.Session) -> list[dict[str, list[Any]]]:
    """Return the columns of every answer to a question, with the ends of their intervals and their errors.

    Which of them bounding can lower follows from the plan, and is no part of what is stored.
    """
    return [
        {
            name: [plain(value) for value in column]
            for name, column in answer.to_dict().items()
            if not name.endswith(("_may_be_understated", "_may_be_overstated"))
        }
        for answer in question.ask(session)
    ]


def is_same(now: list[Any], then: list[Any]) -> bool:
    """Return whether a column is the pinned one; fractions may differ in what linear algebra rounds elsewhere."""
    return len(now) == len(then) and all(
        math.isclose(one, other, rel_tol=1e-9) if type(one) is type(other) is float else one == other
        for one, other in zip(now, then, strict=True)
    )


def write() -> None:
    """Write both ledgers anew, and what they hold."""
    pinned: dict[str, Any] = {}
    for name, (budget, analysts) in BUDGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger"
            with privet.SqliteLedger(path, budget, analysts=analysts, clock=lambda: WRITTEN) as ledger:
                answers = {}
                for account in ASKED[name]:
                    with privet.Session(tables(), ledger=ledger, account=account, views=VIEWS) as session:
                        answers[account] = {one: told(question, session) for one, question in to_ask(name, account)}
                ledger.verify()
                lines, head = list(ledger.export()), ledger.head()
                pinned[name] = {"head": head, "entries": len(ledger.history()), "answers": answers}
            shutil.copyfile(ledger.path, LEDGERS / f"{name}.ledger")
            (LEDGERS / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), "ascii")
    (LEDGERS / "answers.json").write_text(json.dumps(pinned, indent=1) + "\n", "utf-8")


@pytest.fixture(scope="module", autouse=True)
def _written() -> None:
    if to_be_written("ledgers"):
        write()
        written("tests/golden/ledgers")


@pytest.fixture(scope="module")
def pinned() -> Any:
    return json.loads((LEDGERS / "answers.json").read_text(encoding="utf-8"))


def opened(name: str, form: str, head: str, path: Path) -> privet.SqliteLedger:
    """Return a copy of a golden ledger, from its file or from its export."""
    if form == "export":
        lines = (LEDGERS / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
        return privet.SqliteLedger.restore(path, lines, head=head)
    shutil.copy(LEDGERS / f"{name}.ledger", path)
    path.chmod(0o600)
    return privet.SqliteLedger(path, head=head)


@pytest.mark.parametrize("form", ["file", "export"])
@pytest.mark.parametrize("name", BUDGETS)
def test_every_stored_answer_is_found_free_of_charge_without_a_row(
    name: str, form: str, pinned: Any, tmp_path: Path
) -> None:
    known, budget = pinned[name], BUDGETS[name][0]
    with opened(name, form, known["head"], tmp_path / "ledger") as ledger:
        ledger.verify()
        assert ledger.budget_of() == budget
        for account, answers in known["answers"].items():
            assert list(answers) == ASKED[name][account]
            assert len(answers) >= 6
            with privet.Session(tables(empty=True), ledger=ledger, account=account, views=VIEWS) as session:
                before = ledger.remaining().amount, session.remaining().amount
                for one, question in to_ask(name, account):
                    numbers = told(question, session)
                    assert ledger.head() == known["head"], (
                        f"{one!r} was paid for again, though its answer is stored: its digest moved\n  {question}"
                    )
                    assert len(numbers) == len(answers[one])
                    for now, then in zip(numbers, answers[one], strict=True):
                        assert list(now) == list(then), f"the columns of {one!r} moved"
                        for column, values in now.items():
                            assert is_same(values, then[column]), f"{one!r} moved in {column}"
                assert (ledger.remaining().amount, session.remaining().amount) == before
        assert len(ledger.history()) == known["entries"]
        assert list(ledger.export()) == (LEDGERS / f"{name}.jsonl").read_text(encoding="ascii").splitlines()


def test_the_ledgers_hold_what_a_ledger_can_hold(pinned: Any) -> None:
    counts = {name: sum(len(answers) for answers in known["answers"].values()) for name, known in pinned.items()}
    assert all(count >= 12 for count in counts.values())
    rounds = [one for account in ASKED["approximate"].values() for one in account if one.startswith("rounds")]
    assert pinned["approximate"]["entries"] > counts["approximate"] + len(rounds)  # a round is an entry of its own


def test_a_question_that_is_not_stored_is_paid_for(pinned: Any, tmp_path: Path) -> None:
    head = pinned["approximate"]["head"]
    with (
        opened("approximate", "file", head, tmp_path / "ledger") as ledger,
        privet.Session(tables(empty=True), ledger=ledger, views=VIEWS) as session,
    ):
        before = session.remaining().amount
        told(asked("SELECT AVG(cost), AVG(score) FROM visit", epsilon=0.25), session)
        assert ledger.head() != head
        assert session.remaining().amount < before
