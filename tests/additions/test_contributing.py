"""The files and tables that CONTRIBUTING names exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def paths() -> list[str]:
    """The paths of the text, with a{b,c}d written out."""
    found = []
    for path in re.findall(r"`((?:scalarviz|tests|scenes|notebooks)/[^`\s]*)`", TEXT):
        head, brace, rest = path.partition("{")
        inner, _, tail = rest.partition("}")
        found += [head + part + tail for part in inner.split(",")] if brace else [path]
    return found


def test_what_it_names_is_there() -> None:
    assert [path for path in paths() if not (ROOT / path).exists()] == []


ADDITIONS = """
    activation loss optimizer schedule initializer layer operator engine exhibit channel
    theme camera control key lesson scene
""".split()


@pytest.mark.parametrize("addition", [*ADDITIONS, "data set", "kind of operation"])
def test_it_says_where_each_addition_goes(addition: str) -> None:
    assert f"**{addition}**" in TEXT


@pytest.mark.parametrize(
    ("table", "path"),
    re.findall(r"row of `([A-Z_]+)` in\s+`(scalarviz/[^`]*\.py)`", TEXT),
)
def test_the_tables_that_it_names_are_there(table: str, path: str) -> None:
    module = import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    assert len(getattr(module, table)) > 1
