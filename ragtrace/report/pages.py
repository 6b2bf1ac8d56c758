"""The report as live pages of the local server: the whole window at `/`, one trace where Langfuse has it."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from ragtrace.errors import BackendError
from ragtrace.langfuse import open_langfuse
from ragtrace.metrics.diagnosis import all_thresholds
from ragtrace.report.choosing import Choice
from ragtrace.report.collect import Window, collect
from ragtrace.report.html import Filters, render_page
from ragtrace.settings import Settings

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
_SHOWN = 50


def make_routes(settings: Settings) -> tuple[BaseRoute, ...]:
    """Return the routes; each page is read anew from the Langfuse that the settings name."""

    async def show_window(request: Request) -> Response:
        asked = {name: request.query_params.get(name, "").strip() for name in ("metric", "outcome", "tag")}
        choice = Choice(search=request.query_params.get("q", "").strip(), **asked)
        return await _show(settings, Window(shown=_SHOWN, choice=choice))

    async def show_trace(request: Request) -> Response:
        return await _show(settings, Window(trace_id=request.path_params["trace_id"], shown=_SHOWN))

    return (_route("/", show_window), _route("/project/{project_id}/traces/{trace_id}", show_trace))


async def _show(settings: Settings, window: Window) -> Response:
    try:
        async with open_langfuse(settings) as api:
            report = await collect(
                api, window, made_at=datetime.now(UTC), thresholds=all_thresholds(settings.thresholds)
            )
    except BackendError as exc:
        return Response(f"ragtrace: {exc}\n", status_code=502, media_type="text/plain", headers=_HEADERS)
    filters = None if window.trace_id else Filters(chosen=window.choice, choices=report.choices)
    page = render_page(report, filters)
    status = 404 if window.trace_id and not report.calls else 200
    return HTMLResponse(page, status_code=status, headers=_HEADERS)


def _route(path: str, page: Callable[[Request], Awaitable[Response]]) -> Route:
    return Route(path, page, methods=["GET"])
