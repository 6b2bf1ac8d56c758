"""Find out where captured calls go, from settings."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ragtrace.errors import ConfigError
from ragtrace.settings import Settings

_LANGFUSE_PATH = "/api/public/otel/v1/traces"
_LANGFUSE_HEADERS = {
    # Asks for the direct write path; without it a trace may appear ten minutes late.
    "x-langfuse-ingestion-version": "4",
}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NOWHERE = (
    "captured calls go nowhere and are dropped: set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and "
    "LANGFUSE_SECRET_KEY, or OTEL_EXPORTER_OTLP_ENDPOINT"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OTLP/HTTP address with what it wants to see."""

    url: str
    headers: Mapping[str, str]
    mend: str
    """What to check when it refuses."""

    def __repr__(self) -> str:
        return f"Endpoint(shown={self.shown!r})"

    @property
    def shown(self) -> str:
        """The address for logs: without a password that may stand in it."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    @property
    def is_compressed(self) -> bool:
        """Whether bodies are worth compressing: within one machine it costs more than it saves."""
        return urlsplit(self.url).hostname not in _LOOPBACK


def find_endpoint(settings: Settings) -> Endpoint:
    """Return where to send: Langfuse if it is named, else the standard OTLP endpoint.

    Raises:
        ConfigError: neither is named, or Langfuse only in part. Content never goes elsewhere because one of its
            variables is missing.
    """
    if settings.langfuse_base_url or settings.langfuse_public_key or settings.langfuse_secret_key:
        return _langfuse(settings)
    if settings.otel_exporter_otlp_traces_endpoint:
        return _otlp(settings.otel_exporter_otlp_traces_endpoint, settings)
    if settings.otel_exporter_otlp_endpoint:
        return _otlp(settings.otel_exporter_otlp_endpoint.rstrip("/") + "/v1/traces", settings)
    raise ConfigError(_NOWHERE)


def _langfuse(settings: Settings) -> Endpoint:
    base_url, public_key, secret_key = settings.require_langfuse()
    keys = b64encode(f"{public_key}:{secret_key}".encode()).decode()
    return Endpoint(
        url=_checked(base_url + _LANGFUSE_PATH, "LANGFUSE_BASE_URL"),
        headers={**_LANGFUSE_HEADERS, "Authorization": f"Basic {keys}"},
        mend="LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
    )


def _otlp(url: str, settings: Settings) -> Endpoint:
    secret = settings.otel_exporter_otlp_traces_headers or settings.otel_exporter_otlp_headers
    pairs = (pair.partition("=") for pair in (secret.get_secret_value() if secret else "").split(","))
    return Endpoint(
        url=_checked(url, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        headers={name.strip(): unquote(value.strip()) for name, equals, value in pairs if equals},
        mend="OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS",
    )


def _checked(url: str, setting: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(f"{setting}={url!r}: expected an address that starts with http:// or https://")
    return url
