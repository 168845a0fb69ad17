"""The command line: `scalarviz list`, `scalarviz watch SCENE`, `scalarviz train SCENE`.

A scene is a file with a function `scene`, called by its name in `scenes/` or by a path. The
function's parameters are the scene's options: `def scene(lr=0.5)` gives it an option `--lr`, of the
default's type. A line of the function's docstring that begins with a parameter's name is its help.
"""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalarviz.errors import InputError, ScalarvizError, UnknownNameError

# What reads options, draws and trains is imported where it is used: an error or a list is quick.
if TYPE_CHECKING:
    from typer import Typer

PACKAGE = Path(__file__).parent.parent
OPTION_TYPES = (bool, int, float, str)
VERBS = {
    "watch": "Train a scene in front of your eyes; a scene is a name, or the path of a file.",
    "train": "Train a scene and print how it goes, line by line.",
}

Scene = Callable[..., Any]
Option = tuple[Any, Any, str]  # type, default, help


def main(words: Sequence[str] | None = None) -> None:
    """Do what the words say and leave: 0 done, 1 an error of ours, 2 a word that is not known."""
    words = list(sys.argv[1:] if words is None else words)
    try:
        application(words)(words, prog_name="scalarviz")
    except ScalarvizError as error:
        print(f"scalarviz: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UnknownNameError) else 1)


def application(words: Sequence[str]) -> Typer:
    """All commands. Of the scenes, only the one that the words ask for is loaded."""
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    @app.callback(help="See a neural network learn.")
    def options(
        version: bool = typer.Option(
            False, "--version", help="Print the version.", callback=print_version, is_eager=True
        ),
    ) -> None: ...

    app.command("list", help="Print the scenes there are.")(print_scenes)
    asked = words[1] if words[:1] and words[0] in VERBS and words[1:] else "-"
    for verb, help_text in VERBS.items():
        group = typer.Typer(help=help_text, no_args_is_help=True, subcommand_metavar="SCENE ...")
        app.add_typer(group, name=verb)
        if asked.startswith("-"):
            for name, path in scenes().items():
                group.command(name, help=about(path))(print_scenes)
        else:
            path = find(asked)
            group.command(asked, help=about(path))(command(verb, load(path)))
    return app


def command(verb: str, scene: Scene) -> Callable[..., None]:
    """A function with the parameters of the scene and of the verb, for typer to make options of."""
    import typer

    from scalarviz.apps.terminal import STEPS, Training, report, watch

    own: dict[str, Option] = {"steps": (int, STEPS, "how many steps to take")}
    if verb == "watch":
        slowly = "steps a second, 0 for flat out; without it, slowly at first, then ever faster"
        own["speed"] = (float | None, None, slowly)
        own["theme"] = (str, "auto", "the terminal's background: dark, light or auto")

    def run(**given: Any) -> None:
        settings = {name: given.pop(name) for name in own}
        training = scene(**given)
        if not isinstance(training, Training):
            raise InputError(f"the scene returned {training!r}: return a Training")
        (watch if verb == "watch" else report)(training, **settings)

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=kind,
            default=typer.Option(default, help=help_text),
        )
        for name, (kind, default, help_text) in (scene_options(scene) | own).items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # for typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def scene_options(scene: Scene) -> dict[str, Option]:
    """The parameters of a scene that can be typed."""
    lines = dict(re.findall(r"^(\w+)  +(\S.*)$", inspect.getdoc(scene) or "", re.MULTILINE))
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(scene).parameters.values()
    }
    for name, default in defaults.items():
        if default is inspect.Parameter.empty:
            raise InputError(f"the scene's parameter {name!r} has no default: give it one")
    return {
        name: (type(default), default, lines.get(name, ""))
        for name, default in defaults.items()
        if type(default) in OPTION_TYPES
    }


def scenes() -> dict[str, Path]:
    """The scenes that come with the package: inside it, or beside it in a checkout."""
    folders = [PACKAGE / "scenes", PACKAGE.parent / "scenes"]
    folder = next((folder for folder in folders if (folder / "__init__.py").exists()), folders[0])
    return {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}


def find(name: str) -> Path:
    """The file of a scene, from its name or its path."""
    known = scenes()
    if name in known:
        return known[name]
    if not name.endswith(".py"):
        raise UnknownNameError("scene", name, known)
    if not Path(name).is_file():
        raise InputError(f"there is no file {name!r}: pass the path of a scene, or a name")
    return Path(name)


def load(path: Path) -> Scene:
    """The function `scene` of a file."""
    sys.path.insert(0, str(path.parent))  # it may import its neighbours, as `python FILE` lets it
    names: dict[str, Scene] = runpy.run_path(str(path))
    if not callable(names.get("scene")):
        raise InputError(
            f"{path} has no function called scene: write `def scene(lr=0.5):` and return a Training"
        )
    return names["scene"]


def about(path: Path) -> str:
    """The first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))) or ""
    return text.partition("\n")[0]


def print_scenes() -> None:
    """Print each scene's name and what it is about."""
    for name, path in scenes().items():
        print(f"{name:12} {about(path)}")


def print_version(wanted: bool) -> None:
    """Print the version and leave, if that is what is wanted."""
    if wanted:
        print(import_module("scalarviz").__version__)
        sys.exit()
