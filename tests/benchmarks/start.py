"""How long `import scalarviz` takes, and how long until a network has made its first step.

python -m tests.benchmarks.start import|first_step|python   prints seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

PROGRAMS = {
    "python": "pass",
    "import": "import scalarviz",
    "first_step": (
        "import scalarviz as sv; sv.Network([3, 8, 3], 'tanh').train_step([.1, .2, .3], [1, 0, 0])"
    ),
}

if __name__ == "__main__":
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAMS[sys.argv[1]]], check=True)
    print(json.dumps(time.perf_counter() - start))
