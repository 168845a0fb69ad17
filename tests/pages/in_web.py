"""Runs the modules of the page in Node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.pages.node import run_script

SCRIPT = Path(__file__).with_name("in_web.mjs")


def in_web(modules: str, body: str, **data: Any) -> Any:
    """What the body of a JavaScript function returns.

    modules  names of modules in pages/web, separated by blanks, whose names the body knows
    data     what it finds in `data`
    """
    given = {"modules": modules.split(), "body": body, "data": data}
    return run_script(SCRIPT, given=json.dumps(given, default=as_list))


def as_list(value: object) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(type(value))


def floats(numbers: Any) -> np.ndarray:
    """Numbers from JavaScript, which has text for those that are not finite."""
    return np.array(numbers, np.float64)
