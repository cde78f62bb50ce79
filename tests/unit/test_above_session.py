"""A sparse vector over tables: exact comparisons, one charge, answers that stay, restarts, copies, refusals."""

from __future__ import annotations

import datetime
import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privet
from privet import noise
from privet.core.errors import BudgetError, BudgetExceeded, EngineError, InvariantError, LedgerError, RequestError
from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.execution import vector
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite import SqliteLedger
from privet.planner.comparison_plans import scalar_question, steps_of, verify_question
from privet.query.frame import count
from privet.query.sql.parse import parse
from privet.release import compare, draw_bar, draw_noise
from privet.testing.oracle import Memory

COLUMNS = {
    "who": privet.integer(),
    "age": privet.integer(0, 100),
    "pay": privet.number(-5, 10, step=Fraction(1, 2)),
    "city": privet.category(["Ulm", "Bonn"]),
}
ROWS = [{"who": at % 40, "age": at % 90, "pay": (at % 30) / 2 - 5, "city": "Ulm"} for at in range(400)]
ALL, NONE, OLD = (f"SELECT COUNT(*) FROM t{where}" for where in ("", " WHERE age > 99", " WHERE age >= 20"))


def table(unit: Any = None, neighbors: str = "add-remove", rows: Any = ROWS) -> privet.Table:
    few = privet.Contribution(groups=1, rows=10) if unit else None
    return privet.Table(rows, unit=unit or privet.Rows(), columns=COLUMNS, neighbors=neighbors, contribution=few)


def session(ledger: Any = None, **how: Any) -> privet.Session:
    tables = {"t": table(**how)}
    return privet.Session(tables, ledger=ledger or MemoryLedger(privet.Pure(epsilon=1000)), engine=Memory(tables))


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryLedger(privet.Pure(epsilon=1000))
    else:
        with SqliteLedger(tmp_path / "ledger", privet.Pure(epsilon=1000)) as made:
            yield made


def test_questions_far_from_the_threshold_are_told_rightly_until_the_last_crossing(ledger: Any) -> None:
    # at epsilon 100 noise of 50 has a chance below e^-100
    opened = session(ledger).above(200, limit=2, epsilon=100)
    assert [opened.ask(one).above for one in (NONE, ALL, NONE, "SELECT COUNT(*) FROM t WHERE age < 80")] == [
        False,
        True,
        False,
        True,
    ]
    assert (opened.left, opened.asked, opened.closed) == (0, 3, True)
    with pytest.raises(RequestError, match="2 crossings and is closed"):
        opened.ask(OLD)
    assert opened.ask(ALL).above  # what was answered stays
    assert ledger.progress(opened.receipt).over
    assert len(ledger.history()) == 1
    assert ledger.remaining().largest_epsilon == 900
    ledger.verify()


def test_it_is_charged_whole_when_it_is_opened_and_nothing_more(ledger: Any) -> None:
    with session(ledger) as one:
        opened = one.above(200, limit=3, epsilon=7)
        assert ledger.remaining().largest_epsilon == 993
        for age in range(5):
            opened.ask(f"SELECT COUNT(*) FROM t WHERE age > {99 - age}")
        assert ledger.remaining().largest_epsilon == 993
        assert "which questions are above 200, up to 3 of them" in repr(one.history())
        assert one.ledger.certificate(opened.receipt.entry)["cost"] == {"epsilon": 7.0, "delta": 0.0}


def test_the_same_question_again_has_the_same_answer_and_draws_nothing(
    ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session(ledger) as one:
        opened = one.above(200, limit=50, epsilon=1, values=True)
        first = [opened.ask(sql) for sql in (ALL, NONE, OLD)]
        monkeypatch.setattr(vector, "draw_noise", lambda *_: pytest.fail("drawn"))
        monkeypatch.setattr(vector, "draw_bar", lambda *_: pytest.fail("drawn"))
        again = one.above(200, limit=50, epsilon=1, values=True)
        for held in (opened, again):
            assert [replace(held.ask(sql), left=0) for sql in (ALL, NONE, OLD)] == [
                replace(answer, left=0) for answer in first
            ]
        built = one.table("t").where(privet.col("age") > 99).agg(n=count())
        assert again.ask(built) == again.ask(NONE)
        assert again.receipt == opened.receipt


def test_comparisons_are_of_exact_integers_at_the_very_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = session(unit=privet.Person("who")).above(250, limit=50, epsilon=1, values=True, sensitivity=200)
    plan, receipt = opened.plan, opened.receipt
    tables = opened._executor.schemas
    asked = scalar_question(parse("SELECT SUM(pay) FROM t", tables), tables)
    exact = SealedSums({(): (123_456_789,)})
    answer = steps_of(123_456_789, asked, plan)
    assert answer == math.floor(Fraction(123_456_789, 2**21) / plan.step + Fraction(1, 2))
    for more, above in ((0, True), (1, False), (-1, True)):
        found = compare(exact, plan, asked, receipt, bar=answer + 7 + more, noises=(7, 10**30))
        assert found == (above, answer + 10**30 if above else None)
    assert compare(SealedSums({}), plan, asked, receipt, bar=0, noises=(0, 3)) == (True, 3)


@pytest.mark.parametrize("signed", [False, True])
def test_draws_follow_the_law_of_two_laplace_noises(signed: bool) -> None:
    plan = session().plan_above(3, limit=2, epsilon=2, signed=signed)
    receipt = Receipt(1, plan.digest, "session")
    b1, b2 = (float(scale * plan.step) for scale in (plan.steps.threshold_scale, plan.steps.query_scale))
    assert plan.monotone != signed
    moves = 2 if signed else 1
    assert 1 / b1 + 2 * moves / b2 == pytest.approx(2)
    asked = scalar_question(parse(ALL, {"t": table().schema}), {"t": table().schema})
    draws, hits = 6000, 0
    for _ in range(draws):
        noises, bar = draw_noise(plan, receipt), draw_bar(plan, receipt)
        hits += compare(SealedSums({(): (2,)}), plan, asked, receipt, bar=bar, noises=noises)[0]
    # P[n - r >= 1] of independent Laplace variates of scales b2 and b1
    chance = (b2**2 * math.exp(-1 / b2) - b1**2 * math.exp(-1 / b1)) / (2 * (b2**2 - b1**2))
    # 5 standard deviations: once in about 1.7 million runs
    assert abs(hits - draws * chance) < 5 * math.sqrt(draws * chance * (1 - chance)) + 1


def test_values_are_measured_by_noise_of_their_own() -> None:
    plan = session().plan_above(0, limit=3, epsilon=2, values=True)
    assert plan.event.pure() == 2
    assert plan.value_scale is not None
    # a half for three values: each has scale 3
    assert plan.value_scale * plan.step == 3
    assert plan.value_error == pytest.approx(3 * math.log(20), rel=1e-4)
    opened = session().above(0, limit=3, epsilon=10**2, values=True)
    found = opened.ask(ALL)
    assert found.value is not None
    assert found.error is not None
    assert abs(found.value - 400) < 20 * found.error  # e^-60
    assert str(found).startswith("above, ")
    assert str(opened.ask(NONE)) in ("below", str(opened.ask(NONE)))


def _crash(monkeypatch: pytest.MonkeyPatch, what: Any, name: str, *, after: bool) -> None:
    """Have one call die, before or after it does its work, as a process that is killed there would."""
    whole = getattr(what, name)

    def dies(*given: Any, **named: Any) -> Any:
        if after:
            whole(*given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(what, name, dies)


def _dies(one: privet.Session, limit: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        one.above(200, limit=limit, epsilon=50).ask(ALL)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("action", ["charge", "begin_steps", "open_steps", "scan", "compare", "close_steps"])
def test_a_process_that_dies_anywhere_neither_draws_anew_nor_adds_a_crossing(
    action: str, after: bool, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[Any, int, tuple[int, int]]] = []
    whole = vector.compare

    def watched(exact: Any, plan: Any, asked: Any, receipt: Any, *, bar: int, noises: tuple[int, int]) -> Any:
        compared.append((asked.scan.where, bar, noises))
        return whole(exact, plan, asked, receipt, bar=bar, noises=noises)

    monkeypatch.setattr(vector, "compare", watched)
    dying = session(ledger)
    owner = {"scan": dying._executor.engine, "compare": vector}.get(action, ledger)
    with monkeypatch.context() as patch:
        _crash(patch, owner, action, after=after)
        _dies(dying, limit=2)
    shown = []
    for sql in (NONE, ALL, OLD):
        opened = session(ledger).above(200, limit=2, epsilon=50)  # a new process for each
        shown.append(opened.ask(sql).above)
    assert shown == [False, True, True]  # 100 rows away or more at epsilon 50: e^-500
    assert opened.closed
    assert len({bar for _, bar, _ in compared}) == 1
    assert len({(repr(where), noises) for where, _, noises in compared}) == 3  # one noise for each question
    assert len(ledger.history()) == 1
    ledger.verify()


def test_a_noise_that_was_kept_is_used_after_another_question_came_between(
    ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _crash(patch, vector, "compare", after=True)
        _dies(session(ledger), limit=9)
    opened = session(ledger).above(200, limit=9, epsilon=50)
    (kept,) = opened._state.pending.values()
    opened.ask(NONE)
    assert list(opened._state.pending.values()) == [kept]
    used = []
    whole = vector.compare
    monkeypatch.setattr(
        vector, "compare", lambda *given, **named: used.append(named["noises"]) or whole(*given, **named)
    )
    monkeypatch.setattr(vector, "draw_noise", lambda *_: pytest.fail("drawn anew"))
    opened.ask(ALL)
    assert used == [kept]
    assert not opened._state.pending


def test_who_was_overtaken_is_refused_and_shows_nothing(ledger: Any) -> None:
    first = session(ledger).above(200, limit=3, epsilon=50)
    second = session(ledger).above(200, limit=3, epsilon=50)
    second.ask(ALL)
    with pytest.raises(LedgerError, match=r"asked elsewhere meanwhile.*open it again"):
        first.ask(NONE)
    assert session(ledger).above(200, limit=3, epsilon=50).asked == 1


def test_who_is_overtaken_while_it_reads_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = SqliteLedger(tmp_path / "ledger", privet.Pure(epsilon=1000))
    first = session(ledger).above(200, limit=1, epsilon=50)
    whole = vector.compare
    other = []

    def overtaken(*given: Any, **named: Any) -> Any:
        found = whole(*given, **named)
        monkeypatch.setattr(vector, "compare", whole)
        with SqliteLedger(tmp_path / "ledger") as elsewhere:  # as another process has it
            other.append(session(elsewhere).above(200, limit=1, epsilon=50).ask(NONE))
        return found

    monkeypatch.setattr(vector, "compare", overtaken)
    with pytest.raises(LedgerError, match="another process"):
        first.ask(ALL)
    again = session(ledger).above(200, limit=1, epsilon=50)
    assert not other[0]
    assert (again.asked, again.left) == (1, 1)
    ledger.close()


def _rewrite(path: Path, text: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE kept SET body = ?", (text,))
        connection.commit()


def test_a_state_that_was_put_back_or_changed_is_refused(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", privet.Pure(epsilon=1000)) as ledger:
        opened = session(ledger).above(200, limit=3, epsilon=50)
        old = ledger.kept_text(opened.receipt)
        assert old is not None
        opened.ask(ALL)
        new = ledger.kept_text(opened.receipt)
        assert new is not None
        file = next(
            one
            for one in (tmp_path / "ledger").iterdir()
            if one.suffix in ("", ".db", ".sqlite") and one.stat().st_size
        )
    changed = json.loads(new)
    changed["bar"] += 1
    for text in (old, json.dumps(changed, sort_keys=True), "{}", ""):
        _rewrite(file, text)
        with SqliteLedger(tmp_path / "ledger") as ledger, pytest.raises(LedgerError, match="secret state"):
            session(ledger).above(200, limit=3, epsilon=50)
    _rewrite(file, new)
    with SqliteLedger(tmp_path / "ledger") as ledger:
        assert session(ledger).above(200, limit=3, epsilon=50).ask(ALL).above


def test_an_export_has_no_secrets_and_its_copy_does_not_draw_anew(tmp_path: Path) -> None:
    with SqliteLedger(tmp_path / "ledger", privet.Pure(epsilon=1000)) as ledger:
        opened = session(ledger).above(200, limit=3, epsilon=50)
        opened.ask(ALL)
        bar = opened._state.bar
        lines = list(ledger.export())
        assert not any(str(bar) in line for line in lines)
        assert ALL not in "".join(lines)
        with SqliteLedger.restore(tmp_path / "copy", lines) as copy, pytest.raises(LedgerError, match="export"):
            session(copy).above(200, limit=3, epsilon=50)


def test_hashes_of_one_state_differ_by_their_salt() -> None:
    state = vector.VectorState(5, 1)
    assert vector.hash_of_text(state.text()) != vector.hash_of_text(state.text())
    assert vector.VectorState.read(state.text()) == state


def test_the_noisy_threshold_is_gone_with_the_last_crossing(ledger: Any) -> None:
    opened = session(ledger).above(0, limit=1, epsilon=100)
    assert opened.ask(ALL)
    assert json.loads(ledger.kept_text(opened.receipt))["bar"] is None


def test_a_failure_of_the_database_ends_it_and_opening_it_again_is_charged(ledger: Any) -> None:
    broken = session(ledger)
    opened = broken.above(200, limit=3, epsilon=50)
    opened.ask(NONE)
    broken._executor.engine.scan = lambda scan: (_ for _ in ()).throw(OSError("secret"))  # type: ignore[method-assign]
    with pytest.raises(EngineError) as failed:
        opened.ask(ALL)
    assert "secret" not in str(failed.value)
    with pytest.raises(RequestError, match="database failed"):
        opened.ask(OLD)
    assert len(ledger.history()) == 1
    again = session(ledger).above(200, limit=3, epsilon=50)
    assert (again.asked, len(ledger.history())) == (0, 2)
    assert again.ask(ALL).above


def test_vectors_of_other_names_and_accounts_are_others() -> None:
    ledger = MemoryLedger(
        privet.Pure(epsilon=1000), analysts={"ana": privet.Pure(epsilon=500), "ben": privet.Pure(epsilon=500)}
    )
    tables = {"t": table()}
    for account in ("ana", "ben"):
        one = privet.Session(tables, ledger=ledger, engine=Memory(tables), account=account)
        for name in ("", "second"):
            one.above(200, limit=1, epsilon=10, name=name)
    assert len(ledger.history()) == 4
    assert {entry.shared for entry in ledger.history()} == {None}
    assert ledger.remaining().largest_epsilon == 960


@pytest.mark.parametrize(
    ("unit", "neighbors", "moved", "monotone"),
    [
        (privet.Rows(), "add-remove", 1, True),
        (privet.Rows(), "change-one", 1, False),
        (privet.Rows(3), "add-remove", 3, False),
        (privet.Person("who"), "add-remove", 10, True),
        (privet.Person("who"), "change-one", 10, False),
    ],
    ids=str,
)
def test_the_sensitivity_of_a_count_is_the_default(unit: Any, neighbors: str, moved: int, monotone: bool) -> None:
    plan = session(unit=unit, neighbors=neighbors).plan_above(5, limit=1, epsilon=1)
    assert (plan.sensitivity, plan.monotone) == (moved, monotone)
    assert plan.event.pure() == 1
    assert f"at most {moved}" in plan.explain()
    assert plan.to_dict()["digest"] == plan.digest


REFUSED: dict[str, str] = {
    "groups": "SELECT city, COUNT(*) FROM t GROUP BY city",
    "groups without a key": "SELECT COUNT(*) FROM t GROUP BY city",
    "two numbers": "SELECT COUNT(*), COUNT(*) FROM t",
    "an average": "SELECT AVG(age) FROM t",
    "a quantile": "SELECT MEDIAN(age) FROM t",
    "computed": "SELECT COUNT(*) + 1 FROM t",
    "moves further": "SELECT SUM(age) FROM t",
    "falls": "SELECT SUM(GREATEST(pay, -1)) / 1 FROM t",
    "negative": "SELECT SUM(CASE WHEN age > 3 THEN -1 ELSE 0 END) FROM t",
    "no bounds": "SELECT SUM(who) FROM t",
    "its own cost": "SELECT COUNT(*) FROM t WITHIN 3",
    "another table": "SELECT COUNT(*) FROM other",
    "not SQL": "count the rows",
    "several": "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t",
    "a limit": "SELECT COUNT(*) FROM t LIMIT 0",
    "having": "SELECT COUNT(*) FROM t HAVING COUNT(*) > 3",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_was_not_opened_for_is_refused_and_nothing_is_drawn_or_recorded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = MemoryLedger(privet.Pure(epsilon=10))
    opened = session(ledger, unit=privet.Person("who")).above(200, limit=1, epsilon=1)
    monkeypatch.setattr(vector, "draw_noise", lambda *_: pytest.fail("drawn"))
    before = ledger.head()
    with pytest.raises(RequestError) as refused:
        opened.ask(REFUSED[name])
    assert ledger.head() == before
    assert 20 < len(str(refused.value)) < 500


def test_a_question_that_could_move_too_far_is_refused_with_the_sensitivity_that_it_needs() -> None:
    opened = session(unit=privet.Person("who")).above(200, limit=1, epsilon=1)
    with pytest.raises(RequestError) as refused:
        opened.ask("SELECT SUM(age) FROM t")
    assert str(refused.value) == (
        "one person can move this question by 1,000 (the sum of age, age clamped to 0 to 100), and the vector was "
        "opened for 10 at most; ask for less, or open one with sensitivity=1000"
    )


def test_signed_sums_are_asked_of_a_vector_that_was_opened_for_them() -> None:
    opened = session().above(0, limit=9, epsilon=100, sensitivity=10, signed=True)
    assert opened.plan.monotone is False
    assert opened.ask("SELECT SUM(pay) FROM t").above  # 920 away at epsilon 100 of 10: beyond e^-100
    assert not opened.ask("SELECT SUM(-1 - age / 100) FROM t").above
    with pytest.raises(RequestError, match="sensitivity=15"):
        opened.ask("SELECT SUM(pay + 5) FROM t")


@pytest.mark.parametrize(
    "how",
    [
        {"threshold": float("nan")},
        {"threshold": float("inf")},
        {"threshold": "5"},
        {"limit": 0},
        {"limit": 1.5},
        {"limit": True},
        {"limit": 10**6},
        {"epsilon": 0},
        {"epsilon": float("inf")},
        {"epsilon": 1, "rho": 1},
        {"sensitivity": 0},
        {"sensitivity": -3},
        {"sensitivity": 1e308},
        {"threshold": -(10**400)},
        {"signed": "yes"},
        {"values": 1},
        {"table": "other"},
        {"table": 3},
        {"name": 5},
        {"contribution": "auto"},
        {"bound": "rows"},
    ],
    ids=str,
)
def test_arguments_out_of_range_are_refused_and_nothing_is_charged(how: dict[str, Any]) -> None:
    with session(unit=privet.Person("who")) as one:
        with pytest.raises(RequestError):
            one.above(**{"threshold": 5, "limit": 1, "epsilon": 1, **how})
        assert one.history() == ()


def test_tables_of_different_units_need_to_be_named_and_are_not_mixed() -> None:
    tables = {"t": table(), "u": table(unit=privet.Person("who")), "v": table(neighbors="change-one")}
    with privet.Session(tables, budget=privet.Pure(epsilon=100), engine=Memory(tables)) as one:
        with pytest.raises(RequestError, match="table="):
            one.above(5, limit=1, epsilon=1)
        opened = one.above(5, limit=1, epsilon=1, table="u")
        for other in ("t", "v"):
            with pytest.raises(RequestError, match="opened for all rows of each who"):
                opened.ask(f"SELECT COUNT(*) FROM {other}")
        assert opened.ask("SELECT COUNT(*) FROM u WHERE age > 99").left <= 1


def test_a_vector_beyond_the_budget_is_refused() -> None:
    with session(MemoryLedger(privet.Pure(epsilon=1))) as one:
        with pytest.raises(BudgetExceeded):
            one.above(5, limit=1, epsilon=2)
        assert one.history() == ()


def test_an_account_that_counts_rho_pays_for_it_in_rho() -> None:
    with session(MemoryLedger(privet.Zcdp(rho=1))) as one:
        plan = one.plan_above(5, limit=2, rho=0.5)
        assert plan.event.rho() <= Fraction(1, 2)
        assert "rho" in plan.explain()
        one.above(5, limit=2, rho=0.5)
        assert one.remaining().largest_epsilon < 1.1


def test_a_ledger_that_keeps_no_state_is_refused_before_it_is_charged() -> None:
    class Plain:
        """A ledger that has the port's methods and no others."""

        def __init__(self) -> None:
            self.held = MemoryLedger(privet.Pure(epsilon=1))

        charge = property(lambda self: self.held.charge)
        store = property(lambda self: self.held.store)
        find = property(lambda self: self.held.find)
        fail = property(lambda self: self.held.fail)
        admits = property(lambda self: self.held.admits)
        history = property(lambda self: self.held.history)
        budget_of = property(lambda self: self.held.budget_of)
        remaining = property(lambda self: self.held.remaining)
        verify = property(lambda self: self.held.verify)

    ledger: Any = Plain()
    with session(ledger) as one:
        with pytest.raises(RequestError, match="SqliteLedger"):
            one.above(5, limit=1, epsilon=1)
        assert one.history() == ()


def test_a_plan_that_claims_what_is_not_so_is_refused() -> None:
    plan = session().plan_above(5, limit=1, epsilon=1)
    for changed in (
        {"neighbors": "change-one"},
        {"unit": privet.Rows(2)},
        {"unit": privet.Window("who", "day", 7)},
        {"limit": 0},
        {"sensitivity": Fraction(0)},
    ):
        with pytest.raises(InvariantError):
            replace(plan, **changed)
    receipt = Receipt(1, "other", "ana")
    for draw in (draw_bar, draw_noise):
        with pytest.raises(InvariantError, match="another vector"):
            draw(plan, receipt)
    tables = {"t": table().schema}
    asked = scalar_question(parse(ALL, tables), tables)
    with pytest.raises(InvariantError, match="another vector"):
        compare(SealedSums({}), plan, asked, receipt, bar=0, noises=(0, 0))
    verify_question(plan, asked, tables)
    with pytest.raises(RequestError, match="other tables"):
        verify_question(plan, asked, {"t": table(neighbors="change-one").schema})
    with pytest.raises(RequestError, match="opened for"):
        verify_question(replace(plan, sensitivity=Fraction(1, 2)), asked, tables)


def test_a_closed_session_refuses_questions() -> None:
    one = session()
    opened = one.above(5, limit=1, epsilon=1)
    one.close()
    with pytest.raises(RequestError, match="closed"):
        opened.ask(ALL)


def test_it_is_shown() -> None:
    opened = session().above(200, limit=2, epsilon=100, name="ages")
    assert opened.ask(ALL).to_dict() == {"above": True, "value": None, "error": None, "left": 1}
    assert "1 of at most 2" in repr(opened)
    assert "ages" in opened._repr_html_()
    assert repr(opened.plan) == opened.plan.explain()
    assert "is above 200" in opened.plan._repr_html_()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")
SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)


@needs_fork
@pytest.mark.parametrize("at", range(1, 9 if not SOAK else 9 + SOAK))
def test_a_process_that_is_killed_between_any_two_actions_leaves_one_vector(at: int, tmp_path: Path) -> None:
    place, seen = tmp_path / "ledger", tmp_path / "compared"
    with SqliteLedger(place, privet.Pure(epsilon=1000)):
        pass

    def ask(die_at: int | None) -> list[bool]:
        actions = [0]

        def counting(whole: Any) -> Any:
            def counted(*given: Any, **named: Any) -> Any:
                actions[0] += 1
                if actions[0] == die_at:
                    os.kill(os.getpid(), 9)
                return whole(*given, **named)

            return counted

        whole = vector.compare

        def watched(exact: Any, plan: Any, asked: Any, receipt: Any, *, bar: int, noises: tuple[int, int]) -> Any:
            with seen.open("a") as lines:
                lines.write(json.dumps([repr(asked.scan.where), bar, noises]) + "\n")
            return whole(exact, plan, asked, receipt, bar=bar, noises=noises)

        with SqliteLedger(place) as ledger, pytest.MonkeyPatch.context() as patch:
            patch.setattr(vector, "compare", counting(watched))
            for name in ("charge", "begin_steps", "open_steps", "close_steps"):
                patch.setattr(ledger, name, counting(getattr(ledger, name)))
            one = session(ledger)
            one._executor.engine.scan = counting(one._executor.engine.scan)  # type: ignore[method-assign]
            opened = one.above(200, limit=1, epsilon=50)
            return [opened.ask(sql).above for sql in (NONE, ALL)]

    for die_at in (1 + (at - 1) % 10, 2 + at % 7):
        child = os.fork()
        if child == 0:
            try:
                ask(die_at)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    assert ask(None) == [False, True]
    compared = [tuple(map(str, json.loads(line))) for line in seen.read_text().splitlines()]
    assert len({bar for _, bar, _ in compared}) == 1
    assert len({(where, noises) for where, _, noises in compared}) == 2
    with SqliteLedger(place) as ledger:
        ledger.verify()
        assert len(ledger.history()) == 1
        closings = [one for one in ledger.entries() if getattr(one.record, "phase", "") == "close"]
        assert len(closings) == 2


def test_noise_is_drawn_from_the_one_source() -> None:
    assert vector.draw_noise is draw_noise
    assert noise.discrete_laplace(Fraction(1)) is not None


def test_no_further_question_is_asked_on_an_account_that_has_expired(ledger: Any) -> None:
    """What was answered before stays free, and a later end lets the vector go on."""
    opened = session(ledger).above(200, limit=2, epsilon=100)
    assert not opened.ask(NONE)
    ledger.reschedule(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), reason="the study is over")
    with pytest.raises(BudgetError, match="expired"):
        opened.ask(ALL)
    assert not opened.ask(NONE)
    assert opened.left == 2
    ledger.reschedule(None, reason="it goes on")
    assert opened.ask(ALL)
