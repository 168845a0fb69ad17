"""Errors in plain words: what to click, in place of the code that an error tells to write."""

from __future__ import annotations

import re
from functools import partial

from scalarviz.base.texts import text
from scalarviz.story.names import sentence

# The parts of errors that only a programmer can follow, and the text `clicks.NAME` in the place of
# each. The named groups of a pattern are the fields of its text.
CLICKS = {
    re.compile(r"write s\.freeze\(part, False\) first"): "unfreeze",
    re.compile(
        r"lower the learning rate \(it is (?P<rate>[^)]*)\), l1 or l2, clip with clip_norm=, "
        r"or scale the data down"
    ): "lower_from",
    re.compile(
        r"lower the learning rate, clip with clip_norm=, or count such gradients as 0 with "
        r'not_finite="zero"'
    ): "lower",
    re.compile(r"write a finite number there, such as net\.bank\.value\[\d+\] = 0\.0"): "type",
    re.compile(r"pass a session of a Network"): "scene",
    re.compile(r"(?P<layer>layer \d+) is (?P<kind>\w+)\([^()]*\)"): "kind",
    re.compile(r"choose a layer before it"): "earlier_layer",
    re.compile(r"choose another layer"): "another_layer",
    re.compile(r"make one of all of them, sv\.data\.Arrays\(inputs, targets\)"): "fewer_samples",
    re.compile(r"runs on the engine cpu, as in net\.to\('cpu', precision='mixed'\)"): "on_cpu",
    re.compile(
        r"write sv\.Session\(\.\.\., metrics=\['\w+'\], every=100\)"
        r"(, with data that hold samples out)?"
    ): "unmeasured",
    re.compile(r"drop one on `scalarviz watch texture`"): "texture",
    re.compile(
        r"register (it|the former one) with sv\.\w+\(\.\.\.\) before loading"
        r"|pass it again, with data=|define that class, a subclass of sv\.Layer, before loading"
        r"|pass them with data=\(inputs, targets\), or .*"
    ): "program",
    re.compile(r"give yours another name, and make the network anew"): "program_saves",
    re.compile(
        r"pass one that scalarviz has saved(, whole)?"
        r"|make the network, and write net\.load_state_dict\(safetensors\.numpy\.load_file\("
        r"path\)\)"
    ): "saved_here",
}
WORD = re.compile(r"[a-z]+(?: |, |: |$)")  # none that is part of a name, as in "a.png"
# Options as they stand before an error about their values: "features='z', batch=3: unknown ...".
OPTIONS = re.compile(r"(?:\w+=(?:'[^']*'|[^\s',]+)(?:, |: ))+")


def without_code(message: str) -> str:
    """Return the message of an error, with what to click in place of what to write."""
    if found := OPTIONS.match(message):
        message = found[0].replace("=", " ") + message[found.end() :]
    for pattern, name in CLICKS.items():
        message = pattern.sub(partial(said, name), message)
    return message


def as_sentence(message: str) -> str:
    """Return the message of an error as a face shows it: without code, and with a capital letter.

    What begins with a name, such as that of a file, keeps its letters.
    """
    message = without_code(message)
    return sentence(message) if WORD.match(message) else message


def said(name: str, found: re.Match[str]) -> str:
    """Return the text in the place of a part of an error."""
    return text(f"clicks.{name}", **found.groupdict())
