"""The analysts' pages: write a question, see its price and its error bars, ask, read answers, look after a budget."""

from __future__ import annotations

import io
import json
from typing import Any

from anyio import to_thread
from starlette.responses import RedirectResponse, Response

from privet.answer import Answer
from privet.core.budget import Approximate
from privet.core.division import Touched
from privet.core.errors import BadParameter, NotFound, PrivetError, RequestError, raise_alone
from privet.execution.request import asked_at
from privet.planner.plan import Plan
from privet.server.analyst_api import ANALYST, _left, _moment, find_job
from privet.server.http_call import ANYONE, ApiRoute, HttpCall
from privet.server.identity import AskedQuestion
from privet.server.job_queue import Job
from privet.server.operations import OPERATIONS
from privet.server.saved_questions import find_shared
from privet.session import Session

from .explore_pages import EXPLORE_PAGES, result_page
from .page_serving import fragment, page
from .question_builder import AGGREGATES, COMPARISONS, BuiltQuestion, built_sql, question_words, read_form, read_sql
from .spending import charge_facts
from .svg_charts import MOST_BARS, SIZES, draw_chart, invented_pictures, is_line, series_point, table_rows

_LEAST = 0.001


def login_page(call: HttpCall) -> Response:
    """Return the page on which a token is given."""
    return page(call, "login.html", title="Log in", name="", custodian=False)


def first_page(call: HttpCall) -> Response:
    """Return the data sets, or the only one."""
    names = [dataset.name for dataset in call.state.visible(call.identity)]
    if len(names) == 1:
        return RedirectResponse(f"/d/{names[0]}", 303)
    listed = [
        {"name": dataset.name, "tables": list(session.tables), "left": _left_of(call, dataset.name)}
        for dataset in call.state.visible(call.identity)
        for session in [dataset.desk(call.identity).admitting]
    ]
    return page(call, "data_sets.html", title="Data sets", name="", listed=listed)


def _left_of(call: HttpCall, name: str) -> dict[str, Any]:
    dataset, account = call.state.datasets[name], call.identity.name
    state = "frozen" if account in dataset.ledger.frozen() else "open"
    return {"largest_epsilon": dataset.ledger.remaining(account).largest_epsilon, "state": state}


def tour_page(call: HttpCall) -> Response:
    """Return a short tour of what there is."""
    sets = call.state.visible(call.identity)
    names = [dataset.name for dataset in sets]
    tables = sets[0].desk(call.identity).admitting.tables if sets else {}
    examples = [sql for table in tables.values() for sql in table.examples]
    return page(
        call,
        "tour.html",
        title="A two-minute tour",
        name=names[0] if len(names) == 1 else "",
        names=names,
        example=next((sql for sql in examples if "GROUP BY" in sql), ""),
    )


# A question.


def workbench(call: HttpCall) -> Response:
    """Return the page on which a question is written, priced and asked."""
    session = call.dataset.desk(call.identity).admitting
    tables = dict(session.tables.items())
    schema = {name: [column.name for column in table.columns] for name, table in tables.items()}
    examples = [sql for table in tables.values() for sql in table.examples]
    given = call.request.query_params.get("sql")
    earlier = call.state.accounts.asked_by(call.identity.name, call.dataset.name, 5)
    return page(
        call,
        "workbench.html",
        title="Ask",
        name=call.dataset.name,
        tables=tables,
        schema=schema,
        examples=examples[:6],
        sql=given[:20_000] if given else next((sql for sql in examples if "GROUP BY" in sql), "".join(examples[:1])),
        earlier=[_earlier(question) for question in earlier],
        saved=_saved(call, call.dataset.name),
        **_price_range(call),
    )


def _price_range(call: HttpCall) -> dict[str, Any]:
    """Return the measure of the account, and from where to where its slider goes."""
    budget, left = call.dataset.ledger.budget_of(call.identity.name), _left(call)
    whole = float(budget.amount)
    return {
        "measure": budget.measure,
        "low": min(_LEAST, whole / 1000),
        "high": whole,
        "start": f"{whole / 10:.3g}",
        "left": left,
    }


def _terms(call: HttpCall) -> tuple[str, dict[str, Any], int]:
    """Return the question of a form, how it is asked, and how many rows its invented groups have."""
    body = call.take("question", optional=("epsilon", "rho", "within", "size"))
    terms = {name: body[name] for name in ("epsilon", "rho", "within") if body.get(name) not in (None, "")}
    if "within" in terms:
        terms = {"within": terms["within"], **({"at_most": terms["epsilon"]} if "epsilon" in terms else {})}
    numbers = {name: _written(value, name) for name, value in terms.items()}
    sizes = {str(size): size for size in SIZES}
    return str(body["question"]), numbers, sizes.get(str(body.get("size")), 1_000)


def _written(value: Any, name: str) -> Any:
    if name == "within" and isinstance(value, str) and value.strip().endswith("%"):
        return value.strip()
    try:
        return float(value)
    except (TypeError, ValueError):
        raise_alone(BadParameter(name, value, "a number, such as 0.5"))


def plan_part(call: HttpCall) -> Response:
    """Return the plan of a question, its price, and how its answer may look, on invented values. Free."""
    question, terms, size = _terms(call)
    desk = call.dataset.desk(call.identity)
    try:
        if not question.strip():
            raise RequestError("write a question: SELECT ... FROM ... ; the examples below show how")
        with asked_at(_moment(call)):
            plan = desk.admitting.plan(question, **terms)
    except PrivetError as error:
        return fragment("plan_error.html", error=error)
    ledger = call.dataset.ledger
    stored = ledger.find(plan.digest, desk.account) is not None
    touched = _touched(desk.admitting, plan)
    fits = stored or desk.admitting._executor.admits(plan.event, _steps(plan))
    return fragment(
        "plan_part.html",
        plan=plan,
        price=_priced(plan),
        stored=stored,
        fits=fits,
        left={**_left(call), "largest_epsilon": desk.admitting._executor.remaining(_steps(plan)).largest_epsilon},
        after=_after(call, plan, touched) if fits and not stored else None,
        pictures=invented_pictures(plan, size=size),
        size=size,
        notes=plan.notes(0.95),
        name=call.dataset.name,
    )


def _priced(plan: Plan) -> str:
    return ", ".join(f"{name} {amount:.3g}" for name, amount in plan.price.items() if amount or name != "delta")


def _touched(session: Session, plan: Plan) -> Touched | None:
    """Return the blocks that a plan reads, where it reads blocks of one table alone; None for all data."""
    return session._executor.touched(_steps(plan))


def _steps(plan: Plan) -> list[Plan]:
    """Return the plans that are charged: those of a plan in steps, or the one."""
    return list(getattr(plan, "steps", None) or [plan])


def _after(call: HttpCall, plan: Plan, touched: Touched | None) -> dict[str, Any]:
    """Return the budget left after a charge, of all data or of the blocks that are read."""
    left = call.dataset.ledger.remaining_after(plan.event, call.identity.name, blocks=touched)
    return {"largest_epsilon": left.largest_epsilon, "state": "open"}


def builder_part(call: HttpCall) -> Response:
    """Return the form of a question: an empty one for a table, or that of a question in SQL."""
    session, asked = call.dataset.desk(call.identity).admitting, call.request.query_params
    names = list(session.tables)
    table = asked.get("table", "")
    built, error = BuiltQuestion(table if table in names else names[0]), ""
    if asked.get("question"):
        try:
            built = read_sql(asked["question"], session)
        except PrivetError as wrong:
            error = str(wrong)
    return fragment(
        "builder.html",
        name=call.dataset.name,
        tables=names,
        built=built,
        columns=session.describe(built.table).columns,
        aggregates=AGGREGATES,
        comparisons=COMPARISONS,
        error=error,
    )


def builder_sql(call: HttpCall) -> Response:
    """Return the question of the form to the editor, as SQL."""
    session, asked = call.dataset.desk(call.identity).admitting, call.request.query_params
    try:
        built = read_form(dict(asked.items()), asked.getlist("groups"))
        sql = built_sql(built, session.describe(built.table))
    except PrivetError as error:
        return fragment("error_part.html", error=error)
    response = fragment("builder_said.html")
    response.headers["HX-Trigger"] = json.dumps({"privet:use": {"sql": sql}})
    return response


# Answers.


def _earlier(asked: AskedQuestion) -> dict[str, Any]:
    sql = asked.body.get("question") if asked.operation == "ask" else None
    detail = asked.body.get("formula") or ""
    facts = {"id": asked.id, "text": question_words(asked), "sql": sql, "detail": detail}
    return {**facts, "operation": asked.operation, "created": asked.created}


def _saved(call: HttpCall, name: str) -> list[dict[str, Any]]:
    return call.state.accounts.saved(name, call.identity.name)


def _names(call: HttpCall, name: str) -> dict[str, str]:
    """Return the names under which the account keeps answers, by their ids."""
    return {entry["answer"]: entry["name"] for entry in _saved(call, name) if entry["answer"]}


def answers_page(call: HttpCall) -> Response:
    """Return the questions of the account, latest first."""
    latest = call.state.accounts.asked_by(call.identity.name, call.dataset.name, 200)
    shown = call.state.accounts.shared_with(call.identity.name, call.dataset.name)
    return page(
        call,
        "answers.html",
        title="Answers",
        name=call.dataset.name,
        earlier=[_earlier(question) for question in latest],
        names=_names(call, call.dataset.name),
        saved=_saved(call, call.dataset.name),
        shared=[{**_earlier(question), "number": number, "by": question.account} for number, question in shown],
    )


def shared_page(call: HttpCall) -> Response:
    """Return a question that another account shows, with the price of reading its answer."""
    number, asked = find_shared(call)
    session = call.dataset.desk(call.identity).admitting
    text, price, error = "", "", None
    try:
        with asked_at(_moment(call)):
            made = OPERATIONS[asked.operation].plan(session, asked.body)
        text = made.explain() if hasattr(made, "explain") else repr(made)
        price = _priced(made) if isinstance(made, Plan) else ""
    except PrivetError as wrong:
        error = wrong
    facts = {**_earlier(asked), "number": number, "by": asked.account}
    return page(
        call,
        "shared.html",
        title="Shared",
        name=call.dataset.name,
        asked=facts,
        text=text,
        price=price,
        error=error,
        left=_left(call),
    )


async def answer_page(call: HttpCall) -> Response:
    """Return an answer of the account's own: its numbers with intervals, pictures, notes; or that it is being read."""
    job = await find_job(call)
    if job is not None and not job.over:
        await job.wait(0.2)
    return await to_thread.run_sync(_shown_answer, call, job, limiter=call.state.threads)


def _shown_answer(call: HttpCall, job: Job | None) -> Response:
    identifier = call.request.path_params["answer"]
    if job is None:
        lost = call.state.accounts.asked(identifier, call.identity.name)
        return page(call, "interrupted.html", title="Not answered", name=lost.dataset, asked=_earlier(lost))
    inside = call.request.headers.get("hx-request") == "true"
    asked, name = {**_earlier(job.asked), "names": _names(call, job.asked.dataset)}, job.asked.dataset
    if not job.over:
        if inside:
            return fragment("waiting_part.html", asked=asked, name=name)
        return page(call, "waiting.html", title="Reading", name=name, asked=asked)
    if inside:
        return Response("", 200, {"HX-Refresh": "true"})
    if job.error is not None:
        return page(call, "failed.html", title="Failed", name=name, asked=asked, error=job.error)
    if not isinstance(job.result, Answer):
        return result_page(call, name, asked, job.result)
    return page(call, "answer.html", title="Answer", name=name, asked=asked, **_answer_values(job.result))


def _answer_values(answer: Answer) -> dict[str, Any]:
    keys = [series for series in answer.series if not series.noisy]
    noisy = [series for series in answer.series if series.noisy]
    rows = range(len(answer))
    texts = [key for key in keys if len(keys) and not all(isinstance(value, bool) for value in key.values)]
    pictures, cut = [], False
    for column in noisy[:4]:
        points = [series_point(column, texts, row) for row in rows]
        kept = [point for point in points if point is not None]
        cut = cut or (len(kept) > MOST_BARS and not is_line(kept))
        pictures.append((column.name, draw_chart(kept, title=column.name)))
    cost = answer.certificate()["cost"]
    return {
        "answer": answer,
        "columns": answer.series,
        "table": table_rows(answer.series, answer.confidence),
        "pictures": [(name, picture) for name, picture in pictures if picture],
        "cut": cut,
        "most": MOST_BARS,
        "price": ", ".join(f"{name} {amount:.3g}" for name, amount in cost.items() if amount or name != "delta"),
        "pivots": len(keys) == 2 and len(noisy) >= 1 and len(answer) > 1,
    }


async def plot_picture(call: HttpCall) -> Response:
    """Return the picture of an answer as PNG."""
    answer = await _own_answer(call)

    def drawn() -> bytes:
        out = io.BytesIO()
        answer.plot().savefig(out, format="png", dpi=150)
        return out.getvalue()

    body = await to_thread.run_sync(drawn, limiter=call.state.threads)
    return _download(body, "image/png", "answer.png")


async def certificate_file(call: HttpCall) -> Response:
    """Return the certificate of an answer as a file."""
    from privet.server.operations import dump

    answer = await _own_answer(call)
    return _download(dump(answer.certificate()), "application/json", "certificate.json")


async def answer_file(call: HttpCall) -> Response:
    """Return an answer as a file: CSV, Arrow or JSON."""
    from privet.server.operations import FORMATS, read_format, render

    form = read_format(call.request.path_params["format"])
    answer = await _own_answer(call)
    body = await to_thread.run_sync(render, answer, "ask", form, limiter=call.state.threads)
    return _download(body, FORMATS[form], f"answer.{form}")


async def _own_answer(call: HttpCall) -> Answer:
    job = await find_job(call)
    if job is None or not job.over or not isinstance(job.result, Answer):
        raise NotFound("there is no such answer yet")
    return job.result


def _download(body: bytes, kind: str, name: str) -> Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(body, 200, {**headers, "Content-Disposition": f'attachment; filename="{name}"'}, kind)


async def pivot_part(call: HttpCall) -> Response:
    """Return an answer as a cross-tab, at no cost."""
    answer = await _own_answer(call)
    keys = [series.name for series in answer.series if not series.noisy]
    index = call.request.query_params.get("index") or keys[0]
    across = next((key for key in keys if key != index), keys[-1])
    values = call.request.query_params.get("values") or next(series.name for series in answer.series if series.noisy)
    crossed = answer.pivot(index, across, values)
    return fragment(
        "cross_tab.html",
        columns=crossed.series,
        table=table_rows(crossed.series, answer.confidence),
        across=across,
    )


# The budget.


def budget_page(call: HttpCall) -> Response:
    """Return the account's budget, its charges, and its requests for more."""
    call.dataset.desk(call.identity)
    ledger, account = call.dataset.ledger, call.identity.name
    budget = ledger.budget_of(account)
    charges = [charge_facts(charge) for charge in ledger.history() if charge.account == account][-1000:]
    share = next((balance.spent for balance in ledger.balances() if balance.account == account), None)
    return page(
        call,
        "budget.html",
        title="Budget",
        name=call.dataset.name,
        budget=budget,
        spent=share,
        left=_left(call),
        charges=list(reversed(charges)),
        requests=call.state.accounts.requests(call.dataset.name, account=account),
        measure=budget.measure,
        with_delta=isinstance(budget, Approximate),
    )


def tables_page(call: HttpCall) -> Response:
    """Return the tables that questions may use, with the declarations of their columns."""
    session = call.dataset.desk(call.identity).admitting
    tables = dict(session.tables.items())
    return page(call, "tables.html", title="Tables", name=call.dataset.name, tables=tables)


ANALYST_PAGES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/login", ANYONE, login_page, "Log in."),
    ApiRoute("GET", "/", ANALYST, first_page, "The data sets."),
    ApiRoute("GET", "/tour", ANALYST, tour_page, "A tour."),
    ApiRoute("GET", "/d/{dataset}", ANALYST, workbench, "Write a question."),
    ApiRoute("POST", "/d/{dataset}/plan", ANALYST, plan_part, "Its plan."),
    ApiRoute("GET", "/d/{dataset}/builder", ANALYST, builder_part, "A question as a form."),
    ApiRoute("GET", "/d/{dataset}/builder/sql", ANALYST, builder_sql, "The form as SQL."),
    ApiRoute("GET", "/d/{dataset}/answers", ANALYST, answers_page, "Own answers."),
    ApiRoute("GET", "/d/{dataset}/shared/{share}", ANALYST, shared_page, "A question that another account shows."),
    ApiRoute("GET", "/d/{dataset}/tables", ANALYST, tables_page, "The tables."),
    ApiRoute("GET", "/d/{dataset}/budget", ANALYST, budget_page, "The budget."),
    ApiRoute("GET", "/a/{answer}", ANALYST, answer_page, "An answer."),
    ApiRoute("GET", "/a/{answer}/pivot", ANALYST, pivot_part, "An answer as a cross-tab."),
    ApiRoute("GET", "/a/{answer}/answer.png", ANALYST, plot_picture, "Its picture."),
    ApiRoute("GET", "/a/{answer}/certificate.json", ANALYST, certificate_file, "Its certificate."),
    ApiRoute("GET", "/a/{answer}/answer.{format}", ANALYST, answer_file, "An answer as a file."),
    *EXPLORE_PAGES,
)
"""Pages of the analysts' listener."""
