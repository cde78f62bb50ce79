"""Limits of a server, all of them public constants, and the rates at which callers may ask."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import ceil

from privet.core.errors import TooFast

_MOST_CALLERS = 10_000


@dataclass(frozen=True)
class ServerLimits:
    """What one server takes: none of these depends on data, and all may be told to anyone."""

    body: int = 1_000_000
    """Bytes of one request."""
    body_seconds: float = 10
    """Seconds in which the body of a request must arrive."""
    queue: int = 200
    """Questions of all accounts that are not answered yet."""
    in_flight: int = 8
    """Questions of one account that are not answered yet."""
    rate: float = 50
    """Requests of one account in a second, on average."""
    burst: int = 100
    """Requests of one account at once."""
    unknown_rate: float = 5
    """Requests in a second from one address that prove no identity."""
    unknown_burst: int = 20
    """Requests at once from one address that prove no identity."""
    wait: float = 30
    """The longest that a request may wait for an answer."""
    time_step: float = 1
    """Seconds of the time grid, where privet.toml sets none."""
    kept: int = 1000
    """Answers that stay in memory after they were handed over."""


class Throttle:
    """Token buckets, one for each caller. No caller is ever locked out: who waits may ask again."""

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._callers: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def check(self, caller: Hashable) -> None:
        """Count one request of a caller; raise `TooFast` where there were too many."""
        now = self._clock()
        with self._lock:
            left, seen = self._callers.pop(caller, (float(self._burst), now))
            left = min(float(self._burst), left + (now - seen) * self._rate)
            self._callers[caller] = (max(0.0, left - 1), now)
            if len(self._callers) > _MOST_CALLERS:
                self._callers.popitem(last=False)
        if left < 1:
            raise TooFast("too many requests", retry_after=max(1, ceil((1 - left) / self._rate)))
