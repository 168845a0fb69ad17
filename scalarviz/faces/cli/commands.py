"""The command line: `scalarviz list | watch | train | render | page | replay | ...`."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalarviz.base import __version__
from scalarviz.base.interrupt import INTERRUPTED, StoppableProgram
from scalarviz.base.messages import LONGEST_LINE, lossy_output, say, visible
from scalarviz.base.shell_commands import pasted, program
from scalarviz.errors import UnknownNameError
from scalarviz.faces.scene_file import Scene, about, answer, find, load, print_scenes, scenes

if TYPE_CHECKING:
    from typer import Typer

    from scalarviz.faces.controller.train import Autosave
    from scalarviz.stage.show import Show


# Modules that read options, draw or train are imported in functions, for fast errors and lists.

FIRST = "rgb"  # the scene of `scalarviz` alone
LINK = "link"
VERBS = {
    "watch": "Train a scene and watch it; a scene is a name, or the path of a file. "
    "Several are shown side by side.",
    "render": "Train a scene and draw it to a file: .png, .mp4 or .gif. "
    "Several are shown side by side.",
    "train": "Train a scene with a progress bar, or with plain lines outside of a terminal.",
    "page": "Write a scene as a web page that trains: one .html file, which works offline.",
}
# Option names common elsewhere, and their names here.
MEANT = {
    **dict.fromkeys(("--size", "--width", "--height", "--resolution"), "--pixels"),
    **dict.fromkeys(("--rate", "--learning-rate", "--step-size"), "--lr"),
    **dict.fromkeys(("--initialisation", "--initialization", "--initializer"), "--init"),
}
# Expected values of options, by pydantic's error type, which newer versions of typer quote.
WANTED = {"int": "a whole number, such as 8", "float": "a number, such as 0.1"}
# Removed options and commands, and their replacements.
GONE = {
    "--terminal": "--terminal was removed: `{program} train` shows a progress bar in "
    "the terminal, and `{program} watch --browser` a page in a browser",
    "--language": "--language was removed: all texts are in English",
    **dict.fromkeys(
        ("--picture", "--watch", "--networks", "--order", "--group"),
        "sweeps have no picture: `{program} sweep` prints a table of the settings, and -o runs.csv "
        "writes the runs",
    ),
    **dict.fromkeys(
        ("--folder", "--stop-at-success"),
        "sweeps keep no results in a folder and end no run early: -o runs.csv writes the runs",
    ),
    "--present": "--present was removed: F11 fills the screen, and letters grow with the window",
    "--class": "--class was removed: `{program} lessons` says what lessons lack",
    "No such command 'class'.": "class was removed: `{program} lesson -o folder` writes lessons "
    "as pages, and `python -m http.server --directory folder` serves them",
    "No such command 'collect'.": "collect was removed: a lesson page copies its answers as a link",
    "No such command 'compare'.": "compare was removed: `{program} open` shows a record, and "
    "sv.load(path).health() its faults",
}
ABOUT = "See a neural network learn."
EXAMPLES = (
    "scalarviz watch rgb",
    "scalarviz watch rgb xor",
    "scalarviz watch circle --shape spiral --hidden 16,16 --activation relu --lr 0.1",
    "scalarviz watch my-scene.py --help",
    "scalarviz train texture --save it.safetensors --autosave 60",
    "scalarviz train texture --resume it.safetensors --steps 20000",
    "scalarviz render rgb -o rgb.mp4 --steps 500 --move orbit",
    "scalarviz render 'rgb?hidden=4' 'rgb?hidden=8' -o both.png",
    "scalarviz page rgb -o rgb.html",
    "scalarviz page --playground -o playground.html",
    "scalarviz lessons",
    "scalarviz replay it.safetensors",
    "scalarviz open 'rgb?hidden=4#step=120&op=7&pin=22'",
    "scalarviz doctor",
)


def main(words: Sequence[str] | None = None) -> None:
    """Run a command line, and exit.

    Args:
        words: the arguments; None means sys.argv

    Exit codes: 0 for success, 1 for an error, 2 for an unknown name, 130 after Ctrl-C, 143 after
    SIGTERM.
    """
    is_last = words is None
    with lossy_output() if is_last else nullcontext(), StoppableProgram(last=is_last):
        obey(list(sys.argv[1:] if words is None else words))


def obey(words: Sequence[str]) -> None:
    """Run a command line; print errors of scalarviz and of scenes as sentences."""
    try:
        from scalarviz.faces.cli.command_parameters import is_completing, words_to_complete

        if not words and not is_completing():
            words = ["watch", FIRST] if sys.stdout.isatty() else ["--help"]
        application(words or words_to_complete())(words, prog_name="scalarviz")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # unexpected errors are raised again below
        told = answer(error)
        if told is None:
            raise
        first, *rest = told.lines
        frames = getattr(told, "frames", "").splitlines()
        say(f"scalarviz: {first}", *rest, *frames, file=sys.stderr)
        sys.exit(2 if UnknownNameError in (type(told), type(told.__cause__)) else 1)


def application(words: Sequence[str]) -> Typer:
    """Return a typer application with all commands; of the scenes, it loads only the named one."""
    import typer

    from scalarviz.faces.cli.command_parameters import (
        QuietCommand,
        QuietGroup,
        beginning,
        sweep_command,
    )

    class Commands(QuietGroup):
        """The group of all commands; escapes control characters in typer's errors."""

        def make_context(self, *given: Any, **more: Any) -> Any:
            with visible_errors():
                return super().make_context(*given, **more)

        def invoke(self, ctx: Any) -> Any:
            with visible_errors():
                return super().invoke(ctx)

    app = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )

    @app.callback(help=with_examples(ABOUT, *EXAMPLES))
    def options(
        version: bool = typer.Option(
            False, "--version", help="Print the version.", callback=print_version, is_eager=True
        ),
    ) -> None: ...

    def simple(name: str, help_text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        return app.command(name, help=help_text, cls=QuietCommand)

    simple("list", "List the available scenes.")(print_scenes)
    several = scenes_in(words)
    asked = words[1] if words[:1] and words[0] in VERBS and words[1:] else "-"
    for verb, help_text in VERBS.items():
        general = general_options(verb) if words in ([verb], [verb, "--help"]) else []
        group = typer.Typer(
            cls=type("SceneGroup", (QuietGroup,), {"shown": general}),
            help=help_text,
            epilog=f"scalarviz {verb} SCENE --help also lists the options of that scene.",
            no_args_is_help=True,
            subcommand_metavar="SCENE ...",
            rich_markup_mode="rich",
        )
        app.add_typer(group, name=verb)
        if verb == "page" and asked.startswith("-"):

            @group.callback(invoke_without_command=True, help=help_text)
            def _(
                playground: bool = typer.Option(
                    False, "--playground", help="Write the page in which visitors build networks."
                ),
                out: str = typer.Option(
                    "playground.html", "-o", "--out", metavar="FILE", help="Its output file: .html."
                ),
                theme: str = typer.Option("auto", metavar="NAME", help="dark, light or auto."),
            ) -> None:
                write_playground(Path(out), theme, playground=playground)

        if several and verb == words[0]:
            run = command_of_several(verb, several)
            group.command(asked, help=help_of_several(verb, several), cls=QuietCommand)(run)
        elif asked.startswith("-") or several:
            for name, path in scenes().items():
                plain = group.command(
                    name, help=about(path), cls=QuietCommand, rich_help_panel="Scenes"
                )
                plain(print_scenes)
        else:
            path = find(asked)
            run = command(verb, load(path), path.stem)
            group.command(asked, help=help_of(verb, asked, about(path)), cls=QuietCommand)(run)

    @simple("replay", "Open a saved training run.")
    def _(
        path: str = typer.Argument(
            metavar="FILE", help="A saved training run.", show_default=False
        ),
        theme: str = typer.Option("auto", metavar="NAME", help="dark, light or auto."),
        limit: int | None = typer.Option(
            None, metavar="N", help="Memory limit, in bytes, for data that the file only describes."
        ),
        branches: bool = typer.Option(
            False, "--branches", help="Show its branches side by side, up to 6."
        ),
    ) -> None:
        replay(path, theme, limit, branches=branches)

    opening = open_command() if words[:1] == ["open"] else print_scenes
    simple("open", "Open a window at the moment of a link.")(opening)
    read = typer.Argument(
        None,
        metavar="[LESSON]...",
        help="Lesson numbers, glossary, questions-before, questions-after, or .md files; default: "
        "all lessons and the glossary.",
    )

    @simple("lesson", "Write lessons as pages with text, questions and pictures that train.")
    def _(
        lessons: list[str] | None = read,
        out: str | None = typer.Option(
            None, "-o", "--out", metavar="FOLDER", help="Folder for the pages."
        ),
        without: bool = typer.Option(False, "--without-solutions", help="Leave the solutions out."),
        solutions: bool = typer.Option(
            False, "--solutions", help="Write one page with the solutions instead."
        ),
    ) -> None:
        from scalarviz.faces.cli.lessons import write_lessons

        write_lessons(lessons or (), out, without=without, solutions=solutions)

    @simple("lessons", "Copy the lessons and the guide into a folder, and open them.")
    def _(
        folder: str = typer.Argument(
            "scalarviz-lessons", metavar="[FOLDER]", help="Target folder."
        ),
    ) -> None:
        from scalarviz.faces.cli.lessons import copy_lessons

        copy_lessons(folder)

    sweeping = sweep_command() if words[:1] == ["sweep"] else print_scenes
    simple("sweep", "Train a scene under many settings and seeds.")(sweeping)

    @simple("doctor", "Check this installation, and print how to fix what is missing.")
    def _() -> None:
        from scalarviz.faces.cli.doctor import examine

        sys.exit(examine())

    @simple("warm", "Compile kernels in advance: for a class, a container, CI.")
    def _(
        engine: str = typer.Option(
            "cpu",
            metavar="NAME",
            help="cpu: all kernels; cuda: kernels of the scenes; auto: the fastest available.",
            autocompletion=beginning(["cpu", "cuda", "auto"]),
        ),
    ) -> None:
        from scalarviz.faces.cli.kernel_commands import warm

        warm(engine)

    @simple("bench", "Measure steps per second; takes about 20 seconds.")
    def _() -> None:
        from scalarviz.faces.cli.kernel_commands import measure

        measure()

    return app


@contextmanager
def visible_errors() -> Iterator[None]:
    """Reword errors that typer raises in this context, and escape control characters in them."""
    try:
        yield
    except Exception as error:  # any error of typer or click, raised again
        said = getattr(error, "message", None)
        for fault in getattr(error.__cause__, "errors", list)():
            if wanted := WANTED.get(fault["type"].partition("_")[0]):
                said = f"it takes {wanted}, not {fault['input']!r}"
        if isinstance(said, str):
            error.message = visible(said, LONGEST_LINE)  # type: ignore[attr-defined]  # it has one
        option = getattr(error, "option_name", "")
        if gone := GONE.get(option) or GONE.get(str(said)):
            error.message = gone.format(program=program())  # type: ignore[attr-defined]
            error.possibilities = []  # type: ignore[attr-defined]  # similar names
        meant = MEANT.get(option)
        command = getattr(getattr(error, "ctx", None), "command", None)
        if any(meant in each.opts for each in getattr(command, "params", ())):
            error.possibilities = [meant]  # type: ignore[attr-defined]  # as it has a name
        raise


def command(verb: str, scene: Scene, name: str) -> Callable[..., None]:
    """Return a typer command whose parameters are the options of a scene and of the verb."""
    from scalarviz.faces.cli.command_parameters import as_parameters, with_options
    from scalarviz.faces.scene_options import own_options

    own = own_options(scene)
    return with_options(
        partial(DEEDS[verb], scene, name),
        *as_parameters(own, "Options of the scene"),
        *parameters_of_every_scene(verb, own),
    )


def parameters_of_every_scene(verb: str, own: Collection[str] = ()) -> list[inspect.Parameter]:
    """Return the options that a command has for every scene, except those listed in `own`."""
    from scalarviz.faces.cli.command_parameters import as_parameters
    from scalarviz.faces.scene_options import PAGING, RENDERING, RUNNING, SHARED, WATCHING

    more = {"watch": WATCHING, "render": RENDERING, "page": PAGING}.get(verb, {})
    options = {k: v for k, v in (SHARED | RUNNING | more).items() if k in RUNNING or k not in own}
    return as_parameters(options, "Options of every scene")


def general_options(verb: str) -> list[Any]:
    """Return the options that a command has for every scene, as typer parameters."""
    import typer

    from scalarviz.faces.cli.command_parameters import with_options

    app = typer.Typer(add_completion=False)
    app.command()(with_options(lambda *given: 0, *parameters_of_every_scene(verb)))
    return list(typer.main.get_command(app).params)


def open_command() -> Callable[..., None]:
    """Return the typer command for `scalarviz open`, with its options as parameters."""
    import typer

    from scalarviz.faces.cli.command_parameters import as_parameters, beginning, with_options
    from scalarviz.faces.scene_options import RUNNING, WATCHING

    def run(given: dict[str, Any], typed: Collection[str]) -> int:
        from scalarviz.faces.cli.watch_scene import open_link, open_side_by_side

        first, *others = links = given.pop(LINK)
        return open_side_by_side(links, given) if others else open_link(first, given)

    link = typer.Argument(
        metavar="LINK...",
        help="A scene, with options after a ?, or a saved training run; after a #, the moment: "
        "step=120, op=7, pin=42, neuron=tanh 0:3, sample=2, play=10, theme=dark. Put it in quotes. "
        "Several are shown side by side.",
        show_default=False,
        autocompletion=beginning(scenes()),
    )
    names = ("steps", "save", "autosave", "keyframes", "weights", "limit")
    return with_options(
        run,
        inspect.Parameter(LINK, inspect.Parameter.KEYWORD_ONLY, annotation=list[str], default=link),
        *as_parameters({name: RUNNING[name] for name in names} | WATCHING, "Options"),
    )


def watch_scene(scene: Scene, name: str, given: Mapping[str, Any], typed: Collection[str]) -> int:
    """Open a window on a scene; return the exit code."""
    from scalarviz.faces.cli.watch_scene import watch_anywhere
    from scalarviz.faces.controller.options import Recipe

    show, keep = shown_and_kept(scene, given, typed)
    plays = None if given["resume"] is None or given["steps"] is not None else False
    general = not_own(scene, given)
    return watch_anywhere(show, general, name, keep, Recipe(scene, given), play=plays)


def train_scene(scene: Scene, name: str, given: Mapping[str, Any], typed: Collection[str]) -> int:
    """Train a scene with a progress bar; return the exit code."""
    from scalarviz.faces.controller.train import train

    show, keep = shown_and_kept(scene, given, typed, name)
    return train(show, given["steps"], keep)


def write_scene(
    verb: str, scene: Scene, name: str, given: Mapping[str, Any], typed: Collection[str]
) -> int:
    """Render a scene to a file, or write it as a page that trains; return the exit code."""
    from scalarviz.faces.cli.render_scene import render, write_page

    write = {"render": render, "page": write_page}[verb]
    show, keep = shown_and_kept(scene, given, typed)
    return write(show, not_own(scene, given), name, keep)


def write_playground(out: Path, theme: str, *, playground: bool) -> None:
    """Write the page in which visitors build networks; raise InputError without --playground."""
    from scalarviz.base.checks import require
    from scalarviz.faces.cli.render_scene import write_playground as write

    require(playground, "a page shows a scene: name one, or add --playground")
    write(load(scenes()["circle"]), out, theme)


def not_own(scene: Scene, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not specific to a scene."""
    from scalarviz.faces.scene_options import own_options

    own = own_options(scene)
    return {each: value for each, value in given.items() if each not in own or each == "steps"}


def shown_and_kept(
    scene: Scene, given: Mapping[str, Any], typed: Collection[str], name: str = ""
) -> tuple[Show, Autosave]:
    """Return the Show of a scene and its Autosave, which needs a path or a `name`."""
    from scalarviz.faces.controller.train import autosave_of
    from scalarviz.faces.scene_options import make_show

    keep = autosave_of(given, name)
    show = make_show(scene, given, typed)
    keep.check(show.session)
    return show, keep


DEEDS: Mapping[str, Callable[..., int]] = {
    "watch": watch_scene,
    "train": train_scene,
    **{verb: partial(write_scene, verb) for verb in ("render", "page")},
}


def with_examples(what: str, *examples: str) -> str:
    """Return a help text with examples, whose lines are not rewrapped."""
    return "\n".join([what, "", "\b", "Examples:", *(f"  {pasted(line)}" for line in examples)])


def help_of(verb: str, scene: str, what: str) -> str:
    """Return the help text of a scene: its description and examples."""
    start = f"scalarviz {verb} {scene}"
    return with_examples(
        what, f"{start} --steps 500 --lr 0.1", f'{start} --stop-when "loss < 0.01"'
    )


def help_of_several(verb: str, words: Sequence[str]) -> str:
    """Return the help text for a command with several scenes, with examples."""
    start = f"scalarviz {verb} {' '.join(map(shlex.quote, words))}"
    what = (
        "Several scenes side by side, on one clock. Options of one scene follow a ? after its name."
    )
    return with_examples(what, f"{start} --steps 500", f"scalarviz {verb} 'rgb?hidden=4' rgb")


def replay(path: str, theme: str, limit: int | None, *, branches: bool = False) -> None:
    """Open a saved session, or its latest branches side by side; `limit` as in `Session.load`."""
    from scalarviz.base.checks import require
    from scalarviz.faces.cli.watch_scene import watch_anywhere
    from scalarviz.stage.show import Show
    from scalarviz.training.session.session import Session

    require(
        not path.endswith(".py"),
        f"{path!r} is a scene, not a saved training run: write `{program()} watch {path}`",
    )
    session = Session.load(path, limit=limit)
    is_one = not branches or len(session.branches) == 1
    show = Show(session, title=os.path.basename(path)) if is_one else branches_of(session)
    sys.exit(watch_anywhere(show, {"theme": theme}, Path(path).stem, play=False))


def print_version(wanted: bool) -> None:
    """Print the version and exit, if `wanted`."""
    if wanted:
        say(__version__)
        sys.exit()


# `scalarviz watch rgb xor` and `scalarviz render rgb xor`: several scenes side by side.

OTHERS = "others"


@dataclass(frozen=True)
class NamedScene:
    """A scene that was named on a command line.

    Attributes:
        path: path of the scene file
        options: the options after the ?, as strings
    """

    path: Path
    options: Mapping[str, str]


def scenes_in(words: Sequence[str]) -> list[str]:
    """Return the words that name several scenes, or one scene with options."""
    if len(words) < 2 or words[0] not in ("watch", "render"):
        return []
    found = [*takewhile(lambda word: not word.startswith("-"), words[1:])]
    return found if len(found) > 1 or "?" in "".join(found) else []


def named_scenes(words: Sequence[str]) -> list[NamedScene]:
    """Return the scenes named by `words`, and their options; raise InputError for a wrong word."""
    from scalarviz.base.checks import require, shorten
    from scalarviz.faces.links import pairs_of
    from scalarviz.faces.scene_file import find

    found = []
    for word in words:
        name, _, query = word.partition("?")
        require(
            "#" not in word,
            f"scenes side by side start at step 0, and {shorten(word)} names a moment: leave out "
            "the # and everything after it",
        )
        found.append(NamedScene(find(name), dict(pairs_of(query))))
    return found


def command_of_several(verb: str, words: Sequence[str]) -> Callable[..., None]:
    """Return a typer command for several scenes; its parameters are their common options.

    Args:
        words: names of the scenes; typer passes all but the first
    """
    import typer

    from scalarviz.faces.cli.command_parameters import as_parameters, with_options
    from scalarviz.faces.scene_options import RENDERING, RUNNING, SHARED, WATCHING, own_options

    named = named_scenes(words)
    scenes = [load(each.path) for each in named]
    own = [own_options(scene) for scene in scenes]
    common = {
        name: replace(option, kind=option.kind | None, default=None)
        for name, option in own[0].items()
        if all(name in each and each[name].kind is option.kind for each in own)
    }
    more = {"watch": WATCHING, "render": RENDERING}[verb]
    general = {"steps": RUNNING["steps"]} | {k: v for k, v in more.items() if k not in common}
    shared = {name: option for name, option in SHARED.items() if name not in common}

    def run(given: dict[str, Any], typed: Collection[str]) -> int:
        from scalarviz.faces.cli.watch_scene import show_with

        del given[OTHERS]
        values = {name: given[name] for name in typed if name in common | shared}
        made = [
            show_with(scene, each.path.stem, each.options, values)
            for scene, each in zip(scenes, named, strict=True)
        ]
        names = names_of(named)
        named_shows = {name: show for name, (show, _) in zip(names, made, strict=True)}
        if verb == "watch":
            from scalarviz.faces.cli.watch_scene import watch_anywhere

            recipes = [recipe for _, recipe in made]
            return watch_anywhere(named_shows, given, "", recipe=recipes)
        from scalarviz.faces.cli.render_scene import render_several
        from scalarviz.stage.show import Several

        return render_several(Several.of(named_shows), given)

    others = typer.Argument(
        None, metavar="[SCENE]...", help="More scenes; options of one follow a ?, as in rgb?lr=1"
    )
    return with_options(
        run,
        inspect.Parameter(
            OTHERS, inspect.Parameter.KEYWORD_ONLY, annotation=list[str], default=others
        ),
        *as_parameters(common, "Options of all these scenes"),
        *as_parameters(shared | general, "Options of every scene"),
    )


def names_of(named: Sequence[NamedScene]) -> list[str]:
    """Return a unique name for each scene; it includes the options if the scene occurs twice."""
    stems = [each.path.stem for each in named]
    names: list[str] = []
    for each, stem in zip(named, stems, strict=True):
        options = ", ".join(f"{name} {value}" for name, value in each.options.items())
        name = f"{stem}, {options}" if options and stems.count(stem) > 1 else stem
        count = sum(other.partition(" (")[0] == name for other in names)
        names.append(f"{name} ({count + 1})" if count else name)
    return names


def branches_of(session: Any) -> dict[str, Any]:
    """Return a copy of a session for each of its latest branches, by branch name."""
    from scalarviz.stage.show import MOST_SESSIONS

    newest = session.branches[-MOST_SESSIONS:]
    return {f"{branch.number}. {branch.name}": session.copy(branch) for branch in newest}
