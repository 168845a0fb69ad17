"""Run the tests closest to a change: python -m tests.nearest [FILE ...]

These are the tests that import the changed module or mirror it or its folder, its examples, changed
tests, and those that compare lists of names with the package. Without files, the changes since the
last commit are used, or, without changes, those of that commit.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.machine import ROOT

LISTS = [ROOT / "tests" / f"test_{name}.py" for name in ("parity", "public_names", "guides")]


def changed() -> list[str]:
    """Return the files that differ from the last commit; else those that it changed."""
    for command in ("status --porcelain -uall", "show --name-status --format= HEAD"):
        run = ["git", *command.split()]
        said = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found = [line.split(maxsplit=1)[1].split(" -> ")[-1] for line in said.splitlines()]
        if found:
            return found
    return []


def near_tests(path: str) -> list[Path]:
    """Return tests that import or mirror a module, its examples, and lists; or a test itself."""
    file = ROOT / path
    if not path.endswith(".py") or not file.is_file():
        return []
    if path.startswith("scenes/"):
        return [ROOT / "tests" / "scenes" / "test_scenes.py", *LISTS]
    if not path.startswith("scalarviz/"):
        return [file] if file.name.startswith("test_") else []
    module = re.escape(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    package, _, name = module.rpartition(r"\.")
    if not package:  # scalarviz itself, imported by nearly all tests
        return [file, *LISTS]
    ways = f"import {module}", f"from {module} import", f"from {package} import .*{name}"
    imports = re.compile(rf"({'|'.join(ways)})\b")
    folder = ROOT / "tests" / file.relative_to(ROOT / "scalarviz").parent
    mirrors = folder / f"test_{file.name}", folder / f"test_{folder.name}.py"
    return [
        file,
        *LISTS,
        *(
            test
            for test in sorted((ROOT / "tests").rglob("test_*.py"))
            if test in mirrors or imports.search(test.read_text(encoding="utf-8"))
        ),
    ]


def main(paths: Iterable[str]) -> int:
    """Run the tests, and stop at the first failure."""
    found = dict.fromkeys(test for path in paths for test in near_tests(path))
    if not found:
        print("No test is near to what changed: make test runs all.")
        return 0
    options = ["-q", "-x", "-n", "auto", "--maxprocesses=4", "--dist", "loadfile"]
    done = subprocess.run([sys.executable, "-m", "pytest", *options, *map(str, found)], cwd=ROOT)
    return 0 if done.returncode == 5 else done.returncode  # 5: all were slow, or no examples


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or changed()))
