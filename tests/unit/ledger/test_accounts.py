"""Accounts: what is taken for an event is what its filter would spend, on every history."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.accounting.events import ApproximateEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, LedgerError, PrivetError
from privet.core.event import Event
from privet.ledger.account import make_cap, open_account, open_cap
from privet.ledger.codec import START, Head, canonical, follow, link, read_amount, read_head, read_plain, write_amount
from privet.ledger.entries import AccountOpened, Answered, Charged, Opened, Payment, Written, read_entry, write_entry
from privet.ledger.fold import BalanceFold, Checks
from privet.ledger.state import State, rules_only
from privet.mechanisms import GaussianEvent, LaplaceEvent

HALF = Fraction(1, 2)
BUDGETS: tuple[Budget, ...] = (Pure(epsilon=1), Zcdp(rho=HALF), Approximate(epsilon=1, delta=Fraction(1, 10**5)))
AMOUNTS = st.fractions(min_value=0, max_value=1, max_denominator=50)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    AMOUNTS.map(PureEvent),
    AMOUNTS.map(lambda value: ZcdpEvent(value / 8)),
    AMOUNTS.map(lambda value: ApproximateEvent(value, Fraction(1, 10**7))),
    AMOUNTS.map(lambda value: ThresholdEvent(PureEvent(value / 4), Fraction(1, 10**6))),
    AMOUNTS.map(lambda value: LaplaceEvent(sensitivity=Fraction(1), scale=3 / (value + Fraction(1, 100)))),
    AMOUNTS.map(lambda value: GaussianEvent(sensitivity_squared=value, sigma_squared=Fraction(40))),
)


@settings(max_examples=60, deadline=None)
@given(budget=st.sampled_from(BUDGETS), events=st.lists(EVENTS, max_size=6))
def test_an_account_takes_what_its_filter_would(budget: Budget, events: list[Event]) -> None:
    cap = make_cap(budget, HALF)
    account, filter_ = open_account(cap), open_cap(cap)
    for event in events:
        assert account.admits(event) == filter_.admits(event)
        if not filter_.admits(event):
            with pytest.raises(PrivetError):
                account.price(event)
            continue
        payment = account.price(event)
        assert account.covers(payment, event)
        account, filter_ = account.pay(payment), filter_.spend(event)
        assert account.filters == (filter_,)
        account.check_spent()
    assert account.restore(account.snapshot()) == account


@pytest.mark.parametrize("budget", BUDGETS)
def test_more_than_there_was_is_seen(budget: Budget) -> None:
    account = open_account(make_cap(budget, HALF))
    kinds = 3 if isinstance(budget, Approximate) else 1
    nothing = [Fraction(0)] * (kinds - 1)
    account.pay(Payment(0, (Fraction(1, 10), *nothing))).check_spent()
    many = (Fraction(100), *(Fraction(100) for _ in nothing))
    for amounts in (many, (math.inf, *(math.inf for _ in nothing))):
        with pytest.raises(LedgerError):
            account.pay(Payment(0, amounts)).check_spent()
    for wrong in (Payment(1, many), Payment(0, (*many, Fraction(0)))):
        with pytest.raises(LedgerError):
            account.pay(wrong)


def test_the_order_is_fixed_when_the_account_opens() -> None:
    cap = make_cap(BUDGETS[2], HALF)
    assert cap.order is not None
    assert open_cap(cap) == open_cap(cap)


def test_a_budget_is_named_by_its_kind() -> None:
    for wrong in (1, None, "Pure"):
        with pytest.raises(BadParameter):
            make_cap(wrong, HALF)


@pytest.mark.parametrize("text", ["-1", "nan", "-inf", "Infinity", 1, 0.5, None, "1.0"])
def test_no_amount_is_negative_or_no_number(text: object) -> None:
    with pytest.raises(LedgerError):
        read_amount(text)


@given(st.fractions(min_value=0))
def test_an_amount_is_read_back_exactly(amount: Fraction) -> None:
    assert read_amount(write_amount(amount)) == amount


@pytest.mark.parametrize("data", [{"date": "2024-13-01"}, {"date": 1}, {"set": "x"}, {"integer": "1"}, {}, 1.5])
def test_an_answer_of_unknown_make_is_refused(data: object) -> None:
    with pytest.raises(LedgerError):
        read_plain(data)


# The chain


def test_a_head_is_read_back_as_it_was_shown() -> None:
    head = Head(12, bytes(range(32)))
    assert read_head(str(head)) == head


def test_a_chain_is_followed_only_by_what_was_linked_to_it() -> None:
    body = canonical({"a": 1})
    digest = link(START.hash, body)
    head = follow(START, 1, body, digest)
    assert head == Head(1, digest)
    for number, text, told in ((2, body, digest), (1, body + " ", digest), (1, body, bytes(32)), (1, None, digest)):
        with pytest.raises(LedgerError, match="entry 1"):
            follow(START, number, text, told)


def test_the_hash_of_an_entry_never_changes() -> None:
    # what the first version wrote must verify for good
    assert link(bytes(32), '{"a":1}').hex() == "f19866231abb8fff92526e09edbc819ea79b5de54c73276d6f3ce3a8a6f52104"


BODY = (
    '{"account":"ana","digest":"d","event":{"epsilon":"1/8","type":"Pure","v":1},"key":null,"kind":"charge","number":3,'
    '"paid":[[0,"1/8"],null],"shared":null,"text":"","time":"2026-01-02T03:04:05.000006Z","v":1,"versions":{"t":"1"}}'
)


def test_an_entry_of_the_first_version_is_still_read() -> None:
    written = read_entry(BODY)
    assert write_entry(written.number, written.time, written.record) == BODY
    assert written.entry().event == PureEvent(Fraction(1, 8))
    assert written.entry().versions == (("t", "1"),)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (',"v":1,"versions"', ',"v":2,"versions"'),
        ('"kind":"charge"', '"kind":"refund"'),
        ('"number":3', '"number":"3"'),
        ('"number":3', '"number":3.0'),
        ('"text":""', '"text":"","tip":""'),
        ('"text":"",', ""),
        ('"text":""', '"text":null'),
        ('"shared":null', '"shared":-1'),
        ('"1/8"],null', '"2/16"],null'),
        ('"1/8"],null', "0.125],null"),
        ('"account"', ' "account"'),
        (".000006Z", "Z"),
        ("2026-01-02", "2026-02-30"),
        ('{"t":"1"}', '{"t":1}'),
    ],
)
def test_an_entry_that_is_not_as_it_is_written_is_refused(old: str, new: str) -> None:
    assert BODY.count(old) == 1
    with pytest.raises(LedgerError):
        read_entry(BODY.replace(old, new))


OPENED = rules_only([Opened("l", make_cap(Pure(epsilon=1), HALF), None, None)])


def test_an_account_is_opened_once() -> None:
    cap = make_cap(Pure(epsilon=1), HALF)
    twice = [Opened("l", cap, None, None), AccountOpened("a", cap, None), AccountOpened("a", cap, None)]
    rules_only(twice[:2])
    with pytest.raises(LedgerError, match="twice"):
        rules_only(twice)


def test_time_does_not_go_back_in_a_replayed_history() -> None:
    charge = read_entry(BODY)
    opened = Written(1, charge.time, Opened("l", make_cap(Pure(epsilon=1), HALF), None, None))
    for seconds in (0, -1):
        fold = BalanceFold()
        fold.add(Head(1, bytes(32)), opened)
        later = Written(2, charge.time + datetime.timedelta(seconds=seconds), charge.record)
        if seconds:
            with pytest.raises(LedgerError, match="out of order"):
                fold.add(Head(2, bytes(32)), later)
        else:
            fold.add(Head(2, bytes(32)), later)


def add(checks: Checks, *entries: Written, state: State = OPENED) -> Checks:
    for written in entries:
        checks.add(written, state)
    return checks


def test_an_answer_has_its_charge_and_there_is_one_for_each_question() -> None:
    charge = read_entry(BODY)
    answer = Written(4, charge.time, Answered("ana", "d", 3, 1))
    for false in (Answered("ben", "d", 3, 1), Answered("ana", "e", 3, 1), Answered("ana", "d", 2, 1)):
        checks = add(Checks(), charge)
        with pytest.raises(LedgerError, match="without its charge"):
            add(checks, replace(answer, record=false))
    add(checks, answer)
    with pytest.raises(LedgerError, match="two answers"):
        add(checks, replace(answer, number=5))


def test_only_a_charge_that_was_paid_for_in_full_is_shared() -> None:
    charge = read_entry(BODY)
    assert isinstance(charge.record, Charged)
    shared = replace(charge.record, account="ben", shared=3, by_dataset=None)
    repeat = Written(5, charge.time, shared)
    checks = add(Checks(), charge, repeat)
    other = {**shared.event_data, "epsilon": "1/9"}
    for false in (replace(shared, shared=5), replace(shared, digest="e"), replace(shared, event_data=other)):
        with pytest.raises(LedgerError, match="not paid for"):
            add(checks, Written(6, charge.time, false))
    add(checks, Written(6, charge.time, Answered("ben", "d", 5, 1)))


def test_a_charge_took_no_less_than_its_event_costs() -> None:
    charge = read_entry(BODY)
    for paid, cost in (("1/8", "1/8"), ("1/2", "1/8"), ("1/9", "1/9")):
        add(
            Checks(),
            read_entry(BODY.replace('[0,"1/8"]', f'[0,"{paid}"]').replace('"epsilon":"1/8"', f'"epsilon":"{cost}"')),
        )
    checks = add(Checks(), charge)
    for number, less in enumerate(("0", "1/9", "124999999999/1000000000000"), 4):
        entry = read_entry(BODY.replace('[0,"1/8"]', f'[0,"{less}"]').replace('"number":3', f'"number":{number}'))
        with pytest.raises(LedgerError, match="less"):
            add(checks, entry)


def test_one_key_is_charged_once() -> None:
    keyed = read_entry(BODY.replace('"key":null', '"key":"k"'))
    checks = add(Checks(), keyed)
    with pytest.raises(LedgerError, match="key"):
        add(checks, Written(4, keyed.time, keyed.record))
