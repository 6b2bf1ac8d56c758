"""Everything that goes to and comes from Langfuse."""

from ragtrace.langfuse.api import LangfuseApi, Project, Server, open_langfuse
from ragtrace.langfuse.border import TooLarge
from ragtrace.langfuse.connection import Connection, RetryPolicy
from ragtrace.langfuse.observations import CallQuery, FetchedBatch
from ragtrace.langfuse.scores import ScoreQuery, StoredScore
from ragtrace.langfuse.write import OutgoingScore, ScoreRecord, WriteReceipt

__all__ = [
    "CallQuery",
    "Connection",
    "FetchedBatch",
    "LangfuseApi",
    "OutgoingScore",
    "Project",
    "RetryPolicy",
    "ScoreQuery",
    "ScoreRecord",
    "Server",
    "StoredScore",
    "TooLarge",
    "WriteReceipt",
    "open_langfuse",
]
