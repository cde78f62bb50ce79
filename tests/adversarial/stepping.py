"""A process that steps through a stream until it is killed, at a place that its parent chooses.

Arguments: the ledger, the stream, the number of actions after which it kills itself, a file to which it appends each
estimate that it was shown, and the method. An action is a write, a rename, a sync or a commit.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from privet.core.budget import Approximate
from privet.ledger.sqlite import SqliteLedger
from privet.ledger.sqlite import store as stores
from privet.ledger.sqlite import transaction as transactions
from privet.stream import files as stream_files
from privet.stream import open_stream, resume_stream

BUDGET = Approximate(epsilon=100, delta=1e-6)
HORIZON = 4096


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


def main() -> None:
    ledger_path, folder, left, log, method = sys.argv[1:]
    ledger = SqliteLedger(ledger_path, BUDGET)
    count = Countdown(int(left))
    for name in ("fsync", "replace", "pwrite", "ftruncate", "unlink", "mkdir", "rename"):
        setattr(stream_files.os, name, count.around(getattr(os, name)))
    transactions.SqliteTransaction.insert = count.around(transactions.SqliteTransaction.insert)  # type: ignore[method-assign]
    stores.write_back = count.around(stores.write_back)
    if os.path.exists(f"{folder}/state"):
        stream = resume_stream(folder, ledger)
    else:
        stream = open_stream(folder, ledger, horizon=HORIZON, rho=1, method=method)  # type: ignore[arg-type]
    shown = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for at in range(max(1, stream.steps), stream.steps + 1):
        os.write(shown, f"{at} {stream.estimate(at).value!r}\n".encode())  # type: ignore[union-attr]
    while True:
        size = 1 + stream.steps % 3
        if size == 1:
            stream.step(1, number=stream.steps + 1)
        else:
            stream.extend([1] * size)
        for at in range(stream.steps - size + 1, stream.steps + 1):
            os.write(shown, f"{at} {stream.estimate(at).value!r}\n".encode())  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
