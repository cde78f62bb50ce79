"""What is known of a question's groups is kept without keeping a closed session, and is not another session's."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import privet

pa = pytest.importorskip("pyarrow")

SQL = "SELECT kind, COUNT(*) AS n FROM t JOIN names ON t.id = names.id WHERE kind <> 'x' GROUP BY kind"


def session(kinds: list[str]) -> privet.Session:
    rows = privet.Table(pa.table({"id": [0, 1]}), unit=privet.Rows(), columns={"id": privet.integer(0, 9)}, rows=10)
    columns = {"id": privet.integer(0, 9), "kind": privet.category(["x", "y", "z"])}
    names = privet.PublicTable(pa.table({"id": [0, 1], "kind": kinds}), columns=columns, key="id", rows=10)
    return privet.Session({"t": rows, "names": names}, budget=privet.Pure(epsilon=10**6))


def groups(asked: privet.Session) -> set[object]:
    return set(asked.plan(SQL, epsilon=1).groups[0].values or ())


def test_the_engine_of_a_closed_session_is_let_go():
    asked = session(["x", "y"])
    assert groups(asked) == {"y"}
    engine = weakref.ref(asked._executor.engine)
    asked.close()
    del asked
    gc.collect()
    assert engine() is None


def test_sessions_one_after_the_other_have_the_groups_of_their_own_tables():
    for kinds, left in ((["x", "y"], {"y"}), (["x", "z"], {"z"}), (["y", "z"], {"y", "z"})) * 5:
        with session(kinds) as asked:
            assert groups(asked) == left


def test_many_threads_plan_at_once(monkeypatch):
    monkeypatch.setattr("privet.planner.allowed._KEPT", 1)
    failed: list[BaseException] = []

    def plan(asked: privet.Session, kind: str) -> None:
        try:
            for other in ("x", kind) * 15:
                asked.plan(SQL.replace("'x'", f"'{other}'"), epsilon=1)
        except Exception as error:
            failed.append(error)

    with session(["x", "y"]) as first, session(["x", "z"]) as second:
        threads = [threading.Thread(target=plan, args=given) for given in ((first, "y"), (second, "z")) * 2]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    # where nothing is left the question is refused by name, and nothing else may go wrong
    assert [error for error in failed if not isinstance(error, privet.RequestError)] == []
