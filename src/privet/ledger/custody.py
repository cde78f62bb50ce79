"""What a custodian does to a ledger: accounts, more budget, other limits, thawing. Each is an entry of its own."""

from __future__ import annotations

from privet.core.budget import Budget
from privet.core.errors import BadParameter
from privet.core.given import alike

from .account import make_cap
from .entries import AccountOpened, Cleared, Limited, Rescheduled, Time, ToppedUp
from .limits import read_expiry, read_limit, read_name
from .page import Keeper


class Custody(Keeper):
    """The rules of a ledger, and how they change. Nothing here gives back what was spent."""

    def top_up(self, budget: Budget, *, reason: str, account: str | None = None) -> None:
        """Add to an account's budget, or to the data set's, and say why. What was spent stays spent.

        Guarantee: afterwards the promise is the sum of the budgets; see `Account`.
        """
        read_name(reason, "reason")
        if account is not None:
            read_name(account, "account")
        with self._writing() as page:
            cap = make_cap(budget, page.state.opened.cap.keys_share)
            target = page.state.whole if account is None else page.state.known(account)
            target.top_up(cap)
            page.append(ToppedUp(account, cap, reason))

    def open_account(self, account: str, budget: Budget, *, expires: Time | None = None) -> None:
        """Open an account with a cap of its own under the data set's. From then on only opened accounts may spend."""
        read_name(account, "account")
        until = read_expiry(expires)
        with self._writing() as page:
            cap = make_cap(budget, page.state.opened.cap.keys_share)
            page.state.check_under(cap.budget)
            if account in page.state.accounts:
                raise BadParameter("account", account, "a name that has no account yet; top_up adds to one that has")
            other = alike(account, page.state.accounts)
            if other is not None:
                raise BadParameter("account", account, f"a name that cannot be mistaken for that of account {other!r}")
            page.append(AccountOpened(account, cap, until))

    def limit(self, per_query: Budget | None, *, reason: str) -> None:
        """Set the most that one query may cost from now on, or take the limit away with None, and say why."""
        record = Limited(read_limit(per_query), read_name(reason, "reason"))
        with self._writing() as page:
            page.append(record)

    def reschedule(self, expires: Time | None, *, reason: str, account: str | None = None) -> None:
        """Set when an account's spending ends, or the data set's, or never with None, and say why.

        What was spent before stays spent: a later end lets what is left be spent, and no more.
        """
        if account is not None:
            read_name(account, "account")
        record = Rescheduled(account, read_expiry(expires), read_name(reason, "reason"))
        with self._writing() as page:
            if account is not None:
                page.state.known(account)
            page.append(record)

    def clear(self, account: str, *, reason: str) -> None:
        """Let a frozen account spend again, and say why."""
        record = Cleared(read_name(account, "account"), read_name(reason, "reason"))
        with self._writing() as page:
            if not page.state.failures.get(account):
                raise BadParameter("account", account, "an account whose last question the database failed to answer")
            page.append(record)

    def accounts(self) -> tuple[str, ...]:
        """Return the names of the accounts that have a cap of their own."""
        with self._reading() as page:
            return tuple(sorted(page.state.accounts))

    def expires(self, account: str | None = None) -> Time | None:
        """Return when spending ends for an account, by its own rule or the data set's; None for never."""
        if account is not None:
            read_name(account, "account")
        with self._reading() as page:
            own = None if account is None else page.state.own(account)
            ends = [one.expires for one in (page.state.whole, own) if one is not None and one.expires is not None]
            return min(ends, default=None)

    def per_query(self) -> Budget | None:
        """Return the most that one query may cost; None where there is no such limit."""
        with self._reading() as page:
            return page.state.opened.per_query

    def frozen(self) -> tuple[str, ...]:
        """Return the names of the accounts that may not spend until they are cleared."""
        with self._reading() as page:
            return tuple(sorted(name for name in page.state.failures if page.state.is_frozen(name)))
