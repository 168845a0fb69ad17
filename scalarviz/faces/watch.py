"""watch: shows a training in a window, a notebook or a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, ValuesView
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack, cast

from scalarviz.base.checks import require, shorten, true_or_false
from scalarviz.errors import DisplayError, InputError
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.train import Autosave
from scalarviz.faces.notebook.notebook_cells import in_marimo, in_notebook
from scalarviz.faces.scene_file import find, load
from scalarviz.faces.window.display_check import check_window
from scalarviz.scene.look import Look, LookArgs
from scalarviz.stage.render_options import RenderOptions, with_fields
from scalarviz.stage.show import Several, Show
from scalarviz.stage.sweep_look import SweepLook, sweep_look
from scalarviz.sweeps.sweep import STEPS, Sweep
from scalarviz.training.follow.following import can_be_followed, follow

INSTEAD = (
    "sv.watch(..., browser=True) shows it in a browser, also on another machine, "
    "sv.picture(..., 'net.png') and sv.record(..., 'net.mp4') write a file, "
    "and sv.page(..., 'net.html') a page that trains in a browser"
)
GONE = {
    "terminal": "sv.watch has no argument terminal=: s.advance(1000) shows a progress bar in "
    "the terminal, and sv.watch(..., browser=True) a page in a browser",
}
INSTEAD_OF_SEVERAL = "sv.picture([...], 'both.png') and sv.record([...], 'both.mp4') write a file"


@with_fields(Look(), gone=GONE)
def watch(
    show: object,
    steps: int | None = None,
    speed: float | None = None,
    keep: Autosave | None = None,
    recipe: Recipe | Sequence[Recipe | None] | None = None,
    *,
    size: tuple[int, int] | None = None,
    play: bool | None = None,
    tour: bool = False,
    reduced_motion: bool = False,
    present: bool = False,
    nodes: Callable[[Any], object] | None = None,
    pin: object = None,
    networks: str | None = None,
    order: str | None = None,
    group: str | None = None,
    against: int | None = None,
    browser: bool = False,
    address: str = "127.0.0.1",
    port: int | None = None,
    share: str = "look",
    **view: Unpack[LookArgs],
) -> Any:
    """Open a window on a session, or on several, and play; return the exit code.

    In a notebook, show it below the running cell, and return what shows it. Training runs in the
    background: the window stays responsive, and any thread may call the session meanwhile.

    Args:
        show: a Session, a Show, a fitted estimator of sv.sklearn, or the name or path of a scene;
            or 1 to 6 of them in a list, or in a dict by their names: they are shown side by side,
            on one clock; or a Sweep, which takes steps, theme, size, play, and networks to against:
            a click opens one of its networks; or the record of a followed training. A Network or a
            PyTorch module is followed, as by `sv.follow(show)`, which is returned
        steps: number of steps after which it pauses; None, the default: no limit
        speed: steps a second, 0 for as fast as possible; None, the default: the show's speed
        keep: where and when the session is saved; None, the default: nowhere
        recipe: how the scene was made, so that its options can be changed while it is shown; of
            several, one for each
        size: width and height of the window, or of the picture in a notebook, in pixels; None, the
            default: fitted to the screen, and in a notebook (800, 560), or for an audience (1080,
            756)
        play: False: start paused; None, the default: play at once in a window, and in a notebook
            when its button is pressed
        tour: True: show the tour of ten seconds first; by default False
        reduced_motion: True: no animations; by default False
        present: True: for an audience: larger letters; in a window no title, no loss, and no
            controls until the mouse is at its lower end; by default False
        nodes: puts vispy visuals of your own beside the cubes: called with the view of the picture,
            a ViewBox, whenever one is made, as by lambda view: Markers(pos=points,
            parent=view.scene); in a notebook the method snapshot() draws them; by default none
        pin: a Weight or its row of the bank, or a Perceptron, which is shown pinned in a window and
            a notebook; None, the default: none. Side by side also a list, with one or None for each
        networks: how a Sweep shows each network: as a wall of "cubes", the default, by a map of the
            plane in "maps", by "swatches" of its colors, or by its loss in "losses"
        order: column of its tables by which a Sweep orders settings and networks, such as "loss",
            or "-success" for the largest first; None, the default: settings as in the grid,
            networks as the sweep ranks them
        group: column by whose values a Sweep groups its settings; None, the default: none
        against: number of the setting with which a Sweep compares the others; None, the default:
            the best
        browser: True: serve a page of one session of a network, whose address is printed, until
            Ctrl-C; by default False
        address, port: where it is served; by default on this machine alone, at any free port. An
            address of its network, or "0.0.0.0" for all, lets others see it by a token, by default
            at port 8000, or another one if it is taken
        share: "look", the default: others only look; "control": they also change it
        **view: how it is drawn at first, fields of Look

    Raises:
        InputError: for invalid arguments, and DisplayError, which says what is missing, where no
            window can be opened.
    """
    if can_be_followed(show):
        return follow(show, show="browser" if browser else "auto")
    look = sweep_look(show, networks, order, group, against)
    seen = RenderOptions(pin=cast(Any, pin)).changed(view)
    if isinstance(show, Sweep):
        return watch_sweep(show, steps, seen.theme, size, look, play=play is not False)
    from scalarviz.faces.controller.face import WatchOptions
    from scalarviz.faces.notebook import session_display as notebook
    from scalarviz.faces.window import window

    shown, recipes = shown_in(show, recipe)
    options = WatchOptions(
        steps=steps,
        speed=speed,
        keep=keep or Autosave(),
        recipes=recipes,
        size=size,
        play=play,
        tour=tour,
        reduced_motion=reduced_motion,
        present=present,
        nodes=nodes,
        look=seen,
    )
    options.look.check_names(shown)  # before a kernel is compiled, or a page served
    if true_or_false(browser, "browser"):
        return in_browser(shown, options, address, port, share)
    if nodes is not None and not callable(nodes):
        raise InputError(
            f"nodes takes a function of the view of a window or a notebook, not {shorten(nodes)}"
        )
    if isinstance(shown, Several):
        require(not tour, "the tour shows one session, not several side by side: leave it out")
        require(
            keep is None or keep.path is None,
            "a file holds one session, not several side by side: call s.save(path) for each",
        )
    if in_notebook() or in_marimo():
        return notebook.watch(shown, options)
    try:
        return window.watch(shown, options)
    except DisplayError as lack:
        instead = INSTEAD if isinstance(shown, Show) else INSTEAD_OF_SEVERAL
        raise DisplayError(f"{lack}; without a window {instead}") from lack


def in_browser(
    shown: Show | Several, options: Any, address: str, port: int | None, share: str
) -> int:
    """Serve the page of a session; raise InputError for what no page shows."""
    if isinstance(shown, Several):
        raise InputError(
            "a browser shows one session: pass one of them, or open a window without "
            "browser=True, or --browser"
        )
    import_module("scalarviz.pages.web_server")  # says what to install
    from scalarviz.faces.browser import serve

    return serve.watch(shown, options, address, port, share)


def watch_sweep(
    sweep: Sweep,
    steps: int | None,
    theme: str,
    size: tuple[int, int] | None,
    look: SweepLook,
    *,
    play: bool,
) -> Any:
    """Open a window on a sweep, or draw it below the cell of a notebook while it trains."""
    steps = sweep.step or STEPS if steps is None else steps
    size = None if size is None else RenderOptions(size=size).size
    if in_notebook():
        from scalarviz.faces.notebook.session_display import show_sweep

        return show_sweep(sweep, steps, theme, size or (960, 600), look, play=play)
    try:
        check_window()
    except DisplayError as lack:
        raise DisplayError(
            f"{lack}; without a window sv.picture(runs, 'sweep.png') writes a file"
        ) from lack
    if play and not sweep.done:
        sweep.play(steps)  # kernels are loaded while the window opens
    try:
        from scalarviz.faces.window.sweep_window import watch_sweep

        return watch_sweep(sweep, steps, theme, size, look)
    finally:
        sweep.stop()


def shown_in(
    given: object, recipe: Recipe | Sequence[Recipe | None] | None
) -> tuple[Show | Several, Any]:
    """Return what is to be shown, and the recipes of each: of scenes, which may be given by name.

    Raises:
        InputError: for what cannot be shown.
    """
    listed = given.values() if isinstance(given, Mapping) else given
    parts: list[Any] = list(listed) if isinstance(listed, (list, tuple, ValuesView)) else [given]
    recipes = list(recipe) if isinstance(recipe, Sequence) else [recipe] * len(parts)
    for i, part in enumerate(parts):
        if isinstance(part, (str, Path)):
            path = find(str(part))
            made = recipes[i] = Recipe(load(path))
            show = made.make({})
            parts[i] = show if part is given else replace(show, title=path.stem)
    if not isinstance(given, (list, tuple, Mapping)):
        return Show.of(parts[0]), recipes
    several = Several.of(
        dict(zip(given, parts, strict=True)) if isinstance(given, Mapping) else parts
    )
    return (several if len(parts) > 1 else several.shows[0]), recipes
