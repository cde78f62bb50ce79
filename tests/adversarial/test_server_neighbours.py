"""Two data sets that differ in one person, with equal releases: an analyst of a server sees no difference.

Noise comes from a fixed source here, and what is asked leaves the person's rows out, so that releases are equal. Scans
of the second data set are slower, or fail later and for another reason. All that the analysts' listener can return is
compared: every route of the API and every page, each reply's status and bytes, entry numbers and steps of the grid.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.noise.source import OperatingSystem
from privet.server.listening import analyst_routes
from privet.server.pages.analyst_pages import ANALYST_PAGES
from served import DECLARED, Reply, Served, served, write_world

STEP = 1.5
"""Seconds of the grid where time is attacked; scans of either data set take less."""

SLOW = 0.25
MASKS = {
    rb":[0-9a-f]{64}": b":hash",
    rb'"ledger": ?"[0-9a-f]{32}"': b"ledger",
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?": b"time",
    rb'"elapsed": ?[0-9.]+': b"elapsed",
    rb'nonce"? ?(content)?="[^"]*"': b"nonce",
    rb'csrf[-_a-z]*"( content=|: ?|:)"[^"]*"': b"csrf",
}
"""What differs between two runs on one data set as well: chain hashes over times, times, and secrets of a page.

Steps of the grid are compared where time is attacked.
"""

OLD = "age > 50"
BODIES: dict[str, dict[str, Any]] = {
    "ask": {"question": f"SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE {OLD} GROUP BY ward"},
    "ask-all": {"questions": [f"SELECT COUNT(*) AS n FROM visits WHERE {OLD} AND age > {limit}" for limit in (60, 70)]},
    "choose": {"options": [60, 70], "score": "SELECT COUNT(*) FROM visits WHERE age > :option"},
    "marginals": {"table": "visits", "where": OLD, "columns": ["ward", "sex"]},
    "ranges": {"table": "visits", "where": OLD, "column": "age"},
    "running": {"table": "visits", "where": OLD, "by": "age"},
    "test": {
        "table": "visits",
        "where": OLD,
        "hypothesis": {"kind": "Proportion", "condition": "age > 70", "equals": 0.5},
    },
    "test-all": {
        "table": "visits",
        "where": OLD,
        "family": {"hypotheses": [{"kind": "Proportion", "condition": "age > 70", "equals": 0.5}]},
    },
    "regress": {"table": "visits", "where": OLD, "formula": "cost ~ age"},
    "clipping": {"question": f"SELECT SUM(cost) AS s FROM visits WHERE {OLD}"},
}
MORE = [
    {"question": f"SELECT MEDIAN(age) AS m FROM visits WHERE {OLD}"},
    {"question": f"SELECT COUNT(*) AS n FROM visits WHERE {OLD}", "contribution": "auto", "bound": "norm"},
    {"question": f"SELECT COUNT(*) AS n FROM visits WHERE {OLD}", "within": 30, "epsilon": None},
]


class FixedNoise:
    """Words that follow from a count of the questions and of the words that each took."""

    def __init__(self) -> None:
        self.taken, self.lock = 0, threading.Lock()

    def words(self, count: int) -> Any:
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)

    def word(self) -> int:
        with self.lock:
            self.taken += 1
            return int.from_bytes(hashlib.sha256(str(self.taken).encode()).digest()[:8], "big")

    def ask(self, number: int) -> None:
        self.taken = 10**9 * number


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> FixedNoise:
    fixed = FixedNoise()
    monkeypatch.setattr(OperatingSystem, "words", lambda self, count: fixed.words(count))
    monkeypatch.setattr(OperatingSystem, "word", lambda self: fixed.word())
    monkeypatch.setattr(
        "privet.engines.duckdb.engine.secrets.randbits", lambda count: 7
    )  # which rows of a person count
    return fixed


def two_worlds(folder: Path, step: float = STEP) -> list[Path]:
    """Return two folders: in the second there is one more person, who is 30 years old."""
    folder.mkdir(exist_ok=True)
    for name in ("one", "two"):
        declared = DECLARED.replace("time_step = 0.05", f"time_step = {step}")
        write_world(folder / name, people=60, declared=declared)
    with (folder / "two" / "visits.csv").open("a") as file:
        file.writelines(f"777,30,999,lung,f,rare disease {row}\n" for row in range(3))
    return [folder / "one", folder / "two"]


@contextmanager
def scanning(world: Served, before: Callable[[], object]) -> Iterator[None]:
    """Do something before each scan of the data set."""
    engine = world.server.datasets["clinic"].engine
    real = engine.scan

    def scan(asked: Any) -> Any:
        before()
        return real(asked)

    engine.scan = scan  # type: ignore[method-assign]
    try:
        yield
    finally:
        engine.scan = real  # type: ignore[method-assign]


def masked(reply: Reply) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
    body = reply.body
    for pattern, name in MASKS.items():
        body = re.sub(pattern, name, body)
    shown = {
        name: value for name, value in reply.headers.items() if name in ("location", "retry-after", "content-type")
    }
    return reply.status, body, tuple(sorted(shown.items()))


def walk(world: Served, noise: FixedNoise) -> dict[str, Any]:
    """Return all replies to an analyst who asks everything and then walks every route."""
    seen: dict[str, Reply] = {}
    for number, (operation, body) in enumerate([*BODIES.items(), *(("ask", one) for one in MORE)]):
        noise.ask(number)
        sent = {"epsilon": 0.25, **body}
        seen[f"first {number} {operation}"] = world.call("{d}/" + operation, sent)
        seen[f"fresh {number} {operation}"] = world.ask(sent, operation=operation)
    answers = [one["id"] for one in world.call("{d}/answers").json["answers"]]
    assert len(answers) == len(BODIES) + len(MORE)
    for identifier in answers[:2]:
        world.call("{d}/saved", {"name": f"kept {identifier[:4]}", "answer": identifier})
        world.call("{d}/shared", {"answer": identifier, "account": "ben"})
        world.call("{d}/shared", {"answer": identifier, "account": "ana"}, who="ben")
    digests = [one["digest"] for one in world.call("{d}/history").json["charges"]]
    values = {
        "dataset": ["clinic", "missing"],
        "table": ["visits", "staff", "wards", "adults", "nothing"],
        "answer": [*answers, "0" * 32],
        "digest": [*digests, "0" * 64],
        "entry": [*range(40)],
        "share": [1, 2, 9],
        "saved": [1, 9],
        "format": ["csv", "arrow", "json", "x"],
    }
    bodies = {f"/{name}": {"epsilon": 0.25, **body} for name, body in BODIES.items()}
    bodies |= {f"/plan/{name}": {"epsilon": 0.5, **body} for name, body in BODIES.items()}
    bodies |= {"/requests": {"budget": {"epsilon": 1, "delta": "1e-8"}, "reason": "more"}, "/login": {"token": "x"}}
    for route in (*analyst_routes(), *ANALYST_PAGES):
        paths, listed = [route.path], {**values, "answer": answers[:5]} if route in ANALYST_PAGES else values
        for name in re.findall(r"\{(\w+)\}", route.path):
            paths = [path.replace(f"{{{name}}}", str(value)) for path in paths for value in listed.get(name, [1])]
        for path in paths:
            ending = next((one for one in sorted(bodies, key=len, reverse=True) if path.endswith(one)), "")
            body = bodies.get(ending, {}) if route.method == "POST" else None
            seen[f"{route.method} {path}"] = world.call(path, body)
    return {path: masked(reply) for path, reply in seen.items()}


def test_all_that_an_analyst_can_reach_is_the_same_on_neighbouring_data_sets(tmp_path: Path, noise: FixedNoise) -> None:
    found = []
    for folder, wait in zip(two_worlds(tmp_path, 0.1), (0.0, 0.05), strict=True):
        with served(folder) as world, scanning(world, lambda wait=wait: time.sleep(wait)):  # type: ignore[misc]
            found.append(walk(world, noise))
    fast, slow = found
    assert fast.keys() == slow.keys()
    assert sum(1 for status, *_ in fast.values() if status == 200) > 130
    assert [(path, fast[path], slow[path]) for path in fast if slow[path] != fast[path]] == []


def attack(world: Served) -> tuple[list[Any], float, float]:
    """Return what an account sees that asks one question and others after it, to find out when the first scan ends.

    Also returned are how long it took to ask all, and the longest time after which an outcome was handed over.
    """
    seen: list[Any] = []
    asked = [f"SELECT COUNT(*) AS n FROM visits WHERE {OLD} AND cost > {limit}" for limit in range(5)]
    began, places = time.monotonic(), []
    for number, question in enumerate(asked):  # at the same moments, whatever the server does
        time.sleep(max(0.0, began + number * 0.06 - time.monotonic()))
        reply = world.call("{d}/ask", {"question": question, "epsilon": 0.0625})
        assert reply.status == 202, reply.body
        places.append(reply.headers["location"])
        seen += [masked(reply), masked(world.call(places[0])), masked(world.call("{d}/budget"))]
    took, longest = time.monotonic() - began, 0.0
    for place in places:
        done = world.call(f"{place}?wait=20")
        told = done.json
        seen.append((done.status, told["elapsed"], told.get("error")))
        longest = max(longest, told["elapsed"])
        if "result" in told:
            seen.append(told["result"]["certificate"]["entry"])
    history = world.call("{d}/history").json
    seen.append([(one["number"], one["digest"]) for one in history["charges"]])
    return seen, took, longest


def attacked(folder: Path, causes: Sequence[Callable[[], object]]) -> list[Any]:
    """Return what is seen of two data sets whose scans begin with something else, on a grid of long enough steps.

    On a busy machine the questions may not all be asked, or read, within a step: it is then tried with longer ones.
    """
    for step in (STEP, 3 * STEP, 9 * STEP):
        found, within = [], True
        for place, cause in zip(two_worlds(folder / str(step), step), causes, strict=True):
            with served(place) as world:
                world.ask({"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.0625})  # opens the engine
                with scanning(world, cause):
                    seen, took, longest = attack(world)
                found.append((step, seen))
                within = within and took < 0.8 * step and longest < 1.1 * step
        if within:
            break
    return found


def test_when_a_scan_ends_shows_neither_in_replies_nor_in_the_numbers_of_later_entries(tmp_path: Path) -> None:
    fast, slow = attacked(tmp_path, (lambda: None, lambda: time.sleep(SLOW)))
    assert fast == slow
    assert {one[0] for one in fast[1] if isinstance(one, tuple)} == {200, 202}


def test_a_failing_scan_shows_neither_when_nor_why_it_failed(tmp_path: Path) -> None:
    def fail(seconds: float, cause: Exception) -> None:
        time.sleep(seconds)
        raise cause

    early, late = attacked(
        tmp_path,
        (
            lambda: fail(0, ValueError("patient 17")),
            lambda: fail(SLOW, MemoryError("1 GB of rows of patient 777")),
        ),
    )
    assert early == late
    assert {one[0] for one in early[1] if isinstance(one, tuple)} == {200, 202, 502}


def test_steps_are_all_that_a_slower_scan_shows(tmp_path: Path, noise: FixedNoise) -> None:
    """A scan of more than a step shows how many: the page on servers says that time is outside the promise."""
    found = []
    for folder, wait in zip(two_worlds(tmp_path), (0.0, STEP), strict=True):
        with served(folder) as world:
            world.ask({"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.0625})
            noise.ask(99)
            with scanning(world, lambda wait=wait: time.sleep(wait)):  # type: ignore[misc]
                told = world.ask(BODIES["ask"] | {"epsilon": 0.0625}).json
            found.append({name: one for name, one in told.items() if name not in ("elapsed", "result")})
            found[-1]["rows"] = told["result"]["rows"]
            steps = told["elapsed"] / STEP
            assert round(steps) >= (2 if wait else 1)
            assert abs(steps - round(steps)) < 1e-6
    assert found[0] == found[1]
