"""Questions that an account keeps under its own names, or shows to another account. Saving is free.

Saving reads nothing. A share is a question, without its numbers. The reader's plan is made, checked against the
reader's tables and charged like any other, to the reader's cap alone; the ledger returns the stored numbers. A share is
there for its reader alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from privet.core.errors import BadParameter, NotFound, RequestError

from .analyst_api import ANALYST, DATASET, ask_operation
from .http_call import ApiRoute, HttpCall, reply
from .identity import AskedQuestion, read_name
from .operations import LONGEST_TEXT


def save_question(call: HttpCall) -> Response:
    """Keep a question in SQL, or an answer of the account's own, under a name."""
    body = call.take("name", optional=("question", "answer"))
    question, answer = body.get("question"), body.get("answer")
    if (question is None) == (answer is None):
        raise RequestError('pass "question", which is SQL, or "answer", which is the id of an answer; not both')
    name = read_name(body["name"], most=120)
    if answer is None:
        if not isinstance(question, str) or not 0 < len(question) <= LONGEST_TEXT:
            raise BadParameter("question", question, f"SQL of 1 to {LONGEST_TEXT:,} characters")
    else:
        asked = call.state.accounts.asked(str(answer), call.identity.name)
        if asked.dataset != call.dataset.name:
            raise NotFound("there is no such answer in this data set")
        question, answer = str(asked.body.get("question") or ""), asked.id
    return reply(call.state.accounts.save(call.dataset.name, call.identity.name, name, question, answer), 201)


def list_saved(call: HttpCall) -> Response:
    """Return the account's saved questions and answers."""
    return reply({"saved": call.state.accounts.saved(call.dataset.name, call.identity.name)})


def forget_saved(call: HttpCall) -> Response:
    """Remove a name. The answer itself stays."""
    call.take()
    call.state.accounts.forget(call.dataset.name, call.identity.name, call.number("saved"))
    return reply({"status": "removed"})


SAVED_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", f"{DATASET}/saved", ANALYST, list_saved, "Saved questions and answers.", returns="Saved"),
    ApiRoute(
        "POST",
        f"{DATASET}/saved",
        ANALYST,
        save_question,
        "Save a question or an answer under a name.",
        {"name": True, "question": False, "answer": False},
        (201,),
        returns="SavedName",
    ),
    ApiRoute("POST", f"{DATASET}/saved/{{saved}}/remove", ANALYST, forget_saved, "Remove a name.", returns="Status"),
)
"""Routes of the analysts' listener for saved and shared questions."""


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
    shared = call.state.accounts.shared_with(call.identity.name, call.dataset.name)
    return reply({"shared": [_plain(number, asked) for number, asked in shared]})


def find_shared(call: HttpCall) -> tuple[int, AskedQuestion]:
    """Return a question that is shown to the account, by its number; any other does not exist."""
    number = call.number("share")
    shared = dict(call.state.accounts.shared_with(call.identity.name, call.dataset.name))
    if number not in shared:
        raise NotFound("there is no such shared question")
    return number, shared[number]


def read_shared(call: HttpCall) -> Response:
    """Ask a question that is shown to the account; it is charged to the account's cap like any other question."""
    call.take()
    _, asked = find_shared(call)
    return ask_operation(asked.operation, replace(call, body=dict(asked.body)))


def _plain(number: int, asked: AskedQuestion) -> dict[str, Any]:
    facts = {"id": number, "by": asked.account, "operation": asked.operation, "body": asked.body}
    return {**facts, "created": asked.created}


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
