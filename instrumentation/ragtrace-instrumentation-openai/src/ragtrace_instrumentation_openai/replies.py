"""Read what a model answered, from a reply that is whole or from the events of a stream."""

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Answer:
    """What was said so far."""

    pieces: list[str] = field(default_factory=list)
    model: str | None = None
    response_id: str | None = None

    @property
    def text(self) -> str | None:
        """The answer's text; None where the model said nothing, as where it calls a tool."""
        return "".join(self.pieces) or None

    def take(self, reply: object) -> None:
        """Add a whole reply, or an event of a stream, of either API."""
        self._note(reply)
        whole = getattr(reply, "response", None)
        if getattr(reply, "type", None) in ("response.completed", "response.incomplete") and whole is not None:
            self._note(whole)
            self.pieces = [whole.output_text]
        elif getattr(reply, "type", None) in ("response.output_text.delta", "response.refusal.delta"):
            self._say(getattr(reply, "delta", None))
        elif getattr(reply, "object", None) == "response":
            self._say(getattr(reply, "output_text", None))
        else:
            self._take_choice(reply)

    def _take_choice(self, reply: object) -> None:
        # Of several choices the first one counts, as it does where the program asks for one.
        choice = next((c for c in getattr(reply, "choices", None) or () if getattr(c, "index", 0) == 0), None)
        said = getattr(choice, "message", None) or getattr(choice, "delta", None)
        self._say(getattr(said, "content", None) or getattr(said, "refusal", None))

    def _note(self, reply: object) -> None:
        model, identity = getattr(reply, "model", None), getattr(reply, "id", None)
        self.model = model if isinstance(model, str) else self.model
        self.response_id = identity if isinstance(identity, str) else self.response_id

    def _say(self, text: object) -> None:
        if isinstance(text, str) and text:
            self.pieces.append(text)
