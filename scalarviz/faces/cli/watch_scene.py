"""`scalarviz watch` and `open`: open a window; without a screen, write pages and a picture.

`open` shows the moment that a link refers to.
"""

from __future__ import annotations

import os
import os.path
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from inspect import signature
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalarviz.base.checks import require, shorten
from scalarviz.base.interrupt import INTERRUPTED, Stop
from scalarviz.base.limits import check_losses
from scalarviz.base.messages import say
from scalarviz.base.processes import has_display
from scalarviz.base.progress import Progress
from scalarviz.base.shell_commands import program
from scalarviz.base.texts import plural, text
from scalarviz.errors import DisplayError, InputError, ScalarvizError, UnknownNameError
from scalarviz.faces import watch as faces
from scalarviz.faces.cli.link_changes import with_changes
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.precompile import load_kernels
from scalarviz.faces.controller.train import (
    Autosave,
    autosave_of,
    end_of,
    take_steps,
    train,
    train_all,
)
from scalarviz.faces.links import Link, read_link, scene_of
from scalarviz.faces.scene_file import Scene, load, scenes
from scalarviz.faces.scene_options import (
    LOOK,
    RUNNING,
    SHARED,
    WATCHING,
    as_kind,
    kind_of,
    made_again,
    make_show,
    own_options,
)
from scalarviz.files.atomic import replace_file
from scalarviz.pages.addresses import is_loopback, listening, numeric, seen_by_others, url_of
from scalarviz.pages.page import page_of
from scalarviz.pages.plain_pages import INDEX, index_of
from scalarviz.scene.look import AUTO, Look
from scalarviz.stage.background import Portions
from scalarviz.stage.curves import earlier_losses
from scalarviz.stage.encoders import chunk, png
from scalarviz.stage.render import picture
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several, Show
from scalarviz.story.facts import Neuron
from scalarviz.training.follow.followed_session import RecordedRun
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import one_row

if TYPE_CHECKING:
    from scalarviz.pages.web_server import PageServer

# Options passed to `watch`.
PASSED = [each for each in ("steps", *WATCHING) if each in signature(faces.watch).parameters]
ENDS = {".html": 0, ".png": 12}  # bytes at the end of a file that follow its signature: IEND


def watch_anywhere(
    shown: Any,
    given: Mapping[str, Any],
    name: str,
    keep: Autosave | None = None,
    recipe: Any = None,
    **more: Any,
) -> int:
    """Open a window; without a screen, train and write files instead; return the exit code.

    Args:
        shown: a Show, or a dict of several by name
        given: options of WATCHING, and steps
        name: name of the scene, used for file names
        keep: autosave of the session
        recipe: argument for `watch`
        more: other arguments for `watch`

    Raises:
        DisplayError: if the display is lost while the window is open.
    """
    has_option = "browser" in given
    given = {each: option.default for each, option in (RUNNING | WATCHING).items()} | dict(given)
    look = RenderOptions(**{each: given[each] for each in PASSED if hasattr(RenderOptions, each)})
    several = shown if isinstance(shown, Mapping) else {name: shown}
    shows = {each: Show.of(show) for each, show in several.items()}
    for show in shows.values():  # before any output
        end_of(show, given["steps"])
    plays, keep = more.get("play") is not False, keep or Autosave()
    more = {each: given[each] for each in PASSED} | {"keep": keep, "recipe": recipe} | more
    address = given["address"] or "127.0.0.1"
    if given["browser"]:
        more |= {"address": address, "share": "control" if given["control"] else "look"}
        return int(faces.watch(shown, **more))
    if given["serve"] or given["address"]:
        with served(address, given["port"]) as server:
            pages, code = in_files(shows, given, keep, look, plays=plays)
            return code or until_ctrl_c(server, pages, address)
    clocks = [show.session.clock for show in shows.values()]
    try:
        return int(faces.watch(shown, **more))
    except DisplayError as error:
        if clocks != [show.session.clock for show in shows.values()]:
            raise
        say(text("watch.without" if plays else "watch.at_rest", lack=error.__cause__ or error))
        if len(shows) == 1 and (has_option or not plays):
            say(text("watch.browser" if has_option else "watch.open", program=program()))
        return in_files(shows, given, keep, look, plays=plays)[1]


def served(address: str, port: int | None) -> PageServer:
    """Return a server that prints visitors; raise InputError if it cannot listen at the address."""
    from scalarviz.pages.web_server import PageServer

    return PageServer(
        listening(address, port), lambda who, page: say(text("serve.came", who=who, page=page))
    )


def until_ctrl_c(server: PageServer, pages: Mapping[str, bytes], address: str) -> int:
    """Print the URL of pages, and serve them until Ctrl-C; return the exit code."""
    if is_loopback(address):
        say(text("serve.here", url=url_of(numeric(address), server.port)), text("serve.open"))
    elif seen := seen_by_others(address):
        say(text("serve.network", url=url_of(seen, server.port)))
    else:
        say(text("serve.no_network"))
    say(text("serve.end"))
    try:
        server.start(pages)
        server.wait()
    except KeyboardInterrupt:
        say(plural("serve.ended", len({visitor for visitor, _ in server.visitors})))
    return INTERRUPTED


def in_files(
    shows: Mapping[str, Show],
    given: Mapping[str, Any],
    keep: Autosave,
    look: RenderOptions,
    *,
    plays: bool,
) -> tuple[dict[str, bytes], int]:
    """Write pages of the initial state, train, and write a picture; return pages and exit code.

    A file that cannot be created is skipped, and the reason is printed.
    """
    code, (one, *others) = 0, shows.values()
    several = Several.of(shows) if others else None
    look.check_names(several or one)
    places, image = free_places(list(shows))
    pages: dict[str, bytes] = {}
    for place, show in zip(places, shows.values(), strict=True):
        paced = replace(show, speed=given["speed"] or show.speed)
        if page := written(place, partial(page_text, paced, look)):
            pages[place.name] = page
        if plays:
            load_kernels(show.session)
    if several is not None:
        code = train_all(several, given["steps"])
    elif plays:
        code = train(one, given["steps"], keep)
    if pages:
        say(text("watch.pages", names=", ".join(pages)))
    if code:
        return pages, code
    drawn = written(image, lambda: png(picture(shows if others else one, look=look)))
    if drawn:
        say(text("watch.picture", name=image.name))
    if pages and has_browser():
        webbrowser.open(Path(next(iter(pages))).resolve().as_uri())
    start = index_of(pages) if others else next(iter(pages.values()), b"")
    return {**pages, INDEX: start}, int(not (pages or drawn))


def page_text(show: Show, look: Look) -> bytes:
    return page_of(show, theme=None if look.theme == AUTO else look.theme).text


def written(place: Path, make: Callable[[], bytes]) -> bytes:
    """Write the result of `make` to a file and return it; on failure print why and return b""."""
    try:
        content = make()
        replace_file(place, signed(content, place.suffix))
    except ScalarvizError as error:
        say(text("watch.left_out", name=place.name, why=error.lines[0]))
        return b""
    return content


def free_places(names: list[str]) -> tuple[list[Path], Path]:
    """Return paths for pages and their picture that overwrite no files of the user."""
    stems = [name.replace(os.sep, "-") for name in names]
    for i in count(1):
        end = "" if i == 1 else f"-{i}"
        pages = [Path(f"{stem}{end}.html") for stem in stems]
        image = Path(f"{'-'.join(stems)}{end}.png")
        if all(not os.path.lexists(each) or is_own(each) for each in [*pages, image]):
            if i > 1:
                say(text("watch.others", name=f"{stems[0]}.html", new=pages[0].name))
            break
    return pages, image


def signed(content: bytes, kind: str) -> bytes:
    """Return the content of a file with an added comment that contains its origin and digest."""
    words = b"scalarviz watch " + sha256(content).hexdigest().encode()
    mark = b"<!-- " + words + b" -->\n" if kind == ".html" else chunk(b"tEXt", b"Comment\0" + words)
    cut = len(content) - ENDS[kind]
    return content[:cut] + mark + content[cut:]


def is_own(place: Path) -> bool:
    """Return whether a file was written by `scalarviz watch` and has not been edited since."""
    if not place.is_file() or place.is_symlink():
        return False
    try:
        found = place.read_bytes()
    except OSError:  # not accessible for this user
        return False
    length = len(signed(b"", place.suffix))
    cut = len(found) - ENDS[place.suffix]
    return cut >= length and signed(found[: cut - length] + found[cut:], place.suffix) == found


def has_browser() -> bool:
    """Return whether there is a graphical browser, since a page cannot train in a text browser."""
    if sys.platform == "linux" and not has_display() and not os.environ.get("BROWSER"):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


# Open a window at the moment of a link.


def open_side_by_side(links: Sequence[str], given: Mapping[str, Any]) -> int:
    """Open one window with several scenes or files side by side; return the exit code."""
    shows: dict[str, Show] = {}
    for words in links:
        link = read_link(words)
        require(
            not link.names_moment,
            f"sessions side by side start at their own positions: leave out #{link.fragment}",
        )
        shows[unused(Path(link.target).stem, shows)] = opened(link, given)[0]
    return watch_anywhere(shows, given, "-".join(shows), play=True)


def unused(name: str, names: Mapping[str, Any]) -> str:
    """Return a name, with a number appended if it is already used."""
    return next(each for i in count(1) if (each := name if i == 1 else f"{name} {i}") not in names)


def open_link(words: str, given: Mapping[str, Any]) -> int:
    """Open a window at the moment that a link refers to; return the exit code.

    Args:
        words: the link
        given: options of WATCHING and of `keep_of`, and the options steps and limit

    Raises:
        InputError: if the link is invalid.
    """
    link = read_link(words)
    show, recipe = opened(link, given)
    keep = autosave_of(given)
    keep.check(show.session)
    pinned = pinned_by(show.session, link)
    if not go_to_moment(show.session, link, keep):
        say(text("open.stopped", step=show.session.step_index))
        return INTERRUPTED
    if link.sample is not None:
        show.session.focus = link.sample
    speed = link.play if given["speed"] is None else given["speed"]
    plays = (
        link.play is not None
        or given["speed"] is not None
        or not (link.names_moment or link.changes)
    )
    # Typed options override the link.
    of_link = {k: v for k, v in link.look.items() if given[k] == LOOK[k].default}
    chosen = {**given, "speed": speed, **of_link}
    return watch_anywhere(
        show, chosen, Path(link.target).stem, keep, recipe, play=plays, pin=pinned
    )


def opened(link: Link, given: Mapping[str, Any]) -> tuple[Show, Recipe | None]:
    """Return the Show for a link, and the Recipe of a scene; raise InputError if it is invalid."""
    target = link.target
    for sentence in link.bad:
        say(sentence)
    if target in scenes():
        show, recipe = show_with(load(scenes()[target]), target, link.options)
        if link.weights is not None:
            show.session.network.bank.value[:] = link.weights
            show = replace(show, session=made_again(show.session, {}))
        if link.changes:
            session = with_changes(show.session, link.changes, lambda now: show_of(now).session)
            show = replace(show_of(link.changes[-1].settings), session=session)
        return show, None if link.changes or link.weights is not None else recipe
    if target.lower().endswith(".py"):
        raise InputError(
            f"a link opens scenes of the package and saved training runs, but {shorten(target)} "
            f"is code: if you trust it, write `{program()} watch` and its path"
        )
    if "://" in target or target.startswith(("//", "\\\\")):
        raise InputError(f"a link opens files on this machine, not {shorten(target)}")
    if not os.path.isfile(target):
        if os.path.basename(target) == target and "." not in target:
            raise UnknownNameError("scene", target, scenes())
        raise InputError(f"file not found: {shorten(target)}: pass a scene or a saved training run")
    require(
        not link.options,
        f"{shorten(target)} is a file and takes no options: leave out the ? and "
        "everything after it",
    )
    session = Session.load(target, limit=given["limit"])
    run = session.trainer.run
    if isinstance(run, RecordedRun) and not run.followed.record.is_done:
        session.seek(session.current_branch.end.step)  # its latest moment
    return replace(Show.of(session), title=os.path.basename(target)), None


def show_of(settings: Mapping[str, Any]) -> Show:
    """Return the Show of a network that was built in a playground."""
    name, options = scene_of(settings)
    return show_with(load(scenes()[name]), name, options)[0]


def show_with(
    scene: Scene, name: str, texts: Mapping[str, str], values: Mapping[str, Any] | None = None
) -> tuple[Show, Recipe]:
    """Return the Show of a scene and its Recipe; raise InputError for an unknown option.

    Args:
        name: name of the scene, for error messages
        texts: options given after a ? in a link or on a command line
        values: other options by name
    """
    known = SHARED | own_options(scene)
    chosen = dict(values or {})
    for option, words in texts.items():
        if option not in known:
            raise UnknownNameError(f"option of {name}", option, known)
        chosen[option] = as_kind(words, kind_of(known[option]), option)
    return make_show(scene, chosen, typed=chosen), Recipe(scene, chosen)


def pinned_by(session: Session, link: Link) -> int | Neuron | None:
    """Return the neuron or weight that a link pins; raise InputError if it does not exist."""
    if link.neuron is not None:
        buffers = {each.name: each for each in session.network.program.buffers}
        buffer, place = link.neuron
        if buffer not in buffers or place >= buffers[buffer].size:
            raise InputError(f"the network has no neuron {shorten(f'{buffer}:{place}')}")
        return link.neuron
    return None if link.pin is None else one_row(session.network, link.pin)


def go_to_moment(session: Session, link: Link, keep: Autosave) -> bool:
    """Go to the moment of a link; return False if Ctrl-C was pressed before it was reached.

    Steps that are not trained yet are trained, with a progress bar. Raises InputError if the step
    does not have the requested operation.
    """
    step = session.step_index if link.step is None and link.operation else link.step
    if step is not None and link.changes:
        step -= len(earlier_losses(session))
    if step is not None:
        check_losses(step)
        session.seek(min(step, session.current_branch.end.step))
        with Stop() as stop, Progress(step - session.step_index) as bar:
            take_steps(Portions(session), step, keep, stop, bar)
        if stop.asked:
            return False
    if link.operation:
        count = len(session.operations)
        require(
            link.operation <= count,
            f"a step has {count} operations here, not {link.operation:,}",
        )
        session.advance(link.operation, "operation")
    if step is not None:
        with session.doing():  # the user's actions at this moment
            timeline = session.timeline
            actions = timeline.branch.actions_at(timeline.clock.place)
            timeline.go(timeline.clock._replace(actions=len(actions)))
    return True
