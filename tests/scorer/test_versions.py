"""What versions of Langfuse and of packages can do together."""

import logging
from importlib import metadata

import pytest

from ragtrace.errors import BackendRejected
from ragtrace.local.in_thread import local_langfuse as serve_locally
from ragtrace.scorer.command import opened
from ragtrace.scorer.versions import Compatibility, check_versions, compare_versions, installed_packages
from ragtrace.settings import Settings, load_settings
from tests.scorer.old_server import answering_health

CURRENT = {"langfuse": "5.0.4", "opentelemetry-sdk": "1.45.2", "langchain-core": "1.8.3"}
NAMES = "langfuse 5.0.4, opentelemetry-sdk 1.45.2, langchain-core 1.8.3"
SINGLES = "before Langfuse 4.59 scores go one a request and carry the time of writing instead of the call's"


@pytest.mark.parametrize("server", ["4.59.0", "4.60.1", "v4.59.0-rc.1"])
def test_what_is_known_to_work(server):
    """From 4.59 on there is nothing to say but the versions."""
    found = compare_versions(server, CURRENT)

    assert found == Compatibility(versions=f"Langfuse {server}, {NAMES}")
    assert found.as_text() == f"Langfuse {server}, {NAMES}: all of it works together"


def test_before_arrays():
    """Before 4.59 ragtrace's scores go singly, and the application's own with SDK 5 are lost: both are said."""
    found = compare_versions("4.16.0", CURRENT)

    assert found.fatal is None
    assert found.limits[0] == SINGLES
    assert found.limits[1].startswith("`create_score` of langfuse 5 in your own code is refused")
    assert found.as_text() == f"Langfuse 4.16.0, {NAMES}: {'; '.join(found.limits)}"


def test_before_arrays_with_an_sdk_that_fits():
    """SDK 4 posts scores one by one as that server wants them."""
    assert compare_versions("4.16.0", {**CURRENT, "langfuse": "4.9.0"}).limits == (SINGLES,)


def test_too_old():
    """Langfuse 3 has no list of observations that ragtrace could read."""
    found = compare_versions("3.180.0", {})

    assert found == Compatibility(
        versions="Langfuse 3.180.0",
        fatal="Langfuse 3.180.0 is too old to read calls from; upgrade to 4.59 or later (from 4.0 on it works with limits)",
    )
    assert found.as_text() == f"Langfuse 3.180.0: {found.fatal}"


@pytest.mark.parametrize(
    ("server", "limit"),
    [
        ("nightly", "'nightly' is no version that ragtrace knows, so it is taken for 4.59 or later"),
        ("5.2.0", "ragtrace was tested with Langfuse 4 only"),
    ],
)
def test_versions_that_nobody_tried(server, limit):
    """An unknown server is used as a current one, and that is said."""
    assert compare_versions(server, CURRENT) == Compatibility(versions=f"Langfuse {server}, {NAMES}", limits=(limit,))


@pytest.mark.parametrize(
    ("package", "version", "limit"),
    [
        (
            "langfuse",
            "2.60.0",
            "langfuse 2 does not write through OpenTelemetry: rag-calls stand in traces of their own",
        ),
        ("langfuse", "3.9.1", "langfuse 3 exports every span of the application; ragtrace was tested with 5"),
        ("langfuse", "6.0.0", "ragtrace was tested with langfuse 5, not with 6"),
        ("opentelemetry-sdk", "1.27.0", "opentelemetry-sdk 1.27.0 is older than 1.30, the lowest that is tested"),
        ("langchain-core", "0.3.60", "langchain-core 0.3.60 is older than 1.0, the lowest that is tested"),
    ],
)
def test_packages_that_do_less(package, version, limit):
    """What a package of another version does differently is named."""
    assert compare_versions("4.59.0", {**CURRENT, package: version}).limits == (limit,)


def test_installed_packages_are_looked_up():
    """Packages that are not installed are left out."""

    def version_of(name: str) -> str:
        if name != "langfuse":
            raise metadata.PackageNotFoundError
        return "5.0.4"

    assert installed_packages(version_of) == {"langfuse": "5.0.4"}
    assert installed_packages()["opentelemetry-sdk"] == metadata.version("opentelemetry-sdk")


def settings_of(base_url: str, tmp_path, public_key: str = "pk", secret_key: str = "sk") -> Settings:
    return load_settings(
        {
            "LANGFUSE_BASE_URL": base_url,
            "LANGFUSE_PUBLIC_KEY": public_key,
            "LANGFUSE_SECRET_KEY": secret_key,
            "RAGTRACE_STATE": str(tmp_path / "state.sqlite"),
        }
    )


@pytest.mark.parametrize(("emulate", "level"), [("4.59", logging.INFO), ("4.16", logging.WARNING)])
async def test_scoring_begins_with_one_line(tmp_path, caplog, emulate, level):
    """Before anything is read the versions are logged; a warning where something will not work."""
    caplog.set_level(logging.INFO, logger="ragtrace")
    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        settings = settings_of(server.base_url, tmp_path, server.public_key, server.secret_key)
        async with opened(settings):
            pass

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("ragtrace.scorer.versions", level)
    assert record.getMessage() == compare_versions(f"{emulate}.0", installed_packages()).as_text()


async def test_scoring_does_not_begin_with_a_server_that_is_too_old(tmp_path):
    """A Langfuse that cannot be read from ends the command in one line, before any state is made."""
    too_old = pytest.raises(BackendRejected, match=r"^Langfuse 3\.180\.0, .* is too old to read calls from")
    with answering_health("3.180.0") as base_url, too_old:
        async with opened(settings_of(base_url, tmp_path)):
            pass

    assert not (tmp_path / "state.sqlite").exists()


def test_a_server_of_an_unknown_version_is_used(caplog):
    """Somebody's own build is tried, with a warning."""
    check_versions("main-3f2a")

    assert "'main-3f2a' is no version that ragtrace knows" in caplog.text
