"""The two applications of a server: the analysts' and the custodian's, made from the route tables."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Thread
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from privet.core.errors import NotFound

from .analyst_api import ANALYST_ROUTES, SHARED
from .custodian_api import CUSTODIAN_ROUTES
from .http_call import ANYONE, ApiRoute, HttpCall, ServerState, failure, not_found, reply, serve
from .openapi import describe_api
from .pages.page_serving import ASSET_ROUTES, error_page, serve_page, wants_page, warm_pages
from .saved_questions import SAVED_ROUTES
from .shared_questions import SHARE_ROUTES


def _with_description(routes: tuple[ApiRoute, ...]) -> tuple[ApiRoute, ...]:
    def described(call: HttpCall) -> Response:
        """Return the OpenAPI description of this listener."""
        return reply(describe_api(every))

    every = (
        *routes,
        ApiRoute("GET", "/v1/openapi.json", ANYONE, described, "This description.", returns="Description"),
    )
    return every


def analyst_routes() -> tuple[ApiRoute, ...]:
    """Return the route table of the analysts' listener."""
    return _with_description((*SHARED, *ANALYST_ROUTES, *SHARE_ROUTES, *SAVED_ROUTES))


def custodian_routes() -> tuple[ApiRoute, ...]:
    """Return the route table of the custodian's listener."""
    return _with_description((*SHARED, *CUSTODIAN_ROUTES))


def _missing(state: ServerState) -> Any:
    async def missing(request: Request, error: Exception) -> Response:
        if not wants_page(request):
            return failure(not_found())
        wrong = NotFound("there is no such page; the address may be mistyped, or the page may have moved")
        return await to_thread.run_sync(error_page, request, state, wrong, limiter=state.threads)

    return missing


async def _wrong_method(request: Request, error: Exception) -> Response:
    return failure(not_found("no such method"))


def make_application(routes: Iterable[ApiRoute], state: ServerState, pages: Iterable[ApiRoute] = ()) -> Starlette:
    """Return the application of a route table, and of a table of pages."""
    handlers: dict[Any, Any] = {404: _missing(state), 405: _wrong_method}
    listed = [Route(one.path, serve(one, state), methods=[one.method]) for one in routes]
    listed += [Route(one.path, serve_page(one, state), methods=[one.method]) for one in pages]
    listed += ASSET_ROUTES
    Thread(target=warm_pages, name="privet-warm", daemon=True).start()
    application = Starlette(routes=listed, exception_handlers=handlers)
    application.router.redirect_slashes = False
    return application
