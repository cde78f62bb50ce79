"""The custodian's and the auditor's pages: accounts, spending, releases, requests, the ledger and its proof."""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any

from starlette.responses import RedirectResponse, Response

from privet.core.budget import Approximate, Zcdp
from privet.core.records import Entry
from privet.server.custodian_api import BOTH
from privet.server.http_call import ANYONE, ApiRoute, HttpCall

from .analyst_pages import login_page
from .page_serving import page
from .set_up_pages import SET_UP_PAGES
from .svg_charts import ChartPoint, draw_chart, place_of

_LATEST = 100


def custodian_first(call: HttpCall) -> Response:
    """Return the data sets, or the only one."""
    names = [one.name for one in call.state.visible(call.identity)]
    if len(names) == 1:
        return RedirectResponse(f"/d/{names[0]}", 303)
    return page(call, "custodian_sets.html", title="Data sets", name="")


def overview(call: HttpCall) -> Response:
    """Return what is left of each budget, how spending went, and requests that wait."""
    ledger = call.dataset.ledger
    budget = ledger.budget_of(None)
    history = ledger.history()
    frozen = set(ledger.frozen())
    balances = [
        {
            "account": one.account,
            "spent": one.spent,
            "left": ledger.remaining(one.account).largest_epsilon,
            "budget": ledger.budget_of(one.account).describe(),
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
        waiting=[one for one in call.state.accounts.requests(call.dataset.name) if one["state"] == "open"],
        spending=_spending(history),
        by_account=_by_account(history),
        charges=len(history),
        head=ledger.head(),
        measure="rho" if isinstance(budget, Zcdp) else "epsilon",
        with_delta=isinstance(budget, Approximate),
    )


def _cost(entry: Entry) -> float:
    """Return what a charge cost by itself, in the first measure of its plan."""
    cost = entry.facts.get("cost") or {}
    return float(cost.get("epsilon") or cost.get("rho") or 0)


def _spending(history: tuple[Entry, ...]) -> str:
    """Return a picture of what was charged up to each day: plain sums of single prices, which filters undercut."""
    days: dict[str, float] = defaultdict(float)
    for one in history:
        days[one.time[:10]] += _cost(one)
    total, points = 0.0, []
    for day in sorted(days):
        total += days[day]
        points.append(ChartPoint(day, total, total, total, place_of(datetime.date.fromisoformat(day))))
    return draw_chart(points, title="Sum of single prices by day")


def _by_account(history: tuple[Entry, ...]) -> str:
    spent: dict[str, float] = defaultdict(float)
    for one in history:
        spent[one.account] += _cost(one)
    points = [ChartPoint(name, amount, amount, amount) for name, amount in sorted(spent.items())]
    return draw_chart(points, title="Sum of single prices by account")


def releases_page(call: HttpCall) -> Response:
    """Return the latest releases, each with its plan."""
    written = call.dataset.ledger.entries(last=4 * _LATEST)
    latest = [one.to_dict() for one in reversed(written) if one.kind == "charge"][:_LATEST]
    return page(call, "releases.html", title="Releases", name=call.dataset.name, charges=latest, most=_LATEST)


def requests_page(call: HttpCall) -> Response:
    """Return every request for more budget."""
    found = call.state.accounts.requests(call.dataset.name)
    return page(call, "requests.html", title="Requests", name=call.dataset.name, requests=found)


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
    ApiRoute("GET", "/login", ANYONE, login_page, "Log in."),
    ApiRoute("GET", "/", BOTH, custodian_first, "The data sets."),
    ApiRoute("GET", "/d/{dataset}", BOTH, overview, "Overview."),
    ApiRoute("GET", "/d/{dataset}/releases", BOTH, releases_page, "Releases."),
    ApiRoute("GET", "/d/{dataset}/requests", BOTH, requests_page, "Requests for budget."),
    ApiRoute("GET", "/d/{dataset}/accounts", BOTH, accounts_page, "Accounts."),
    ApiRoute("GET", "/d/{dataset}/ledger", BOTH, ledger_page, "The ledger."),
    *SET_UP_PAGES,
)
"""Pages of the custodian's listener."""
