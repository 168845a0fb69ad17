"""Every feature that a user meets, from the tables and sources that have it, and what shows a use.

What has no table is not here: operators such as `+` and calls such as `net(x)`, what a pointer does
in a picture, and what a card or an exhibit of a page contains.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from scalarviz import errors
from scalarviz.base.texts import languages
from scalarviz.faces import scene_options
from scalarviz.faces.cli.commands import VERBS, application
from scalarviz.faces.controller.controller import ALIASES, DIGITS
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.scene_file import load, scenes
from scalarviz.faces.scene_options import own_options
from scalarviz.scene.layout.camera import CAMERAS
from tests.guides import examples
from tests.lessons import lessons
from tests.public_names import parameters, public_objects
from tests.root import ROOT
from tests.rows import TABLES, names_of

PACKAGE = ROOT / "scalarviz"
WEB = PACKAGE / "pages" / "web"
FACES = (
    "tests/faces/(controller|window|notebook|terminal)/"  # folders of tests of controls and keys
)
OPTIONS = "SHARED", "RUNNING", "WATCHING", "RENDERING", "PAGING"  # tables of the command line


class Feature(NamedTuple):
    """A feature, and what in a test shows that it is used.

    uses    tokens of `tests.uses`, of which one suffices
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
    for row in CONTROLS.values():
        keys = [row.key, *(alias for alias, key in ALIASES.items() if key == row.key)]
        keys = [*DIGITS[: len(CAMERAS)]] if row.key == DIGITS else [key for key in keys if key]
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
        yield Feature("command", command, (f'"{command}"',), where="cli|terminal|scenefiles|base")
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
    for name in found_in(
        [PACKAGE / "pages" / "page.html"], r'<(?:button|select|input)[^>]* id="([\w-]+)"'
    ):
        yield Feature("page control", name, (f'"#{name}"', f'"{name}"'), where="tests/pages")
    for key in found_in([WEB / "events.js"], r'case "(.+?)"'):
        name = key.replace(" ", "Space")
        yield Feature("page key", name, (f'press("{name}"', f'"{name}"'), where="tests/pages")
    for name in found_in([WEB / "changes.js"], r"^  (\w+): \{"):
        yield Feature("page change", name, (f'"{name}"',), where="tests/pages")


def texts_that_run() -> Iterator[Feature]:
    """Examples of README and the guide by their headings, and lessons."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]:
        said, count = page.read_text(encoding="utf-8"), Counter[str]()
        for line, _ in examples(said):
            before = "\n".join(said.splitlines()[:line])
            head = re.findall(r"^#+ (.*)", before, re.MULTILINE)[-1]
            count[head] += 1
            name = f"{head}, {count[head]}"
            yield Feature("example", name, ("@PAGES", "README"), where="tests/test_guides")
    for path in lessons():
        yield Feature("lesson", path.stem, ("@lessons",))
