"""The custodian's and the auditor's routes, on a separate listener: accounts, budgets, the ledger, the sources.

The result of reading the sources (`check`) is for the custodian alone. Every act is in the ledger's chain.
"""

from __future__ import annotations

import datetime
from typing import Any

from starlette.responses import Response

from privet.config.checking import check_sources
from privet.core.errors import BadParameter, RequestError, raise_alone

from .analyst_api import budget_json, read_budget
from .http_call import HEADERS, ApiRoute, HttpCall, reply
from .identity import Role, read_name

CUSTODIAN: frozenset[Role] = frozenset({"custodian"})
BOTH: frozenset[Role] = frozenset({"custodian", "auditor"})
DATASET = "/v1/datasets/{dataset}"


# Accounts.


def list_tokens(call: HttpCall) -> Response:
    """Return every token, without the tokens themselves."""
    return reply({"tokens": [token.to_dict() for token in call.state.accounts.tokens()]})


def add_token(call: HttpCall) -> Response:
    """Make a token, and return it this once."""
    body = call.take("name", "role", optional=("datasets", "tables", "withheld", "expires"))
    expires = body.get("expires")
    try:
        until = None if expires is None else datetime.datetime.fromisoformat(expires)
    except (TypeError, ValueError):
        raise_alone(BadParameter("expires", expires, "a time with its zone, such as 2026-12-31T23:59:59+00:00"))
    name = read_name(body["name"])
    token, facts = call.state.accounts.add(
        name,
        body["role"],
        datasets=body.get("datasets"),
        tables=body.get("tables"),
        withheld=body.get("withheld") or (),
        expires=until,
    )
    call.state.note("token added", call.identity, account=name, note=f"token {facts.id}, {facts.identity.role}")
    return reply({"token": token, **facts.to_dict()}, 201)


def revoke_token(call: HttpCall) -> Response:
    """Revoke a token for good."""
    call.take()
    facts = call.state.accounts.revoke(call.number("token"))
    call.state.note("token revoked", call.identity, account=facts.identity.name, note=f"token {facts.id}")
    return reply(facts.to_dict())


# Budgets.


def list_all_datasets(call: HttpCall) -> Response:
    """Return the data sets, with their budgets and heads."""
    datasets = []
    for dataset in call.state.visible(call.identity):
        budget = dataset.ledger.budget_of(None)
        datasets.append({"name": dataset.name, "budget": budget_json(budget), "head": dataset.ledger.head()})
    return reply({"datasets": datasets})


def balances(call: HttpCall) -> Response:
    """Return the remaining budget of the data set and of each account."""
    return reply({"balances": [balance.to_dict() for balance in call.dataset.ledger.balances()]})


def _reason(call: HttpCall, value: Any) -> str:
    return f"{read_name(value, 'reason', most=120)} (by {call.identity.name})"[:200]


def _account(value: Any) -> str | None:
    return None if value is None else read_name(value, "account")


def top_up(call: HttpCall) -> Response:
    """Add to an account's budget, or to the data set's."""
    body = call.take("budget", "reason", optional=("account",))
    budget, account = read_budget(body["budget"]), _account(body.get("account"))
    call.dataset.ledger.top_up(budget, reason=_reason(call, body["reason"]), account=account)
    return balances(call)


def freeze(call: HttpCall) -> Response:
    """Let an account spend nothing more until it is cleared."""
    body = call.take("account", "reason")
    call.dataset.ledger.freeze(read_name(body["account"], "account"), reason=_reason(call, body["reason"]))
    return balances(call)


def clear(call: HttpCall) -> Response:
    """Let a frozen account spend again."""
    body = call.take("account", "reason")
    call.dataset.ledger.clear(read_name(body["account"], "account"), reason=_reason(call, body["reason"]))
    return balances(call)


def all_requests(call: HttpCall) -> Response:
    """Return every request for more budget, latest first."""
    return reply({"requests": call.state.accounts.requests(call.dataset.name)})


def grant(call: HttpCall) -> Response:
    """Grant a request: its account's budget is topped up by the requested amount."""
    note = _note(call)
    decided = call.state.accounts.decide(
        call.dataset.name, call.number("request"), "granted", by=call.identity.name, note=note
    )
    reason = f"request {decided['id']} granted (by {call.identity.name})"
    call.dataset.ledger.top_up(read_budget(decided["budget"]), reason=reason[:200], account=_own(call, decided))
    return reply(decided)


def _own(call: HttpCall, decided: dict[str, Any]) -> str | None:
    """Return the account to top up: the data set's where the account has no cap."""
    account: str = decided["account"]
    return account if account in call.dataset.ledger.accounts() else None


def decline(call: HttpCall) -> Response:
    """Decline a request."""
    note = _note(call)
    decided = call.state.accounts.decide(
        call.dataset.name, call.number("request"), "declined", by=call.identity.name, note=note
    )
    call.dataset.ledger.note_act(
        "request declined",
        actor=call.identity.name,
        role=call.identity.role,
        account=decided["account"],
        note=f"request {decided['id']}",
    )
    return reply(decided)


def _note(call: HttpCall) -> str:
    note = call.take(optional=("note",)).get("note")
    return "" if note is None else read_name(note, "note", most=1000)


# The ledger and the sources.


def entries(call: HttpCall) -> Response:
    """Return the ledger's entries, oldest first, a page at a time."""
    after, limit = call.number("after", default=0), call.number("limit", default=100, most=1000)
    listed = call.dataset.ledger.entries(after=after, limit=max(1, limit))
    return reply({"entries": [entry.to_dict() for entry in listed], "next": listed[-1].number if listed else None})


def any_certificate(call: HttpCall) -> Response:
    """Return the certificate of any charge."""
    return reply(call.dataset.ledger.certificate(call.number("entry")))


def verify(call: HttpCall) -> Response:
    """Verify the ledger's chain and its balances, from its entries alone."""
    call.take()
    call.dataset.ledger.verify()
    return reply({"status": "intact", "head": call.dataset.ledger.head()})


def export(call: HttpCall) -> Response:
    """Return every entry with its hash, a line of JSON for each."""
    body = "".join(f"{line}\n" for line in call.dataset.ledger.export())
    return Response(body, 200, HEADERS, media_type="application/x-ndjson")


def review(call: HttpCall) -> Response:
    """Return the releases that an earlier version made with a form of question that leaked."""
    return reply({"suspects": [suspect.to_dict() for suspect in call.dataset.ledger.review()]})


def check(call: HttpCall) -> Response:
    """Compare the sources with the declarations. The result is private, for the custodian alone."""
    call.take()
    checked = check_sources(call.dataset.config)
    return reply({"problems": list(checked.all_problems)})


def backup(call: HttpCall) -> Response:
    """Copy the ledger to a new path on the server, while questions go on."""
    name = call.take("name")["name"]
    if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        raise BadParameter("name", name, "a name of letters, digits, - and _, for a new folder beside the ledger")
    place = call.dataset.config.ledger.path.parent / f"backup-{name[:100]}"
    if place.exists():
        raise RequestError(f"there is a backup {name!r} already; choose another name")
    call.dataset.ledger.backup(place)
    return reply({"status": "copied", "name": place.name, "head": call.dataset.ledger.head()}, 201)


CUSTODIAN_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/v1/tokens", BOTH, list_tokens, "Every token's facts.", returns="Tokens"),
    ApiRoute(
        "POST",
        "/v1/tokens",
        CUSTODIAN,
        add_token,
        "Make a token; it is shown once.",
        {"name": True, "role": True, "datasets": False, "tables": False, "withheld": False, "expires": False},
        (201,),
        returns="Token",
    ),
    ApiRoute("POST", "/v1/tokens/{token}/revoke", CUSTODIAN, revoke_token, "Revoke a token.", returns="Token"),
    ApiRoute("GET", "/v1/datasets", BOTH, list_all_datasets, "The data sets.", returns="DataSets"),
    ApiRoute("GET", f"{DATASET}/balances", BOTH, balances, "Every balance.", returns="Balances"),
    ApiRoute(
        "POST",
        f"{DATASET}/top-up",
        CUSTODIAN,
        top_up,
        "Add to a budget.",
        {"budget": True, "reason": True, "account": False},
        returns="Balances",
    ),
    ApiRoute(
        "POST",
        f"{DATASET}/freeze",
        CUSTODIAN,
        freeze,
        "Freeze an account.",
        {"account": True, "reason": True},
        returns="Balances",
    ),
    ApiRoute(
        "POST",
        f"{DATASET}/clear",
        CUSTODIAN,
        clear,
        "Clear an account.",
        {"account": True, "reason": True},
        returns="Balances",
    ),
    ApiRoute("GET", f"{DATASET}/requests", BOTH, all_requests, "Requests for budget.", returns="Requests"),
    ApiRoute(
        "POST",
        f"{DATASET}/requests/{{request}}/grant",
        CUSTODIAN,
        grant,
        "Grant a request.",
        {"note": False},
        returns="Request",
    ),
    ApiRoute(
        "POST",
        f"{DATASET}/requests/{{request}}/decline",
        CUSTODIAN,
        decline,
        "Decline a request.",
        {"note": False},
        returns="Request",
    ),
    ApiRoute(
        "GET", f"{DATASET}/entries", BOTH, entries, "The ledger's entries.", query=("after", "limit"), returns="Entries"
    ),
    ApiRoute(
        "GET",
        f"{DATASET}/certificates/{{entry}}",
        BOTH,
        any_certificate,
        "The certificate of a charge.",
        returns="Certificate",
    ),
    ApiRoute("POST", f"{DATASET}/verify", BOTH, verify, "Verify the ledger.", returns="Status"),
    ApiRoute("GET", f"{DATASET}/export", BOTH, export, "Export the ledger.", produces="application/x-ndjson"),
    ApiRoute("GET", f"{DATASET}/review", BOTH, review, "Releases that may have leaked.", returns="Suspects"),
    ApiRoute("POST", f"{DATASET}/check", CUSTODIAN, check, "Check the sources.", returns="Problems"),
    ApiRoute(
        "POST", f"{DATASET}/backup", CUSTODIAN, backup, "Copy the ledger.", {"name": True}, (201,), returns="Status"
    ),
)
"""Routes of the custodian's listener."""
