"""Kill -9 between any two actions of a stream: nothing that was shown is lost, and no step has two outcomes."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from privet.ledger.sqlite import SqliteLedger
from privet.stream import resume_stream

SOAK = bool(os.environ.get("PRIVET_SOAK"))
ROUNDS = 200 if SOAK else 9
PROGRAM = Path(__file__).with_name("stepping.py")


def outcomes(log: Path) -> dict[int, set[str]]:
    """Return every estimate that any process was shown, by its step; a line that was cut off is left out."""
    found: dict[int, set[str]] = {}
    for line in log.read_text().splitlines(keepends=True) if log.exists() else ():
        if line.endswith("\n"):
            step, _, value = line.strip().partition(" ")
            found.setdefault(int(step), set()).add(value)
    return found


@pytest.mark.parametrize("method", ["tree", "square-root", "buffered"])
def test_kills_between_any_two_actions_lose_nothing_and_draw_nothing_twice(tmp_path: Path, method: str) -> None:
    folder, log, path = tmp_path / "stream", tmp_path / "shown", tmp_path / "ledger"
    reached = 0
    for turn in range(ROUNDS // 3 + 1):
        # a run of a few steps has about 20 actions for each: every place among them is met, in order and then at random
        left = 1 + turn if turn < 60 else 1 + secrets.randbelow(120)
        left = left if SOAK else 1 + 11 * turn + secrets.randbelow(11)
        command = [sys.executable, str(PROGRAM), str(path), str(folder), str(left), str(log), method]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        shown = outcomes(log)
        assert all(len(values) == 1 for values in shown.values()), "a step has two outcomes"
        if (folder / "state").exists() and path.exists():
            with SqliteLedger(path) as ledger, resume_stream(folder, ledger) as stream:
                stream.verify()
                ledger.verify()
                assert stream.steps >= max(shown, default=0), "a step that was shown is lost"
                assert stream.steps >= reached
                reached = stream.steps
                kept = {at: repr(stream.estimate(at).value) for at in shown}  # type: ignore[union-attr]
                assert kept == {at: next(iter(values)) for at, values in shown.items()}
                assert len(ledger.history()) == 1
    assert reached >= (20 if SOAK else 1)
