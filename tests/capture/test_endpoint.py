"""Where captured calls go."""

import pytest

from ragtrace.capture.endpoint import Endpoint, find_endpoint
from ragtrace.errors import ConfigError
from ragtrace.settings import load_settings

LANGFUSE = {
    "LANGFUSE_BASE_URL": "https://langfuse.example/",
    "LANGFUSE_PUBLIC_KEY": "pk",
    "LANGFUSE_SECRET_KEY": "sk",
}
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}


def _find(variables: dict[str, str]) -> tuple[str, dict[str, str]]:
    endpoint = find_endpoint(load_settings(variables))
    return endpoint.url, dict(endpoint.headers)


def test_langfuse_comes_first():
    """With Langfuse named, calls go there, with its keys and the direct write path asked for."""
    assert _find(LANGFUSE | COLLECTOR) == (
        "https://langfuse.example/api/public/otel/v1/traces",
        {"x-langfuse-ingestion-version": "4", "Authorization": "Basic cGs6c2s="},
    )


@pytest.mark.parametrize(
    ("variables", "url", "headers"),
    [
        (COLLECTOR, "http://collector:4318/v1/traces", {}),
        (
            COLLECTOR | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://other/t"},
            "http://other/t",
            {},
        ),
        (
            COLLECTOR | {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, x = y,broken"},
            "http://collector:4318/v1/traces",
            {"api-key": "a b", "x": "y"},
        ),
        (
            COLLECTOR | {"OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2"},
            "http://collector:4318/v1/traces",
            {"b": "2"},
        ),
    ],
)
def test_else_the_standard_variables_count(variables, url, headers):
    """Any OTLP/HTTP endpoint will do, named as OpenTelemetry names it."""
    assert _find(variables) == (url, headers)


@pytest.mark.parametrize("missing", LANGFUSE)
def test_langfuse_named_in_part_is_an_error(missing):
    """A missing variable never sends content elsewhere: it is named instead."""
    variables = {name: value for name, value in (LANGFUSE | COLLECTOR).items() if name != missing}

    with pytest.raises(ConfigError, match=missing):
        _find(variables)


def test_nowhere_to_go_is_an_error_that_says_what_to_set():
    """Without any address, nothing is guessed."""
    with pytest.raises(ConfigError, match=r"LANGFUSE_BASE_URL.*OTEL_EXPORTER_OTLP_ENDPOINT"):
        _find({})


def test_an_address_without_a_scheme_is_an_error():
    """A host alone is no address."""
    with pytest.raises(ConfigError, match=r"LANGFUSE_BASE_URL='langfuse\.example"):
        _find(LANGFUSE | {"LANGFUSE_BASE_URL": "langfuse.example"})


def test_keys_are_never_shown():
    """Neither the headers nor a password in the address appear where the endpoint is printed."""
    endpoint = Endpoint(url="https://me:secret@host:1/path?key=secret", headers={"k": "secret"}, mend="")

    assert repr(endpoint) == "Endpoint(shown='https://host:1/path')"
