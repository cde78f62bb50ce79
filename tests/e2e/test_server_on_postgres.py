"""A server whose ledger is in PostgreSQL: the same flows, two servers at one ledger, and a database that goes away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import postgres_server
import privet
from served import COUNT, DECLARED, Served, served, write_world

EPSILON = 0.5


@pytest.fixture(scope="module")
def address() -> str:
    return postgres_server.ledger_or_skip()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, address: str) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("postgres") / "clinic"
    write_world(folder, declared=f'{DECLARED}\n[ledger]\nurl = "{address}"\n')
    with served(folder) as running:
        yield running


def aged(limit: int, epsilon: float = 0.0625) -> dict[str, Any]:
    return {"question": f"SELECT COUNT(*) AS n FROM visits WHERE age > {limit}", "epsilon": epsilon}


def charges(world: Served, who: str) -> list[Any]:
    return [one for one in world.server.datasets["clinic"].ledger.history() if one.account == who]


def test_questions_answers_and_the_custodians_acts(world: Served) -> None:
    found = world.ask({"question": COUNT, "epsilon": 0.25}, headers={"Idempotency-Key": "monday"})
    assert found.status == 200
    entry = found.json["result"]["certificate"]["entry"]
    again = world.call("{d}/ask", {"question": COUNT, "epsilon": 0.25})
    assert (again.status, again.json["elapsed"]) == (200, 0)
    assert again.json["result"]["rows"] == found.json["result"]["rows"]
    assert world.call(f"{{d}}/certificates/{entry}").status == 200
    assert world.call(f"{{d}}/certificates/{entry}", who="ben").status == 404
    with privet.connect(world.url, token=world.tokens["ana"]) as session:
        assert [row["n"] for row in session.ask(COUNT, epsilon=0.25)] == [
            row["n"] for row in found.json["result"]["rows"]
        ]
        assert len(session.history()) == 1

    def act(path: str, body: dict[str, Any]) -> Any:
        return world.call("{d}/" + path, body, who="carol", custodian=True)

    more = {"epsilon": 1, "delta": "1e-8"}
    request = world.call("{d}/requests", {"budget": more, "reason": "a second study"}).json["id"]
    assert act(f"requests/{request}/grant", {}).json["state"] == "granted"
    assert world.call("{d}/budget").json["budget"] == {"epsilon": "21", "delta": "11/100000000"}
    assert act("freeze", {"account": "ben", "reason": "away"}).status == 200
    assert world.call("{d}/ask", aged(1), who="ben").code == "budget"
    assert act("clear", {"account": "ben", "reason": "back"}).status == 200
    assert act("top-up", {"budget": more, "reason": "more"}).status == 200
    assert act("verify", {}).json["status"] == "intact"
    assert act("backup", {"name": "first"}).status == 201
    assert (world.folder / "backup-first").exists()
    assert world.call("{d}/export", who="otto", custodian=True).status == 200
    kinds = {one["kind"] for one in world.call("{d}/entries?limit=200", who="otto", custodian=True).json["entries"]}
    assert {"charge", "answer", "freeze", "act"} <= kinds


def test_equal_questions_at_once_are_one_draw_and_one_charge_for_each_account(world: Served) -> None:
    before = {who: len(charges(world, who)) for who in ("ana", "ben")}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: world.ask(aged(5), who=("ana", "ben")[one % 2]), range(16)))
    assert {one.status for one in found} == {200}
    assert len({str(one.json["result"]["rows"]) for one in found}) == 1
    assert {who: len(charges(world, who)) for who in before} == {who: count + 1 for who, count in before.items()}


def test_two_servers_at_one_ledger_draw_once_and_overspend_nothing(tmp_path: Path, world: Served, address: str) -> None:
    write_world(tmp_path / "second", declared=f'{DECLARED}\n[ledger]\nurl = "{address}"\n')
    before = len(charges(world, "ana"))
    with served(tmp_path / "second") as second, ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda one: (world, second)[one % 2].ask(aged(33)), range(8)))
        assert {one.status for one in same} == {200}
        assert len({str(one.json["result"]["rows"]) for one in same}) == 1
        assert len(charges(world, "ana")) == before + 1
        spent = list(pool.map(lambda one: (world, second)[one % 2].ask(aged(one, 3), who="ben"), range(10)))
        assert {one.status for one in spent} == {200, 409}
        assert sum(1 for one in spent if one.status == 200) == 6  # of epsilon 20, of which little was spent before
        assert second.call("{d}/verify", {}, who="otto", custodian=True).json["status"] == "intact"


def test_a_database_that_goes_away_for_a_while_charges_nothing_twice(tmp_path: Path) -> None:
    if (lacking := postgres_server.missing()) is not None:
        pytest.skip(lacking)
    database = postgres_server.PostgresServer(fsync=True)
    try:
        place = postgres_server.new_ledger(database)
        write_world(tmp_path / "clinic", declared=f'{DECLARED}\n[ledger]\nurl = "{place}"\n')
        with served(tmp_path / "clinic") as world:
            assert world.ask(aged(1)).status == 200
            database.kill()
            away = threading.Timer(2, database.start)
            away.start()
            lost = world.ask(aged(2))  # waits until it is back, or says that the ledger cannot be reached
            away.join()
            if lost.status != 200:
                assert (lost.status, lost.code) == (503, "ledger")
                assert str(database.folder) not in lost.body.decode()
                assert "postgresql:" not in lost.body.decode()
            assert world.call("/health", who=None).status == 200
            assert world.ask(aged(2)).status == 200
            assert world.ask(aged(1)).json["elapsed"] == 0
            assert len(charges(world, "ana")) == 2
    finally:
        database.remove()
