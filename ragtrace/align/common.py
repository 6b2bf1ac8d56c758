"""How far a text and a prompt are the same, character by character."""

PROBE = 32
"""Characters that must stand in the prompt before a cut beginning or end is believed."""

Found = tuple[int, int]
"""Offset in the prompt and length; length 0 where nothing was found."""
NOTHING: Found = (0, 0)


def common_prefix(text: str, prompt: str, at: int) -> int:
    """Return how many characters of `text` stand in `prompt` from `at` on."""
    if at < 0:
        return 0
    if prompt.startswith(text, at):
        return len(text)
    same, limit = 0, min(len(text), len(prompt) - at)
    while same < limit:
        size = (limit - same + 1) // 2
        if prompt.startswith(text[same : same + size], at + same):
            same += size
        else:
            limit = same + size - 1
    return same


def common_suffix(text: str, prompt: str, end: int) -> int:
    """Return how many characters of the end of `text` stand in `prompt` before `end`."""
    same, limit = 0, min(len(text), end)
    while same < limit:
        size, stop = (limit - same + 1) // 2, len(text) - same
        if prompt.endswith(text[stop - size : stop], 0, end - same):
            same += size
        else:
            limit = same + size - 1
    return same
