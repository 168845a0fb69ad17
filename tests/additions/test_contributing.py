"""CONTRIBUTING is short, in tables, and the files and names that it has exist."""

import re
from importlib import import_module

import pytest

from tests.root import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(\w+)` (?:in|of)\s+`((?:scalarviz|tests|docs)/[^`\s]*\.(?:py|js))`")


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


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(TEXT.splitlines()) <= 150


def test_each_addition_has_a_place_and_what_it_takes_beside_it() -> None:
    parts = TEXT.partition("## Where things go")[2].partition("\n## ")[0].split("\n\n")
    tables = [part.split("\n") for part in parts if part.startswith("|")]
    assert len(tables) >= 4
    for head, _, *rows in tables:
        assert head.endswith("| where | what comes by itself | what to write beside it |")
        for row in rows:
            _, name, place, *_, end = row.split("|")
            assert row.count("|") == head.count("|"), row
            assert name.strip() and "`" in place and end == "", row


@pytest.mark.parametrize(("name", "path"), NAMED.findall(TEXT))
def test_the_names_that_it_looks_for_in_a_file_are_there(name: str, path: str) -> None:
    assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))


ADDITIONS = """
    activation loss optimizer schedule initializer layer operator engine exhibit channel
    theme camera control key lesson scene metric condition moment caption card text error
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
    assert getattr(module, table)
