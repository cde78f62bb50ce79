"""Folding a history fast comes to what folding it entry by entry comes to, or both refuse."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.accounting.events import PureEvent
from privet.core.budget import Approximate, Budget, Pure, WEvent, Zcdp
from privet.core.errors import LedgerError
from privet.core.event import Exact
from privet.ledger.account import add, make_cap
from privet.ledger.codec import Head, write_event
from privet.ledger.entries import (
    AccountOpened,
    Acted,
    Answered,
    Charged,
    Cleared,
    Failed,
    Frozen,
    Limited,
    Opened,
    Payment,
    PromiseOpened,
    Record,
    Rescheduled,
    Stepped,
    ToppedUp,
    Written,
)
from privet.ledger.fold import BalanceFold, RunningSum
from privet.ledger.state import State

HALF = Fraction(1, 2)
START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
EVENT = write_event(PureEvent(Fraction(1, 8)))
CAPS: list[Budget] = [Pure(epsilon=9), Zcdp(rho=9), Approximate(epsilon=9, delta=Fraction(1, 10**6))]

amounts = st.one_of(
    st.fractions(min_value=0, max_value=3, max_denominator=10**6),
    st.integers(1, 10**40).map(lambda below: Fraction(1, below)),
    st.integers(0, 1100).map(lambda bits: Fraction(1, 2**bits)),
    st.just(math.inf),
    st.just(Fraction(0)),
)


@given(st.lists(st.sampled_from([Fraction(1, 3), Fraction(2, 7), Fraction(0), math.inf]) | amounts, max_size=60))
def test_a_sum_that_remembers_its_amounts_is_the_sum_of_them(given_amounts: list[Exact]) -> None:
    total: Exact = Fraction(0)
    fast = RunningSum(total)
    for amount in given_amounts:
        total = add(total, amount)
        fast.add(amount)
        assert fast.value == total


@given(st.integers(2, 400), st.integers(10**6, 10**12))
def test_a_sum_is_rounded_where_the_slow_one_is(count: int, first: int) -> None:
    """Hundreds of different denominators: the common one grows beyond what is kept exactly."""
    total: Exact = Fraction(0)
    fast = RunningSum(total)
    for index in [*range(count), *range(0, count, 3)]:
        amount = Fraction(1, first + index)
        total = add(total, amount)
        fast.add(amount)
    assert fast.value == total


names = st.sampled_from(["a", "b", "c"])
payments = st.none() | st.builds(Payment, st.integers(0, 2), st.lists(amounts, min_size=1, max_size=3).map(tuple))
records: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        lambda name, shared, whole, own: Charged(name, "d", EVENT, None, shared, whole, own),
        names,
        st.none() | st.integers(1, 5),
        payments,
        payments,
    ),
    st.builds(lambda name: Answered(name, "d", 1, []), names),
    st.builds(lambda name: Failed(name, 1), names),
    st.builds(lambda name: Cleared(name, "r"), names),
    st.builds(lambda name: Frozen(name, "r"), names),
    st.builds(lambda name: Acted("c", "custodian", "log-in", name, ""), st.none() | names),
    st.builds(
        lambda name, phase, step, state, last: Stepped(name, 1, phase, step, state * 64, last=last),
        names,
        st.sampled_from(["begin", "open", "close"]),
        st.integers(0, 2),
        st.sampled_from("ab"),
        st.booleans(),
    ),
    st.builds(lambda name: PromiseOpened(name, "d", WEvent(epsilon=1, window=3), "{}"), names),
    st.builds(lambda name, cap: AccountOpened(name, make_cap(cap, HALF), None), names, st.sampled_from(CAPS)),
    st.builds(lambda name, cap: ToppedUp(name, make_cap(cap, HALF), "r"), st.none() | names, st.sampled_from(CAPS)),
    st.builds(lambda most: Limited(most, "r"), st.none() | st.sampled_from(CAPS)),
    st.builds(
        lambda name, hours: Rescheduled(name, START + datetime.timedelta(hours=hours), "r"),
        st.none() | names,
        st.integers(-1, 40),
    ),
    st.builds(lambda cap: Opened("x", make_cap(cap, HALF), None, None), st.sampled_from(CAPS)),
)


def attempt(call: Callable[[], State | None]) -> tuple[State | None, str | None]:
    """Return what a call returns, and what it says where it refuses."""
    try:
        return call(), None
    except LedgerError as error:
        return None, str(error)


PAID = Payment(0, (Fraction(1, 8),))
CHARGE = Charged("a", "d", EVENT, None, None, PAID, PAID)
SOON = START + datetime.timedelta(hours=1)
OPENED = [
    Opened("x", make_cap(Pure(epsilon=9), HALF), None, None),
    AccountOpened("a", make_cap(Pure(epsilon=9), HALF), None),
]
PROMISED = PromiseOpened("s", "d", WEvent(epsilon=1, window=3), "{}")
STEPS = [
    Stepped("a", 3, "begin", 0, "a" * 64),
    Stepped("a", 3, "open", 1, "a" * 64),
    Stepped("a", 3, "close", 1, "b" * 64),
    Stepped("a", 3, "open", 2, "b" * 64),
]
FAILED, ANSWERED = Failed("a", 3), Answered("a", "d", 3, [])


@pytest.mark.parametrize(
    ("history", "allowed"),
    [
        ([CHARGE, CHARGE, ANSWERED], True),
        ([CHARGE, FAILED, FAILED, CHARGE], True),
        ([CHARGE, FAILED, FAILED, FAILED, CHARGE], False),  # frozen
        ([CHARGE, FAILED, FAILED, ANSWERED, FAILED, CHARGE], True),
        ([CHARGE, FAILED, FAILED, FAILED, Cleared("a", "r"), CHARGE], True),
        ([Rescheduled("a", SOON, "r"), CHARGE], False),  # it is later by then
        ([Rescheduled(None, SOON, "r"), CHARGE], False),
        ([Rescheduled(None, SOON, "r"), Rescheduled(None, None, "r"), CHARGE], True),
        ([CHARGE, STEPS[0], STEPS[1], STEPS[2], STEPS[3]], True),
        ([CHARGE, STEPS[1]], False),  # not begun
        ([CHARGE, STEPS[0], STEPS[0]], False),
        ([CHARGE, STEPS[0], STEPS[2]], False),  # not open
        ([CHARGE, STEPS[0], STEPS[1], STEPS[2], STEPS[1]], False),  # rolled back
        ([CHARGE, STEPS[0], STEPS[1], STEPS[2], STEPS[2]], False),
        ([CHARGE, STEPS[0], STEPS[1], FAILED, STEPS[2]], False),  # over
        ([CHARGE, STEPS[0], STEPS[1], replace(STEPS[2], last=True), STEPS[3]], False),
        ([CHARGE, STEPS[0], replace(STEPS[1], state="c" * 64)], False),  # from another state
        ([PROMISED, CHARGE], True),
        ([PROMISED, PROMISED], False),
        ([PROMISED, replace(CHARGE, account="s")], False),  # no budget to spend from
        ([PROMISED, replace(OPENED[1], account="s")], False),
        ([PROMISED, ToppedUp("s", make_cap(Pure(epsilon=9), HALF), "r")], False),
        ([replace(PROMISED, account="a")], False),  # an account of people
        ([PROMISED, *(replace(one, account="s") for one in STEPS)], True),
        ([CHARGE, ToppedUp("a", make_cap(Pure(epsilon=9), HALF), "r"), CHARGE], True),
    ],
)
def test_a_replay_admits_the_charges_that_applying_each_entry_admits(history: list[Record], allowed: bool) -> None:
    slow, fast = State(), BalanceFold()
    for number, record in enumerate([*OPENED, *history], start=1):
        head = Head(number, bytes(32))
        written = Written(number, START + datetime.timedelta(hours=number), record)
        after, refused = attempt(partial(slow.apply, head, written))
        assert attempt(partial(fast.add, head, written))[1] == refused
        if after is None:
            assert not allowed
            return
        slow = after
    assert allowed
    assert fast.state == slow


@given(
    st.sampled_from(CAPS), st.lists(st.tuples(records, st.integers(-1, 3), st.booleans()), max_size=25), st.booleans()
)
def test_a_replay_is_what_applying_each_entry_is(
    cap: Budget, changes: list[tuple[Record, int, bool]], opened: bool
) -> None:
    slow, fast = State(), BalanceFold()
    time = START
    first: list[tuple[Record, int, bool]] = [(Opened("x", make_cap(cap, HALF), None, None), 0, False)] if opened else []
    for record, hours, misnumbered in [*first, *changes]:
        time += datetime.timedelta(hours=hours)
        head = Head(slow.head.number + 1, bytes(32))
        written = Written(head.number + misnumbered * (hours == 2), time, record)
        after, refused = attempt(partial(slow.apply, head, written))
        _, refused_fast = attempt(partial(fast.add, head, written))
        assert refused_fast == refused
        if after is None:
            return  # a ledger is read no further
        slow = after
        assert fast.head == slow.head
        if hours != 1:  # and not after each, so that sums are kept for some time
            assert fast.state == slow
    assert fast.state == slow
