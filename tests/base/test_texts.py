"""The table of texts.

Every text is used and can be filled in.
"""

import ast
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from string import Formatter

import pytest

from scalarviz.base import texts as table
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded, short
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.program import KINDS, SCALAR
from scalarviz.pages.bundle import texts_of
from tests.machine import ROOT, syntax_of

PACKAGE = ROOT / "scalarviz"
FILES = sorted(PACKAGE.rglob("*.py"))
FOLDER = Path(table.__file__).parent
ENGLISH: dict[str, str] = json.loads((FOLDER / "english.json").read_text(encoding="utf-8"))

# The tables that have texts in the table of texts itself.
ROWS = {"kinds": KINDS, "row_formulas": ROW_FORMULAS}


# The functions that look up a text, and the keys for which each one's first argument stands.
LOOKS_UP = {
    "text": ("{}",),
    "plural": ("{}.one", "{}.many"),
    "row_text": ("{}",),
    "caption_of": ("captions.{}.title", "captions.{}.formula"),
}


@dataclass(frozen=True)
class Use:
    """A use of the table: patterns of its keys, and the names of the fields that are given."""

    line: int
    function: str
    keys: list[str]
    fields: frozenset[str] | None  # None: a dict of fields is among the arguments


def uses_in(source: str) -> Iterator[Use]:
    """Each use of the table in a Python file that imports its functions."""
    if "base.texts" not in source and "caption_of" not in source:
        return
    nodes = [*ast.walk(syntax_of(source))]
    imported = [
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "scalarviz.base.texts"
        for alias in node.names
    ]
    functions = {"caption_of", *imported} & LOOKS_UP.keys()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=function)) if function in functions:
                keys = [x.format(key) for x in LOOKS_UP[function] for key in keys_of(node.args[0])]
                names = [keyword.arg for keyword in node.keywords]
                fields = None if None in names else frozenset(map(str, names))
                yield Use(node.lineno, function, keys, fields)


def keys_of(node: ast.expr) -> list[str]:
    """The patterns that a literal or an f-string can be: * stands for what is computed."""
    match node:
        case ast.Constant(value=str(key)):
            return [key]
        case ast.IfExp(body=first, orelse=second):
            return [*keys_of(first), *keys_of(second)]
        case ast.JoinedStr(values=parts):
            return ["".join(each) for each in product(*map(keys_of, parts))]
        case ast.FormattedValue(value=value):
            return keys_of(value) or ["*"]
    return []


def fields_of(words: str) -> set[str]:
    """The names of the fields of a text."""
    return {name for _, name, *_ in Formatter().parse(words) if name is not None}


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def are_of(pattern: str) -> list[str]:
    """The keys of a pattern, whose * is one part between dots."""
    wanted = re.compile(re.escape(pattern).replace(r"\*", "[^.]+"))
    return [key for key in ENGLISH if wanted.fullmatch(key)]


@cache
def uses() -> list[tuple[str, Use]]:
    return [
        (relative(path), use) for path in FILES for use in uses_in(path.read_text(encoding="utf-8"))
    ]


def test_every_key_that_is_used_exists_and_gets_its_fields() -> None:
    for file, use in uses():
        where = f"{file}:{use.line}"
        assert use.keys, f"{where}: the key must be a literal or an f-string"
        fields = set()
        for pattern in use.keys:
            matching = are_of(pattern)
            assert matching or use.function == "row_text", f"{where}: there is no {pattern}"
            fields |= {name for key in matching for name in fields_of(ENGLISH[key])}
        given = use.fields
        if use.function == "plural":
            fields.discard("count")
        if use.function != "row_text" and given is not None:
            assert given == fields, f"{where}: {use.keys} has the fields {fields}, not {given}"


def test_every_text_is_used() -> None:
    used = {key for _, use in uses() for pattern in use.keys for key in are_of(pattern)}
    scripts = [path.read_text(encoding="utf-8") for path in PACKAGE.glob("pages/web/*.js")]
    used |= texts_of("\n".join(scripts), ENGLISH).keys()
    assert ENGLISH.keys() - used == set()


def test_a_text_is_words_with_named_fields() -> None:
    for key, words in ENGLISH.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+", key), key
        assert words.strip(), key
        assert all(name.isidentifier() for name in fields_of(words)), key


def test_the_table_is_sorted_and_has_no_key_twice() -> None:
    source = (FOLDER / "english.json").read_text(encoding="utf-8")
    keys = re.findall(r'^"([^"]+)":', source, re.MULTILINE)
    assert keys == sorted(set(keys))


def test_texts_of_rows_belong_to_rows() -> None:
    for key in ENGLISH:
        if key.startswith("rows."):
            _, name, row, _ = key.split(".")
            assert row in ROWS[name], key


def test_an_unknown_key_or_field_is_a_warning_and_no_error() -> None:
    with pytest.warns(UserWarning, match=r"no\.such\.key"):
        assert text("no.such.key") == "no.such.key"
    with pytest.warns(UserWarning, match="step"):
        assert text("chart.step") == ENGLISH["chart.step"]


def test_no_text_names_a_table_of_the_code() -> None:
    meanings = [each.meaning for each in (*KINDS.values(), SCALAR)]
    assert not re.findall(
        r"\b[A-Z]+_[A-Z]+\b|ACTIVATIONS|OPERATIONS", " ".join([*ENGLISH.values(), *meanings])
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.43, "0.43"),
        (-0.5, "-0.5"),
        (0.000012, "0.000012"),
        (1.2e-7, "1.2e-7"),
        (-0.0, "0"),
        (999_999.0, "1e6"),
        (12_345.0, "12345"),
        (math.inf, "inf"),
    ],
)
def test_a_number_of_a_sentence_has_a_zero_before_the_point(value: float, words: str) -> None:
    assert rounded(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.43, ".43"),
        (-0.5, "-.50"),
        (1.234, "1.23"),
        (0.004, ".00"),
        (-0.0049, ".00"),
        (8e-5, ".00"),
        (-0.0, "0"),
        (12.34, "12.3"),
        (-123.4, "-123"),
        (12_345.6, "12,346"),
        (-4.31e27, "-4.3e27"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_a_number_of_a_cube_has_few_letters(value: float, words: str) -> None:
    assert short(value) == words


def test_fewer_digits_make_more_numbers_zero() -> None:
    assert [short(0.04, digits) for digits in (1, 2, 3)] == [".0", ".04", ".040"]
