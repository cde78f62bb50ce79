"""A process that steps through a stream until it is killed, at a place that its parent chooses.

Arguments: the ledger, the stream, the number of actions after which it kills itself, a file to which it appends each
release that it was shown, and the kind of stream. An action is a draw, a write, a rename, a sync or a commit. What is
passed for a step is drawn at random, so that it is another number when the step is asked for again.
"""

from __future__ import annotations

import datetime
import os
import secrets
import signal
import sys
from collections.abc import Callable
from typing import Any

from privet.core.budget import Approximate
from privet.ledger.sqlite import SqliteLedger
from privet.ledger.sqlite import store as stores
from privet.ledger.sqlite import transaction as transactions
from privet.stream import Arrival, StepClock, noise_ahead, open_stream, open_w_event, resume_stream
from privet.stream import files as stream_files

BUDGET = Approximate(epsilon=100, delta=1e-6)
HORIZON = 4096
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


class Countdown:
    """Kills this process before or after an action, once enough of them have happened."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> None:
        self.left -= 1
        if self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            self()
            result = action(*given, **named)
            self()
            return result

        return counted


def kill_around_every_action(count: Countdown) -> None:
    for name in ("fsync", "replace", "pwrite", "ftruncate", "unlink", "mkdir", "rename"):
        setattr(stream_files.os, name, count.around(getattr(os, name)))
    for name in ("insert", "keep"):
        method = getattr(transactions.SqliteTransaction, name)
        setattr(transactions.SqliteTransaction, name, count.around(method))
    stores.write_back = count.around(stores.write_back)
    stream_files.commit = count.around(stream_files.commit)
    noise_ahead.NoiseAhead.text = count.around(noise_ahead.NoiseAhead.text)  # type: ignore[method-assign]


def some() -> int:
    return secrets.randbelow(100)


def run_sums(ledger: SqliteLedger, folder: str, kind: str, shown: int) -> None:
    method, _, level = kind.partition(" ")
    if os.path.exists(f"{folder}/state"):
        stream = resume_stream(folder, ledger)
    else:
        bounded = {"rows_per_person": 2} if level else {}
        stream = open_stream(folder, ledger, horizon=HORIZON, rho=1, method=method, **bounded)  # type: ignore[arg-type]
    size = min(1, stream.steps)
    while True:
        for at in range(stream.steps - size + 1, stream.steps + 1):
            os.write(shown, f"{at} {stream.estimate(at).value!r}\n".encode())  # type: ignore[union-attr]
        size = 1 + stream.steps % 3
        if level:
            stream.extend(rows=[[Arrival(1, person=some()) for _ in range(5)] for _ in range(size)])
        elif size == 1:
            stream.step(some(), number=stream.steps + 1)
        else:
            stream.extend([some() for _ in range(size)])


def run_windows(ledger: SqliteLedger, account: str, kind: str, shown: int) -> None:
    clock = StepClock(START, HOUR)
    algorithm: Any = kind.rpartition(" ")[2]
    stream = open_w_event(ledger, account, epsilon=1, window=5, cells=3, algorithm=algorithm, clock=clock)
    if stream.state.step:
        os.write(shown, f"{stream.state.step} {stream.release().values!r}\n".encode())
    while True:
        step = stream.state.step
        skipped = step % 3  # so many are empty
        stream.step_at(START + (step + skipped) * HOUR, [some(), some(), some()])
        for at in range(step + 1, stream.state.step + 1):
            os.write(shown, f"{at} {stream.release(at).values!r}\n".encode())


def main() -> None:
    ledger_path, folder, left, log, kind = sys.argv[1:]
    ledger = SqliteLedger(ledger_path, BUDGET)
    kill_around_every_action(Countdown(int(left)))
    shown = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if kind.startswith("w-event"):
        run_windows(ledger, "hourly", kind, shown)
    else:
        run_sums(ledger, folder, kind, shown)


if __name__ == "__main__":
    main()
