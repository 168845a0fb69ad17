"""Completion in shells: what they pass, and how they want to have what can follow.

A shell asks by running the command again, with the line so far in environment variables.
"""

from __future__ import annotations

import os

from scalarviz.faces.scenefiles.find import scenes

SHELL = "_SCALARVIZ_COMPLETE"
BASH = "complete_bash"


def is_completing() -> bool:
    """Return whether a shell asks what can follow."""
    return SHELL in os.environ


def words_to_complete() -> list[str]:
    """Return the typed words up to a known scene, for shell completion."""
    if not is_completing():
        return []
    join_values()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    words = line.split()[1:3]
    return words if words[:1] == ["open"] or (len(words) == 2 and words[1] in scenes()) else []


def join_values() -> None:
    """Write `--name = value`, as bash splits `--name=value`, as two words."""
    words, count = os.environ.get("COMP_WORDS", "").split(), os.environ.get("COMP_CWORD", "")
    if os.environ[SHELL] != BASH or not count.isdecimal():
        return
    typed = words[: int(count) + 1]
    kept = [
        word
        for before, word in zip(["", *typed], typed, strict=False)
        if word != "=" or not before.startswith("--")
    ]
    after = int(typed[-1:] == ["="] and len(kept) < len(typed))  # nothing of the value is typed
    os.environ["COMP_WORDS"] = "\n".join(kept)
    os.environ["COMP_CWORD"] = str(int(count) - (len(typed) - len(kept)) + after)


def in_shell(name: str) -> str:
    """Return a name as the shell that asks wants it: bash takes a space for the end of a word."""
    return name.replace(" ", "\\ ") if os.environ.get(SHELL) == BASH else name
