"""Questions and answers that an account keeps under names of its own. Saving is free, and reads nothing."""

from __future__ import annotations

from starlette.responses import Response

from privet.core.errors import BadParameter, NotFound, RequestError

from .analyst_api import ANALYST, DATASET
from .http_call import ApiRoute, HttpCall, reply
from .operations import LONGEST_TEXT
from .token_store import read_name


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
    """Return what the account keeps under names."""
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
"""Routes of the analysts' listener about what is saved."""
