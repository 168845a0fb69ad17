"""RenderOptions: how pictures and videos are rendered."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

import numpy as np

from scalarviz.base.checks import answers, check_call, number, require, shorten
from scalarviz.base.checks import size as count_of
from scalarviz.base.scales import HEALTH, NAMES, SCALARS, SETTINGS, WEIGHTS
from scalarviz.core.formulas.formula import pick
from scalarviz.scene.look import Look, LookArgs
from scalarviz.stage.encoders import Frame
from scalarviz.stage.show import Several, Show
from scalarviz.stage.stages import Pin, Stages, stages_of

if TYPE_CHECKING:
    from scalarviz.scene.picture import Canvas


LARGEST = 8192  # maximum pixels along a side
PASTS = {name: name for name in (WEIGHTS, *SETTINGS)}


class RenderArgs(LookArgs, total=False):
    """The fields of RenderOptions as keyword arguments of a function."""

    size: tuple[int, int]
    ratio: float
    samples: int
    pin: Pin
    past: str


@final
@answers
@dataclass(frozen=True)
class RenderOptions(Look):
    """Options for rendering a picture; raise InputError for a value out of range.

    Attributes:
        size: width and height in logical pixels, 16 to 8192 each
        ratio: device pixels per logical pixel, 0.25 to 8
        samples: each pixel is the mean of samples x samples, 1 to 4
        pin: bank index of the weight whose arithmetic is drawn, or a Perceptron, whose sum is
            drawn; for several sessions, a list with one of these or None for each
        past: chart below the network: the "value" of all weights over time; or the "health" of the
            modules or the "scalars" of followed models; or the "names" that a network writes; also
            with "raw" (no means), "log" or "linear"; None: no chart
    """

    size: tuple[int, int] = (1280, 800)
    ratio: float = 1.0
    samples: int = 2
    pin: Pin = None
    past: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.size.tolist() if isinstance(self.size, np.ndarray) else self.size
        require(
            isinstance(given, (tuple, list)) and len(given) == 2,
            f"a picture has a width and a height, such as size=(800, 500), not {shorten(given)}",
        )
        object.__setattr__(self, "size", tuple(given))
        for pixels, what in zip(self.size, ("width", "height"), strict=True):
            require(
                16 <= count_of(pixels, f"the {what} of a picture") <= LARGEST,
                f"the {what} of a picture is 16 to {LARGEST} pixels, not {shorten(pixels)}",
            )
        require(
            0.25 <= number(self.ratio, "the ratio of a picture", 0.0) <= 8.0,
            f"the ratio of a picture is 0.25 to 8, not {shorten(self.ratio)}",
        )
        require(
            1 <= count_of(self.samples, "the samples of a picture") <= 4,
            f"a pixel has 1 to 4 samples per side, not {shorten(self.samples)}",
        )

    def check(self, show: object) -> None:
        """Raise InputError if a name or the pinned row is unknown, DisplayError without OpenGL."""
        with self.canvas():
            self.check_names(show)

    def check_names(self, show: object) -> None:
        """Raise InputError if a channel or the pinned row is unknown."""
        if replace(self, size=RenderOptions.size) != RenderOptions():
            with self.on(show):
                pass

    @contextmanager
    def on(self, show: object) -> Iterator[Stages]:
        """Yield the stages of a show with these options; they are closed after the block."""
        stage = stages_of(show, Look(theme=self.theme, camera=self.preset), reduced_motion=True)
        try:
            stage.common.silent = True
            stage.resize(*self.size)
            self.choose(stage)
            yield stage
        finally:
            stage.leave()

    def choose(self, stage: Stages) -> None:
        """Apply these options to a picture; raise InputError if the pinned row is unknown."""
        now = stage.look
        stage.take(**{k: each for k, each in self.unusual.items() if each != getattr(now, k)})
        if self.pin is not None:
            stage.pin(self.pin)  # raises InputError
        if self.past is not None:
            stage.common.curve_view.large = True
            session = stage.lead.session
            more = [SCALARS, HEALTH] if session.trainer.run.followed is not None else []
            more += [NAMES] * session.data.writes
            known = PASTS | {name: name for name in more}
            for name in str(self.past).split():
                stage.common.curve_view.choose(pick(known, name, "past"))

    def canvas(self) -> Canvas:
        from scalarviz.scene.picture import Canvas  # slow to import

        return Canvas(*self.size)


VIDEO = RenderOptions(size=(1280, 720))  # default of videos


def looked(look: RenderOptions, given: Mapping[str, Any]) -> RenderOptions:
    """Return `look` with the given fields changed; raise InputError unless it is RenderOptions."""
    require(
        isinstance(look, RenderOptions),
        f"look takes a RenderOptions, not {shorten(look)}: leave it out",
    )
    return look.changed(given)


P = ParamSpec("P")
R = TypeVar("R")
LINE = re.compile(r"^ {8}(\w+): (.*(?:\n {12,}.*)*)", re.MULTILINE)  # a field in a docstring


def with_fields(
    look: Look, gone: Mapping[str, str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function that accepts view options as `**view`.

    Its signature and docstring then list the options, with their values in `look` as defaults;
    unknown names raise UnknownNameError.

    Args:
        gone: error messages for arguments that no longer exist, by name
    """
    said: dict[str, str] = dict(LINE.findall(f"{Look.__doc__}\n{type(look).__doc__}"))
    usual = {each.name: getattr(look, each.name) for each in fields(look)}
    added = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=usual[each.name],
            annotation=each.type,
        )
        for each in fields(look)
    ]
    lines = [f"        {name}: {said.get(name, '')}; by default {usual[name]!r}" for name in usual]

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            check_call(call, args, kwargs, gone=gone or {})
            return function(*args, **kwargs)

        *own, _ = inspect.signature(function).parameters.values()
        call.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
        # Replace the line of `**view` by theirs.
        head, _, rest = (function.__doc__ or "").partition("        **view")
        call.__doc__ = head + "\n".join(lines) + rest[rest.find("\n") :]
        return call

    return decorate


def shown(given: object) -> Show | Several:
    """Return the Show of a session or the Several of a list; raise InputError for anything else."""
    if not isinstance(given, (Several, list, tuple, Mapping)):
        return Show.of(given)
    several = Several.of(given)
    return several if len(several.shows) > 1 else several.shows[0]


def drawn(canvas: Canvas, stage: Stages, look: RenderOptions) -> Frame:
    """Return the stage as rendered pixels."""
    return canvas.frame(stage.draw, look.ratio, look.samples)
