"""`privet stream w-event` at the shell: histograms of windows in an account of the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from privet.core.budget import Pure
from privet.core.errors import LedgerError, RequestError
from privet.ledger.sqlite import SqliteLedger
from privet.stream.command import command

Run = Callable[..., Result]
SURE = ["--epsilon", "1000000", "--window", "3"]
"""So much that the noise is 0 but once in e^300000 draws."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the commands on a ledger of its own."""
    SqliteLedger(tmp_path / "ledger", Pure(epsilon=Fraction(1))).close()

    def call(name: str, account: str, *words: str) -> Result:
        arguments = ["w-event", name, account, "--ledger", str(tmp_path / "ledger"), *words]
        return CliRunner().invoke(command, arguments)

    return call


def refused(result: Result) -> bool:
    """Return whether a command refused what it was given, in words of Privet or of the shell."""
    return result.exit_code == 2 or isinstance(result.exception, RequestError | LedgerError)


def test_a_stream_is_opened_stepped_shown_and_verified(run: Run) -> None:
    opened = run("open", "hourly", *SURE)
    assert opened.exit_code == 0, opened.output
    assert "algorithm: uniform" in opened.output
    assert run("step", "hourly", "1200").output == "step 1: count 1,200 (measured now)\n"
    told = json.loads(run("step", "hourly", "5", "--number", "2", "--json").output)
    assert (told["step"], told["values"], told["fresh"]) == (2, {"count": 5}, True)
    assert told["low"][0] <= 5 <= told["high"][0]
    assert run("show", "hourly", "--at", "1").output == "step 1: count 1,200 (measured now)\n"
    assert json.loads(run("show", "hourly", "--json").output) == told
    assert run("verify", "hourly").output.startswith("Intact: 2 steps released, with epsilon 1e+06 in any 3")
    assert json.loads(run("verify", "hourly", "--json").output)["intact"] is True


def test_cells_are_named_and_rows_come_from_a_file(run: Run, tmp_path: Path) -> None:
    told = run("open", "city", *SURE, "--cell", "walk", "--cell", "ride", "--change", "1", "--json")
    assert json.loads(told.output) == {
        "account": "city",
        "cells": ["walk", "ride"],
        "algorithm": json.loads(told.output)["algorithm"],
        "promise": "epsilon 1e+06 in any 3 consecutive steps",
    }
    (tmp_path / "rows.csv").write_text("person,cell\nana,walk\nana,ride\nben,ride\n,ride\neve,secret\n")
    first = run("step", "city", "--rows", str(tmp_path / "rows.csv"))
    assert first.output == "step 1: walk 1, ride 1 (measured now)\n"
    wrong = run("step", "city", "walk=1", "secret=2")
    assert refused(wrong)
    assert "secret" not in str(wrong.exception)
    (tmp_path / "other.csv").write_text("name,cell\nana,walk\n")
    assert refused(run("step", "city", "--rows", str(tmp_path / "other.csv")))
    assert run("step", "city", "ride=7").exit_code == 0
    assert json.loads(run("verify", "city", "--json").output)["steps"] == 2


def test_a_clock_is_given_as_a_start_and_a_length(run: Run) -> None:
    clock = ["--start", "2026-01-01T00:00:00Z", "--every", "1h"]
    assert refused(run("open", "hourly", *SURE, *clock[:2]))
    assert run("open", "hourly", *SURE, *clock).exit_code == 0
    assert run("step", "hourly", "8", "--at", "2026-01-01T02:30:00Z").output == "step 3: count 8 (measured now)\n"
    assert run("show", "hourly", "--at", "2").output == "step 2: count 0 (measured now)\n"
    back = run("step", "hourly", "8", "--at", "2026-01-01T02:59:59Z")
    assert refused(back)
    assert "a clock went back" in str(back.exception)
    assert refused(run("step", "hourly", "8"))
    assert json.loads(run("verify", "hourly", "--json").output)["steps"] == 3


@pytest.mark.parametrize(
    "words",
    [
        ["step", "hourly"],
        ["step", "hourly", "x"],
        ["step", "hourly", "1", "2"],
        ["step", "hourly", "1", "--number", "7"],
        ["step", "hourly", "1", "--number", "1", "--at", "2026-01-02T12:00:00Z"],
        ["step", "hourly", "1", "--at", "2026-01-02T12:00:00Z"],
        ["step", "hourly", "1", "--confidence", "2"],
        ["step", "none", "1"],
        ["show", "hourly"],
        ["verify", "none"],
        ["open", "hourly", "--epsilon", "1", "--window", "3"],
        ["open", "other", "--epsilon", "0", "--window", "3"],
        ["open", "other", "--epsilon", "1", "--window", "0"],
        ["open", "other", "--epsilon", "1"],
        ["open", "other", "--epsilon", "1", "--window", "3", "--algorithm", "best"],
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_written(run: Run, words: list[str], tmp_path: Path) -> None:
    assert run("open", "hourly", "--epsilon", "1", "--window", "3").exit_code == 0
    with SqliteLedger(tmp_path / "ledger") as ledger:
        before = ledger.head()
    result = run(*words)
    assert refused(result), result.output
    with SqliteLedger(tmp_path / "ledger") as ledger:
        assert ledger.head() == before
