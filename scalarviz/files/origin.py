"""Where a session came from, in a run file: the change of the network and its moment, as a text."""

from __future__ import annotations

from scalarviz.base.checks import shorten, size
from scalarviz.base.messages import visible
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Description
from scalarviz.files.networks import field
from scalarviz.training.session.timeline import Origin

LONGEST = 200  # characters of the description


def describe_origin(origin: Origin | None) -> Description:
    """Return where a session came from, as an entry of the description of a run."""
    if origin is None:
        return {}
    return {"origin": {"did": origin.did, "step": origin.step, "operation": origin.operation}}


def read_origin(description: Description) -> Origin | None:
    """Return where a session came from, without that session; raise InputError if malformed."""
    if "origin" not in description:
        return None
    value = field(description, "origin", dict)
    did = field(value, "did", str)
    if len(did) > LONGEST:
        raise InputError(f"its origin {shorten(did)} is longer than {LONGEST} characters")
    step, operation = (size(field(value, name, int), name, 0) for name in ("step", "operation"))
    return Origin(visible(did, LONGEST), step, operation)
