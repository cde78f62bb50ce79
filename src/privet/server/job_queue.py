"""Questions in flight: the rates and limits of a server, a few workers that read, and replies that are sent again.

How long a question takes depends on the data, on the questions before it, and on nothing that its caller may learn. A
caller gets an answer, or its failure, at a multiple of the time step since it was admitted, and nothing in between.

A stored answer needs neither a plan nor the ledger, whose lock is held while charges become durable. The cache is
bounded by its size; an answer that it has dropped is planned and found in the ledger, as ever.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from privet.answer import Answer
from privet.core.errors import Busy, InvariantError, PrivetError, TooFast, bare
from privet.planner.public_plan import PublicPlan

from .admission import on_grid
from .identity import AskedQuestion

_MOST_CALLERS = 10_000


@dataclass(frozen=True)
class ServerLimits:
    """The limits of one server: none of them depends on data, and all may be public."""

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
    """Token buckets, one for each caller. No caller is ever locked out: after waiting, they may ask again."""

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


@dataclass(eq=False)
class Job:
    """A question that was admitted, and its outcome."""

    asked: AskedQuestion
    step: float
    started: float
    rights: Hashable = None
    """The rights with which it was admitted."""
    future: Future[None] = field(default_factory=Future)
    result: Any = None
    error: PrivetError | None = None
    due: float | None = None
    """When the outcome may be shown; None until there is one."""
    steps: int | None = None
    """At which step of its grid the outcome of its last scan was recorded; None where it has read since."""
    stopping: threading.Event = field(default_factory=threading.Event)
    pause: Callable[[], object] = lambda: None
    """Called once it waits for its grid, and so reads no more."""

    @property
    def over(self) -> bool:
        """Whether the outcome may be shown."""
        return self.due is not None and time.monotonic() >= self.due

    @property
    def state(self) -> str:
        """The state that its account may know: reading, released or failed."""
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
        """Keep the outcome, to be shown at the step at which it was recorded, or else at the next; never at none."""
        self.result, self.error = result, error
        steps = self.steps if self.steps is not None else self._next_step()
        self.due = self.started + steps * self.step
        self.future.set_result(None)

    async def wait(self, seconds: float) -> bool:
        """Return whether the outcome may be shown, after waiting for it up to this long. Leaving stops nothing."""
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
        # a job that waits for its grid has a thread and reads nothing: one thread for each question in flight
        self._workers = ThreadPoolExecutor(max(workers, limits.queue), thread_name_prefix="privet-scan")
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._jobs: OrderedDict[tuple[str, str], Job] = OrderedDict()
        self._reserved: dict[str, int] = {}
        self._stopping = False

    @contextmanager
    def place_for(self, account: str) -> Iterator[None]:
        """Keep a place in the queue while a question is admitted; raise `Busy` before anything is charged.

        Places are counted by what accounts may know: a question that is answered but not handed over still has one.
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
            for key in [key for key, other in self._jobs.items() if other.over][
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


_MOST_BYTES = 64_000_000


class OwnReplies:
    """The replies of all accounts, each for its account and for the rights with which it was asked.

    Guarantee: a reply is found by the account that was handed it, with the rights under which it was admitted, and by
    no one else.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[Hashable, bytes]] = OrderedDict()

    def find(self, account: str, identifier: str, rights: Hashable) -> bytes | None:
        """Return the reply to an account's own question, if it is kept."""
        with self._lock:
            kept = self._kept.get((account, identifier))
            if kept is None or kept[0] != rights:
                return None
            self._kept.move_to_end((account, identifier))
            return kept[1]

    def keep(self, account: str, identifier: str, rights: Hashable, reply: bytes) -> None:
        """Keep a reply that was handed over; drop those that were not sent for the longest time."""
        with self._lock:
            before = self._kept.pop((account, identifier), None)
            self._size -= 0 if before is None else len(before[1])
            self._kept[account, identifier] = rights, reply
            self._size += len(reply)
            while self._size > self._most:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._size -= len(dropped)


def repeats(operation: str, body: Mapping[str, Any]) -> bool:
    """Return whether asking again must yield the same reply, whatever the ledger contains by then.

    A question without a stated cost costs a share of the budget, and one with a width may go on where it stopped.
    """
    stated = {name for name, value in body.items() if value is not None}
    return operation == "ask" and bool(stated & {"epsilon", "rho"}) and not stated & {"within", "at_most"}


def is_released(result: Any) -> bool:
    """Return whether a result comes from stored releases alone: public tables are read each time."""
    return isinstance(result, Answer) and not isinstance(result.plan, PublicPlan)
