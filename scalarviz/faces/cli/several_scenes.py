"""`scalarviz watch rgb xor` and `scalarviz render rgb xor`: several scenes side by side."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalarviz.errors import InputError, UnknownNameError

VERBS = ("watch", "render")  # that take several scenes
OTHERS = "others"
CONTEXT = "_context"
INTERRUPTED = 130


@dataclass(frozen=True)
class NamedScene:
    """A scene of a command line.

    words    how it was named, as in "rgb?hidden=4"
    path     its file
    options  its options that stand behind the ?, as texts
    """

    words: str
    path: Path
    options: Mapping[str, str]


def scenes_in(words: Sequence[str]) -> list[str]:
    """Return the words that name scenes, if a command line shows several, or one with options."""
    if len(words) < 2 or words[0] not in VERBS:
        return []
    found = []
    for word in words[1:]:
        if word.startswith("-"):
            break
        found.append(word)
    return found if len(found) > 1 or "?" in "".join(found) else []


def named_scenes(words: Sequence[str]) -> list[NamedScene]:
    """Return the scenes that some words name; raise InputError for what is none."""
    from scalarviz.base.checks import shorten
    from scalarviz.faces.scenefiles.find import find
    from scalarviz.faces.scenefiles.links import pairs_of

    found = []
    for word in words:
        name, _, query = word.partition("?")
        if "#" in word:
            raise InputError(
                f"scenes side by side begin at their start, and {shorten(word)} names a moment: "
                "leave out what follows its #"
            )
        found.append(NamedScene(word, find(name), dict(pairs_of(query))))
    return found


def command(verb: str, words: Sequence[str]) -> Callable[..., None]:
    """Return a function with the options that all the scenes have as parameters, for typer.

    words  those that name the scenes, of which typer passes all but the first
    """
    import typer

    from scalarviz.faces.cli.parameters import as_parameters, with_parameters
    from scalarviz.faces.scenefiles.find import load
    from scalarviz.faces.scenefiles.options import RENDERING, RUNNING, SHARED, WATCHING, own_options

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

    def run(**given: Any) -> None:
        given.pop(OTHERS)
        context = given.pop(CONTEXT)
        typed = {each for each in given if context.get_parameter_source(each).name != "DEFAULT"}
        shows = [
            made(scene, each, given, typed & (common | shared).keys())
            for scene, each in zip(scenes, named, strict=True)
        ]
        code = DEEDS[verb](dict(zip(names_of(named), shows, strict=True)), given)
        if code:
            sys.exit(code)

    others = typer.Argument(
        None, metavar="[SCENE]...", help="Further scenes; options of one follow a ?, as in rgb?lr=1"
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(CONTEXT, kind, annotation=typer.Context),
        inspect.Parameter(OTHERS, kind, annotation=list[str], default=others),
        *as_parameters(common, "Options of all these scenes"),
        *as_parameters(shared | general, "Options of every scene"),
    ]
    return with_parameters(run, parameters)


def made(
    scene: Callable[..., Any], named: NamedScene, given: Mapping[str, Any], typed: Collection[str]
) -> tuple[Any, Any]:
    """Return the show of a scene with its own options and those of all, and its recipe."""
    from scalarviz.faces.controller.options import Recipe
    from scalarviz.faces.scenefiles.making import as_kind, make_show
    from scalarviz.faces.scenefiles.options import RUNNING, SHARED, kind_of, own_options

    own = own_options(scene)
    known = SHARED | own
    values: dict[str, Any] = {name: given[name] for name in typed}
    for name, value in named.options.items():
        if name not in known:
            raise UnknownNameError(f"option of {named.path.stem}", name, known)
        values[name] = as_kind(value, kind_of(known[name]), name)
    chosen = {name: option.default for name, option in (RUNNING | known).items()} | values
    return make_show(scene, chosen, typed=values), Recipe(scene, chosen)


def names_of(named: Sequence[NamedScene]) -> list[str]:
    """Return different names of scenes: their own, with their options where a scene is twice."""
    stems = [each.path.stem for each in named]
    names: list[str] = []
    for each, stem in zip(named, stems, strict=True):
        options = ", ".join(f"{name} {value}" for name, value in each.options.items())
        name = f"{stem}, {options}" if options and stems.count(stem) > 1 else stem
        count = sum(other.partition(" (")[0] == name for other in names)
        names.append(f"{name} ({count + 1})" if count else name)
    return names


def branches_of(session: Any) -> dict[str, Any]:
    """Return a session for each of the newest branches of one, by the branches' names."""
    from scalarviz.stage.show import MOST_SESSIONS

    newest = session.branches[-MOST_SESSIONS:]
    return {f"{branch.number}. {branch.name}": session.copy(branch) for branch in newest}


def watch_scenes(made: Mapping[str, tuple[Any, Any]], given: Mapping[str, Any]) -> int:
    """Open a window on several scenes; return the exit code."""
    from scalarviz.faces.cli.watching import watch_anywhere

    shows = {name: show for name, (show, _) in made.items()}
    return watch_anywhere(shows, given, "", recipe=[recipe for _, recipe in made.values()])


def render_scenes(made: Mapping[str, tuple[Any, Any]], given: Mapping[str, Any]) -> int:
    """Train several scenes on one clock and draw them into a file; return the exit code."""
    from scalarviz.base.messages import say
    from scalarviz.core.formulas.formula import pick
    from scalarviz.faces.cli.render_scene import KINDS, VIDEOS, check_kind, look_of, write_video
    from scalarviz.faces.cli.train_several import steps_of, train_all
    from scalarviz.faces.scenefiles.options import RENDERING
    from scalarviz.files.atomic import check_place
    from scalarviz.stage.render import picture
    from scalarviz.stage.show import Several

    several = Several.of({name: show for name, (show, _) in made.items()})
    assert several is not None, "a dict is several"
    shown = dict(zip(several.names, several.shows, strict=True))
    chosen = {each: given.get(each, option.default) for each, option in RENDERING.items()}
    path = Path(chosen["out"] or f"{'-'.join(show.title for show in several.shows)}.png")
    kind = pick({each: each for each in KINDS}, path.suffix.lower(), "kind of file")
    if kind == ".html":
        raise InputError(f"a page shows one scene, not {len(shown)}: write a .png, .mp4 or .gif")
    check_kind(chosen, path.name, kind)
    look = look_of(chosen, kind)
    if kind in VIDEOS:
        steps = steps_of(several, given["steps"], 1)
        default = 1 if chosen["operations"] else steps
        write_video(shown, path, given["steps"] or default, chosen, look)
        return 0
    check_place(path)
    look.check(several)
    if code := train_all(several, given["steps"]):
        return code
    picture(shown, path, look=look)
    say(str(path))
    return 0


DEEDS = {"watch": watch_scenes, "render": render_scenes}
