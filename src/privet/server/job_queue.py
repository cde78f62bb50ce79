"""Questions that were admitted: read by a few workers, and handed over on a grid of time.

How long a question takes depends on the data, on the questions before it, and on nothing that its caller may learn. A
caller sees an answer, or its failure, at a multiple of the time step since it was admitted, and nothing in between.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from privet.core.errors import Busy, InvariantError, PrivetError, TooFast, bare

from .paced_ledger import on_grid
from .throttle import ServerLimits
from .token_store import AskedQuestion


@dataclass(eq=False)
class Job:
    """A question that was admitted, and what came of it."""

    asked: AskedQuestion
    step: float
    started: float
    rights: Hashable = None
    """The rights with which it was admitted."""
    future: Future[None] = field(default_factory=Future)
    result: Any = None
    error: PrivetError | None = None
    due: float | None = None
    """When the outcome may be seen; None until there is one."""
    steps: int | None = None
    """At which step of its grid the outcome of its last scan was recorded; None where it has read since."""
    stopping: threading.Event = field(default_factory=threading.Event)
    pause: Callable[[], object] = lambda: None
    """Called once it waits for its grid, and so reads no more."""

    @property
    def over(self) -> bool:
        """Whether the outcome may be seen."""
        return self.due is not None and time.monotonic() >= self.due

    @property
    def state(self) -> str:
        """What its account may see: reading, released or failed."""
        return "reading" if not self.over else "released" if self.error is None else "failed"

    @property
    def elapsed(self) -> float:
        """Seconds from admission to handing over: a multiple of the time step."""
        return 0.0 if self.due is None else round(self.due - self.started, 6)

    def leave(self) -> None:
        """Forget the step at which the last outcome was recorded: the question reads again."""
        self.steps = None

    def hold(self) -> None:
        """Wait for the next step of the grid, where a scan has ended; a server that stops waits no more."""
        self.pause()
        steps = self._next_step()
        while (left := self.started + steps * self.step - time.monotonic()) > 0:  # a wait may end early
            if self.stopping.wait(left):
                break
        self.steps = steps

    def _next_step(self) -> int:
        return max(1, ceil((time.monotonic() - self.started) / self.step))

    def finish(self, result: Any, error: PrivetError | None) -> None:
        """Keep the outcome, to be seen at the step at which it was recorded, or else at the next; never at none."""
        self.result, self.error = result, error
        steps = self.steps if self.steps is not None else self._next_step()
        self.due = self.started + steps * self.step
        self.future.set_result(None)

    async def wait(self, seconds: float) -> bool:
        """Return whether the outcome may be seen, after waiting for it as long as said. Leaving stops nothing."""
        ends = time.monotonic() + seconds
        while not self.over:
            left = ends - time.monotonic()
            if left <= 0:
                return False
            until = left if self.due is None else min(left, self.due - time.monotonic())
            if self.due is None:
                await asyncio.wait([asyncio.wrap_future(self.future)], timeout=until)
            else:
                await asyncio.sleep(max(0.0, until))
        return True


class JobQueue:
    """The questions of a server that are being read, and the workers that read them."""

    def __init__(self, limits: ServerLimits, workers: int) -> None:
        self._limits = limits
        self._reading = threading.Semaphore(workers)
        # what waits for its grid has a thread and reads nothing: there are as many as questions in flight
        self._workers = ThreadPoolExecutor(max(workers, limits.queue), thread_name_prefix="privet-scan")
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._jobs: OrderedDict[tuple[str, str], Job] = OrderedDict()
        self._reserved: dict[str, int] = {}
        self._stopping = False

    @contextmanager
    def place_for(self, account: str) -> Iterator[None]:
        """Hold a place in the queue while a question is admitted; raise `Busy` before anything is charged.

        Places are counted by what accounts may see: a question that is answered but not handed over still has one.
        """
        with self._lock:
            if self._stopping:
                raise Busy("the server is stopping", retry_after=10)
            waiting = [job for job in self._jobs.values() if not job.over]
            mine = sum(1 for job in waiting if job.asked.account == account) + self._reserved.get(account, 0)
            if mine >= self._limits.in_flight:
                raise TooFast(f"{mine} questions of yours are not answered yet, which is the most", retry_after=1)
            if len(waiting) + sum(self._reserved.values()) >= self._limits.queue:
                raise Busy("too many questions are not answered yet", retry_after=2)
            self._reserved[account] = self._reserved.get(account, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._reserved[account] -= 1
                if not self._reserved[account]:
                    del self._reserved[account]

    def find(self, identifier: str, account: str) -> Job | None:
        """Return an account's own question, if it is still in memory."""
        with self._lock:
            return self._jobs.get((account, identifier))

    def start(self, asked: AskedQuestion, step: float, read: Callable[[], Any], rights: Hashable = None) -> Job:
        """Return the job of an admitted question: the one that is being read, where the account asked the same."""
        with self._lock:
            known = self._jobs.get((asked.account, asked.id))
            if known is not None and not known.over:
                return known
            job = Job(asked, step, time.monotonic(), rights, stopping=self._ending)
            self._jobs[asked.account, asked.id] = job
            self._jobs.move_to_end((asked.account, asked.id))
            for key in [key for key, one in self._jobs.items() if one.over][
                : max(0, len(self._jobs) - self._limits.kept)
            ]:
                del self._jobs[key]
            self._workers.submit(self._read, job, read)
        return job

    def keep(self, asked: AskedQuestion, result: Any) -> None:
        """Keep a stored answer in memory, so that it is found at once."""
        with self._lock:
            known = self._jobs.get((asked.account, asked.id))
            if known is None:
                now = time.monotonic()
                job = self._jobs[asked.account, asked.id] = Job(asked, 0.0, now, result=result, due=now)
                job.future.set_result(None)

    def _read(self, job: Job, read: Callable[[], Any]) -> None:
        self._reading.acquire()
        job.pause = _once(self._reading.release)
        try:
            if self._ending.is_set():
                raise Busy("the server is stopping", retry_after=10)
            with on_grid(job):
                result, error = read(), None
        except PrivetError as failure:
            result, error = None, bare(failure)
        except BaseException as failure:  # no text of it: it could quote a row
            result = None
            error = InvariantError(f"unexpected error in Privet ({type(failure).__name__}); please report it")
        finally:
            job.pause()
        job.finish(result, error)

    def waiting(self) -> int:
        """Return how many questions are not handed over yet."""
        with self._lock:
            return sum(1 for job in self._jobs.values() if not job.over)

    def stop(self) -> None:
        """Take no more questions, and wait until those that are being read are stored; the rest stay charged."""
        with self._lock:
            self._stopping = True
        self._ending.set()
        self._workers.shutdown(wait=True, cancel_futures=True)


def _once(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does its work when it is first called, and nothing then."""
    left = [work]

    def call() -> None:
        if left:
            left.pop()()

    return call
