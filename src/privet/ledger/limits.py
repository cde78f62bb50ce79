"""The rules that a ledger is opened with, and the checks that need no history: names, times, the cost of one query."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import cast

from privet.accounting.cost import epsilon as epsilon_at
from privet.accounting.cost import within
from privet.accounting.filters import open_filter
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetExceeded, LedgerError, PrivetError, Unsupported, raise_alone
from privet.core.event import Event, Exact
from privet.core.given import called, instance, is_a, mapping, moment
from privet.core.numbers import Number, float_down, float_up, open_probability

from .account import given_budget, make_cap
from .codec import canonical
from .entries import Opened, Time
from .state import State

KEYS_SHARE = Fraction(1, 2)
"""The part of an account's delta that may be spent on discovering keys, over all of its queries."""

LARGEST_STEP_BACK = datetime.timedelta(minutes=1)
"""How far a machine's clock may be behind the last entry, which another machine may have written."""

_LONGEST_NAME = 200
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")

Clock = Callable[[], Time]


def utc_now() -> Time:
    """Return the time in UTC."""
    return datetime.datetime.now(datetime.UTC)


def next_time(clock: Clock, state: State) -> Time:
    """Return the time for the next entry: never before the last one's, and refused where the clocks are apart."""
    now = called(clock, "clock")
    if not isinstance(now, datetime.datetime) or now.tzinfo is None:
        raise BadParameter("clock", now, "a function that returns a datetime.datetime with a time zone")
    if state.time is None or now >= state.time:
        return now
    if state.time - now > LARGEST_STEP_BACK:
        raise LedgerError(
            "the ledger's last entry lies in this machine's future, so one clock is wrong; "
            "set the clocks of all machines that share the ledger"
        )
    return state.time


def make_rules(
    budget: Budget,
    *,
    per_query: Budget | None = None,
    expires: Time | None = None,
    keys_share: Number = KEYS_SHARE,
    ledger: str,
) -> Opened:
    """Return the first entry of a new ledger."""
    share = open_probability(keys_share, "keys_share")
    return Opened(ledger, make_cap(budget, share), read_limit(per_query), read_expiry(expires))


def read_caps(analysts: Mapping[str, Budget] | None) -> Mapping[str, Budget]:
    """Return analysts' caps by name."""
    allowed = "a mapping of names to budgets"
    if analysts is None:
        return {}
    caps = mapping(analysts, "analysts", allowed)
    for name, cap in caps.items():
        read_name(name, "analysts")
        instance(cap, Budget, "analysts", allowed)
    return dict(caps)


def read_limit(per_query: Budget | None) -> Budget | None:
    """Return the most that one query may cost; None where there is no such limit."""
    return None if per_query is None else given_budget(per_query, "per_query")


def read_name(value: object, parameter: str) -> str:
    """Return a name, a digest, a key or a reason: text that is not empty, not long and of whole characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME or _NO_CHARACTER.search(value):
        raise BadParameter(parameter, value, f"text of 1 to {_LONGEST_NAME} characters")
    return value


def read_text(value: object, parameter: str = "text") -> str:
    """Return text of any length, of whole characters."""
    if not isinstance(value, str) or _NO_CHARACTER.search(value):
        raise BadParameter(parameter, value, "text, of whole characters")
    return value


def read_labels(versions: object) -> tuple[tuple[str, str], ...]:
    """Return the labels of tables' versions, by the tables' names."""
    if versions is None:
        return ()
    named = mapping(versions, "versions", "a mapping of tables to labels")
    labels = ((read_text(name, "versions"), read_text(label, "versions")) for name, label in named.items())
    return tuple(sorted(labels))


def read_facts(value: object) -> str | None:
    """Return what is public about a plan as the text of a JSON object; None where there is nothing."""
    if value is None:
        return None
    try:
        if isinstance(value, Mapping):
            return canonical(dict(value))
    except (TypeError, ValueError, RecursionError):
        pass
    raise BadParameter("facts", type(value).__name__, "plain data that JSON can represent, by name")


def read_lines(lines: object) -> Iterator[str]:
    """Return the lines of an export one by one, or raise `BadParameter` or `LedgerError` where they are not."""
    allowed = "the lines that export() returned"
    if isinstance(lines, (str, bytes)) or not is_a(lines, Iterable):
        raise BadParameter("lines", type(lines).__name__, allowed)

    def each() -> Iterator[str]:
        try:
            for line in cast(Iterable[object], lines):
                if not isinstance(line, str):
                    raise BadParameter("lines", type(line).__name__, allowed)
                yield line
        except PrivetError:
            raise
        except OSError as error:
            raise_alone(LedgerError(f"the lines of the ledger cannot be read: {error.strerror}"))
        except Exception as error:  # a foreign iterator may raise anything
            raise_alone(BadParameter("lines", type(error).__name__, allowed))

    return each()


def read_expiry(expires: object) -> Time | None:
    """Return when spending ends, to the microsecond, in UTC."""
    if expires is None:
        return None
    return moment(expires, "expires")


def check_query(event: Event, most: Budget | None) -> None:
    """Raise unless one query by itself stays within the most that one may cost."""
    cost: Exact
    match most:
        case None:
            return
        case Pure(epsilon=cap):
            measure, cost = "epsilon", event.pure()
        case Zcdp(rho=cap):
            measure, cost = "rho", event.rho()
        case Approximate(epsilon=cap, delta=delta):
            if within(event, cap, delta):
                return
            measure, cost = "epsilon", epsilon_at(event, delta)
    if math.isinf(cost) or (event.slack() > 0 and not isinstance(most, Approximate)):
        raise Unsupported(f"the cost of this cannot be put as that of one query may be, which is {most.describe()}")
    if cost > cap:
        raise BudgetExceeded(
            measure=f"the {measure} that one query may cost",
            requested=float_up(cost),
            remaining=float_down(cap),
            largest_epsilon=open_filter(most).remaining().largest_epsilon,
            largest_rho=float_down(cap) if measure == "rho" else None,
        )


# Whether a ledger's file has the rules that its opener names.


def check_rules(
    state: State, budget: Budget | None, *, per_query: Budget | None, expires: Time | None, keys_share: Number | None
) -> None:
    """Raise `BadParameter` unless a ledger has the rules that were named: with a budget all of them, else those given.

    The budget is the one that the ledger was opened with, or that and all top-ups together.
    """
    rules = state.opened
    if keys_share is not None and (share := open_probability(keys_share, "keys_share")) != rules.cap.keys_share:
        raise _other("keys_share", share, rules.cap.keys_share, "it cannot be changed")
    if budget is not None:
        held = (rules.cap.budget, state.whole.budget())
        if make_cap(budget, rules.cap.keys_share).budget not in held:
            raise _other("budget", budget, held[1], _more(budget, held[1]))
    limit, until = read_limit(per_query), read_expiry(expires)
    if limit != rules.per_query and (limit, budget) != (None, None):
        raise _other("per_query", limit, rules.per_query, "privet ledger limit changes it")
    if until != rules.expires and (until, budget) != (None, None):
        raise _other("expires", until, rules.expires, "privet ledger reschedule changes it")


def check_account(name: str, cap: Budget, opened_with: Budget, now: Budget) -> None:
    """Raise `BadParameter` unless a cap is the one that an account was opened with, or that and all its top-ups."""
    if cap not in (opened_with, now):
        raise _other(f"analysts[{name!r}]", cap, now, _more(cap, now, name))


def _more(wanted: Budget, held: Budget, account: str | None = None) -> str:
    """Return how a budget is raised: by an entry of its own, with a reason, and never by editing a file alone."""
    whose = "" if account is None else f" --account {account!r}"
    if type(wanted) is type(held):
        more = {name: amount - getattr(held, name) for name, amount in vars(wanted).items()}
        if all(amount > 0 for amount in more.values()):
            options = " ".join(f"--{name} {float(amount):g}" for name, amount in more.items())
            return f"to raise it, run: privet ledger top-up {options}{whose} --reason '...'"
        if min(more.values()) == 0 < max(more.values()):  # a part of its own needs both
            return f"to raise it, run privet ledger top-up{whose} with --epsilon and --delta, and write the sums here"
    return f"privet ledger top-up{whose} adds to a budget; none can be lowered"


def _other(parameter: str, wanted: object, held: object, advice: str) -> BadParameter:
    return BadParameter(parameter, _told(wanted), f"what the ledger has, which is {_told(held)} ({advice})")


def _told(rule: object) -> object:
    return rule.describe() if isinstance(rule, Budget) else str(rule)
