"""The wording of errors stands once, in wording.txt; tests assert class and value of an error.

    def test_a_bad_step_is_refused(refused):
        refused(InputError, lambda: sv.SGD(-1.0), "-1.0")

`WORDING=write python -m pytest tests/formulas` writes the sentences of these tests into the file;
what changed there is read before it is committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scalarviz.errors import ScalarvizError

GOLDEN = Path(__file__).parent / "wording.txt"


def known() -> dict[str, str]:
    """The sentences by the tests that they belong to."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return dict(json.loads(f"[{line}]") for line in lines)


class Refused:
    """Asserts that calls are refused, by the class, the value and the wording of their errors."""

    def __init__(self, test: str) -> None:
        self.test = test
        self.count = 0

    def __call__(self, kind: type[ScalarvizError], call: Callable[[], object], value: str) -> None:
        with pytest.raises(kind) as found:
            call()
        said, key = str(found.value), f"{self.test} {self.count}"
        self.count += 1
        assert found.type is kind and value in said
        if os.environ.get("WORDING") == "write":
            write(key, said)
        assert known().get(key) == said


def write(key: str, said: str) -> None:
    """Put a sentence into the file, a line each, in the order of the tests' names."""
    rows = sorted({**known(), key: said}.items())
    text = "".join(f"{json.dumps(k)}, {json.dumps(v, ensure_ascii=False)}\n" for k, v in rows)
    GOLDEN.write_text(text, encoding="utf-8")
