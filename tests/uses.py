"""What tests use: tokens of their syntax trees, and the tests that have them.

`.name`     an attribute
`name`      a name that is read or imported
`f(name=`   a call of f with a keyword, `f(2` with two arguments or more, `f("a"` with a string
`*(name=`   a call with a keyword of what a test gets as an argument, or of a helper that passes
            keywords on
`{"text"`   a key of a dict
`"text"`    a string; of a string also --options, #ids, keys of key=value, commands of scalarviz
`@name`     a name in a decorator, or in what a loop goes through, as in a test of all rows of a
            table; `@"text"` a string there

A use outside of a test, in a helper or a table of its file, stands for the file. A use says that
a test has the feature in hand, not that it would notice every fault of it.
"""

from __future__ import annotations

import ast
import doctest
import gc
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.features import Feature
from tests.guides import examples
from tests.root import ROOT

IN_STRINGS = re.compile(r"--?[a-z][\w-]*|#[\w-]+|[\w-]+(?==)|(?<=scalarviz )\w+|^\w+(?= )")
LONGEST = 300  # a longer string is a page or a program
ABOUT_THIS = {"features.py", "uses.py", "parity.py", "test_parity.py"}

Index = dict[str, dict[str, dict[str, None]]]  # tests by token and path


@cache
def index() -> Index:
    """The tests, by token and file."""
    found: Index = defaultdict(lambda: defaultdict(dict))
    gc.disable()  # trees have no cycles, and many nodes
    try:
        for path, code in sources():
            for unit, tokens in units(path, ast.parse(code)):
                for token in tokens:
                    found[token][path][unit] = None
    finally:
        gc.enable()
    return found


def uses_of(feature: Feature) -> list[str]:
    """The tests that use a feature: test functions before files, by the order of its tokens."""
    beside = {path for token in feature.beside for path in index().get(token, ())}
    found = [
        test
        for token in feature.uses
        for path, tests in index().get(token, {}).items()
        if re.search(feature.where, path) and (path in beside or not feature.beside)
        for test in tests
    ]
    return sorted(dict.fromkeys(found), key=lambda test: "::" not in test)


def sources() -> Iterator[tuple[str, str]]:
    """The code of tests, of lessons, and of examples in README, the guide and docstrings."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path.name not in ABOUT_THIS:
            yield named(path), path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]:
        for _, code in examples(path.read_text(encoding="utf-8")):
            yield named(path), prompted(code) if ">>> " in code else code
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield named(path), "".join(cell["source"])
    for path in sorted((ROOT / "scalarviz").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "    >>> " in text:
            yield named(path), prompted(text)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prompted(text: str) -> str:
    """The code behind the prompts of a text."""
    return "".join(each.source for each in doctest.DocTestParser().get_examples(text))


def units(path: str, tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """The tests of a file, and its other statements, with the tokens of each."""
    parts = [
        (getattr(part, "name", ""), [*ast.walk(part)])
        for node in tree.body
        for part in (node.body if isinstance(node, ast.ClassDef) else [node])
    ]
    functions = [each for _, nodes in parts for each in nodes if isinstance(each, ast.FunctionDef)]
    helpers = {each.name for each in functions if each.args.kwarg}
    for name, nodes in parts:
        is_test = name.startswith(("test_", "case_"))
        yield f"{path}::{name}" if is_test else path, {*tokens(nodes, helpers)}


def tokens(nodes: list[ast.AST], helpers: set[str]) -> Iterator[str]:
    """The tokens of the nodes of a tree; `helpers` are functions that pass keywords on."""
    given = helpers | {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        match node:
            case ast.Attribute(attr=name):
                yield f".{name}"
            case ast.Name(id=name):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]
            case ast.Constant(value=str(text)):
                yield f'"{text}"'
                if len(text) < LONGEST:
                    yield from (f'"{word}"' for word in IN_STRINGS.findall(text))
            case ast.Dict(keys=keys):
                yield from (f'{{"{key.value}"' for key in keys if isinstance(key, ast.Constant))
            case ast.Call():
                yield from of_call(node, given)
        for part in (*getattr(node, "decorator_list", ()), getattr(node, "iter", None)):
            for each in ast.walk(part) if part is not None else ():
                match each:
                    case ast.Name(id=name):
                        yield f"@{name}"
                    case ast.Constant(value=str(text)):
                        yield f'@"{text}"'


def of_call(call: ast.Call, given: set[str]) -> Iterator[str]:
    """The tokens of a call; of `partial(f, ...)` those of a call of f.

    `given` are names of functions that a test gets, or that pass keywords on.
    """
    function, args = call.func, call.args
    name = name_of(function)
    if name == "partial" and args:
        name, args = name_of(args[0]), args[1:]
    for place, arg in enumerate(args, 1):
        if isinstance(arg, ast.Starred):
            break
        yield f"{name}({place}"
    for arg in args:
        if isinstance(arg, ast.Constant):
            yield f'{name}("{arg.value}"'
    for key in call.keywords:
        yield f"{name}({key.arg}="
        if isinstance(function, ast.Name) and name in given:
            yield f"*({key.arg}="


def name_of(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))
