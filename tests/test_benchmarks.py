"""The benchmarks can be run by a Python that has what they compare, but no pytest."""

import subprocess
import sys

from tests.root import ROOT

WITHOUT = """
import sys
sys.modules["pytest"] = None
from benchmarks.__main__ import PARTS
print(len(PARTS))
"""


def test_the_benchmarks_need_no_pytest() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert int(ran.stdout or 0) > 10, ran.stderr
