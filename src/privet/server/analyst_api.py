"""The analysts' routes: plan, ask, read answers, see one's own balance and history, request more budget.

Everything here is a function of public facts, of the ledger and of released values.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import AsyncIterator, Hashable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from anyio import to_thread
from starlette.responses import Response, StreamingResponse

import privet
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import AccessError, BadParameter, NotFound, RequestError, raise_alone
from privet.core.numbers import read_rational
from privet.execution.request import asked_at, utc_now
from privet.ledger import codec
from privet.remote.catalog_codec import write_catalog

from .admission import Admitted, NotStored, finding
from .data_set import Desk
from .http_call import ANYONE, EVERY_ROLE, HEADERS, ApiRoute, HttpCall, reply
from .identity import NO_LOG_IN, SECONDS, AskedQuestion, Role, read_name
from .job_queue import Job, is_released, repeats
from .operations import FORMATS, OPERATIONS, Operation, dump, plain, read_format, render

ANALYST: frozenset[Role] = frozenset({"analyst"})
DATASET = "/v1/datasets/{dataset}"
_TIMED = re.compile(r"\b(now|today|current_\w+|localtime\w*|getdate|sysdate|get_current_\w+)\b|\bage\s*\(", re.I)
_LONGEST_KEY = 200


# Who is asking.


def health(call: HttpCall) -> Response:
    """Return that the server is up, and its version."""
    return reply({"status": "ok", "version": privet.__version__})


def log_in(call: HttpCall) -> Response:
    """Start a log-in by a browser, with a token."""
    token = call.take("token")["token"]
    identity = call.state.accounts.identify(token) if isinstance(token, str) else None
    if identity is None:
        raise AccessError(NO_LOG_IN)
    login = call.state.signer.issue(identity.token)
    call.state.note("log-in", identity)
    response = reply({**identity.to_dict(), "csrf_token": call.state.signer.csrf_token(login)})
    response.set_cookie(
        call.state.cookie,
        login.cookie,
        max_age=SECONDS,
        path="/",
        secure=call.state.secure,
        httponly=True,
        samesite="strict",
    )
    return response


def log_out(call: HttpCall) -> Response:
    """End a log-in by a browser."""
    response = reply({"status": "ok"})
    response.delete_cookie(call.state.cookie, path="/", secure=call.state.secure, httponly=True, samesite="strict")
    return response


def about_me(call: HttpCall) -> Response:
    """Return the facts that an account may know about itself."""
    facts = call.identity.to_dict()
    if call.login is not None:
        facts["csrf_token"] = call.state.signer.csrf_token(call.login)
    return reply(facts)


# What there is.


def list_datasets(call: HttpCall) -> Response:
    """Return the data sets that the account may know of."""
    return reply({"datasets": [{"name": dataset.name} for dataset in call.state.visible(call.identity)]})


def catalog(call: HttpCall) -> Response:
    """Return all that planning needs, for a client that plans locally: declared facts and the account's budget."""
    session = call.dataset.desk(call.identity).admitting
    body = dump({"account": session.account, "version": privet.__version__, **write_catalog(session._catalog)})
    return Response(body, 200, HEADERS, media_type="application/json")


def list_tables(call: HttpCall) -> Response:
    """Return the tables and views that may be asked about, with examples."""
    session = call.dataset.desk(call.identity).admitting
    return reply({"tables": [{"name": name, **table.to_dict()} for name, table in session.tables.items()]})


def one_table(call: HttpCall) -> Response:
    """Return the facts of one table or view that questions may use."""
    return reply(call.dataset.desk(call.identity).admitting.describe(call.request.path_params["table"]).to_dict())


def public_rows(call: HttpCall) -> Response:
    """Return the different rows of a public table, which a client needs to plan locally; null where too many."""
    session = call.dataset.desk(call.identity).admitting
    name = call.request.path_params["table"]
    schema = session._catalog.schemas.get(name)
    if schema is None or not schema.unit.public:
        raise NotFound("there is no such public table")
    rows = call.dataset.engine.public_rows(name)
    # sorted: an engine's order depends on when its threads ran
    kept = None if rows is None else sorted((codec.write_plain(_exact(tuple(row))) for row in rows), key=json.dumps)
    return Response(dump({"rows": kept}), 200, HEADERS, media_type="application/json")


def _exact(row: tuple[Any, ...]) -> Any:
    """Return a row of a public table as a ledger keeps values: floats as the ratios that they are."""
    return tuple(read_rational(value) if isinstance(value, float) else value for value in row)


# Plans and questions.


def _moment(call: HttpCall) -> datetime.datetime:
    """Return the moment for which a question is planned: the caller's, as it could state one, or the present one."""
    given = call.request.headers.get("privet-moment")
    if given is None:
        return utc_now()
    try:
        moment = datetime.datetime.fromisoformat(given[:40])
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None or moment.microsecond:
        raise BadParameter("Privet-Moment", given, "a moment of UTC in whole seconds, such as 2025-01-31T12:00:00")
    return moment


def plan_operation(name: str, call: HttpCall) -> Response:
    """Return the plan of an operation, with its price and the budget left afterwards. Free; reads no data."""
    session = call.dataset.desk(call.identity).admitting
    with asked_at(_moment(call)):
        made: Any = OPERATIONS[name].plan(session, call.body)
    facts = made.to_dict() if hasattr(made, "to_dict") else {}
    inner = getattr(made, "plan", None)
    event = getattr(made, "event", None) or getattr(inner, "event", None)
    fits = None if event is None else session.ledger.admits(event, account=session.account)
    price = getattr(made, "price", None) or (made.cost() if callable(getattr(made, "cost", None)) else None)
    price = price or getattr(made, "cost", None)
    text = made.explain() if hasattr(made, "explain") else repr(made)
    return reply({"plan": facts, "price": plain(price), "fits": fits, "text": text, "left": _left(call)})


def _key(call: HttpCall) -> str | None:
    key = call.request.headers.get("idempotency-key")
    if key is not None and not key.isascii():
        raise BadParameter("Idempotency-Key", key, "printable ASCII characters")
    return None if key is None else read_name(key, "Idempotency-Key", most=_LONGEST_KEY)


def _canonical(body: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in body.items() if value is not None}, sort_keys=True)


def _identifier(call: HttpCall, name: str, moment: datetime.datetime) -> str:
    """Return the id of a question: the same for the same question of an account, at any time unless it asks for it."""
    body = _canonical(call.body)
    when = moment.isoformat() if _TIMED.search(body) else ""
    parts = [call.dataset.name, call.identity.name, name, body, when]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


async def ask(name: str, call: HttpCall) -> Response:
    """Return the reply that the account was handed for the same question before, or else admit the question."""
    body = _kept_reply(name, call)
    if body is not None:
        return Response(body, 200, HEADERS, media_type="application/json")
    return await to_thread.run_sync(ask_operation, name, call, limiter=call.state.asking)


def _kept_reply(name: str, call: HttpCall) -> bytes | None:
    """Return the kept reply to a question of the account's own; none for a question with a key, which is charged."""
    if not repeats(name, call.body) or _key(call) is not None:
        return None
    identifier = _identifier(call, name, _moment(call))
    return call.state.replies.find(call.identity.name, identifier, call.dataset.rights(call.identity))


def _keep_reply(call: HttpCall, asked: AskedQuestion, rights: Hashable, result: Any, written: bytes) -> None:
    if rights is not None and repeats(asked.operation, asked.body) and is_released(result):
        call.state.replies.keep(asked.account, asked.id, rights, _stored_body(asked, written))


def ask_operation(name: str, call: HttpCall) -> Response:
    """Admit a question: plan it, charge it and queue it, or return its stored answer at once.

    Guarantee: nothing is read before the charge is durable, and whatever the caller does then, the charge stands and
    the answer is stored. A question that another account paid for is admitted like a fresh one.
    """
    dataset, operation = call.dataset, OPERATIONS[name]
    rights = dataset.rights(call.identity)
    desk, key, moment = dataset.desk(call.identity), _key(call), _moment(call)
    asked = AskedQuestion(
        _identifier(call, name, moment),
        dataset.name,
        desk.account,
        name,
        dict(call.body),
        moment,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    running = call.state.jobs.find(asked.id, desk.account)
    if running is not None and not running.over:
        return _job_reply(call, running)
    try:
        with finding(), asked_at(moment):
            result = operation.run(desk.admitting, call.body, key)
    except NotStored:
        with call.state.jobs.place_for(desk.account):
            try:
                with asked_at(moment):
                    result = operation.run(desk.admitting, call.body, key)
            except Admitted:
                _remember(call, asked)
                step = float(dataset.config.engine.time_step or call.state.limits.time_step)
                read = partial(_read, operation, desk, asked, key)
                return _job_reply(call, call.state.jobs.start(asked, step, read, rights))
    _remember(call, asked)
    call.state.jobs.keep(asked, result)
    written = dump(operation.write(result))
    _keep_reply(call, asked, rights, result, written)
    return Response(_stored_body(asked, written), 200, HEADERS, media_type="application/json")


def _read(operation: Operation, desk: Desk, asked: AskedQuestion, key: str | None) -> Any:
    with asked_at(asked.moment):
        return operation.run(desk.reading, asked.body, key)


def _remember(call: HttpCall, asked: AskedQuestion) -> None:
    known = asked.account, asked.id
    if known not in call.state.remembered:
        call.state.accounts.remember(asked)
        if len(call.state.remembered) > 100_000:
            call.state.remembered.clear()
        call.state.remembered.add(known)


def _stored_body(asked: AskedQuestion, written: bytes) -> bytes:
    return _with_result({"id": asked.id, "state": "released", "elapsed": 0, "operation": asked.operation}, written)


def _with_result(facts: dict[str, Any], written: bytes) -> bytes:
    """Return the JSON of a job and of its result, which is written already."""
    return dump(facts)[:-1] + b',"result":' + written + b"}"


def _job_reply(call: HttpCall, job: Job) -> Response:
    place = {"Location": f"/v1/answers/{job.asked.id}"}
    if not job.over:
        facts: dict[str, Any] = {"id": job.asked.id, "state": job.state, "operation": job.asked.operation}
        return reply(facts, 202, {**place, "Retry-After": "1"})
    facts = {"id": job.asked.id, "state": job.state, "elapsed": job.elapsed, "operation": job.asked.operation}
    if job.error is not None:
        return reply({**facts, "error": job.error.to_dict()}, job.error.http_status)
    written = dump(OPERATIONS[job.asked.operation].write(job.result))
    _keep_reply(call, job.asked, job.rights, job.result, written)
    return Response(_with_result(facts, written), 200, HEADERS, media_type="application/json")


async def read_answer(call: HttpCall) -> Response:
    """Return an answer of the account's own, or its progress; with ?wait=seconds, after waiting for it."""
    form = read_format(call.request.query_params.get("format"))
    seconds = min(float(call.number("wait", default=0, most=3600)), call.state.limits.wait)
    job = await find_job(call)
    if job is None:
        message = "the server stopped before this was answered; ask again: what was charged is not charged twice"
        return reply({"id": call.request.path_params["answer"], "state": "interrupted", "message": message})
    if not job.over:
        await job.wait(seconds)
    if not job.over or job.error is not None or form == "json":
        return await to_thread.run_sync(_job_reply, call, job, limiter=call.state.threads)
    body = await to_thread.run_sync(render, job.result, job.asked.operation, form, limiter=call.state.threads)
    return Response(body, 200, HEADERS, media_type=FORMATS[form])


async def find_job(call: HttpCall) -> Job | None:
    """Return a question of the account's own with its outcome; None where it was never answered."""
    identifier = call.request.path_params["answer"]
    job = call.state.jobs.find(identifier, call.identity.name)
    if job is None:
        job = await to_thread.run_sync(_found_again, call, identifier, limiter=call.state.threads)
    return job


def _found_again(call: HttpCall, identifier: str) -> Job | None:
    """Return a question of the account's own whose answer is stored; None where it was never answered."""
    asked = call.state.accounts.asked(identifier, call.identity.name)
    dataset = call.state.datasets.get(asked.dataset)
    if dataset is None or not dataset.visible_to(call.identity):
        raise NotFound("the data set of this answer is not there any more")
    desk = dataset.desk(call.identity)
    try:
        with finding(), asked_at(asked.moment):
            result = OPERATIONS[asked.operation].run(desk.admitting, asked.body, None)
    except NotStored:
        return None
    call.state.jobs.keep(asked, result)
    return call.state.jobs.find(identifier, call.identity.name)


async def answer_events(call: HttpCall) -> Response:
    """Return server-sent events: planned, charged, reading, then released or failed, with elapsed time only."""
    job = call.state.jobs.find(call.request.path_params["answer"], call.identity.name)
    if job is None:
        raise NotFound("there is no such question in flight")

    async def events() -> AsyncIterator[bytes]:
        for name in ("planned", "charged", "reading"):
            yield _event(name, 0)
        while not await job.wait(15):
            yield b": waiting\n\n"
        yield _event(job.state, job.elapsed)

    return StreamingResponse(events(), 200, HEADERS, media_type="text/event-stream")


def _event(name: str, elapsed: float) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'elapsed': elapsed})}\n\n".encode()


def list_answers(call: HttpCall) -> Response:
    """Return the latest questions of the account, latest first."""
    limit = call.number("limit", default=50, most=500)
    asked = call.state.accounts.asked_by(call.identity.name, call.dataset.name, limit)
    rows = [{"id": row.id, "operation": row.operation, "body": row.body, "created": row.created} for row in asked]
    return reply({"answers": rows})


def stored_release(call: HttpCall) -> Response:
    """Return the release of a plan that the account has paid for, as the ledger keeps it."""
    digest = call.request.path_params["digest"]
    kept = call.dataset.ledger.find(digest, call.identity.name) if 0 < len(digest) <= 200 else None
    if kept is None:
        raise NotFound("there is no such release for this account")
    receipt, released = kept
    body = {"receipt": asdict(receipt), "released": codec.write_plain(released)}
    return Response(dump(body), 200, HEADERS, media_type="application/json")


# Balance and history.


def _left(call: HttpCall) -> dict[str, Any]:
    left = call.dataset.ledger.remaining(call.identity.name)
    return {
        "measure": left.measure,
        "amount": plain(left.amount),
        "exact_amount": str(left.amount),
        "delta": str(left.delta),
        "largest_epsilon": left.largest_epsilon,
        "state": "frozen" if call.identity.name in call.dataset.ledger.frozen() else "open",
    }


def own_budget(call: HttpCall) -> Response:
    """Return the account's budget and its remainder."""
    call.dataset.desk(call.identity)
    budget = call.dataset.ledger.budget_of(call.identity.name)
    return reply({"budget": budget_json(budget), "text": budget.describe(), "left": _left(call)})


def own_history(call: HttpCall) -> Response:
    """Return the account's own charges, oldest first, a page at a time."""
    after, limit = call.number("after", default=0), call.number("limit", default=100, most=1000)
    page = call.dataset.ledger.entries(after=after, limit=max(1, limit), account=call.identity.name)
    charges = [entry for entry in page if entry.kind == "charge"]
    return reply(
        {"charges": [_charge_json(entry.to_dict()) for entry in charges], "next": page[-1].number if page else None}
    )


def _charge_json(entry: dict[str, Any]) -> dict[str, Any]:
    charge = {
        name: entry.get(name) for name in ("number", "time", "account", "digest", "event", "key", "versions", "text")
    }
    return {**charge, "facts": entry.get("facts", {})}


def own_certificate(call: HttpCall) -> Response:
    """Return the certificate of one of the account's own charges."""
    number, ledger = call.number("entry"), call.dataset.ledger
    wrong = NotFound("there is no such charge of this account")
    try:
        if ledger.entry(number).account != call.identity.name:
            raise wrong
        return reply(ledger.certificate(number))
    except RequestError:
        raise_alone(wrong)


def ask_for_budget(call: HttpCall) -> Response:
    """Ask the custodian for more budget, with a reason."""
    body = call.take("budget", "reason")
    budget = read_budget(body["budget"])
    call.dataset.desk(call.identity)
    held = call.dataset.ledger.budget_of(call.identity.name)
    if type(held) is not type(budget):
        raise BadParameter("budget", body["budget"], f"a budget of the kind that you have: {held.describe()}")
    made = call.state.accounts.request(
        call.dataset.name, call.identity.name, budget_json(budget), read_name(body["reason"], "reason", most=1000)
    )
    return reply(made, 201)


def own_requests(call: HttpCall) -> Response:
    """Return the account's own requests for more budget, latest first."""
    requests = call.state.accounts.requests(call.dataset.name, account=call.identity.name)
    return reply({"requests": requests})


def read_budget(value: Any) -> Budget:
    """Return a budget from JSON: {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6} or {"rho": 0.5}."""
    allowed = 'an object such as {"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"} or {"rho": 0.5}'
    from privet.core.numbers import written_ratio

    if not isinstance(value, Mapping) or not all(type(amount) in (int, float, str) for amount in value.values()):
        raise BadParameter("budget", value, allowed)
    amounts = {
        name: written_ratio(str(amount)[:60]) for name, amount in value.items()
    }  # decimals are exact, as written
    if None in amounts.values():
        raise BadParameter("budget", value, allowed)
    match sorted(amounts):
        case ["epsilon"]:
            return Pure(epsilon=amounts["epsilon"])  # type: ignore[arg-type]
        case ["delta", "epsilon"]:
            return Approximate(epsilon=amounts["epsilon"], delta=amounts["delta"])  # type: ignore[arg-type]
        case ["rho"]:
            return Zcdp(rho=amounts["rho"])  # type: ignore[arg-type]
    raise BadParameter("budget", value, allowed)


def budget_json(budget: Budget) -> dict[str, str]:
    """Return a budget as JSON, exactly."""
    match budget:
        case Pure(epsilon=epsilon):
            return {"epsilon": str(epsilon)}
        case Approximate(epsilon=epsilon, delta=delta):
            return {"epsilon": str(epsilon), "delta": str(delta)}
        case Zcdp(rho=rho):
            return {"rho": str(rho)}


def _fields(operation: Operation) -> dict[str, bool]:
    return {name: name in operation.needed and name != "table" for name in operation.fields}


SHARED = (
    ApiRoute("GET", "/health", ANYONE, health, "Whether the server is up.", returns="Status"),
    ApiRoute("POST", "/v1/login", ANYONE, log_in, "Log in by a browser.", {"token": True}, returns="Identity"),
    ApiRoute("POST", "/v1/logout", EVERY_ROLE, log_out, "End a log-in.", returns="Status"),
    ApiRoute("GET", "/v1/me", EVERY_ROLE, about_me, "The account itself.", returns="Identity"),
)
"""Routes of both listeners."""

ANALYST_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/v1/datasets", ANALYST, list_datasets, "The data sets.", returns="DataSets"),
    ApiRoute("GET", f"{DATASET}/catalog", ANALYST, catalog, "All that planning needs.", returns="Catalog"),
    ApiRoute("GET", f"{DATASET}/tables", ANALYST, list_tables, "The tables and views.", returns="Tables"),
    ApiRoute("GET", f"{DATASET}/tables/{{table}}", ANALYST, one_table, "One table or view.", returns="Table"),
    ApiRoute(
        "GET", f"{DATASET}/public/{{table}}", ANALYST, public_rows, "The rows of a public table.", returns="PublicRows"
    ),
    *(
        ApiRoute(
            "POST",
            f"{DATASET}/plan/{name}",
            ANALYST,
            partial(plan_operation, name),
            f"Plan: {operation.summary}",
            _fields(operation),
            returns="Plan",
        )
        for name, operation in OPERATIONS.items()
        if operation.plans is not None
    ),
    *(
        ApiRoute(
            "POST",
            f"{DATASET}/{name}",
            ANALYST,
            partial(ask, name),
            operation.summary,
            _fields(operation),
            (200, 202),
            returns="Job",
        )
        for name, operation in OPERATIONS.items()
    ),
    ApiRoute(
        "GET",
        f"{DATASET}/answers",
        ANALYST,
        list_answers,
        "Own questions, latest first.",
        query=("limit",),
        returns="Asked",
    ),
    ApiRoute(
        "GET",
        "/v1/answers/{answer}",
        ANALYST,
        read_answer,
        "An own answer.",
        {},
        (200, 202),
        query=("wait", "format"),
        returns="Job",
    ),
    ApiRoute(
        "GET", "/v1/answers/{answer}/events", ANALYST, answer_events, "Its progress.", produces="text/event-stream"
    ),
    ApiRoute(
        "GET",
        f"{DATASET}/releases/{{digest}}",
        ANALYST,
        stored_release,
        "What was released for a plan.",
        returns="Release",
    ),
    ApiRoute("GET", f"{DATASET}/budget", ANALYST, own_budget, "Budget and balance.", returns="Balance"),
    ApiRoute(
        "GET", f"{DATASET}/history", ANALYST, own_history, "Own charges.", query=("after", "limit"), returns="History"
    ),
    ApiRoute(
        "GET",
        f"{DATASET}/certificates/{{entry}}",
        ANALYST,
        own_certificate,
        "The certificate of an own charge.",
        returns="Certificate",
    ),
    ApiRoute(
        "POST",
        f"{DATASET}/requests",
        ANALYST,
        ask_for_budget,
        "Ask for more budget.",
        {"budget": True, "reason": True},
        (201,),
        returns="Request",
    ),
    ApiRoute("GET", f"{DATASET}/requests", ANALYST, own_requests, "Own requests for budget.", returns="Requests"),
)
"""Routes of the analysts' listener."""
