"""What is charged at admission: every question whole, but for those in steps: later steps pay before they read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from privet.core.scan import SealedSums
from served import Served, served

STEP = 0.05
PROPORTION = {"kind": "Proportion", "condition": "age > 70", "equals": 0.5}
WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("ask", {"question": "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"}),
    ("ask", {"question": "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"}),
    ("ask", {"question": "SELECT MEDIAN(age) AS m, MODE(ward) AS w FROM visits"}),
    ("ask", {"question": "SELECT SUM(cost) AS s FROM visits", "contribution": "auto"}),
    ("ask-all", {"questions": ["SELECT COUNT(*) AS n FROM visits", "SELECT SUM(age) AS s FROM visits"]}),
    ("choose", {"options": [60, 70], "score": "SELECT COUNT(*) FROM visits WHERE age > :option"}),
    ("marginals", {"table": "visits", "columns": ["ward", "sex"]}),
    ("ranges", {"table": "visits", "column": "age", "bins": 4}),
    ("running", {"table": "visits", "by": "age"}),
    ("test", {"table": "visits", "hypothesis": PROPORTION}),
    ("test-all", {"table": "visits", "family": {"hypotheses": [PROPORTION, {**PROPORTION, "equals": 0.4}]}}),
    ("regress", {"table": "visits", "formula": "cost ~ age"}),
    ("clipping", {"question": "SELECT SUM(cost) AS s FROM visits"}),
]
IN_STEPS = "SELECT COUNT(*) AS n FROM visits WHERE age > (SELECT AVG(age) FROM visits)"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("steps") / "clinic") as running:
        yield running


@contextmanager
def scanning(world: Served, before: Any) -> Iterator[list[int]]:
    """Call a function with the number of each scan, and note how many charges there were before it."""
    engine, ledger = world.server.datasets["clinic"].engine, world.server.datasets["clinic"].ledger
    real, charges = engine.scan, []

    def scan(asked: Any) -> Any:
        charges.append(len(ledger.history()))
        given = before(len(charges))
        return real(asked) if given is None else given

    engine.scan = scan  # type: ignore[method-assign]
    try:
        yield charges
    finally:
        engine.scan = real  # type: ignore[method-assign]


def charged(world: Served) -> int:
    return len(world.server.datasets["clinic"].ledger.history())


@pytest.mark.parametrize(("operation", "body"), WHOLE, ids=lambda one: str(one)[:30])
def test_a_question_is_charged_whole_at_admission(world: Served, operation: str, body: dict[str, Any]) -> None:
    before, go = charged(world), threading.Event()
    with scanning(world, lambda number: go.wait(60) and None) as charges:
        found = world.call("{d}/" + operation, {"epsilon": 0.125, **body})
        assert found.status == 202, found.body
        assert charged(world) == before + 1
        go.set()
        done = world.call(found.headers["location"] + "?wait=20")
    assert done.json["state"] == "released", done.body
    assert charged(world) == before + 1
    assert set(charges) == {before + 1}


def test_a_later_step_is_charged_on_the_grid_before_it_is_read(world: Served) -> None:
    before = charged(world)
    with scanning(world, lambda number: None) as charges:
        found = world.ask({"question": IN_STEPS, "epsilon": 0.25})
    assert found.status == 200
    assert charges == [before + 1, before + 2]
    kinds = [one.kind for one in world.server.datasets["clinic"].ledger.entries()][-4:]
    assert kinds == ["charge", "answer", "charge", "answer"]
    steps = found.json["elapsed"] / STEP
    assert round(steps) >= 2
    assert abs(steps - round(steps)) < 1e-6


def test_steps_that_do_not_all_fit_are_refused_before_the_first_is_charged(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:
        found = world.call("{d}/ask", {"question": IN_STEPS, "epsilon": 30})
        assert (found.status, found.code) == (409, "budget.exceeded")
        assert charged(world) == 0


def test_steps_that_fit_at_admission_fit_when_they_are_read(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:
        assert world.ask({"question": IN_STEPS, "epsilon": 16}).status == 200
        assert charged(world) == 2


def test_a_later_step_that_no_longer_fits_is_refused_unread_and_the_first_stays_stored(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:

        def spend(number: int) -> None:  # by the same account, while the first step is read
            if number == 1:
                desk = world.server.datasets["clinic"].desk(world.server.accounts.identify(world.tokens["ana"]))  # type: ignore[arg-type]
                threading.Thread(
                    target=lambda: desk.reading.ask("SELECT SUM(cost) AS s FROM visits", epsilon=9)
                ).start()
                ends = time.monotonic() + 30
                while charged(world) < 2 and time.monotonic() < ends:
                    time.sleep(0.01)

        with scanning(world, spend) as charges:
            found = world.ask({"question": IN_STEPS, "epsilon": 16})
            assert (found.status, found.code) == (409, "budget.exceeded")
            ends = time.monotonic() + 30
            while [one.kind for one in world.server.datasets["clinic"].ledger.entries()].count("answer") < 2:
                assert time.monotonic() < ends
                time.sleep(0.01)
        assert len(charges) == 2  # the first step, and the other question
        again = world.ask({"question": "SELECT AVG(age) FROM visits", "epsilon": 8})
        assert again.status == 200
        assert charged(world) == 2


def test_what_goes_wrong_after_a_later_charge_is_handed_over_on_the_grid(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:

        def spoil(number: int) -> SealedSums | None:
            if number == 1:
                return None
            time.sleep(1.3 * STEP)
            return SealedSums(None)  # type: ignore[arg-type]

        with scanning(world, spoil):
            found = world.ask({"question": IN_STEPS, "epsilon": 0.25})
        assert (found.status, found.code) == (500, "invariant")
        steps = found.json["elapsed"] / STEP
        assert round(steps) >= 3  # one at the least for the first, and more than one for the second
        assert abs(steps - round(steps)) < 1e-6
        assert charged(world) == 2
