"""Health, the project, and the endpoints that are gone."""

from ragtrace.local.auth import Permission
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.wire import PROJECT_ID, Json, RefusedError, Reply

_GONE = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. Learn more about "
    "Langfuse v4 at: https://langfuse.com/docs/v4"
)
_GONE_PATHS = (
    "/api/public/traces",
    "/api/public/traces/{id}",
    "/api/public/observations",
    "/api/public/observations/{id}",
    "/api/public/sessions",
    "/api/public/sessions/{id}",
    "/api/public/v2/scores",
    "/api/public/v2/scores/{id}",
    "/api/public/datasets/{name}/runs",
)


def _health(call: Call) -> Reply:
    return Reply(body={"status": "OK", "version": call.backend.version})


def _projects(_call: Call) -> Reply:
    organization: Json = {"id": "local-organization", "name": "Local"}
    return Reply(body={"data": [{"id": PROJECT_ID, "name": "local", "organization": organization, "metadata": {}}]})


def refuse_gone(_call: Call) -> Reply:
    """Answer as a server that has no traces any more, only observations."""
    raise RefusedError(404, {"message": _GONE})


def project_endpoints(backend: Backend) -> dict[str, Endpoint]:
    health = Endpoint(backend, {"GET": Action(handle=_health, permission=Permission.ANYONE)})
    gone = Endpoint(backend, {"GET": Action(handle=refuse_gone)})
    return {
        "/api/public/health": health,
        "/api/public/ready": health,
        "/api/public/projects": Endpoint(backend, {"GET": Action(handle=_projects)}),
        **dict.fromkeys(_GONE_PATHS, gone),
    }
