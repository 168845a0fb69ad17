"""Messages of the library: who sees them, and how they are silenced."""

import ast
import subprocess
import sys

import pytest

from tests.root import ROOT

PACKAGE = ROOT / "scalarviz"
SAY = "from scalarviz.base.messages import inform\ninform('it compiles\\x1b')\n"
IN_SENTENCE = "it compiles\\x1b\n"

# What is the output of a command, or flushes it, and no message of the library.
MAY_USE_STANDARD_ERROR = {
    "faces/cli/kernel_commands.py",
    "faces/cli/commands.py",
    "engines/wasm/compile_module.py",  # a child process, for the one that waits for it
    "base/messages.py",
    "base/interrupt.py",
}


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ("", IN_SENTENCE),
        ("import logging; logging.getLogger('scalarviz').setLevel('WARNING')\n", ""),
        (
            "import logging; logging.basicConfig(format='mine: %(message)s')\n",
            "mine: it compiles\x1b\n",
        ),
        (
            "import logging; log = logging.getLogger('scalarviz'); log.propagate = False\n"
            "log.addHandler(logging.StreamHandler())\n",
            "it compiles\x1b\n",
        ),
        ("import sys; sys.stderr = None\n", ""),
    ],
)
def test_a_message_is_shown_once_unless_it_is_silenced(before: str, shown: str) -> None:
    command = [sys.executable, "-W", "error", "-c", before + SAY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", shown)


def test_it_can_be_silenced_after_the_import_too() -> None:
    late = SAY + "import logging; logging.getLogger('scalarviz').setLevel(logging.ERROR)\n" + SAY
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, check=True)
    assert done.stderr == IN_SENTENCE


def test_no_message_of_the_library_passes_the_logger_by() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            prints = isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
            if prints or (isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.stderr"):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found == MAY_USE_STANDARD_ERROR
