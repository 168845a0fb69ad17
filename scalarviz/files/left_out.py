"""Samples that a run file leaves out: a digest tells whether the same ones are given again."""

from __future__ import annotations

import hashlib
from typing import cast

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.data import Arrays, DataSet
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Description

ARRAYS = ("inputs", "targets")
KEPT = ("classes", "standardize", "input_names", "output_names")  # settings that are no samples
SHA = " SHA-256"  # after the name of an array


def digest(data: Arrays) -> Description:
    """Return what tells a data set of arrays from others: sizes, types, hashes and order."""
    settings = data.settings()
    tables = {name: settings[name].reshape(len(settings[name]), -1) for name in ARRAYS}
    return {
        **{
            name: f"{' x '.join(map(str, each.shape))} {each.dtype}"
            for name, each in tables.items()
        },
        "held_out": f"{settings.get('held_out', 0)} samples",
        "order": data.order,
        **{name + SHA: hash_of(table) for name, table in tables.items()},
    }


def hash_of(table: FloatArray) -> str:
    """Return the SHA-256 of the numbers of an array, in hexadecimal digits."""
    return hashlib.sha256(table.data).hexdigest()


def given_again(given: object, saved: Description) -> Arrays:
    """Return the data set `given` if it has the digest `saved`; raise InputError otherwise."""
    if not isinstance(given, DataSet) or not given.is_given:
        what = "" if given is None else f", and not {type(given).__name__}"
        sizes = " and ".join(f"{name} {plain(saved.get(name))}" for name in ARRAYS)
        raise InputError(
            f"it was saved without its samples: pass them with data=(inputs, targets), or the same "
            f"sv.data.Arrays, which has {sizes}{what}"
        )
    arrays = cast("Arrays", given)
    for name, mine in digest(arrays).items():
        if mine == saved.get(name):
            continue
        if name.endswith(SHA):
            raise InputError(
                f"the {name.removesuffix(SHA)} of the data passed have other numbers than those it "
                "was trained on, or another order: pass the same data"
            )
        raise InputError(
            f"the data passed has {name} {mine}, and it was trained on {name} "
            f"{plain(saved.get(name))}: pass the same data"
        )
    return arrays


def plain(saved: object) -> str:
    """Return a text of a digest for a message."""
    return shorten(saved).strip("'")
