"""A time limit for one query after another: a thread sleeps until the limit, and wakes up only where it is reached.

A timer for each query would start a thread for each, which a busy machine lets wait.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LONGEST = 3600.0
"""No sleep is longer than this many seconds, whatever the limit is."""


class Deadline:
    """Calls `stop` on whatever runs longer than `seconds`, once, and never on what comes after it."""

    def __init__(self, seconds: float, stop: Callable[[], object]) -> None:
        self._seconds, self._stop = seconds, stop
        self._changing = threading.Lock()
        self._until: float | None = None
        self._watcher: threading.Thread | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch what runs inside; one at a time."""
        with self._changing:
            self._until = time.monotonic() + self._seconds
            if self._watcher is None or not self._watcher.is_alive():  # a forked child has none
                self._watcher = threading.Thread(target=_watch, args=(weakref.ref(self),), daemon=True)
                self._watcher.start()
        try:
            yield
        finally:
            with self._changing:
                self._until = None

    def left(self) -> float | None:
        """Return for how long to sleep; None where nothing is left to watch, and then the thread is gone."""
        with self._changing:
            left = None if self._until is None else self._until - time.monotonic()
            if left is not None and left > 0:
                return min(left, _LONGEST)
            if left is not None:
                self._until = None
                self._stop()
            self._watcher = None
            return None


def _watch(watched: weakref.ref[Deadline]) -> None:
    """Sleep until a limit is reached, holding on to nothing meanwhile: what is watched may be let go of."""
    while (deadline := watched()) is not None:
        left = deadline.left()
        del deadline
        if left is None:
            return
        time.sleep(left)
