"""What becomes of a span's attributes."""

import json
from typing import Any

import httpx
import pytest

from tests.local.talk import BASE_NANOS, Clock, observations, send, span


async def mapped(client: httpx.AsyncClient, attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The observation of one span, with everything that can be asked for."""
    scope, resource = fields.pop("scope", "ragtrace"), fields.pop("resource", None)
    await send(client, span(attributes, **fields), scope=scope, resource=resource)
    [row] = await observations(client, fields="core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context")
    return row


def part(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: row[key] for key in keys}


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({}, "SPAN"),
        ({"langfuse.observation.type": "guardrail"}, "GUARDRAIL"),
        ({"langfuse.observation.type": "RETRIEVER"}, "SPAN"),
        ({"langfuse.observation.type": "bogus", "openinference.span.kind": "LLM"}, "GENERATION"),
        ({"openinference.span.kind": "RERANKER"}, "SPAN"),
        ({"gen_ai.operation.name": "chat"}, "GENERATION"),
        ({"gen_ai.operation.name": "retrieval"}, "SPAN"),
        ({"gen_ai.operation.name": "create_agent"}, "AGENT"),
        ({"gen_ai.tool.call.id": "7"}, "TOOL"),
        ({"llm.model_name": "m"}, "GENERATION"),
    ],
)
async def test_types(client: httpx.AsyncClient, attributes: dict[str, Any], kind: str) -> None:
    """The first convention that says something decides the type."""
    assert (await mapped(client, attributes))["type"] == kind


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"langfuse.observation.input": "i", "input.value": "no", "output.value": "no"}, ("i", None)),
        ({"langfuse.observation.input": "", "input.value": "v"}, ("v", None)),
        ({"langfuse.observation.input": 5, "langfuse.observation.output": [1, "a"]}, ("5", '[1,"a"]')),
        ({"langfuse.observation.output": {"doubleValue": 2.0}}, (None, "2")),
        ({"mlflow.spanOutputs": "o"}, (None, "o")),
        ({"traceloop.entity.input": "t"}, ("t", None)),
        ({"input": "a", "output": "b"}, ("a", "b")),
        ({"gen_ai.completion.1.content": "second", "gen_ai.completion.0.content": "first"},
         (None, '[{"content":"first"},{"content":"second"}]')),
        ({"llm.input_messages.0.message": "flat", "llm.input_messages.0.message.role": "user"},
         ('[{"message":{"role":"user"}}]', None)),
        ({"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "a"},
         (None, '[{"message":{"role":"assistant","content":"a"}}]')),
        ({"gen_ai.input.messages": "[]"}, ("[]", None)),
        ({"gen_ai.input.messages": "no list", "gen_ai.system_instructions": '[{"content":"be brief"},{"content":1}]'},
         ('[{"role":"system","content":"be brief"}]', None)),
        ({"gen_ai.system_instructions": "[]"}, (None, None)),
        ({"gen_ai.input.messages": "[1]", "gen_ai.system_instructions": "{}"}, ("[1]", None)),
        ({"gen_ai.tool.call.result": "r"}, (None, "r")),
    ],
)  # fmt: skip
async def test_content(
    client: httpx.AsyncClient, attributes: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    """Input and output come from the first convention that has either."""
    row = await mapped(client, attributes)

    assert (row["input"], row["output"]) == expected


async def test_trace_attributes(client: httpx.AsyncClient) -> None:
    """User, session, tags, names, versions and the prompt link are columns of the observation."""
    row = await mapped(
        client,
        {
            "user.id": "u",
            "gen_ai.conversation.id": "c",
            "langfuse.trace.name": "t",
            "langfuse.trace.public": True,
            "langfuse.trace.tags": "a, b,,c",
            "langfuse.observation.prompt.name": "p",
            "langfuse.observation.prompt.version": 3,
            "langfuse.observation.level": "warn",
        },
        resource={"service.version": "1.2", "langfuse.release": "r", "deployment.environment": "Staging"},
        parentSpanId="b7ad6b7169203300",
    )

    keys = ("userId", "sessionId", "traceName", "public", "tags", "promptName", "promptVersion", "level", "version")
    assert part(row, *keys, "release", "environment", "isRootObservation") == {
        "userId": "u",
        "sessionId": "c",
        "traceName": "t",
        "public": True,
        "tags": ["a", "b", "c"],
        "promptName": "p",
        "promptVersion": 3,
        "level": "WARNING",
        "version": "1.2",
        "release": "r",
        "environment": "staging",
        "isRootObservation": False,
    }


@pytest.mark.parametrize(
    ("sent", "tags"),
    [('["a", 1]', ["a", "1"]), ("[a", ["[a"]), (["x"], ["x"]), (7, []), ("", [])],
)
async def test_tags(client: httpx.AsyncClient, sent: Any, tags: list[str]) -> None:
    """Tags come as a list, as JSON or between commas."""
    assert (await mapped(client, {"langfuse.trace.tags": sent}))["tags"] == tags


async def test_an_application_root_keeps_its_parent(client: httpx.AsyncClient) -> None:
    """A span marked as the application's root is a root, and names its trace, though it has a parent."""
    row = await mapped(client, {"langfuse.internal.is_app_root": True}, parentSpanId="b7ad6b7169203300")

    assert part(row, "isRootObservation", "parentObservationId", "traceName") == {
        "isRootObservation": True,
        "parentObservationId": "b7ad6b7169203300",
        "traceName": "step",
    }


async def test_a_tool_call_is_named_after_its_tool(client: httpx.AsyncClient) -> None:
    """The tool's name replaces the span's."""
    row = await mapped(client, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"})

    assert (row["name"], row["traceName"]) == ("search", "search")


@pytest.mark.parametrize(
    ("attributes", "parameters", "usage", "cost"),
    [
        ({}, {}, {}, {}),
        (
            {
                "langfuse.observation.model.parameters": '{"temperature": 0.0}',
                "langfuse.observation.usage_details": '{"input": 2, "output": 3, "note": "x"}',
                "langfuse.observation.cost_details": '{"input": 0.1, "output": 0.2}',
            },
            {"temperature": 0},
            {"input": 2, "output": 3, "total": 5},
            {"input": 0.1, "output": 0.2, "total": 0.3},
        ),
        (
            {
                "gen_ai.request.model": "m",
                "gen_ai.request.top_p": 0.5,
                "gen_ai.usage.prompt_tokens": 4,
                "gen_ai.usage.cache_read": 1,
                "gen_ai.usage.total_tokens": 4,
            },
            {"top_p": 0.5},
            {"input": 4, "cache_read": 1, "total": 4},
            {},
        ),
        ({"llm.token_count.completion": 6, "llm.invocation_parameters": "no JSON"}, {}, {"output": 6, "total": 6}, {}),
        ({"langfuse.observation.usage_details": "[1]", "gen_ai.usage.cost": 0.5}, {}, {"cost": 0.5, "total": 0.5}, {"total": 0.5}),
    ],
)  # fmt: skip
async def test_model_numbers(
    client: httpx.AsyncClient,
    attributes: dict[str, Any],
    parameters: dict[str, Any],
    usage: dict[str, float],
    cost: dict[str, float],
) -> None:
    """Parameters, token counts and costs are read from either convention, totals are added."""
    row = await mapped(client, attributes)

    assert part(row, "modelParameters", "usageDetails", "costDetails") == {
        "modelParameters": parameters,
        "usageDetails": usage,
        "costDetails": cost,
    }
    assert (row["totalUsage"], row["totalCost"]) == (usage.get("total", 0), cost.get("total", 0))


async def test_time_to_first_token(client: httpx.AsyncClient) -> None:
    """The SDK's quoted time gives the time to the first token; anything else none."""
    row = await mapped(client, {"langfuse.observation.completion_start_time": '"2026-11-30T00:53:20.250Z"'})

    assert (row["completionStartTime"], row["timeToFirstToken"], row["latency"]) == (
        "2026-11-30T00:53:20.250Z",
        0.25,
        1,
    )


async def test_a_span_without_times_starts_when_it_arrives(client: httpx.AsyncClient, clock: Clock) -> None:
    """A missing start is the end, and without an end the time of arrival."""
    clock.ms += 5

    await send(
        client,
        span(spanId="1", startTimeUnixNano=None, endTimeUnixNano=str(BASE_NANOS)),
        span(spanId="2", startTimeUnixNano=None, endTimeUnixNano=None),
    )

    assert {row["id"]: row["startTime"] for row in await observations(client)} == {
        "1": "2026-11-30T00:53:20.000Z",
        "2": "2026-11-30T00:53:20.005Z",
    }


async def test_metadata(client: httpx.AsyncClient) -> None:
    """Keyed metadata wins over the bare object, trace metadata is added, dangerous keys are dropped."""
    row = await mapped(
        client,
        {
            "langfuse.observation.metadata": json.dumps({"a": {"b": [1]}, "k": "bare", "f": 1.0}),
            "langfuse.observation.metadata.k": "keyed",
            "langfuse.observation.metadata.__proto__": "evil",
            "langfuse.trace.metadata": "no object",
            "langfuse.trace.metadata.tenant": '"acme"',
            "langfuse.observation.metadata.deep": "[" * 5000,
            "custom": 1,
        },
        scope="langfuse-sdk",
    )

    assert row["metadata"] == {
        "scope.name": "langfuse-sdk",
        "a.b": [1],
        "k": "keyed",
        "f": 1,
        "tenant": "acme",
        "deep": "[" * 5000,
    }


async def test_other_scopes_keep_their_attributes(client: httpx.AsyncClient) -> None:
    """What has no place of its own stays in the metadata, unless Langfuse's SDK made the span."""
    row = await mapped(
        client, {"custom": 1, "input.value": "used", "langfuse.observation.metadata": "[1]"}, resource={"host": "h"}
    )

    assert row["metadata"] == {"resourceAttributes.host": "h", "scope.name": "ragtrace", "attributes.custom": 1}
