"""Every attribute key, span name, score name and reason that ragtrace writes or reads, once."""

from typing import Final, Literal

SCHEMA_VERSION: Final = 1
"""Version of the rag-call observation's JSON; raised when a reader must change."""

# The rag-call span.
SPAN_NAME: Final = "rag-call"
SCOPE_NAME: Final = "ragtrace"

# OpenTelemetry GenAI conventions.
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_RETRIEVAL_QUERY: Final = "gen_ai.retrieval.query.text"
GEN_AI_RETRIEVAL_DOCUMENTS: Final = "gen_ai.retrieval.documents"
OPERATION_RETRIEVAL: Final = "retrieval"

# What Langfuse reads on a span.
LANGFUSE_TYPE: Final = "langfuse.observation.type"
LANGFUSE_INPUT: Final = "langfuse.observation.input"
LANGFUSE_OUTPUT: Final = "langfuse.observation.output"
LANGFUSE_LEVEL: Final = "langfuse.observation.level"
LANGFUSE_STATUS_MESSAGE: Final = "langfuse.observation.status_message"
LANGFUSE_METADATA_PREFIX: Final = "langfuse.observation.metadata."
LANGFUSE_TRACE_NAME: Final = "langfuse.trace.name"
LANGFUSE_TRACE_TAGS: Final = "langfuse.trace.tags"
LANGFUSE_ENVIRONMENT: Final = "langfuse.environment"
LANGFUSE_RELEASE: Final = "langfuse.release"
DEPLOYMENT_ENVIRONMENTS: Final = ("deployment.environment.name", "deployment.environment")
"""Where an OpenTelemetry resource says its environment; Langfuse reads both."""
LANGFUSE_IS_APP_ROOT: Final = "langfuse.internal.is_app_root"
LANGFUSE_PROPAGATED_PREFIX: Final = "langfuse.propagated."
SESSION_ID: Final = "session.id"
USER_ID: Final = "user.id"

# Metadata keys of the rag-call observation (values stay under 200 characters: Langfuse cuts there).
META_SCHEMA: Final = "ragtrace_schema"
META_PASSAGES_RETRIEVED: Final = "ragtrace_passages_retrieved"
META_PASSAGES_RECEIVED: Final = "ragtrace_passages_received"
META_ANSWER_LENGTH: Final = "ragtrace_answer_length"
META_PROMPT_DIGEST: Final = "ragtrace_prompt_digest"
META_PROMPT_LENGTH: Final = "ragtrace_prompt_length"
META_CAPTURE_PROBABILITY: Final = "ragtrace_capture_probability"
META_CONFIDENCE: Final = "ragtrace_confidence"
META_MARKS: Final = "ragtrace_marks"
META_MODEL: Final = "ragtrace_model"
META_EXPERIMENT: Final = "ragtrace_experiment"
"""Name of the Langfuse experiment run that the call is a part of."""
META_EXPERIMENT_DATASET: Final = "ragtrace_experiment_dataset"
META_EXPERIMENT_ITEM: Final = "ragtrace_experiment_item"
META_METADATA_DROPPED: Final = "ragtrace_metadata_dropped"

# Run metadata that a user sets on a chain.
USER_REFERENCE: Final = "ragtrace_reference"
USER_RELEVANT_IDS: Final = "ragtrace_relevant_ids"
USER_ROLE: Final = "ragtrace_role"

# Marks on a call.
MARK_CAPPED: Final = "capped"
MARK_MASKED: Final = "masked"
MARK_CONTEXTS_UNKNOWN: Final = "contexts_unknown"
MARK_ABANDONED: Final = "abandoned"
MARK_ERROR: Final = "error"
MARK_IDS_ONLY: Final = "ids_only"
MARK_INDIRECT: Final = "indirect"
MARK_PROMPT_UNKNOWN: Final = "prompt_unknown"
MARK_SENT_TO_ADAPTER: Final = "sent_to_adapter"
MARK_UNREADABLE: Final = "unreadable"
# Suspicions: nothing is wrong with the record, but judges misread such answers more often.
MARK_SHORT_ANSWER: Final = "short_answer"
MARK_NEGATION: Final = "negation"
MARK_COMPARISON: Final = "comparison"
MARK_JARGON: Final = "jargon"

# The score of an alarm; its value is always 1.
RAG_ALARM: Final = "rag_alarm"

# The environment that ragtrace's own traffic is in, if it is ever traced: never scored.
SCORER_ENVIRONMENT: Final = "ragtrace-scorer"
JUDGE_MARK: Final = "ragtrace.judge"

# Score names.
CONTEXT_RECALL: Final = "context_recall"
RETRIEVAL_RECALL: Final = "retrieval_recall"
CONTEXT_DELIVERY: Final = "context_delivery"
FAITHFULNESS: Final = "faithfulness"
HALLUCINATION_RATE: Final = "hallucination_rate"
CONTRADICTION_RATE: Final = "contradiction_rate"
CONTEXT_PRECISION: Final = "context_precision"
CITATION_ACCURACY: Final = "citation_accuracy"
CITATION_COVERAGE: Final = "citation_coverage"
SUFFICIENCY: Final = "sufficiency"
STRING_CONTEXT_RECALL: Final = "string_context_recall"
ID_CONTEXT_RECALL: Final = "id_context_recall"
ID_CONTEXT_PRECISION: Final = "id_context_precision"
HIT_AT_K: Final = "hit_at_k"
MRR: Final = "mrr"
NDCG_AT_K: Final = "ndcg_at_k"
ANSWER_RELEVANCY: Final = "answer_relevancy"
GRADE_CORRECTNESS: Final = "grade_correctness"
GRADE_COMPLETENESS: Final = "grade_completeness"
GRADE_RELEVANCE: Final = "grade_relevance"
GRADE_OVERALL: Final = "grade_overall"
RAG_OUTCOME: Final = "rag_outcome"
OUTCOME_SCORED: Final = "scored"
RAG_REVIEW: Final = "rag_review"
"""Band in which a call was put before people; its metadata holds the probability."""
HUMAN_SUPPORTED: Final = "human_supported"
"""What people answer: is everything in the answer supported by the passages that were received?"""

UnscoredReason = Literal[
    "no_reference",
    "reference_mismatch",
    "contexts_unknown",
    "no_contexts",
    "refusal",
    "no_answer",
    "no_claims",
    "no_labels",
    "no_citations",
    "no_embeddings",
    "language_mismatch",
    "incomplete_capture",
    "masked",
    "undecided",
    "judge_unavailable",
    "judge_reply_invalid",
    "judge_refused",
    "too_long",
    "over_budget",
    "metric_failed",
]
"""Why a metric has no number."""

PENDING_REASONS: Final[frozenset[UnscoredReason]] = frozenset({"judge_unavailable", "over_budget"})
"""Reasons that leave no mark on a call, so that it is tried again."""
