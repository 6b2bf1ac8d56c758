/**
 * Emit a rag-call observation with OpenTelemetry's own SDK: one span, described by ragtrace/schema/rag-call-1.json.
 *
 * Set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY first, or run `ragtrace serve`; then
 * `npm install && npm start`, and `ragtrace score` scores what arrived.
 */
import type { Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

interface Passage {
  id: string;
  text: string;
}

interface RagCall {
  question: string;
  retrieved: Passage[];
  prompt: string;
  answer: string;
  model: string;
  startedAt: Date;
}

/** Write one answer. Which passages stood in the prompt is left to the scorer: it has both. */
function emitRagCall(tracer: Tracer, call: RagCall): void {
  const input = {
    question: call.question,
    passages: call.retrieved.map((passage, rank) => ({ ...passage, rank, received: "undetermined" })),
    prompt_rest: [{ at: 0, text: call.prompt }],
  };
  const attributes = {
    // Langfuse's exporters let spans through that carry an attribute of this kind.
    "gen_ai.operation.name": "retrieval",
    "langfuse.observation.type": "chain",
    "langfuse.observation.input": JSON.stringify(input),
    "langfuse.observation.output": call.answer,
    "langfuse.observation.metadata.ragtrace_schema": 1,
    "langfuse.observation.metadata.ragtrace_model": call.model,
  };
  tracer.startSpan("rag-call", { startTime: call.startedAt, attributes }).end();
}

/** Stand for your retrieval. */
function search(_question: string): Passage[] {
  return [
    { id: "gate", text: "The gate opens at 06:00 on working days and at 08:00 on Saturdays." },
    { id: "depot", text: "The old depot was closed in 1998 and is a museum now." },
    { id: "dogs", text: "Dogs are allowed on the whole site, except in the canteen." },
  ];
}

/** Stand for your model. */
function generate(_prompt: string): string {
  return "The gate opens at 06:00 on working days.";
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const keys = `${required("LANGFUSE_PUBLIC_KEY")}:${required("LANGFUSE_SECRET_KEY")}`;
const exporter = new OTLPTraceExporter({
  url: `${required("LANGFUSE_BASE_URL")}/api/public/otel/v1/traces`,
  headers: {
    Authorization: `Basic ${Buffer.from(keys).toString("base64")}`,
    "x-langfuse-ingestion-version": "4",
  },
});
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });

const startedAt = new Date();
const question = "When does the gate open on working days?";
const retrieved = search(question);
const budget = 2;
const context = retrieved.slice(0, budget).map((passage) => passage.text);
const prompt = `Answer from this:\n${context.join("\n\n")}\n\nQuestion: ${question}`;
const answer = generate(prompt);
emitRagCall(provider.getTracer("my-service"), { question, retrieved, prompt, answer, model: "my-model", startedAt });

console.log(answer);
await provider.shutdown();
