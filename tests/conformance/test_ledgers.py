"""One suite that every ledger passes, and that every event of the package can be written down and read back."""

from __future__ import annotations

import datetime
import importlib
import itertools
import math
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.accounting.amplify import Sampled, Shuffled
from privet.accounting.compose import Parallel
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.accounting.groups import Group
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import (
    BadParameter,
    BudgetError,
    BudgetExceeded,
    InvariantError,
    LedgerError,
    RequestError,
    UnknownName,
    Unsupported,
)
from privet.core.event import Composed, Event, Receipt, Repeated
from privet.core.ports import Ledger
from privet.ledger.codec import EVENTS, canonical, read_event, write_event
from privet.ledger.memory import MemoryLedger
from privet.ledger.postgres import PostgresLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.mechanisms import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    FiniteEvent,
    GaussianEvent,
    LaplaceEvent,
    ResponseEvent,
)
from privet.testing import check_ledger

sys.path.insert(0, str(Path(__file__).parent))

from jsonlines_ledger import JsonLinesLedger

from postgres_server import ledger_or_skip

HALF, THIRD, TINY = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**17)
DELTA = Fraction(1, 10**6)
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

Make = Callable[..., Any]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime.datetime:
        return self.now

    def forward(self, **step: float) -> None:
        self.now += datetime.timedelta(**step)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "jsonlines", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Make]:
    made: list[Any] = []
    address = request.getfixturevalue("ledger_address") if request.param == "postgres" else None

    def build(budget: Any, **rules: Any) -> Any:
        rules.setdefault("clock", clock)
        if request.param == "memory":
            return MemoryLedger(budget, **rules)
        if address is not None:
            place = address()
            made.append(PostgresLedger(place, budget, **rules))
            made[-1].url_for_tests = place
            return made[-1]
        kind = SqliteLedger if request.param == "sqlite" else JsonLinesLedger
        made.append(kind(tmp_path / f"{len(made)}.ledger", budget, **rules))
        return made[-1]

    yield build
    for ledger in made:
        ledger.verify()
        ledger.close()


def pure(epsilon: object) -> PureEvent:
    return PureEvent(epsilon)  # type: ignore[arg-type]


# Charges


def test_a_ledger_is_a_ledger(make: Make) -> None:
    assert isinstance(make(Pure(epsilon=1)), Ledger)


def test_exactly_what_fits_is_granted(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    for index in range(3):
        ledger.charge(pure(THIRD), f"plan {index}", account="ana")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(Fraction(1, 10**30)), "one too many", account="ana")
    assert ledger.remaining().amount == 0
    assert [entry.event for entry in ledger.history()] == [pure(THIRD)] * 3


def test_charges_too_small_for_a_float_add_up(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.charge(pure(1 - 2 * TINY), "most", account="ana")
    for index in range(2):
        ledger.charge(pure(TINY), f"tiny {index}", account="ana")
    assert ledger.remaining().amount == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(TINY), "tiny 3", account="ana")


def test_a_refused_charge_leaves_no_trace(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge(pure(2), "plan", account="ana")
    assert (refused.value.requested, refused.value.remaining) == (2.0, 1.0)
    assert ledger.history() == ()
    assert ledger.find("plan", "ana") is None


def test_an_entry_says_what_was_charged(make: Make, clock: Clock) -> None:
    ledger = make(Pure(epsilon=1))
    clock.forward(seconds=1.5)
    receipt = ledger.charge(
        pure(HALF), "plan", account="ana", key="k", versions={"visits": "2024-03"}, text="a count of visits"
    )
    (entry,) = ledger.history()
    assert receipt == Receipt(entry.number, "plan", "ana")
    assert (entry.account, entry.digest, entry.key, entry.shared) == ("ana", "plan", "k", None)
    assert entry.time == "2026-01-01T00:00:01.500000Z"
    assert entry.versions == (("visits", "2024-03"),)
    assert entry.text == "a count of visits"


class Liar:
    """An event that answers whatever it was told to."""

    def __init__(self, cost: float) -> None:
        self.cost = cost

    def pure(self) -> float:
        return self.cost

    def rho(self) -> float:
        return self.cost

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return self.cost

    def pair(self) -> Any:
        raise NotImplementedError

    def atoms(self) -> dict[Any, int]:
        return {self: 1}


class CheapPure(PureEvent):
    def pure(self) -> Fraction:
        return Fraction(-1)


@pytest.mark.parametrize("cost", [math.nan, -1.0, math.inf, 0.5])
def test_an_event_of_unknown_make_is_not_written(make: Make, cost: float) -> None:
    ledger = make(Pure(epsilon=1))
    with pytest.raises(RequestError):
        ledger.charge(Liar(cost), "plan", account="ana")
    with pytest.raises(RequestError):
        ledger.charge(CheapPure(HALF), "plan", account="ana")
    assert ledger.history() == ()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.5, Fraction(-1, 2), "1/2", None])
def test_an_event_that_was_tampered_with_is_not_written(make: Make, value: object) -> None:
    event = pure(HALF)
    object.__setattr__(event, "epsilon", value)
    ledger = make(Pure(epsilon=1))
    with pytest.raises((RequestError, LedgerError)):
        ledger.charge(event, "plan", account="ana")
    assert ledger.history() == ()


def test_an_event_costs_what_is_written_of_it_and_not_what_it_says_itself(make: Make) -> None:
    event = pure(HALF)
    for name in ("pure", "rho", "slack"):
        object.__setattr__(event, name, lambda: Fraction(0))
    ledger = make(Pure(epsilon=1))
    ledger.charge(event, "one", account="ana")
    ledger.charge(event, "two", account="ana")
    with pytest.raises(BudgetExceeded):
        ledger.charge(event, "three", account="ana")
    assert [entry.event.pure() for entry in ledger.history()] == [HALF, HALF]


@pytest.mark.parametrize("budget", [Pure(epsilon=1), Zcdp(rho=1), Approximate(epsilon=1, delta=DELTA)])
def test_an_infinite_cost_is_never_charged(make: Make, budget: Any) -> None:
    ledger = make(budget)
    with pytest.raises((Unsupported, BudgetExceeded)):
        ledger.charge(LaplaceEvent(sensitivity=Fraction(1), scale=Fraction(0)), "plan", account="ana")
    assert ledger.history() == ()


@pytest.mark.parametrize("budget", [Pure(epsilon=1), Zcdp(rho=1)])
def test_an_account_without_delta_refuses_slack(make: Make, budget: Any) -> None:
    ledger = make(budget)
    with pytest.raises(Unsupported):
        ledger.charge(ApproximateEvent(Fraction(1, 100), DELTA), "plan", account="ana")


def test_the_share_of_delta_for_keys_is_a_cap_of_its_own(make: Make) -> None:
    ledger = make(Approximate(epsilon=10, delta=DELTA), keys_share=Fraction(1, 4))
    threshold = ThresholdEvent(pure(Fraction(1, 100)), DELTA / 8)
    ledger.charge(threshold, "one", account="ana")
    ledger.charge(threshold, "two", account="ana")
    with pytest.raises(BudgetExceeded, match="delta"):
        ledger.charge(threshold, "three", account="ana")
    ledger.charge(pure(Fraction(1, 100)), "without keys", account="ana")


@pytest.mark.parametrize("name", ["", "   ", None, 7, "x" * 1000, "\ud800", "a\0b"])
def test_a_charge_needs_names(make: Make, name: Any) -> None:
    ledger = make(Pure(epsilon=1))
    with pytest.raises(BadParameter):
        ledger.charge(pure(HALF), "plan", account=name)
    with pytest.raises(BadParameter):
        ledger.charge(pure(HALF), name, account="ana")


@pytest.mark.parametrize("text", [None, 7, b"a count", "\ud800", "a\0b"])
def test_the_words_of_a_charge_are_text_of_whole_characters(make: Make, text: Any) -> None:
    ledger = make(Pure(epsilon=1))
    for words in ({"text": text}, {"versions": {"t": text}}, {"versions": {text: "1"}}):
        with pytest.raises(BadParameter, match=r"whole characters|versions"):
            ledger.charge(pure(HALF), "plan", account="ana", **words)
    assert ledger.history() == ()


# Answers

RELEASED = (
    (("a", 1, True, None), ("é\ud800\0", -(2**200), False, datetime.date(2024, 2, 29))),
    ((2**63, 2**63 - 1, -(2**63)), (THIRD, datetime.datetime(2024, 1, 2, 3, 4, 5, 6), ())),
)


def test_an_answer_comes_back_exactly_as_it_was_stored(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(pure(HALF), "plan", account="ana")
    assert ledger.find("plan", "ana") is None
    stored = ledger.store(receipt, RELEASED)
    assert repr(stored[1]) == repr(RELEASED)
    found = ledger.find("plan", "ana")
    assert found == stored == (receipt, RELEASED)
    assert found[0].head == stored[0].head != receipt.head
    assert repr(found[1]) == repr(RELEASED)


@pytest.mark.parametrize("value", [1.5, [1], {"a": 1}, b"", object(), (1, [2])])
def test_only_plain_values_are_stored(make: Make, value: Any) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(pure(HALF), "plan", account="ana")
    with pytest.raises(InvariantError):
        ledger.store(receipt, value)
    assert ledger.find("plan", "ana") is None


def test_the_first_answer_to_a_plan_is_kept(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    first = ledger.charge(pure(THIRD), "plan", account="ana")
    second = ledger.charge(pure(THIRD), "plan", account="ben")
    assert ledger.remaining().amount == 2 * THIRD
    assert ledger.store(second, (2,)) == (second, (2,))
    assert ledger.store(first, (1,)) == (first, (2,))
    assert ledger.store(second, (3,)) == (second, (2,))
    assert ledger.find("plan", "ana") == (first, (2,))
    assert ledger.find("plan", "ben") == (second, (2,))


@pytest.mark.parametrize(
    "forged",
    [Receipt(2, "plan", "ben"), Receipt(2, "other", "ana"), Receipt(1, "plan", "ana"), Receipt(9, "plan", "ana")],
)
def test_nothing_is_stored_for_a_forged_receipt(make: Make, forged: Receipt) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.charge(pure(HALF), "plan", account="ana")
    with pytest.raises(LedgerError):
        ledger.store(forged, (1,))
    with pytest.raises(LedgerError):
        ledger.fail(forged)
    assert ledger.find("plan", "ana") is None


def test_the_same_question_is_free_to_who_paid(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(pure(HALF), "plan", account="ana")
    ledger.store(receipt, (1,))
    assert ledger.charge(pure(HALF), "plan", account="ana") == receipt
    assert ledger.charge(pure(HALF), "plan", account="ana") == receipt
    assert len(ledger.history()) == 1


def test_a_repeat_by_another_is_charged_to_their_own_cap_only(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=Fraction(3, 4))})
    first = ledger.charge(pure(HALF), "plan", account="ana")
    ledger.store(first, (1,))
    assert ledger.find("plan", "ben") is None
    second = ledger.charge(pure(HALF), "plan", account="ben")
    assert ledger.find("plan", "ben") == (second, (1,))
    assert ledger.remaining().amount == HALF
    assert ledger.remaining("ben").amount == Fraction(1, 4)
    assert [entry.shared for entry in ledger.history()] == [None, first.entry]
    ledger.verify()


def test_a_repeat_does_not_need_what_is_left_of_the_data_sets_budget(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)})
    ledger.store(ledger.charge(pure(1), "plan", account="ana"), (1,))
    ledger.charge(pure(1), "plan", account="ben")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(TINY), "another", account="ben")


def test_a_repeat_that_the_own_cap_does_not_admit_is_refused(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=THIRD)})
    ledger.store(ledger.charge(pure(HALF), "plan", account="ana"), (1,))
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(HALF), "plan", account="ben")
    assert ledger.find("plan", "ben") is None


def test_a_receipt_shows_whether_its_plan_was_answered(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)})
    first = ledger.charge(pure(HALF), "plan", account="ana")
    again = ledger.charge(pure(HALF), "plan", account="ana")
    assert (first.answered, again.answered, again) == (False, False, first)
    assert ledger.store(first, (1,))[0].answered
    assert ledger.charge(pure(HALF), "plan", account="ana").answered
    assert ledger.charge(pure(HALF), "plan", account="ben").answered  # shares the charge
    assert not ledger.charge(pure(HALF), "other", account="ben").answered


def test_two_who_ask_the_same_at_once_pay_the_data_set_once(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1), "cem": Pure(epsilon=1)})
    first = ledger.charge(pure(HALF), "plan", account="ana")
    second = ledger.charge(pure(HALF), "plan", account="ben")
    assert [entry.shared for entry in ledger.history()] == [None, first.entry]
    assert (ledger.store(second, (2,)), ledger.store(first, (1,))) == ((second, (2,)), (first, (2,)))
    third = ledger.charge(pure(HALF), "plan", account="cem")
    assert ledger.find("plan", "cem") == (third, (2,))
    assert ledger.history()[-1].shared == first.entry
    assert ledger.remaining().amount == HALF
    assert [ledger.remaining(name).amount for name in ("ana", "ben", "cem")] == [HALF] * 3


def test_a_charge_whose_outcome_nobody_saw_is_not_made_again(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)})
    first = ledger.charge(pure(HALF), "plan", account="ana")  # and the process is killed
    assert ledger.charge(pure(HALF), "plan", account="ana") == first
    assert ledger.charge(pure(HALF), "plan", account="ana", key="late") == first
    assert len(ledger.history()) == 1


def test_after_a_failure_the_same_question_is_paid_for_again(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)})
    first = ledger.charge(pure(THIRD), "plan", account="ana")
    ledger.fail(first)
    second = ledger.charge(pure(THIRD), "plan", account="ben")
    assert ledger.history()[-1].shared is None
    third = ledger.charge(pure(THIRD), "plan", account="ana")
    assert ledger.history()[-1].shared == second.entry
    ledger.store(third, (1,))
    assert ledger.find("plan", "ana") == (third, (1,))
    assert ledger.find("plan", "ben") == (second, (1,))
    assert ledger.remaining().amount == THIRD


def test_a_repeat_shows_the_charge_that_was_answered(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.fail(ledger.charge(pure(THIRD), "plan", account="ana"))
    second = ledger.charge(pure(THIRD), "plan", account="ana")
    ledger.store(second, (1,))
    assert ledger.find("plan", "ana") == (second, (1,))
    assert ledger.charge(pure(THIRD), "plan", account="ana") == second


def test_a_receipt_carries_the_head_that_shows_its_entry_and_its_answers(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(pure(THIRD), "plan", account="ana")
    assert receipt.head.startswith(f"{receipt.entry}:")
    ledger.store(receipt, (1,))
    found, _ = ledger.find("plan", "ana")
    ledger.charge(pure(THIRD), "another", account="ana")
    assert found.head.startswith(f"{receipt.entry + 1}:")
    assert ledger.find("plan", "ana")[0].head == found.head
    shared = ledger.charge(pure(THIRD), "plan", account="ben")
    assert ledger.find("plan", "ben")[0].head == shared.head


def test_one_digest_cannot_have_two_costs(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.store(ledger.charge(pure(HALF), "plan", account="ana"), (1,))
    with pytest.raises(LedgerError):
        ledger.charge(pure(TINY), "plan", account="ben")


# Retries


def test_a_retry_with_the_same_key_is_charged_once(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(pure(1), "plan", account="ana", key="try")
    assert ledger.charge(pure(1), "plan", account="ana", key="try") == receipt
    assert ledger.find("plan", "ana") is None
    ledger.store(receipt, (7,))
    assert ledger.charge(pure(1), "plan", account="ana", key="try") == receipt
    assert ledger.find("plan", "ana") == (receipt, (7,))
    assert len(ledger.history()) == 1


def test_a_retry_of_a_frozen_or_expired_account_reads_nothing(make: Make, clock: Clock) -> None:
    ledger = make(Pure(epsilon=1), expires=START + datetime.timedelta(days=1))
    stuck = ledger.charge(pure(THIRD), "plan", account="ana", key="try")
    for _ in range(3):
        assert ledger.charge(pure(THIRD), "plan", account="ana", key="try") == stuck
        ledger.fail(stuck)
    with pytest.raises(BudgetError, match="frozen"):
        ledger.charge(pure(THIRD), "plan", account="ana", key="try")
    waiting = ledger.charge(pure(THIRD), "other", account="ben", key="try")
    clock.forward(days=2)
    for key in ("try", None):
        with pytest.raises(BudgetError, match="expired"):
            ledger.charge(pure(THIRD), "other", account="ben", key=key)
    ledger.store(waiting, (1,))
    assert ledger.charge(pure(THIRD), "other", account="ben", key="try") == waiting


def test_a_key_stands_for_one_question_of_one_account(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.charge(pure(THIRD), "plan", account="ana", key="try")
    with pytest.raises(RequestError):
        ledger.charge(pure(THIRD), "other", account="ana", key="try")
    ledger.charge(pure(THIRD), "other", account="ben", key="try")
    assert len(ledger.history()) == 2


# Caps


def test_both_caps_must_admit(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=Fraction(2, 3)), "ben": Pure(epsilon=Fraction(2, 3))})
    ledger.charge(pure(Fraction(2, 3)), "one", account="ana")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(TINY), "two", account="ana")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(HALF), "three", account="ben")
    ledger.charge(pure(THIRD), "four", account="ben")
    assert not ledger.admits(pure(TINY), account="ben")
    assert ledger.remaining("ben").amount == 0
    assert ledger.budget_of("ben") == Pure(epsilon=Fraction(2, 3))
    assert ledger.budget_of() == Pure(epsilon=1)


def test_accounts_that_were_not_opened_cannot_spend_where_some_were(make: Make) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=HALF)})
    with pytest.raises(UnknownName):
        ledger.charge(pure(TINY), "plan", account="eve")
    ledger.open_account("eve", Pure(epsilon=HALF))
    ledger.charge(pure(TINY), "plan", account="eve")
    assert ledger.accounts() == ("ana", "eve")
    with pytest.raises(BadParameter):
        ledger.open_account("eve", Pure(epsilon=1))


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (Pure(epsilon=1), Zcdp(rho=1)),
        (Pure(epsilon=1), Approximate(epsilon=1, delta=DELTA)),
        (Zcdp(rho=1), Approximate(epsilon=1, delta=DELTA)),
    ],
)
def test_a_cap_that_could_never_be_spent_is_refused(make: Make, held: Any, given: Any) -> None:
    ledger = make(held)
    with pytest.raises(BadParameter):
        ledger.open_account("ana", given)


def test_a_pure_cap_may_stand_under_an_approximate_one(make: Make) -> None:
    ledger = make(Approximate(epsilon=1, delta=DELTA), analysts={"ana": Pure(epsilon=HALF), "ben": Zcdp(rho=HALF)})
    ledger.charge(pure(HALF), "plan", account="ana")
    with pytest.raises(Unsupported):
        ledger.charge(ZcdpEvent(TINY), "other", account="ana")
    ledger.charge(ZcdpEvent(Fraction(1, 1000)), "other", account="ben")


def test_one_query_may_not_cost_more_than_the_most_for_one(make: Make) -> None:
    ledger = make(Pure(epsilon=1), per_query=Pure(epsilon=THIRD))
    ledger.charge(pure(THIRD), "one", account="ana")
    with pytest.raises(BudgetExceeded, match="one query"):
        ledger.charge(pure(THIRD + TINY), "two", account="ana")
    assert not ledger.admits(pure(HALF), account="ana")
    assert ledger.admits(pure(THIRD), account="ana")


def test_the_most_for_one_query_is_held_to_its_own_delta(make: Make) -> None:
    ledger = make(Approximate(epsilon=5, delta=DELTA), per_query=Approximate(epsilon=1, delta=DELTA / 10))
    event = GaussianEvent(sensitivity_squared=Fraction(1), sigma_squared=Fraction(36))
    ledger.charge(event, "one", account="ana")
    with pytest.raises(BudgetExceeded, match="one query"):
        ledger.charge(GaussianEvent(sensitivity_squared=Fraction(4), sigma_squared=Fraction(36)), "2", account="ana")
    with pytest.raises(Unsupported):
        ledger.charge(ThresholdEvent(pure(TINY), DELTA / 4), "three", account="ana")


def test_what_expired_is_gone_and_answers_stay(make: Make, clock: Clock) -> None:
    ledger = make(Pure(epsilon=1), expires=START + datetime.timedelta(days=1))
    ledger.store(ledger.charge(pure(HALF), "plan", account="ana"), (1,))
    clock.forward(hours=23.9)
    ledger.charge(pure(TINY), "late", account="ana")
    clock.forward(hours=0.1)
    with pytest.raises(BudgetError, match="expired"):
        ledger.charge(pure(TINY), "too late", account="ana")
    assert not ledger.admits(pure(TINY), account="ana")
    assert ledger.find("plan", "ana") is not None
    assert ledger.charge(pure(HALF), "plan", account="ana").digest == "plan"
    assert ledger.remaining().amount == HALF - TINY


def test_an_account_may_expire_before_the_others(make: Make, clock: Clock) -> None:
    ledger = make(Pure(epsilon=1), analysts={"ben": Pure(epsilon=1)})
    ledger.open_account("ana", Pure(epsilon=1), expires=START + datetime.timedelta(hours=1))
    clock.forward(hours=2)
    with pytest.raises(BudgetError, match="expired"):
        ledger.charge(pure(TINY), "plan", account="ana")
    ledger.charge(pure(TINY), "plan", account="ben")


@pytest.mark.parametrize("when", ["2027-01-01", datetime.datetime(2027, 1, 1), 5])
def test_an_expiry_needs_a_time_zone(make: Make, when: Any) -> None:
    with pytest.raises(BadParameter):
        make(Pure(epsilon=1), expires=when)


# Rules that change


def test_a_limit_on_one_query_changes_by_an_entry_with_a_reason(make: Make) -> None:
    ledger = make(Pure(epsilon=10), per_query=Pure(epsilon=THIRD))
    ledger.limit(Pure(epsilon=1), reason="the pilot is over")
    ledger.charge(pure(1), "one", account="ana")
    with pytest.raises(BudgetExceeded, match="one query"):
        ledger.charge(pure(1 + TINY), "two", account="ana")
    assert ledger.per_query() == Pure(epsilon=1)
    ledger.limit(None, reason="no limit after all")
    ledger.charge(pure(2), "three", account="ana")
    assert ledger.per_query() is None
    for wrong in (1, "Pure"):
        with pytest.raises(BadParameter):
            ledger.limit(wrong, reason="why not")
    with pytest.raises(BadParameter):
        ledger.limit(None, reason="")
    ledger.verify()


def test_an_end_of_spending_changes_by_an_entry_with_a_reason(make: Make, clock: Clock) -> None:
    day = datetime.timedelta(days=1)
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)}, expires=START + day)
    clock.forward(days=2)
    assert not ledger.admits(pure(TINY), account="ana")
    ledger.reschedule(START + 4 * day, reason="the study was extended")
    ledger.reschedule(START + 3 * day, reason="ben leaves earlier", account="ben")
    ledger.charge(pure(THIRD), "one", account="ana")
    assert (ledger.expires(), ledger.expires("ana"), ledger.expires("ben")) == (
        START + 4 * day,
        START + 4 * day,
        START + 3 * day,
    )
    clock.forward(days=1)
    assert (ledger.admits(pure(THIRD), account="ana"), ledger.admits(pure(THIRD), account="ben")) == (True, False)
    ledger.reschedule(None, reason="open end")
    ledger.reschedule(None, reason="open end", account="ben")
    clock.forward(days=9000)
    ledger.charge(pure(THIRD), "two", account="ben")
    assert ledger.expires("ben") is None
    assert ledger.remaining().amount == THIRD
    for wrong in ({"expires": "soon", "reason": "r"}, {"expires": None, "reason": ""}):
        with pytest.raises(BadParameter):
            ledger.reschedule(**wrong)
    with pytest.raises(UnknownName):
        ledger.reschedule(None, reason="who?", account="eve")


# Top-ups


@pytest.mark.parametrize(("budget", "more"), [(Pure(epsilon=1), Pure(epsilon=HALF)), (Zcdp(rho=1), Zcdp(rho=HALF))])
def test_a_top_up_adds_to_the_total_and_restores_nothing(make: Make, budget: Any, more: Any) -> None:
    event = pure if isinstance(budget, Pure) else ZcdpEvent
    ledger = make(budget)
    ledger.charge(event(Fraction(3, 4)), "one", account="ana")
    ledger.top_up(more, reason="the board agreed")
    ledger.charge(event(Fraction(3, 4)), "two", account="ana")
    with pytest.raises(BudgetExceeded):
        ledger.charge(event(TINY), "three", account="ana")
    assert ledger.budget_of() == type(budget)(**{"epsilon" if event is pure else "rho": Fraction(3, 2)})
    ledger.verify()


def test_an_approximate_top_up_opens_a_filter_of_its_own(make: Make) -> None:
    ledger = make(Approximate(epsilon=1, delta=DELTA))
    ledger.charge(pure(1), "one", account="ana")
    assert not ledger.admits(pure(TINY), account="ana")
    ledger.top_up(Approximate(epsilon=HALF, delta=DELTA), reason="a second year")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(Fraction(51, 100)), "two", account="ana")
    ledger.charge(pure(HALF), "three", account="ana")
    assert ledger.budget_of() == Approximate(epsilon=Fraction(3, 2), delta=2 * DELTA)
    assert ledger.remaining().largest_epsilon < 1e-100
    ledger.verify()


def test_the_oldest_filter_with_room_pays(make: Make) -> None:
    ledger = make(Approximate(epsilon=1, delta=DELTA))
    ledger.charge(pure(Fraction(3, 4)), "one", account="ana")
    ledger.top_up(Approximate(epsilon=HALF, delta=DELTA), reason="more")
    ledger.charge(pure(HALF), "from the second", account="ana")
    ledger.charge(pure(Fraction(1, 4)), "from the first", account="ana")
    assert not ledger.admits(pure(Fraction(1, 100)), account="ana")


def test_an_account_is_topped_up_by_itself(make: Make) -> None:
    ledger = make(Pure(epsilon=2), analysts={"ana": Pure(epsilon=HALF), "ben": Pure(epsilon=HALF)})
    ledger.top_up(Pure(epsilon=HALF), reason="more work", account="ana")
    ledger.charge(pure(1), "one", account="ana")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(1), "two", account="ben")
    with pytest.raises(UnknownName):
        ledger.top_up(Pure(epsilon=1), reason="who?", account="eve")


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_a_top_up_needs_a_reason(make: Make, reason: Any) -> None:
    ledger = make(Pure(epsilon=1))
    with pytest.raises(BadParameter):
        ledger.top_up(Pure(epsilon=1), reason=reason)
    with pytest.raises(BadParameter):
        ledger.top_up(Zcdp(rho=1), reason="of another kind")
    assert ledger.budget_of() == Pure(epsilon=1)


# Failures


def test_three_failures_in_a_row_freeze_an_account_until_cleared(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    for index in range(3):
        ledger.fail(ledger.charge(pure(Fraction(1, 10)), f"plan {index}", account="ana"))
    with pytest.raises(BudgetError, match="frozen"):
        ledger.charge(pure(Fraction(1, 10)), "plan 3", account="ana")
    assert not ledger.admits(pure(TINY), account="ana")
    ledger.charge(pure(Fraction(1, 10)), "plan 3", account="ben")
    assert ledger.frozen() == ("ana",)
    with pytest.raises(BadParameter):
        ledger.clear("anna", reason="a name misspelt")
    ledger.clear("ana", reason="the disk was replaced")
    assert ledger.frozen() == ()
    ledger.charge(pure(Fraction(1, 10)), "plan 3", account="ana")
    assert ledger.remaining().amount == Fraction(6, 10)  # ben's plan 3 pays for ana's


def test_an_answer_in_between_starts_the_count_anew(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    for index in range(5):
        receipt = ledger.charge(pure(Fraction(1, 10)), f"plan {index}", account="ana")
        if index == 2:
            ledger.store(receipt, (1,))
        else:
            ledger.fail(receipt)
    ledger.charge(pure(Fraction(1, 10)), "plan 5", account="ana")


def test_a_frozen_account_keeps_its_answers(make: Make) -> None:
    ledger = make(Pure(epsilon=1))
    ledger.store(ledger.charge(pure(Fraction(1, 10)), "plan", account="ana"), (1,))
    for index in range(3):
        ledger.fail(ledger.charge(pure(Fraction(1, 10)), f"plan {index}", account="ana"))
    assert ledger.find("plan", "ana") is not None


# Clocks


def test_a_clock_that_runs_a_little_behind_is_carried_along(make: Make, clock: Clock) -> None:
    ledger = make(Pure(epsilon=1))
    clock.forward(seconds=-30)
    ledger.charge(pure(HALF), "plan", account="ana")
    assert ledger.history()[0].time == "2026-01-01T00:00:00.000000Z"


def test_clocks_that_are_apart_stop_spending(make: Make, clock: Clock) -> None:
    ledger = make(Pure(epsilon=1))
    receipt = ledger.charge(pure(HALF), "plan", account="ana")
    clock.forward(minutes=-2)
    with pytest.raises(LedgerError, match="clock"):
        ledger.charge(pure(TINY), "other", account="ana")
    with pytest.raises(LedgerError, match="clock"):
        ledger.store(receipt, (1,))
    assert ledger.find("plan", "ana") is None
    clock.forward(minutes=2)
    assert ledger.store(receipt, (1,)) == (receipt, (1,))


# Races


class Interrupting(Clock):
    """A clock that, when it is first read after `act` is set, lets another act in the midst of what reads it."""

    act: Callable[[], Any] | None = None

    def __call__(self) -> datetime.datetime:
        act, self.act = self.act, None
        if act is not None:
            self.other = threading.Thread(target=act)
            self.other.start()
            self.other.join(timeout=0.5)
        return self.now


def reopened(ledger: Any) -> Any:
    """Return the ledger as another process would open it, where its store can be shared."""
    if isinstance(ledger, SqliteLedger):
        return SqliteLedger(ledger.path)
    return PostgresLedger(ledger.url_for_tests) if isinstance(ledger, PostgresLedger) else ledger


def test_no_charge_is_made_in_the_midst_of_another(make: Make) -> None:
    clock = Interrupting()
    ledger = make(Pure(epsilon=1), clock=clock)
    other = reopened(ledger)
    refused = []

    def charge_more() -> None:
        try:
            other.charge(pure(1), "second", account="ben")
        except BudgetExceeded as error:
            refused.append(error)

    clock.act = charge_more
    receipt = ledger.charge(pure(1), "first", account="ana")
    clock.other.join(timeout=60)
    assert len(refused) == 1
    assert receipt.digest == "first"
    assert ledger.remaining().amount == 0
    if other is not ledger:
        other.close()


def test_sixteen_threads_get_exactly_what_fits(make: Make) -> None:
    ledger = make(Pure(epsilon=1))

    def spend(index: int) -> bool:
        try:
            ledger.charge(pure(Fraction(1, 10)), f"plan {index}", account=f"account {index % 3}")
        except BudgetExceeded:
            return False
        return True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # or threads would seldom meet
    try:
        with ThreadPoolExecutor(16) as threads:
            granted = sum(threads.map(spend, range(32)))
    finally:
        sys.setswitchinterval(before)
    assert granted == 10
    assert ledger.remaining().amount == 0


def test_what_was_taken_is_what_events_cost(make: Make) -> None:
    ledger = make(Approximate(epsilon=3, delta=DELTA), analysts={"ana": Pure(epsilon=3), "ben": Zcdp(rho=1)})
    ledger.charge(LaplaceEvent(sensitivity=Fraction(1), scale=Fraction(7)), "one", account="ana")
    ledger.charge(DiscreteGaussianEvent(steps=2, sigma_squared=Fraction(900)), "two", account="ben")
    ledger.verify()


# The wire format

PAIR = FinitePairEvent((HALF, HALF), (THIRD, 1 - THIRD))
SAMPLES: tuple[Event, ...] = (
    pure(THIRD),
    pure(0),
    ApproximateEvent(HALF, DELTA),
    ZcdpEvent(THIRD),
    PAIR,
    ThresholdEvent(LaplaceEvent(sensitivity=Fraction(1), scale=Fraction(3)), DELTA),
    Composed((pure(HALF), Composed(()), ZcdpEvent(1))),
    Repeated(GaussianEvent(sensitivity_squared=Fraction(2), sigma_squared=THIRD, blur=TINY), 10**18),
    Group(pure(THIRD), 3),
    Parallel((pure(HALF), pure(THIRD)), "change-one"),
    LaplaceEvent(sensitivity=Fraction(2), scale=Fraction(0)),
    DiscreteLaplaceEvent(steps=2**70, scale=THIRD),
    ExponentialEvent(epsilon=Fraction(1, 3**1000)),
    DiscreteGaussianEvent(steps=3, sigma_squared=Fraction(5**600, 3)),
    GaussianEvent(sensitivity_squared=Fraction(0.1), sigma_squared=Fraction(2)),
    ResponseEvent(p=Fraction(3**5000 - 1, 3**5000), categories=7),
    FiniteEvent((PAIR, PAIR)),
    Sampled(GaussianEvent(sensitivity_squared=Fraction(1), sigma_squared=Fraction(2)), THIRD),
    Shuffled(pure(THIRD), 1000),
    Shuffled(FinitePairEvent((THIRD, 1 - THIRD), (1 - THIRD, THIRD)), 10, blanket=(THIRD, THIRD)),
)


def event_classes() -> set[type]:
    """Return every class of the package that is an Event, protocols and those left abstract aside."""
    for module in pkgutil.walk_packages(privet.__path__, "privet."):
        importlib.import_module(module.name)
    found, waiting = set(), [object]
    while waiting:
        for kind in type.__subclasses__(waiting.pop()):
            if kind not in found:
                found.add(kind)
                waiting.append(kind)
    methods = ("pure", "rho", "slack", "rdp", "pair", "atoms")
    return {
        kind
        for kind in found
        if str(kind.__module__).startswith("privet.")
        and all(callable(getattr(kind, name, None)) for name in methods)
        and not getattr(kind, "_is_protocol", False)
    }


def test_every_event_of_the_package_has_a_name_in_ledgers() -> None:
    assert {wire.kind for wire in EVENTS.values()} == event_classes()
    assert {type(sample) for sample in SAMPLES} == event_classes()


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_read_back_as_it_was_written(event: Event) -> None:
    written = write_event(event)
    read = read_event(written)
    assert read == event
    assert type(read) is type(event)
    assert canonical(write_event(read)) == canonical(written)


GOLDEN = (
    '{"events":[{"delta":"1/1000000","event":{"sensitivity":"1","scale":"3","type":"Laplace","v":1},"type":"Threshold"'
    ',"v":1},{"rho":"1/3","type":"Zcdp","v":1}],"type":"Composed","v":1}'
)


def test_what_the_first_version_wrote_is_still_read() -> None:
    import json

    threshold = ThresholdEvent(LaplaceEvent(sensitivity=Fraction(1), scale=Fraction(3)), DELTA)
    assert read_event(json.loads(GOLDEN)) == Composed((threshold, ZcdpEvent(THIRD)))


NO_RATIONALS = ("-1", "nan", "inf", "1.5", "2/4", "1/1", "1/0", "01", "0x1", "-0", " 1", "1_0", "1e3", "", 1, 0.5, None)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "Pure",
        {},
        {"type": "Pure", "v": 1},
        {"type": "Pure", "v": 2, "epsilon": "1"},
        {"type": "Pure", "v": True, "epsilon": "1"},
        {"type": "Pure", "v": "1", "epsilon": "1"},
        {"type": "Purer", "v": 1, "epsilon": "1"},
        {"type": "Pure", "v": 1, "epsilon": "1", "more": "1"},
        *({"type": "Pure", "v": 1, "epsilon": text} for text in NO_RATIONALS),
        {"type": "Composed", "v": 1, "events": "Pure"},
        {"type": "Composed", "v": 1, "events": [{}]},
        {"type": "Repeated", "v": 1, "event": {"type": "Pure", "v": 1, "epsilon": "1"}, "times": "1/2"},
        {"type": "Repeated", "v": 1, "event": {"type": "Pure", "v": 1, "epsilon": "1"}, "times": "-1"},
        {"type": "Parallel", "v": 1, "events": [], "neighbors": "near"},
        {"type": "Finite", "v": 1, "pairs": [{"type": "Pure", "v": 1, "epsilon": "1"}]},
    ],
)
def test_what_is_not_an_event_of_this_version_is_refused(data: Any) -> None:
    with pytest.raises(LedgerError):
        read_event(data)


# Pages


def pages_of(make: Make) -> Any:
    ledger = make(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1), "ben": Pure(epsilon=1)})
    for index in range(9):
        receipt = ledger.charge(PureEvent(Fraction(1, 100)), f"plan {index}", account="ana" if index % 3 else "ben")
        if index % 2:
            ledger.store(receipt, (index,))
    return ledger


def test_pages_of_the_history_one_after_the_other_are_the_history(make: Make) -> None:
    ledger = pages_of(make)
    for read in (ledger.history, ledger.entries):
        whole = read()
        for size in (1, 2, 4, 100):
            found: list[object] = []
            last = 0
            while page := read(after=last, limit=size):
                assert len(page) <= size
                found += page
                last = page[-1].number
            assert tuple(found) == whole
            assert read(last=size) == whole[-size:]
        assert read(after=10**9) == ()
        mine = tuple(one for one in whole if getattr(getattr(one, "record", one), "account", None) == "ana")
        assert read(account="ana") == mine
        assert read(account="ana", limit=2) == mine[:2]
        assert read(account="nobody") == ()
    assert [entry.digest for entry in ledger.history()] == [f"plan {index}" for index in range(9)]
    for number, written in enumerate(ledger.entries(), start=1):
        assert ledger.entry(number) == written


@pytest.mark.parametrize(
    "page",
    [
        {"after": -1},
        {"after": 1.5},
        {"after": None},
        {"limit": 0},
        {"limit": "ten"},
        {"last": 0},
        {"last": True},
        {"last": 2, "after": 1},
        {"last": 2, "limit": 1},
    ],
)
def test_a_page_that_makes_no_sense_is_refused_by_name(make: Make, page: dict[str, Any]) -> None:
    ledger = pages_of(make)
    for read in (ledger.history, ledger.entries):
        with pytest.raises(RequestError):
            read(**page)
    for number in (0, -1, 10**9, True, "1", None):
        with pytest.raises(BadParameter):
            ledger.entry(number)


@pytest.mark.parametrize("name", ["memory", "sqlite", "jsonlines", "postgres"])
def test_every_ledger_passes_its_suite(name: str, tmp_path: Path) -> None:
    numbers = itertools.count()

    def make(budget: Budget) -> Any:
        if name == "memory":
            return MemoryLedger(budget)
        if name == "postgres":
            return PostgresLedger(ledger_or_skip(), budget)
        kind = SqliteLedger if name == "sqlite" else JsonLinesLedger
        return kind(tmp_path / f"{next(numbers)}.ledger", budget)

    assert len(check_ledger(make).held) == 14
