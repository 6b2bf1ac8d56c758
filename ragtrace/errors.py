"""The errors that ragtrace raises.

    RagtraceError
    ├── ConfigError             a setting, file or argument is wrong: nothing was started
    ├── BackendError            Langfuse could not do what was asked
    │   ├── BackendUnavailable  no answer, a time-out, a 5xx, a rate limit: trying again may help
    │   └── BackendRejected     refused (keys, a bad request): trying again will not help
    └── JudgeError              the judge gave no verdicts
        ├── JudgeUnavailable    no answer, a time-out, a 5xx, a rate limit, an open circuit breaker
        │   └── JudgeOverBudget not asked: the token budget is spent
        ├── JudgeReplyInvalid   it answered, but not what was asked
        └── JudgeRefused        it declined, or its content filter did

Each message is one line: what is wrong, which value, and what to do.
"""


class RagtraceError(Exception):
    """Anything that ragtrace raises on purpose."""


class ConfigError(RagtraceError):
    """A setting, file or argument is wrong."""


class BackendError(RagtraceError):
    """Langfuse could not do what was asked."""


class BackendUnavailable(BackendError):
    """Langfuse did not answer, or asked to come back later."""


class BackendRejected(BackendError):
    """Langfuse refused; the same request will be refused again."""


class JudgeError(RagtraceError):
    """The judge gave no verdicts."""


class JudgeUnavailable(JudgeError):
    """The judge did not answer, or asked to come back later."""


class JudgeOverBudget(JudgeUnavailable):
    """The judge was not asked: the hour's or the run's token budget is spent."""


class JudgeReplyInvalid(JudgeError):
    """The judge answered, but not what was asked."""


class JudgeRefused(JudgeError):
    """The judge, or its provider's content filter, declined."""
