"""Admission: charged before anything is read, drawn once, kept whatever the caller does, and limited for everyone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet.core.errors import InvariantError, RequestError, TooFast
from privet.core.event import Receipt
from privet.server.admission import AdmissionLedger, Admitted, NotStored, finding
from privet.server.job_queue import Throttle
from privet.server.listening import ServerOptions
from served import COUNT, FAST, Served, served


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("admitted") / "clinic") as running:
        yield running


def aged(limit: int, **more: Any) -> dict[str, Any]:
    return {"question": f"SELECT COUNT(*) AS n FROM visits WHERE age > {limit}", "epsilon": 0.0625, **more}


class Held:
    """Scans that wait until they are let go, and are counted."""

    def __init__(self, world: Served) -> None:
        self.engine = world.server.datasets["clinic"].engine
        self.real, self.go, self.scans = self.engine.scan, threading.Event(), 0

    def __enter__(self) -> Held:
        def scan(asked: Any) -> Any:
            self.scans += 1
            self.go.wait(60)
            return self.real(asked)

        self.engine.scan = scan  # type: ignore[method-assign]
        return self

    def __exit__(self, *exception: object) -> None:
        self.go.set()
        self.engine.scan = self.real  # type: ignore[method-assign]


def spent(world: Served, who: str = "ana") -> int:
    return len([one for one in world.server.datasets["clinic"].ledger.history() if one.account == who])


def test_a_question_is_charged_before_it_is_read_and_stays_so_when_its_caller_leaves(world: Served) -> None:
    before = spent(world)
    with Held(world) as held:
        found = world.call("{d}/ask", aged(1))
        assert found.status == 202
        assert spent(world) == before + 1
        assert world.call(found.headers["location"]).json["state"] == "reading"
        held.go.set()
    assert world.call(found.headers["location"] + "?wait=20").json["state"] == "released"
    assert spent(world) == before + 1


def test_equal_questions_in_flight_are_one_draw_and_each_account_pays_from_its_own_cap(world: Served) -> None:
    left = world.server.datasets["clinic"].ledger.remaining(None)
    with Held(world) as held:
        mine = [world.call("{d}/ask", aged(2)) for _ in range(3)]
        theirs = world.call("{d}/ask", aged(2), who="ben")
        assert {one.status for one in (*mine, theirs)} == {202}
        assert len({one.json["id"] for one in mine}) == 1
        held.go.set()
        answers = [world.ask(aged(2), who=who).json["result"]["rows"] for who in ("ana", "ben")]
        assert held.scans == 1
    assert answers[0] == answers[1]
    whole = world.server.datasets["clinic"].ledger.remaining(None)
    assert whole.largest_epsilon < left.largest_epsilon
    charges = [one for one in world.server.datasets["clinic"].ledger.history() if one.digest == _digest(world, aged(2))]
    assert sorted(one.account for one in charges) == ["ana", "ben"]
    assert [one.shared is None for one in charges] == [True, False]


def _digest(world: Served, body: dict[str, Any]) -> str:
    found: str = world.ask(body).json["result"]["certificate"]["digest"]
    return found


def test_a_key_belongs_to_its_account(world: Served) -> None:
    before = spent(world)
    key = {"Idempotency-Key": "nightly"}
    first = world.ask(aged(3), headers=key)
    assert first.status == 200
    assert world.ask(aged(3), headers=key).json["result"]["rows"] == first.json["result"]["rows"]
    assert spent(world) == before + 1
    assert world.ask(aged(4), headers=key).status == 400
    assert world.ask(aged(4), who="ben", headers=key).status == 200


def test_many_threads_asking_the_same_pay_once(world: Served) -> None:
    before = spent(world)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: world.ask(aged(5)), range(16)))
    assert {one.status for one in found} == {200}
    assert len({str(one.json["result"]["rows"]) for one in found}) == 1
    assert spent(world) == before + 1


def test_events_tell_steps_and_elapsed_time_only(world: Served) -> None:
    found = world.call("{d}/ask", aged(6))
    told = world.call(found.headers["location"] + "/events").body.decode()
    names = [line.removeprefix("event: ") for line in told.splitlines() if line.startswith("event: ")]
    assert names == ["planned", "charged", "reading", "released"]
    assert {line.partition(":")[0] for line in told.splitlines() if line} <= {"event", "data", ""}


def test_places_are_limited_and_nothing_is_charged_beyond_them(tmp_path: Path) -> None:
    with served(tmp_path / "clinic", limits=replace(FAST, in_flight=2, queue=3)) as world, Held(world):
        assert [world.call("{d}/ask", aged(number)).status for number in (1, 2)] == [202, 202]
        charged = spent(world)
        full = world.call("{d}/ask", aged(3))
        assert (full.status, full.code) == (429, "busy.rate")
        assert int(full.headers["retry-after"]) >= 1
        assert world.call("{d}/ask", aged(3), who="ben").status == 202
        other = world.call("{d}/ask", aged(4), who="ben")
        assert (other.status, other.code) == (503, "busy")
        assert spent(world) == charged


def test_a_caller_who_asks_too_fast_is_told_to_wait_and_is_not_locked_out() -> None:
    now = [0.0]
    throttle = Throttle(2, 3, clock=lambda: now[0])
    for _ in range(3):
        throttle.check("ana")
    with pytest.raises(TooFast) as refused:
        throttle.check("ana")
    assert refused.value.retry_after == 1
    throttle.check("ben")
    now[0] += 1
    throttle.check("ana")


def test_an_admitting_ledger_reads_and_stores_nothing(world: Served) -> None:
    ledger = AdmissionLedger(world.server.datasets["clinic"].ledger)
    receipt = Receipt(1, "d", "ana")
    for refused in (lambda: ledger.store(receipt, ()), lambda: ledger.fail(receipt)):
        with pytest.raises(InvariantError):
            refused()
    desk = world.server.datasets["clinic"].desk(world.server.accounts.identify(world.tokens["ana"]))  # type: ignore[arg-type]
    with pytest.raises(NotStored), finding():
        desk.admitting.ask(aged(90)["question"], epsilon=0.0625)
    before = spent(world)
    with Held(world) as held:
        with pytest.raises(Admitted):
            desk.admitting.ask(aged(90)["question"], epsilon=0.0625)
        assert held.scans == 0
    assert spent(world) == before + 1


def test_answers_are_found_again_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:
        found = world.ask({"question": COUNT, "epsilon": 0.125}).json
        with Held(world) as held:
            waiting = world.call("{d}/ask", aged(9)).json["id"]
            world.server.jobs._jobs.pop(("ana", waiting))  # as if the process had ended
            held.go.set()
    with served(tmp_path / "clinic") as again:
        stored = again.call(f"/v1/answers/{found['id']}").json
        assert stored["result"]["rows"] == found["result"]["rows"]
        assert again.call(f"/v1/answers/{waiting}").json["state"] in ("released", "interrupted")
        before = spent(again)
        assert again.ask(aged(9)).status == 200
        assert spent(again) == before


def test_a_stop_finishes_what_is_being_read(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world, Held(world) as held:
        assert world.call("{d}/ask", aged(7)).status == 202
        while not held.scans:
            threading.Event().wait(0.01)
        world.server.stop()
        held.go.set()
    with served(tmp_path / "clinic") as again:
        entries = again.server.datasets["clinic"].ledger.entries()
        assert [one.kind for one in entries if one.kind in ("charge", "answer", "failure")] == ["charge", "answer"]


def test_withheld_columns_and_tables_do_not_exist_for_an_account(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:
        token, _ = world.server.accounts.add("ana", "analyst", tables=["visits"], withheld=["visits.note", "age"])
        world.tokens["ana"] = token
        told = world.call("{d}/tables").json["tables"]
        assert {one["name"] for one in told} == {"visits", "wards"}  # the view over ages is gone as well
        for sql in ("SELECT COUNT(*) FROM staff", "SELECT note FROM visits", "SELECT AVG(age) FROM visits"):
            assert world.call("{d}/ask", {"question": sql, "epsilon": 0.1}).code == "request.unknown_name"
        found = world.ask({"question": "SELECT SUM(cost) AS s FROM visits WHERE ward = 'lung'", "epsilon": 10}).json
        assert abs(found["result"]["rows"][0]["s"] - 146_000) < 20_000  # of the costs, and of no other column
        assert b'"note"' not in world.call("{d}/catalog").body
        token, _ = world.server.accounts.add("ana", "analyst", withheld=["visits.patient"])
        world.tokens["ana"] = token
        assert world.call("{d}/tables").status == 400


def test_a_request_for_budget_is_granted_or_declined_once(world: Served) -> None:
    ask = {"budget": {"epsilon": 1, "delta": "1e-8"}, "reason": "a second study"}
    assert world.call("{d}/budget").json["budget"] == {"epsilon": "20", "delta": "1/10000000"}
    one, two = (world.call("{d}/requests", ask).json["id"] for _ in range(2))
    granted = world.call(f"{{d}}/requests/{one}/grant", {"note": "fine"}, who="carol", custodian=True)
    assert granted.json["state"] == "granted"
    assert world.call("{d}/budget").json["budget"] == {"epsilon": "21", "delta": "11/100000000"}
    assert world.call(f"{{d}}/requests/{two}/decline", {}, who="carol", custodian=True).json["state"] == "declined"
    assert world.call(f"{{d}}/requests/{two}/grant", {}, who="carol", custodian=True).status == 400
    assert {one["state"] for one in world.call("{d}/requests").json["requests"]} == {"granted", "declined"}
    assert world.call("{d}/verify", {}, who="carol", custodian=True).status == 200


def test_a_frozen_account_asks_nothing_new(world: Served) -> None:
    frozen = {"account": "ben", "reason": "left"}
    assert world.call("{d}/freeze", frozen, who="carol", custodian=True).status == 200
    assert world.call("{d}/ask", aged(50), who="ben").code == "budget"
    assert world.call("{d}/clear", frozen, who="carol", custodian=True).status == 200
    assert world.ask(aged(50), who="ben").status == 200


def test_the_ledger_is_copied_while_questions_go_on(world: Served) -> None:
    found = world.call("{d}/backup", {"name": "first"}, who="carol", custodian=True)
    assert found.status == 201
    assert (world.folder / "backup-first").exists()
    assert world.call("{d}/backup", {"name": "first"}, who="carol", custodian=True).status == 400
    assert world.call("{d}/backup", {"name": "../x"}, who="carol", custodian=True).status == 400


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org"])
def test_a_server_does_not_listen_beyond_this_computer_in_clear_text(tmp_path: Path, host: str) -> None:
    place = {"clinic": tmp_path / "privet.toml"}
    for given in ({"host": host}, {"custodian_host": host}, {"host": host, "certificate": tmp_path}):
        with pytest.raises(RequestError, match=r"clear text|both"):
            ServerOptions(place, **given).check()  # type: ignore[arg-type]
    ServerOptions(place, host=host, behind_proxy=True).check()
    ServerOptions(place, host=host, certificate=tmp_path, key=tmp_path).check()


def test_rows_of_a_public_table_come_in_an_order_of_their_own(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = world.server.datasets["clinic"].engine
    rows = engine.public_rows("wards")
    assert rows is not None
    seen = []
    for order in (sorted(rows), sorted(rows, reverse=True)):
        monkeypatch.setattr(engine, "public_rows", lambda name, order=order: order)
        seen.append(world.call("{d}/public/wards").json)
    assert seen[0] == seen[1]
    assert len(seen[0]["rows"]) == 2
