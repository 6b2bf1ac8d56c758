"""Names under which OpenTelemetry finds our instrumentations."""

from importlib.metadata import entry_points


def test_no_name_clashes_with_another_package():
    """Our instrumentations have names of their own, so that each can be switched off without another."""
    named = [point.name for point in entry_points(group="opentelemetry_instrumentor")]
    ours = {point.name for point in entry_points(group="opentelemetry_instrumentor") if "ragtrace" in point.value}

    assert ours == {"ragtrace_langchain", "ragtrace_openai"}
    assert [name for name in named if named.count(name) > 1] == []
