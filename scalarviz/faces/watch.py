"""watch: show a training run in a window, a notebook or a browser."""

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
from scalarviz.scene.look import Look, LookArgs
from scalarviz.stage.render_options import RenderOptions, with_fields
from scalarviz.stage.show import NO_SWEEPS, Several, Show
from scalarviz.training.follow.following import can_be_followed, follow

INSTEAD = (
    "sv.watch(..., browser=True) shows it in a browser, also on another machine, "
    "sv.picture(..., 'net.png') and sv.record(..., 'net.mp4') write a file, "
    "and sv.page(..., 'net.html') a page that trains in a browser"
)
GONE = NO_SWEEPS | {
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
    nodes: Callable[[Any], object] | None = None,
    pin: object = None,
    browser: bool = False,
    address: str = "127.0.0.1",
    port: int | None = None,
    share: str = "look",
    **view: Unpack[LookArgs],
) -> Any:
    """Show one or several sessions in a window and train them; return the exit code.

    In a notebook, a view is shown below the running cell and returned. Training runs in the
    background: the window stays responsive, and any thread can call methods of the session.

    Args:
        show: a Session, a Show, a fitted estimator of sv.sklearn, or the name or path of a scene;
            a list of 1 to 6 of these, or a dict with names as keys, shown side by side on one
            clock; or the record of a followed training run. For a Network or a PyTorch module,
            `sv.follow(show)` is called and its result returned
        steps: number of steps after which training pauses; None (default) means no limit
        speed: steps per second, 0 for as fast as possible; None (default) means the speed of the
            Show
        keep: where and when to save the session; None (default) means not at all
        recipe: how the scene was created, so that its options can be changed in the window; for
            several sessions, a sequence with one recipe for each; by default None
        size: width and height in pixels of the window, or of the picture in a notebook; None
            (default) fits the window to the screen, and means (800, 560) in a notebook
        play: whether to start training; None (default) starts it immediately in a window, and in a
            notebook when the user presses the button; False starts paused
        tour: if True, show the ten-second tour first; by default False
        reduced_motion: if True, show no animations; by default False
        nodes: function that adds vispy visuals to the scene of the cubes. It is called with each
            new ViewBox of the picture, for example
            lambda view: Markers(pos=points, parent=view.scene). In a notebook, snapshot() draws the
            visuals. By default None
        pin: weight or neuron to pin: a Weight, its row of the bank, or a Perceptron; for several
            sessions, a list with one of these or None for each session. By default None
        browser: if True, serve a page of one session until Ctrl-C and print its URL; by default
            False
        address: address of this machine at which the page is served; by default, only this machine
            has access. Any other address, or "0.0.0.0" for all, gives others access by a token
        port: port of the page; None (default) means any free port, or if others have access, 8000
            or the next free port
        share: "look" (default) lets others watch; "control" also lets them make changes
        **view: initial view options, fields of Look

    Raises:
        InputError: if an argument is invalid.
        DisplayError: if no window can be opened; the message states what is missing.
    """
    if can_be_followed(show):
        return follow(show, show="browser" if browser else "auto")
    seen = RenderOptions(pin=cast(Any, pin)).changed(view)
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
        nodes=nodes,
        look=seen,
    )
    options.look.check_names(shown)  # before kernels are compiled or a page is served
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
    """Serve a session as a page; raise InputError if a page cannot show the session."""
    if isinstance(shown, Several):
        raise InputError(
            "a browser shows one session: pass one of them, or open a window without "
            "browser=True, or --browser"
        )
    import_module("scalarviz.pages.web_server")  # raises the error with the install command
    from scalarviz.faces.browser import serve

    return serve.watch(shown, options, address, port, share)


def shown_in(
    given: object, recipe: Recipe | Sequence[Recipe | None] | None
) -> tuple[Show | Several, Any]:
    """Return the Shows for sessions, scenes or other objects, and their Recipes.

    Raises:
        InputError: if `given` cannot be shown.
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
