"""When an answer is handed over: on a grid of time, where one is set, so that the time taken reveals little.

How long a question takes depends on the data. A caller who waits for a fresh answer, or for its failure, observes only
how many steps of the grid have passed. Stored answers, and refusals before reading, need not wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from fractions import Fraction
from functools import partial

from privet.core.errors import BadParameter
from privet.core.numbers import Number, rational

LONGEST_STEP = 3600


_REPORT: ContextVar[Callable[[str], object] | None] = ContextVar("report", default=None)


@contextmanager
def reporting(report: Callable[[str], object]) -> Iterator[None]:
    """Call `report` with each step of the questions that are asked inside, such as "round 2 of 5"."""
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)


class Pace:
    """Hands over at the next multiple of `step` seconds since the question; at once where there is no step."""

    def __init__(
        self,
        step: Fraction | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.step, self._clock, self._sleep = step, clock, sleep
        self._asked = threading.local()
        self.asking: Callable[[], AbstractContextManager[None]] = (
            nullcontext if step is None else partial(self._held, step)
        )
        """Returns the context in which a question is asked."""

    @contextmanager
    def _held(self, step: Fraction) -> Iterator[None]:
        """Hold back the outcome of the block, answer or error, if it is `fresh`; the outermost block decides."""
        if getattr(self._asked, "start", None) is not None:
            yield
            return
        self._asked.start, self._asked.fresh = self._clock(), False
        try:
            yield
        except Exception:
            self._wait(step)
            raise
        else:
            self._wait(step)
        finally:
            self._asked.start = None

    def report(self, step: str) -> None:
        """Report the next step to a caller who asked for it.

        Guarantee: where answers are handed over on a grid of time, nothing is reported: when a step begins would tell
        how long the one before took.
        """
        report = _REPORT.get()
        if report is not None and self.step is None:
            report(step)

    def fresh(self) -> None:
        """Record that this thread's question depends on data that is read for it, or on when others had read theirs."""
        self._asked.fresh = True

    def _wait(self, step: Fraction) -> None:
        if not self._asked.fresh:
            return
        start = self._asked.start
        passed = Fraction(self._clock()) - Fraction(start)
        until = max(1, -(-passed // step)) * step
        while passed < until:  # a sleep may end early
            self._sleep(float(until - passed))
            passed = Fraction(self._clock()) - Fraction(start)


def read_step(value: Number | None) -> Fraction | None:
    """Return a step of time in seconds, None for none; refuses values that are not a duration from 0 to an hour."""
    if value is None:
        return None
    allowed = f"a number of seconds above 0 and up to {LONGEST_STEP:,}, or left out: then nothing waits"
    step = rational(value, "time_step", allowed)
    if not 0 < step <= LONGEST_STEP:
        raise BadParameter("time_step", value, allowed)
    return step
