"""Kill -9 between any two actions of a stream: nothing that was shown is lost, and no step has two outcomes."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from privet.ledger.entries import Stepped
from privet.ledger.sqlite import SqliteLedger
from privet.stream import open_w_event, resume_stream

SOAK = bool(os.environ.get("PRIVET_SOAK"))
ROUNDS = 200 if SOAK else 2
PROGRAM = Path(__file__).with_name("stepping.py")


def outcomes(log: Path) -> dict[int, set[str]]:
    """Return every estimate that any process was shown, by its step; a line that was cut off is left out."""
    found: dict[int, set[str]] = {}
    for line in log.read_text().splitlines(keepends=True) if log.exists() else ():
        if line.endswith("\n"):
            step, _, value = line.strip().partition(" ")
            found.setdefault(int(step), set()).add(value)
    return found


def kill(path: Path, folder: Path, left: int, log: Path, kind: str) -> None:
    command = [sys.executable, str(PROGRAM), str(path), str(folder), str(left), str(log), kind]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def place(turn: int, steps: int) -> int:
    """Return after how many actions to kill: at every place of the first steps, in order, and then at random."""
    if SOAK:
        return 1 + turn if turn < steps else 1 + secrets.randbelow(steps)
    return 1 + (turn * steps) // ROUNDS + secrets.randbelow(steps // ROUNDS)


def check_noise(ledger: SqliteLedger) -> None:
    """Raise unless all openings from one state have one noise, however often the process died and they were opened."""
    abouts: dict[str, set[str | None]] = {}
    for entry in ledger.entries():
        if isinstance(entry.record, Stepped) and entry.record.phase == "open":
            abouts.setdefault(entry.record.state, set()).add(entry.record.about)
    assert all(len(noises) == 1 and None not in noises for noises in abouts.values()), "a step was drawn twice"


@pytest.mark.parametrize("kind", ["tree", "square-root", "buffered", "tree by-person"])
def test_kills_between_any_two_actions_lose_nothing_and_draw_nothing_twice(tmp_path: Path, kind: str) -> None:
    folder, log, path = tmp_path / "stream", tmp_path / "shown", tmp_path / "ledger"
    reached = 0
    for turn in range(ROUNDS):
        kill(path, folder, place(turn, 120), log, kind)
        shown = outcomes(log)
        assert all(len(values) == 1 for values in shown.values()), "a step has two outcomes"
        if (folder / "state").exists() and path.exists():
            with SqliteLedger(path) as ledger, resume_stream(folder, ledger) as stream:
                stream.verify()
                ledger.verify()
                check_noise(ledger)
                assert stream.steps >= max(shown, default=0), "a step that was shown is lost"
                assert stream.steps >= reached
                reached = stream.steps
                kept = {at: repr(stream.estimate(at).value) for at in shown}  # type: ignore[union-attr]
                assert kept == {at: next(iter(values)) for at, values in shown.items()}
                assert len(ledger.history()) == 1
    assert reached >= (20 if SOAK else 1)


@pytest.mark.parametrize("kind", ["w-event uniform", "w-event distribution", "w-event absorption"])
def test_kills_of_histograms_lose_nothing_and_draw_nothing_twice(tmp_path: Path, kind: str) -> None:
    log, path = tmp_path / "shown", tmp_path / "ledger"
    reached = 0
    for turn in range(ROUNDS):
        kill(path, tmp_path, place(turn, 60), log, kind)
        shown = outcomes(log)
        assert all(len(values) == 1 for values in shown.values()), "a step has two outcomes"
        with SqliteLedger(path) as ledger:
            check_noise(ledger)
            if "hourly" not in ledger.promises():
                continue
            stream = open_w_event(ledger, "hourly")
            stream.verify()
            assert stream.state.step >= max(shown, default=0), "a step that was shown is lost"
            assert stream.state.step >= reached
            reached = stream.state.step
            kept = {at: repr(stream.release(at).values) for at in shown}
            assert kept == {at: next(iter(values)) for at, values in shown.items()}
            assert ledger.history() == ()
    assert reached >= (20 if SOAK else 1)
