"""The sheet of features, tests/parity.tsv: one user-visible feature per line.

    python -m tests.parity   writes the sheet, and the names of rows listed in other files

It is only written by this script, so its difference in a commit shows added and removed features.
Removed features are in tests/gone.tsv, with the reason and the message for their users.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from typer.main import get_command

from scalarviz import errors
from scalarviz.faces.cli.commands import VERBS, application
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.scene_file import load, scenes
from scalarviz.faces.scene_options import own_options
from scalarviz.pages.page import markup_of_page
from scalarviz.scene.layout.camera import CAMERAS
from scalarviz.scene.look import DIGITS
from scalarviz.stage.commands import page_keys
from tests import listed
from tests.lessons import BLOCK, examples, lessons
from tests.machine import ROOT
from tests.public_names import parameters, public_objects
from tests.rows import TABLES, names_of

SHEET = Path(__file__).with_suffix(".tsv")
PACKAGE = ROOT / "scalarviz"
WEB = PACKAGE / "pages" / "web"

Feature = tuple[str, str]  # its kind and its name


@cache
def lines() -> set[str]:
    """Return the expected lines of the sheet."""
    return {f"{kind}\t{name}" for kind, name in features()}


def features() -> Iterator[Feature]:
    """Yield all features."""
    yield from public_names()
    for place, kind in TABLES.items():
        module, _, table = place.rpartition(".")
        for name in names_of(import_module(f"scalarviz.{module}"), table):
            yield kind, name
    yield from controls()
    yield from command_line()
    yield from of_pages()
    yield from texts_that_run()
    for name in dir(errors):
        yield "error", name
    for name in found_in(PACKAGE.rglob("*.py"), r"\bSCALARVIZ_[A-Z_]+\b"):
        yield "environment variable", name


def found_in(files: Iterable[Path], pattern: str) -> Iterator[str]:
    """Yield the matches of a pattern in files."""
    for file in files:
        yield from re.findall(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)


# ---- names ---------------------------------------------------------------------------------------


def public_names() -> Iterator[Feature]:
    """Yield public names, the parameters of callables, and the members of classes.

    Members inherited from another listed class are not repeated.
    """
    public = dict(public_objects())
    names = {found: name for name, found in public.items() if inspect.isclass(found)}
    for name, found in public.items():
        yield "name", name
        is_error = inspect.isclass(found) and issubclass(found, BaseException)
        for each in () if is_error else parameters(found):
            yield "parameter", f"{name}({each.name})"
    kinds = classes(public.values())
    for kind in kinds:
        bases = [members(each) for each in kinds if each in kind.__mro__[1:]]
        for own, member in members(kind).items():
            if not any(own in base for base in bases):
                name = f"{names.get(kind, kind.__name__)}.{own}"
                yield "member", name
                for each in parameters(member) if inspect.isfunction(member) else ():
                    yield "argument", f"{name}({each.name})"


def classes(public: Iterable[Any]) -> list[type]:
    """Return the public classes, and those returned by public names."""
    queue = [*public]
    for each in queue:  # grows in the loop
        for member in members(each).values() if isinstance(each, type) else [each]:
            queue += [kind for kind in returned(member) if kind not in queue]
    return [each for each in queue if inspect.isclass(each)]


@cache
def members(kind: type) -> dict[str, Any]:
    """Return the public members of a class by name, unwrapped, without those of other packages."""
    found = {}
    for home in reversed(kind.__mro__):
        if home.__module__.startswith("scalarviz"):
            for name, member in vars(home).items():
                function = inspect.unwrap(getattr(member, "__func__", member))
                found[name] = getattr(function, "fget", function)
            found |= dict.fromkeys([*inspect.get_annotations(home), *attributes(home)])
    return {name: member for name, member in found.items() if not name.startswith("_")}


def attributes(kind: type) -> Iterator[str]:
    """Yield the attributes that the methods of a class set."""
    for each in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))):
        match each:
            case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self")):
                yield name


def returned(member: Any) -> Iterator[type]:
    """Yield the classes of scalarviz in the return annotation of a function or property."""
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
    """Return the source modules of the names in a module, including those for type checkers."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in froms for alias in node.names}


# ---- faces ---------------------------------------------------------------------------------------


def controls() -> Iterator[Feature]:
    """Yield controls, keys and the entries of the menu File."""
    for row in (each.row for each in CONTROLS.values()):
        digits = DIGITS[: len(CAMERAS)]
        for key in digits if row.key == DIGITS else filter(None, (row.key, row.also)):
            yield "key", f"{key}: {row.name}"
        yield "control", row.name
    window = PACKAGE / "faces" / "window" / "main_window.py"
    for entry in found_in([window], r'^ +\("(\w+)", "\w+", .*\),$'):
        yield "menu File", entry


def command_line() -> Iterator[Feature]:
    """Yield commands, options and scenes."""
    for command in get_command(application(())).commands:  # type: ignore[attr-defined]  # a group
        yield "command", command
        words = [command, "rgb"] if command in VERBS else [command]
        found = get_command(application(words)).commands[command]  # type: ignore[attr-defined]  # a group
        found = found.commands["rgb"] if command in VERBS else found
        own = own_options(load(scenes()["rgb"])) if command in VERBS else {}
        for each in found.params:
            name = max(each.opts, key=len)
            if each.name not in own and name.startswith("-"):
                yield "option", f"{command} {name}"
    for scene, path in scenes().items():
        yield "scene", scene
        for name in own_options(load(path)):
            yield "option", f"{scene} --{name.replace('_', '-')}"


def of_pages() -> Iterator[Feature]:
    """Yield controls, keys and changes of pages."""
    for name in re.findall(r'<(?:button|select|input)[^>]* id="([\w-]+)"', markup_of_page()):
        yield "page control", name
    for key in page_keys()["keys"]:
        yield "page key", key.replace(" ", "Space")
    for name in found_in([WEB / "changes.js"], r'^  "?([\w ]+)"?: \{'):
        yield "page change", name


def texts_that_run() -> Iterator[Feature]:
    """Yield examples of README and the guide by heading, and lessons."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]:
        said, count = page.read_text(encoding="utf-8"), Counter[str]()
        for line, _ in examples(said):
            before = BLOCK.sub("", "\n".join(said.splitlines()[:line]))
            head = re.findall(r"^#+ (.*)", before, re.MULTILINE)[-1]
            count[head] += 1
            yield "example", f"{head}, {count[head]}"
    for path in lessons():
        yield "lesson", path.stem


if __name__ == "__main__":
    for path, text in listed.files():
        path.write_text(text, encoding="utf-8")
    SHEET.write_text("".join(f"{line}\n" for line in sorted(lines())), encoding="utf-8")
