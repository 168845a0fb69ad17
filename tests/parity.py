"""The parity sheet, tests/parity.tsv: what a user can do, one feature a line.

    python -m tests.parity             writes the sheet, and prints what tests each feature
    python -m tests.parity layer key   prints features of these kinds

A feature that is taken away keeps its line; the reason and the message that its users get follow
its name, behind tabs. Names of tests are not in the sheet: tests may move.
"""

from __future__ import annotations

import ast
import doctest
import gc
import inspect
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from scalarviz import errors
from scalarviz.base.texts import languages
from scalarviz.faces import scene_options
from scalarviz.faces.cli.commands import VERBS, application
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.scene_file import load, scenes
from scalarviz.faces.scene_options import own_options
from scalarviz.pages.page import markup_of_page
from scalarviz.scene.layout.camera import CAMERAS
from scalarviz.story.commands import DIGITS, page_keys
from tests.lessons import BLOCK, examples, lessons
from tests.machine import ROOT
from tests.public_names import parameters, public_objects
from tests.rows import TABLES, names_of
from tests.wording import GOLDEN

PACKAGE = ROOT / "scalarviz"
WEB = PACKAGE / "pages" / "web"
FACES = "tests/faces/(controller|window|notebook)/"  # folders of tests of controls and keys
OPTIONS = "SHARED", "RUNNING", "WATCHING", "RENDERING", "PAGING"  # tables of the command line


class Feature(NamedTuple):
    """A feature, and what in a test shows that it is used.

    uses    tokens of `tests.parity`, of which one suffices
    beside  tokens of which the file of the test has one, too
    where   regular expression of the test's path
    inner   whether it is a feature only if a test uses it: the package itself needs many methods
            without an underscore, which no page, lesson or test shows to users
    """

    kind: str
    name: str
    uses: tuple[str, ...]
    beside: tuple[str, ...] = ()
    where: str = ""
    inner: bool = False


def features() -> Iterator[Feature]:
    """All features."""
    yield from public_names()
    for place, kind in TABLES.items():
        module, _, table = place.rpartition(".")
        for name in names_of(import_module(f"scalarviz.{module}"), table):
            yield Feature(kind, name, (f"@{table}", f'"{name}"'))
    yield from controls()
    yield from command_line()
    yield from of_pages()
    yield from texts_that_run()
    for name in dir(errors):
        yield Feature("error", name, as_tokens(name))
    yield Feature("option", "--language", ('"--language"',))
    for name in languages():
        yield Feature("language", name, (f'"{name}"',))
    for name in {*found_in(PACKAGE.rglob("*.py"), r"\bSCALARVIZ_[A-Z_]+\b")}:
        yield Feature("environment variable", name, (f'"{name}"',))


def found_in(files: Iterable[Path], pattern: str) -> Iterator[str]:
    """What a pattern finds in files."""
    for file in files:
        yield from re.findall(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)


# ---- names ---------------------------------------------------------------------------------------


def public_names() -> Iterator[Feature]:
    """Public names, the parameters of what can be called, and the members of classes.

    What a class has from another one that is here is not listed again.
    """
    public = dict(public_objects())
    for name, found in public.items():
        yield Feature("name", name, as_tokens(name))
        if inspect.isfunction(found):
            yield from parameters_of(name, found, [name], as_tokens(name))
    made = made_by(public)
    names = {found: name for name, found in public.items() if inspect.isclass(found)}
    for kind in made:
        name, heirs = (
            names.get(kind, kind.__name__),
            [each for each in made if issubclass(each, kind)],
        )
        called = [each.__name__ for each in heirs]
        if kind in names and not issubclass(kind, BaseException):
            yield from parameters_of(name, kind, called, as_tokens(*called))
        beside = as_tokens(*called, *(way for each in heirs for way in made[each]))
        bases = [each for each in kind.__mro__[1:] if each in made]
        for own, member in members(kind).items():
            if not any(own in members(base) for base in bases):
                yield Feature("member", f"{name}.{own}", (f".{own}",), beside, inner=True)
                for each in parameters(member) if inspect.isfunction(member) else ():
                    argument = f"{name}.{own}({each.name})"
                    yield Feature(
                        "argument", argument, (f"{own}({each.name}=",), beside, inner=True
                    )


def made_by(public: Mapping[str, Any]) -> dict[type, set[str]]:
    """The public classes, and those that public names return; each with names that return it."""
    made: dict[type, set[str]] = {each: set() for each in public.values() if inspect.isclass(each)}
    queue = [*public.values()]
    for each in queue:  # which grows
        own = members(each) if inspect.isclass(each) else {each.__name__: each}
        for name, member in own.items():
            for kind in returned(member):
                if kind not in made:
                    queue.append(kind)
                made.setdefault(kind, set()).add(name)
    return made


def as_tokens(*names: str) -> tuple[str, ...]:
    """The tokens of names that are read as attributes or imported."""
    last = [name.rpartition(".")[2] for name in names]
    return (*last, *(f".{each}" for each in last))


def parameters_of(
    name: str, function: Any, called: Iterable[str], beside: tuple[str, ...]
) -> Iterator[Feature]:
    """The parameters of a function or class, which is called by one of some names."""
    ways = [each.rpartition(".")[2] for each in called]
    for place, each in enumerate(parameters(function), 1):
        uses = [f"{way}({each.name}=" for way in ways]
        if each.kind != each.KEYWORD_ONLY:
            uses += [f"{way}({place}" for way in ways]
        uses += [f"*({each.name}=", f'{{"{each.name}"', f"dict({each.name}="]
        yield Feature("parameter", f"{name}({each.name})", tuple(uses), beside)


@cache
def members(kind: type) -> dict[str, Any]:
    """The public members of a class by name, functions unwrapped; those of other packages not."""
    found = {}
    for home in reversed(kind.__mro__):
        if home.__module__.startswith("scalarviz"):
            for name, member in vars(home).items():
                function = inspect.unwrap(getattr(member, "__func__", member))
                found[name] = getattr(function, "fget", function)
            found |= dict.fromkeys([*inspect.get_annotations(home), *attributes(home)])
    return {name: member for name, member in found.items() if not name.startswith("_")}


def attributes(kind: type) -> Iterator[str]:
    """The attributes that `__init__` of a class sets."""
    classes = [node for node in tree_of(kind.__module__).body if isinstance(node, ast.ClassDef)]
    parts = [part for node in classes if node.name == kind.__name__ for part in node.body]
    for begin in parts:
        if isinstance(begin, ast.FunctionDef) and begin.name == "__init__":
            for each in ast.walk(begin):
                match each:
                    case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self")):
                        yield name


def returned(member: Any) -> Iterator[type]:
    """The classes of scalarviz in the annotation of what a function or property returns."""
    says = getattr(member, "__annotations__", {}).get("return", "")
    if inspect.isclass(member) or not getattr(member, "__module__", "").startswith("scalarviz"):
        return
    for word in re.findall(r"\w+", str(says)):
        home = imports_of(member.__module__).get(word, member.__module__)
        kind = getattr(import_module(home), word, None) if home.startswith("scalarviz") else None
        if inspect.isclass(kind) and kind.__module__.startswith("scalarviz"):
            yield kind


@cache
def imports_of(module: str) -> dict[str, str]:
    """The modules that the names of a module come from, those for type checkers too."""
    froms = [node for node in ast.walk(tree_of(module)) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in froms for alias in node.names}


@cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(inspect.getsource(import_module(module)))


# ---- faces ---------------------------------------------------------------------------------------


def controls() -> Iterator[Feature]:
    """Controls, keys and the entries of the menu File."""
    for row in (each.row for each in CONTROLS.values()):
        digits = [*DIGITS[: len(CAMERAS)]]
        keys = digits if row.key == DIGITS else filter(None, (row.key, row.also))
        of_kind = f"@{row.kind.upper()}S"
        uses: list[str] = []
        for key in keys:
            pressed = (f'press("{key}"', f".Key_{key.capitalize()}", f'@"{key}"', of_kind)
            yield Feature("key", f"{key}: {row.name}", pressed, (".press",), where=FACES)
            uses += pressed
        yield Feature("control", row.name, (f'"{row.name}"', *uses, of_kind), where=FACES)
    for entry in found_in(
        [PACKAGE / "faces" / "window" / "main_window.py"], r'^ +\("(\w+)", "\w+", .*\),$'
    ):
        yield Feature("menu File", entry, (f'@"{entry}"',), where=FACES)


def command_line() -> Iterator[Feature]:
    """Commands, options and scenes."""
    for command in get_command(application(())).commands:  # type: ignore[attr-defined]  # a group
        yield Feature("command", command, (f'"{command}"',), where="cli|scene_files|base")
        words = [command, "rgb"] if command in VERBS else [command]
        found = get_command(application(words)).commands[command]  # type: ignore[attr-defined]  # a group
        found = found.commands["rgb"] if command in VERBS else found
        own = own_options(load(scenes()["rgb"])) if command in VERBS else {}
        for each in found.params:
            name = max(each.opts, key=len)
            uses = [f'"{opt}"' for opt in (*each.opts, *each.secondary_opts)]
            uses += [f"@{table}" for table in OPTIONS if each.name in getattr(scene_options, table)]
            if each.name not in own and name.startswith("-"):
                yield Feature("option", f"{command} {name}", tuple(uses), (f'"{command}"',))
    for scene, path in scenes().items():
        yield Feature("scene", scene, ("@scenes", f'"{scene}"'))
        for name in own_options(load(path)):
            option = "--" + name.replace("_", "-")
            uses = (f'"{option}"', f'"{name}"', f"scene({name}=", f'"--no{option[1:]}"')
            yield Feature("option", f"{scene} {option}", uses, (f'"{scene}"',))


def of_pages() -> Iterator[Feature]:
    """Controls, keys and changes of pages."""
    for name in re.findall(r'<(?:button|select|input)[^>]* id="([\w-]+)"', markup_of_page()):
        yield Feature("page control", name, (f'"#{name}"', f'"{name}"'), where="tests/pages")
    for key in page_keys()["keys"]:
        name = key.replace(" ", "Space")
        yield Feature("page key", name, (f'press("{name}"', f'"{name}"'), where="tests/pages")
    for name in found_in([WEB / "changes.js"], r'^  "?([\w ]+)"?: \{'):
        yield Feature("page change", name, (f'"{name}"',), where="tests/pages")


def texts_that_run() -> Iterator[Feature]:
    """Examples of README and the guide by their headings, and lessons."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]:
        said, count = page.read_text(encoding="utf-8"), Counter[str]()
        for line, _ in examples(said):
            before = BLOCK.sub("", "\n".join(said.splitlines()[:line]))
            head = re.findall(r"^#+ (.*)", before, re.MULTILINE)[-1]
            count[head] += 1
            name = f"{head}, {count[head]}"
            yield Feature("example", name, ("@PAGES", "README"), where="tests/test_guides")
    for path in lessons():
        yield Feature("lesson", path.stem, ("@lessons",))


IN_STRINGS = re.compile(r"--?[a-z][\w-]*|#[\w-]+|[\w-]+(?==)|(?<=scalarviz )\w+|^\w+(?= )")
LONGEST = 300  # a longer string is a page or a program
ABOUT_THIS = {"parity.py", "test_parity.py"}
# What has decorators, or runs over something.
MARKED = ast.For, ast.comprehension, ast.FunctionDef, ast.ClassDef

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
        if not isinstance(node, MARKED):
            continue
        for part in (*getattr(node, "decorator_list", ()), getattr(node, "iter", None)):
            for each in ast.walk(part) if part is not None else ():
                match each:
                    case ast.Name(id=name):
                        yield f"@{name}"
                    case ast.Constant(value=str(text)):
                        yield f'@"{text}"'


def of_call(call: ast.Call, given: set[str]) -> Iterator[str]:
    """The tokens of a call; of `partial(f, ...)` and `refused(...).by(f, ...)` those of one of f.

    `given` are names of functions that a test gets, or that pass keywords on.
    """
    function, args = call.func, call.args
    name = name_of(function)
    if name in ("partial", "by") and args:
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


SHEET = Path(__file__).with_name("parity.tsv")
CHANGELOG = SHEET.parent.parent / "CHANGELOG.md"
MOST = 2  # tests that are named
# Features that no test uses, and why.
NOT_TESTED: dict[tuple[str, str], str] = {}
# Kinds that are seen or pressed, not typed: nobody asks for one by name when it is gone. Users of
# the others are answered by a sentence.
SILENT = {
    "control", "key", "menu File", "page control", "page key", "page change", "example", "lesson",
    "exhibit", "column of several",
}  # fmt: skip
# Kinds whose end CHANGELOG need not tell: many members are for the package itself.
UNTOLD = {"member", "argument", "example"}

Key = tuple[str, str]  # kind and name


class Gone(NamedTuple):
    """Why a feature was taken away, and the message that its users get; "" while it is here."""

    reason: str = ""
    sentence: str = ""


def rows_now() -> dict[Key, list[str]]:
    """The features, and what tests each."""
    found: dict[Key, list[str]] = {}
    for each in features():
        tests = uses_of(each)
        if tests or not each.inner:
            found.setdefault((each.kind, each.name), []).extend(tests)
    return dict(sorted(found.items()))


def read() -> dict[Key, Gone]:
    """The rows of the sheet."""
    rows = [line.split("\t") for line in SHEET.read_text(encoding="utf-8").splitlines()]
    return {(kind, name): Gone(*gone) for kind, name, *gone in rows}


def write(now: Collection[Key]) -> None:
    """Write the sheet; a row that is gone keeps its reason and its sentence."""
    known = {key: gone for key, gone in read().items() if gone.reason or key not in now}
    rows = {**dict.fromkeys(now, Gone()), **known}
    lines = ["\t".join([*key, *gone]).rstrip("\t") + "\n" for key, gone in sorted(rows.items())]
    SHEET.write_text("".join(lines), encoding="utf-8")


def faults(
    now: Mapping[Key, Collection[str]],
    sheet: Mapping[Key, Gone],
    said: Collection[str],
    changes: str,
) -> Iterator[str]:
    """What is wrong: `said` are the messages that tests know, `changes` is the CHANGELOG."""
    for key in sorted({*now, *sheet}):
        kind, name = key
        gone = sheet.get(key)
        if gone is None:
            wrong = "is new"
        elif key in now:
            wrong = "is here again: clear its line" if gone.reason else ""
            if bool(now[key]) == (key in NOT_TESTED):
                wrong = "is in NOT_TESTED, and tested" if now[key] else "is tested by nothing"
        elif not gone.reason:
            wrong = "is gone, or no test uses it any more: its line says why"
        elif kind not in UNTOLD and last_word(name) not in changes:
            wrong = "is gone: CHANGELOG.md says so"
        elif kind not in UNTOLD | SILENT and gone.sentence not in said:
            wrong = "is gone: its line has the message that its users get, as tests/wording.json"
        else:
            wrong = ""
        if wrong:
            yield f"{kind} {name} {wrong}"


def last_word(name: str) -> str:
    """Such as "--speed" of "watch --speed", which a line of CHANGELOG is sure to have."""
    return [name, *re.findall(r"[\w-]+", name)][-1]


def messages() -> set[str]:
    """The messages of errors that tests know."""
    known = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return {said for tests in known.values() for rows in tests.values() for said in rows}


def show(kinds: Collection[str]) -> None:
    """Print features, by kind, with tests that use each."""
    for kind, rows in groupby(rows_now().items(), key=lambda row: row[0][0]):
        listed = [(name, tests[:MOST]) for (_, name), tests in rows]
        if not kinds or kind in kinds:
            print(f"{kind}: {len(listed)}")
            for name, tests in listed:
                print(f"  {name:40}  {'  '.join(tests) or NOT_TESTED.get((kind, name), 'nothing')}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        write(rows_now())
    show(sys.argv[1:])
