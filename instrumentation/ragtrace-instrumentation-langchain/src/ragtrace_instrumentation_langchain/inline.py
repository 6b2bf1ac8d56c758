"""Decide when LangChain may call our handler inline without taking an event from other handlers."""

from types import CodeType, FrameType

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler

_LLM_START = AsyncCallbackManager.on_llm_start.__code__
# By identity: a code object's hash goes over all of its code. Comprehensions have code of their own before 3.12.
_ASKING = frozenset({id(_LLM_START), *(id(c) for c in _LLM_START.co_consts if isinstance(c, CodeType))})


def would_silence_others(caller: FrameType) -> bool:
    """Tell whether other handlers miss an event if the code in this frame hears that we are inline.

    Asynchronous string models tell their start to inline handlers only, if there are any:
    https://github.com/langchain-ai/langchain/issues/39633. Where their code asks, and only there, we want to be
    treated like the others; `ahandle_event`, which then calls us all, asks again and calls us first. Where another
    inline handler silences the rest anyhow, we stay inline, so as not to be among the silenced.
    """
    if id(caller.f_code) not in _ASKING:
        return False
    frame = caller if caller.f_code is _LLM_START else caller.f_back
    manager = frame.f_locals.get("self") if frame else None
    handlers: list[BaseCallbackHandler] = getattr(manager, "handlers", [])
    return not any(
        handler.run_inline
        for handler in handlers
        if not isinstance(getattr(type(handler), "run_inline", None), property)
    )
