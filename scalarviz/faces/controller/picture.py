"""PictureProtocol: what a controller and a window need of a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.pictures.presenter.curve_view import CurveView
from scalarviz.pictures.presenter.handles import Handle
from scalarviz.pictures.presenter.own_input import Grip
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.view.charts import Chart
from scalarviz.pictures.view.frame_data import Work
from scalarviz.training.session.caption import Neuron
from scalarviz.training.session.here import Here


class PictureProtocol(Protocol):
    """The stage: a training's picture, its camera, and what it shows."""

    show: Show
    theme: str  # "dark" or "light"
    pinned: int | None  # a bank index
    pinned_neuron: Neuron | None
    hover: int | None
    hover_neuron: Neuron | None
    help: bool
    marks: bool
    walking: bool  # whether the keyboard points at cubes and neurons
    present: bool  # whether controls are hidden
    reduced_motion: bool  # whether one picture follows the other without a motion between
    nodes: Callable[[Any], object] | None  # called with the view of each picture that is made
    color: str  # the channels chosen
    size: str
    per_layer: bool
    neuron_maps: bool  # whether spheres show what their neurons answer over the plane
    test_points: bool  # whether held-out samples are drawn
    discrete: bool  # whether maps have two colours only
    keys: list[tuple[str, str]]  # for the help
    travel: Callable[[int], object]  # called with a number of operations to go
    patience: float  # seconds to wait for results of the session
    part_of_tour: str  # the part of the tour that the caption is of, or ""
    adding: float  # how many samples of the batch are added up in the picture, or 0
    own: FloatArray | None  # inputs of the user's own, shown in place of the sample
    status: str  # message that stays until it is cleared
    work: Work | None  # work in the background, which stays until it is cleared
    end_work: Callable[[], object]  # called by the button of the work
    asleep: bool  # whether to compute nothing
    curve_view: CurveView  # the steps that the loss curve shows

    @property
    def stages(self) -> Sequence[Any]: ...  # the stage of each session
    @property
    def channels(self) -> list[str]: ...
    @property
    def camera(self) -> str: ...
    @property
    def chart(self) -> Chart | None: ...  # the loss curve on the last picture
    @property
    def has_plane(self) -> bool: ...

    # Camera and pointer, in logical pixels.
    def look(self, name: str) -> None: ...
    def orbit(self, dx: float, dy: float) -> None: ...
    def move(self, dx: float, dy: float) -> None: ...
    def zoom(self, factor: float, x: float, y: float) -> None: ...
    def frame_pinned(self) -> None: ...
    def restore(self) -> None: ...
    def hover_at(self, x: float, y: float) -> None: ...
    def handle_at(self, x: float, y: float) -> Handle | None: ...
    def put_in(self) -> None: ...
    def grip_at(self, x: float, y: float) -> Grip | None: ...
    def click(self, x: float, y: float) -> None: ...
    def walk(self, way: str) -> None: ...
    def pin(self, part: Any) -> None: ...
    def pin_pointed(self) -> None: ...

    # Messages and drawing.
    def picture(self) -> Any: ...
    def rescale(self, *, anew: bool = False) -> None: ...
    def notice(
        self, text: str, action: str = "", then: Callable[[], None] | None = None
    ) -> None: ...
    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None: ...
    @property
    def offered(self) -> tuple[str, ...]: ...  # labels of the large buttons
    def take(self, offer: str) -> None: ...  # presses one of them
    def replace(self, show: Show) -> None: ...
    def tick(self, now: float) -> bool: ...
    def read(self) -> Here: ...  # the session, for the next picture
    def draw(self, width: int, height: int, ratio: float) -> None: ...
    def release(self) -> None: ...
