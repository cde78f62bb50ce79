"""How pages are served: templates, style sheet and script, the policy that forbids all else, errors in words."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

import privet
from privet.core.budget import Approximate, Budget, Zcdp
from privet.core.errors import InvariantError, NotFound, PrivetError, bare
from privet.core.numbers import in_digits, written_ratio
from privet.display import charge_words, percent, printable, round_down, shown_amount
from privet.server.http_call import ApiRoute, HttpCall, ServerState, _answer, _identify

LOG = logging.getLogger("privet.server")
HERE = Path(__file__).parent
ASSETS = {
    "privet.js": "text/javascript; charset=utf-8",
    "privet.css": "text/css; charset=utf-8",
    "privet.svg": "image/svg+xml",
}
LICENSES = "LICENSES.txt"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Asset:
    """A file of the pages, with its digest, which is in its address, so that browsers may keep it for good."""

    name: str
    body: bytes
    packed: bytes
    digest: str
    kind: str


@cache
def assets() -> dict[str, Asset]:
    """Return the files of the pages, each compressed once."""
    files = {}
    for name, kind in {**ASSETS, LICENSES: "text/plain; charset=utf-8"}.items():
        body = (HERE / "assets" / name).read_bytes()
        packed = gzip.compress(body, 9, mtime=0)
        files[name] = Asset(name, body, packed, hashlib.sha256(body).hexdigest()[:12], kind)
    return files


def asset_address(name: str) -> str:
    """Return where a file of the pages is."""
    return f"/assets/{assets()[name].digest}/{name}"


def asset(request: Request) -> Response:
    """Return a file of the pages."""
    file = assets().get(request.path_params["name"])
    if file is None or file.digest != request.path_params["digest"]:
        return Response("not found", 404, _HEADERS)
    headers = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, 200, {**headers, "Content-Encoding": "gzip"}, media_type=file.kind)
    return Response(file.body, 200, headers, media_type=file.kind)


def no_icon(request: Request) -> Response:
    """Return that there is no icon, which browsers request on their own."""
    return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})


ASSET_ROUTES = (
    Route("/assets/{digest}/{name}", asset, methods=["GET"]),
    Route("/favicon.ico", no_icon, methods=["GET"]),
)


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["asset"] = asset_address
    made.globals["version"] = privet.__version__
    made.filters["shown"] = shown
    made.filters["json"] = lambda value: json.dumps(value)
    made.filters["moment"] = lambda value: str(value)[:16].replace("T", " ")
    made.filters["percent"] = percent
    made.filters["amount"] = shown_amount
    made.filters["left"] = left_words
    made.filters["budget"] = budget_words
    made.filters["amounts"] = amount_words
    made.filters["charge"] = lambda entry: printable(charge_words(entry.get("facts") or {}))
    return made


def budget_words(budget: Budget) -> str:
    """Return a budget in a few words."""
    match budget:
        case Approximate(epsilon=epsilon, delta=delta):
            return f"epsilon {float(epsilon):.6g}, delta {float(delta):.3g}"
        case Zcdp(rho=rho):
            return f"rho {float(rho):.6g}"
    return f"epsilon {float(budget.epsilon):.6g}"


def amount_words(budget: Mapping[str, Any]) -> str:
    """Return a budget that is kept as ratios in a few words."""
    amounts = {name: written_ratio(str(amount)) for name, amount in budget.items()}
    return ", ".join(f"{name} {float(amount or 0):.6g}" for name, amount in amounts.items())


def left_words(left: Mapping[str, Any]) -> str:
    """Return the remaining budget of an account, rounded down."""
    most = left["largest_epsilon"]
    return "frozen" if left["state"] == "frozen" else f"epsilon {round_down(most)}" if most else "nothing"


def warm_pages() -> None:
    """Compile every template, compress every file and load the SQL parser, so that no first page waits for it."""
    assets()
    for name in _templates().list_templates():
        _templates().get_template(name)
    importlib.import_module("sqlglot.dialects.duckdb")


def shown(value: Any) -> str:
    """Return a value as a cell of a table shows it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else in_digits(value, 4)
    return str(value)


def render(template: str, **values: Any) -> str:
    """Return a template with its values, all of them escaped."""
    return _templates().get_template(template).render(**values)


def page(call: HttpCall, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a whole page, with a policy that allows the pages' own script and style sheet and nothing else."""
    nonce = secrets.token_urlsafe(16)
    token = "" if call.login is None else call.state.signer.csrf_token(call.login)
    account = None if call.who is None else call.identity
    sets = [] if account is None else [dataset.name for dataset in call.state.visible(account)]
    body = render(
        template, nonce=nonce, csrf=token, account=account, data_sets=sets, path=call.request.url.path, **values
    )
    return Response(body, status, {**_HEADERS, "Content-Security-Policy": _POLICY.format(nonce=nonce)}, "text/html")


def fragment(template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a part of a page, for a page that is open already."""
    return Response(render(template, **values), status, _HEADERS, "text/html")


def serve_page(route: ApiRoute, state: ServerState) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a page: limits, identity, role and origin as for the API, and errors as pages."""

    async def answer(request: Request) -> Response:
        started = time.monotonic()
        who: list[Any] = [None]
        try:
            response = await _answer(route, state, request, who)
        except PrivetError as error:
            response = await to_thread.run_sync(_failed, request, state, bare(error), limiter=state.threads)
        except ClientDisconnect:
            response = Response(status_code=400)
        except Exception as error:  # no text of it: it could quote a row
            wrong = InvariantError(f"unexpected error in Privet ({type(error).__name__}); please report it")
            response = await to_thread.run_sync(_failed, request, state, wrong, limiter=state.threads)
        facts = {
            "method": request.method,
            "route": route.path,
            "status": response.status_code,
            "account": None if who[0] is None else who[0].name,
            "ms": round(1000 * (time.monotonic() - started), 1),
        }
        LOG.info("request", extra={"told": facts})
        return response

    return answer


def _failed(request: Request, state: ServerState, error: PrivetError) -> Response:
    inside = request.headers.get("hx-request") == "true"
    if error.http_status == 401:
        if inside:
            return Response("", 200, {**_HEADERS, "HX-Redirect": "/login"})
        return RedirectResponse("/login", 303, _HEADERS)
    if inside:
        return fragment("error_part.html", status=error.http_status, error=error)
    return error_page(request, state, error)


def error_page(request: Request, state: ServerState, error: PrivetError) -> Response:
    """Return an error as a page, with the menu of the account that asks."""
    identity, login = _identify(state, request)
    call = HttpCall(state, request, identity, login, {})
    template = "custodian_error.html" if identity is not None and identity.role != "analyst" else "error.html"
    names = [] if identity is None else [dataset.name for dataset in state.visible(identity)]
    return page(
        call,
        template,
        status=error.http_status,
        error=error,
        title="Not found" if isinstance(error, NotFound) else "That did not work",
        name=names[0] if len(names) == 1 else "",
    )


def wants_page(request: Request) -> bool:
    """Return whether a browser asks for something to show to a person."""
    api = request.url.path.startswith("/v1/")
    return request.method == "GET" and not api and "text/html" in request.headers.get("accept", "")
