"""The demo without any server: spans and scores go into one file, in OTLP's JSON."""

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from rich.console import Console

from ragtrace.capture.in_memory import capture_in_memory
from ragtrace.capture.pipeline import PipelineConfig
from ragtrace.demo.corpus import Question, load_questions
from ragtrace.demo.faults import Ledger
from ragtrace.demo.run import ask_all, make_bars, make_model
from ragtrace.errors import ConfigError
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.extract.span import from_otel
from ragtrace.judge import make_judge
from ragtrace.model import RagCall
from ragtrace.otel.evaluation_events import EvaluationEvents
from ragtrace.scorer.judging import choose_metrics, closing_judge, judge_call
from ragtrace.semconv import LANGFUSE_INPUT, LANGFUSE_METADATA_PREFIX, LANGFUSE_OUTPUT
from ragtrace.settings import Settings, load_settings

_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What `ragtrace demo --otlp-file` says in its last line."""

    file: str
    spans: int
    events: int

    def as_line(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


async def run_file_demo(
    file: Path, *, model_name: str | None, progress: Console, questions: Sequence[Question] | None = None
) -> Written:
    """Answer questions, score the answers, and write both down; a file of that name is replaced.

    Args:
        file: Where to write.
        model_name: Model at OPENAI_BASE_URL that answers; None: the demo's own, unless the settings name one.
        progress: Shows how far the work is.
        questions: What to ask; None: all.

    Raises:
        ConfigError: the file cannot be written, or the model answered nothing.
    """
    try:
        file.write_text("", encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"--otlp-file {file}: cannot be written ({exc})") from exc
    settings = load_settings(overrides={"environment": "demo", "capture_rate": 1.0, "sample_rate": 1.0})
    model, asked = (
        make_model(settings, model_name, ledger=Ledger()),
        load_questions() if questions is None else questions,
    )
    with make_bars(progress) as bars, capture_in_memory(PipelineConfig(settings=settings)) as captured:
        ask_all(model, asked, capture=captured, bars=bars)
        spans = captured.spans
    file.write_text(spans_as_line(spans) + "\n", encoding="utf-8")
    events = EvaluationEvents(str(file))
    with progress.status("scoring"):
        count = await _score([read_span(span) for span in spans], events, settings)
    await events.send()
    return Written(file=str(file.resolve()), spans=len(spans), events=count)


def read_span(span: ReadableSpan) -> RagCall:
    """Read a rag-call span as the scorer reads the observation that Langfuse makes of it."""
    read = from_otel(span)
    prefix = LANGFUSE_METADATA_PREFIX
    row = ObservationRow(
        id=read.id,
        trace_id=read.trace_id,
        name=read.name,
        type="CHAIN",
        start_time=read.started_at,
        input=read.text(LANGFUSE_INPUT),
        output=read.text(LANGFUSE_OUTPUT),
        metadata={key.removeprefix(prefix): v for key, v in read.attributes.items() if key.startswith(prefix)},
        environment=read.labels.environment,
    )
    return complete_delivery(read_rag_call(row))


def spans_as_line(spans: Sequence[ReadableSpan]) -> str:
    """Return spans as the body of an OTLP request, in one line."""
    request = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    written = (
        span
        for resource in request.get("resourceSpans", [])
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    )
    for span in written:
        # OTLP's JSON has ids in hexadecimal, unlike the JSON of other protobuf messages.
        span.update({key: b64decode(span[key]).hex() for key in _IDS if key in span})
    return json.dumps(request, ensure_ascii=False)


async def _score(calls: Sequence[RagCall], events: EvaluationEvents, settings: Settings) -> int:
    """Judge the calls and note an event for each result; return how many there are."""
    choice, count = choose_metrics(settings, None), 0
    async with closing_judge(make_judge(settings)) as judge:
        for call in calls:
            judged = await judge_call(call, judge, choice)
            fingerprint = judged.verdicts.judge.fingerprint if judged.verdicts else None
            events.add(call, judged.results, judge=fingerprint)
            count += len(judged.results)
    return count
