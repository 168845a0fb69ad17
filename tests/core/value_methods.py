"""The block of `Value` that shows its methods to type checkers and editors, made from the table.

`python -m tests.core.value_methods` writes it to scalarviz/core/value.py.
"""

import textwrap
from pathlib import Path

from scalarviz.core import value
from scalarviz.core.formulas.arithmetic import OPERATIONS

PATH = Path(value.__file__)
BEGIN = "        # The rows of OPERATIONS without a symbol.\n"
END = "        # End of the rows.\n"


def block() -> str:
    """One line for each row that is a method of its own name."""
    rows = sorted((row for row in OPERATIONS.values() if not row.symbol), key=lambda row: row.name)
    several = [row.name for row in rows if len(row.partials) > 1]
    one = [row.name for row in rows if len(row.partials) == 1]
    names = textwrap.wrap(" = ".join(one[1:]), 80, break_long_words=False)
    lines = [f"{name}: Callable[..., Value]" for name in several]
    lines += ["", f"def {one[0]}(self) -> Value: ...", ""]
    lines += [f"{each.removesuffix(' =').removeprefix('= ')} = {one[0]}" for each in names]
    return "".join(f"        {line}".rstrip() + "\n" for line in lines)


def replaced(text: str) -> str:
    """The text of that file with this block in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + block() + END + after


if __name__ == "__main__":
    PATH.write_text(replaced(PATH.read_text(encoding="utf-8")), encoding="utf-8")
