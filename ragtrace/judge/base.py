"""The judge protocol: what the scorer needs of anything that gives verdicts."""

from typing import Protocol

from ragtrace.model import RagCall, Verdicts


class Judge(Protocol):
    """Gives verdicts on the claims of one call's answer and reference."""

    @property
    def fingerprint(self) -> str:
        """Hash of model, prompts and protocol: numbers with different fingerprints do not mix."""
        ...

    @property
    def model(self) -> str:
        """Name that is stored with each score."""
        ...

    @property
    def is_calibrated(self) -> bool:
        """True once human labels placed this judge's threshold, or its agreement was measured."""
        ...

    async def judge(self, call: RagCall) -> Verdicts:
        """Judge the answer, and the reference where there is one, against the received passages.

        Passage numbers in the verdicts are indexes into `call.delivery.passages`. Withheld text may support
        sentences of the reference only, and is named in `Claim.withheld_evidence`.

        Raises:
            JudgeError: no verdicts, and why.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections and files; a closed judge is not used again."""
        ...
