"""Failures of a GPU, such as a lost card or too little memory: one error that says what to do.

A call of the engine copies the bank back only after all its kernels have ended. So when one fails,
the bank in host memory has the numbers from before the call, and a training can go on from there on
another engine. A session may have left numbers on the GPU that are lost then: it goes back to its
last keyframe, in host memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scalarviz.errors import EngineError

MOST_SAID = 120  # characters
BEFORE = "the numbers are those from before this call"
KEYFRAME = "the session goes back to its last keyframe"
# Packages that raise the errors of a GPU, of its driver, and of the compiler and linker for it.
CARD = ("numba.cuda", "numba_cuda", "cuda.")


def is_of_the_card(error: BaseException) -> bool:
    """Whether an error was raised by what drives the GPU, and not by scalarviz or its user."""
    return isinstance(error, Exception) and type(error).__module__.startswith(CARD)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the GPU, or pinned memory for it, has no room for what was asked for."""
    return is_of_the_card(error) and "OUT_OF_MEMORY" in str(error)


def card_error(error: BaseException, kept: str = BEFORE) -> EngineError:
    """Return the error for a GPU that failed; `kept` says which numbers there are now."""
    if is_out_of_memory(error):
        return EngineError(
            f"the GPU has too little free memory for this: {kept}; use a smaller batch, end other "
            "programs that use the GPU, or go on without it by session.to('cpu') or net.to('cpu')"
        )
    said = " ".join(str(error).split())[:MOST_SAID] or type(error).__name__
    return EngineError(
        f"the GPU failed ({said}): {kept}; go on without the GPU by session.to('cpu') or "
        "net.to('cpu'), or begin a new process to use it"
    )


@contextmanager
def card_failures(kept: str = BEFORE) -> Iterator[None]:
    """Raise EngineError for a failure of the GPU in the body; see `card_error`."""
    try:
        yield
    except Exception as error:  # drivers raise errors of many kinds; others are raised again
        if not is_of_the_card(error):
            raise
        raise card_error(error, kept) from error
