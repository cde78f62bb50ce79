"""Questions that one account shows to another: who opens one pays as by asking it, from the own cap alone.

What is shared is the question, not its numbers. The reader's plan is made, checked against the reader's tables and
charged like any other; the ledger returns the stored numbers. A share is there for its reader alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from privet.core.errors import NotFound, RequestError

from .analyst_api import ANALYST, DATASET, ask_operation
from .http_call import ApiRoute, HttpCall, reply
from .token_store import AskedQuestion, read_name


def share_question(call: HttpCall) -> Response:
    """Show a question of one's own to another account.

    The reply is the same whether or not there is such an account, so that names cannot be tried out.
    """
    body = call.take("answer", "account")
    asked = call.state.accounts.asked(str(body["answer"]), call.identity.name)
    reader = read_name(body["account"], "account")
    if asked.dataset != call.dataset.name:
        raise NotFound("there is no such answer in this data set")
    if reader == call.identity.name:
        raise RequestError("this is your own account; name another one")
    call.state.accounts.share(asked, reader)
    return reply({"status": "shared", "account": reader}, 201)


def shared_with_me(call: HttpCall) -> Response:
    """Return the questions that others show to the account, latest first."""
    found = call.state.accounts.shared_with(call.identity.name, call.dataset.name)
    return reply({"shared": [_plain(number, asked) for number, asked in found]})


def find_shared(call: HttpCall) -> tuple[int, AskedQuestion]:
    """Return a question that is shown to the account, by its number; any other does not exist."""
    number = call.number("share")
    found = dict(call.state.accounts.shared_with(call.identity.name, call.dataset.name))
    if number not in found:
        raise NotFound("there is no such shared question")
    return number, found[number]


def read_shared(call: HttpCall) -> Response:
    """Ask a question that is shown to the account: charged to its own cap like any question of its own."""
    call.take()
    _, asked = find_shared(call)
    return ask_operation(asked.operation, replace(call, body=dict(asked.body)))


def _plain(number: int, asked: AskedQuestion) -> dict[str, Any]:
    told = {"id": number, "by": asked.account, "operation": asked.operation, "body": asked.body}
    return {**told, "created": asked.created}


SHARE_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", f"{DATASET}/shared", ANALYST, shared_with_me, "Questions that others show.", returns="Shared"),
    ApiRoute(
        "POST",
        f"{DATASET}/shared",
        ANALYST,
        share_question,
        "Show a question to another account.",
        {"answer": True, "account": True},
        (201,),
        returns="Status",
    ),
    ApiRoute(
        "POST",
        f"{DATASET}/shared/{{share}}/read",
        ANALYST,
        read_shared,
        "Ask a shown question.",
        {},
        (200, 202),
        returns="Job",
    ),
)
"""Routes of the analysts' listener about shared questions."""
