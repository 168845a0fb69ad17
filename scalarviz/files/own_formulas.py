"""Formulas of the user's own in files: a file has their names and digests, and no code.

The entry "own" of a description has, for each kind of formula, digests by name; see
`engines/own/checks.py` for what a digest is. A file without this entry uses none, or is from before
there were digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.base.messages import visible
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Description

KINDS = ("activation", "layer", "loss", "optimizer")


def rows_of(kind: str) -> Mapping[str, Any]:
    """Return the rows that there are now, by name."""
    losses: Mapping[str, Any] = {**LOSSES, **ROW_LOSSES}
    tables: list[Mapping[str, Any]] = [ACTIVATIONS, PARAMETRIC_FORMULAS, losses, OPTIMIZERS]
    return tables[KINDS.index(kind)]


def describe_own(
    activations: Iterable[str] = (),
    losses: Iterable[Any] = (),
    optimizers: Iterable[Any] = (),
    layers: Iterable[str] = (),
) -> Description:
    """Return the entry for these formulas, or {}; activations and layers by their names."""
    rows = [ACTIVATIONS[name] for name in activations if name in ACTIVATIONS]
    parametric = [PARAMETRIC_FORMULAS[name] for name in layers]
    every: list[Iterable[Any]] = [rows, parametric, losses, optimizers]
    found: Description = {}
    for kind, used in zip(KINDS, every, strict=True):
        digests = {row.name: row.digest for row in used if row.digest}
        if digests:
            found[kind] = digests
    return {"own": found} if found else {}


def check_own(description: Description) -> None:
    """Raise InputError if a formula of the user's own is not here, or is another one."""
    own = description.get("own", {})
    for kind, digests in own.items() if isinstance(own, dict) else [("", own)]:
        if kind not in KINDS or not isinstance(digests, dict):
            raise InputError(f"{shorten(digests)} are no formulas of one's own")
        rows, named = rows_of(kind), f"sv.{kind}(...)"
        for name, digest in digests.items():
            row, shown = rows.get(name), f"{kind} {visible(name)!r}"
            if row is None:
                raise InputError(
                    f"it uses the {shown} of the user's own, and a file holds no code: register it "
                    f"with {named} before loading"
                )
            if row.digest != digest:
                raise InputError(
                    f"it was made with another {shown} than the one that is registered now: "
                    f"register the former one with {named} before loading"
                )


def names_in(layers: Iterable[Description], setting: str) -> Iterator[str]:
    """Iterate over a setting, such as "activation", of described layers, and of those in them."""
    for layer in layers:
        settings = layer["settings"]
        if isinstance(settings.get(setting), str):
            yield settings[setting]
        yield from names_in(settings.get("layers", ()), setting)
