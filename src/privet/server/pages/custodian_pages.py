"""The custodian's and the auditor's pages: accounts, spending, releases, requests, the ledger and its proof."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from privet.core.budget import Approximate, Zcdp
from privet.server.custodian_api import BOTH
from privet.server.http_call import ANYONE, ApiRoute, HttpCall

from .page_serving import page
from .set_up_pages import SET_UP_PAGES
from .spending import charge_facts, spending_by_account, spending_by_block

_LATEST = 100
_MOST_CHARGES = 20_000
"""Spending is drawn from this many charges, the latest; balances count them all."""


def custodian_login(call: HttpCall) -> Response:
    """Return the page on which a custodian or an auditor enters a token."""
    return page(call, "login.html", title="Log in", name="", custodian=True)


def custodian_first(call: HttpCall) -> Response:
    """Return the data sets, or the only one."""
    sets = call.state.visible(call.identity)
    if len(sets) == 1:
        return RedirectResponse(f"/d/{sets[0].name}", 303)
    listed = [
        {
            "name": one.name,
            "budget": one.ledger.budget_of(None),
            "spent": next(balance.spent for balance in one.ledger.balances() if balance.account is None),
            "waiting": len(_waiting(call, one.name)),
        }
        for one in sets
    ]
    return page(call, "custodian_sets.html", title="Data sets", name="", listed=listed)


def _waiting(call: HttpCall, name: str) -> list[dict[str, Any]]:
    return [one for one in call.state.accounts.requests(name) if one["state"] == "open"]


def overview(call: HttpCall) -> Response:
    """Return what is left of each budget, how spending went by account and block, and requests that wait."""
    ledger = call.dataset.ledger
    budget = ledger.budget_of(None)
    history = ledger.history()[-_MOST_CHARGES:]
    frozen = set(ledger.frozen())
    balances = [
        {
            "account": one.account,
            "spent": one.spent,
            "left": ledger.remaining(one.account).largest_epsilon,
            "budget": ledger.budget_of(one.account),
            "frozen": one.account in frozen,
        }
        for one in ledger.balances()
    ]
    return page(
        call,
        "overview.html",
        title="Overview",
        name=call.dataset.name,
        budget=budget,
        balances=balances,
        waiting=_waiting(call, call.dataset.name),
        by_account=spending_by_account(history),
        blocks=spending_by_block(call.dataset, most=_MOST_CHARGES),
        charges=len(history),
        head=ledger.head(),
        measure="rho" if isinstance(budget, Zcdp) else "epsilon",
        with_delta=isinstance(budget, Approximate),
    )


def releases_page(call: HttpCall) -> Response:
    """Return the latest releases, each with its plan, and the way to older ones."""
    before = call.number("before", default=0)
    found = [one for one in call.dataset.ledger.history() if not before or one.number < before]
    latest = list(reversed(found[-_LATEST:]))
    return page(
        call,
        "releases.html",
        title="Releases",
        name=call.dataset.name,
        charges=[charge_facts(one) for one in latest],
        older=bool(before),
        before=latest[-1].number if len(found) > len(latest) else None,
    )


def requests_page(call: HttpCall) -> Response:
    """Return every request for more budget, with what its account has spent."""
    found = call.state.accounts.requests(call.dataset.name)
    ledger = call.dataset.ledger
    shares = {
        one.account: {"spent": one.spent, "budget": ledger.budget_of(one.account)}
        for one in ledger.balances()
        if one.account is not None
    }
    return page(call, "requests.html", title="Requests", name=call.dataset.name, requests=found, shares=shares)


def accounts_page(call: HttpCall) -> Response:
    """Return every token without the tokens, and a form for a new one."""
    tokens = [one.to_dict() for one in call.state.accounts.tokens()]
    return page(call, "accounts.html", title="Accounts", name=call.dataset.name, tokens=tokens)


def ledger_page(call: HttpCall) -> Response:
    """Return the state of the ledger, how to verify it, and its latest entries."""
    ledger = call.dataset.ledger
    latest: list[Any] = [one.to_dict() for one in reversed(ledger.entries(last=_LATEST))]
    return page(
        call,
        "ledger.html",
        title="Ledger",
        name=call.dataset.name,
        head=ledger.head(),
        entries=latest,
        suspects=[one.to_dict() for one in ledger.review()],
    )


CUSTODIAN_PAGES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/login", ANYONE, custodian_login, "Log in."),
    ApiRoute("GET", "/", BOTH, custodian_first, "The data sets."),
    ApiRoute("GET", "/d/{dataset}", BOTH, overview, "Overview."),
    ApiRoute("GET", "/d/{dataset}/releases", BOTH, releases_page, "Releases."),
    ApiRoute("GET", "/d/{dataset}/requests", BOTH, requests_page, "Requests for budget."),
    ApiRoute("GET", "/d/{dataset}/accounts", BOTH, accounts_page, "Accounts."),
    ApiRoute("GET", "/d/{dataset}/ledger", BOTH, ledger_page, "The ledger."),
    *SET_UP_PAGES,
)
"""Pages of the custodian's listener."""
