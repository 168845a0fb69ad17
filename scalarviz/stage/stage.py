"""Stage: the view of a session: channels, scales, camera, pinned weight, messages.

The stage reads the session and never blocks its training. Time is passed in by the caller: a
window's clock, or the number of a video frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, cast, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import Moment
from scalarviz.core.weight import Weight
from scalarviz.scene.canvas.canvas2d import TURN
from scalarviz.scene.crossbar_ink import followed_in
from scalarviz.scene.diagram import frames_seen
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.exhibits.plots import Plane
from scalarviz.scene.focus import Focus, focus_of
from scalarviz.scene.frame_data import (
    Buffers,
    CubeValues,
    FrameData,
    Held,
    NeuronMaps,
    Pane,
    PictureWords,
)
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Division, Projection, what_at
from scalarviz.scene.layout.plates import DiagramMark, Step
from scalarviz.scene.layout.sequence_places import SCALE, Choice
from scalarviz.scene.layout.threads import thread_of, with_thread
from scalarviz.scene.legend import module_words
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import Chart, CurveView
from scalarviz.scene.overlay import OnTop
from scalarviz.scene.pace import Attention
from scalarviz.scene.probe_maps import map_at, probe_facts
from scalarviz.scene.sequence_choice import (
    at_place,
    choice_at,
    choice_by_key,
    keys_of_choice,
    of_place,
    place_told,
)
from scalarviz.scene.silhouettes import cubes_seen
from scalarviz.stage.by_parts import BatchSum, grown
from scalarviz.stage.camera_control import CameraController
from scalarviz.stage.channels import (
    CHANGE,
    CUBES,
    DIFFERENCE,
    SINCE_START,
    ChannelSource,
    Scales,
    Shown,
    checked,
    names_of,
)
from scalarviz.stage.chart_view import OverlayPointer
from scalarviz.stage.dragging import Handle
from scalarviz.stage.handles import (
    Grip,
    blank_of,
    caption_of_custom,
    handle_at,
    pad_of,
    panel_grip,
    sphere_grip,
)
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.motion import Motion, magnified, pushes
from scalarviz.stage.narration import Cards, Narration
from scalarviz.stage.network_layout import (
    has_walls,
    layout_of,
    marks_meaning,
    reads_signs,
    room_of,
    shape_of,
)
from scalarviz.stage.neuron_maps import SessionMaps
from scalarviz.stage.notices import Messages
from scalarviz.stage.pointing import (
    NOTHING,
    PointerTarget,
    neuron_of,
    next_target,
    same_in,
    target_at,
)
from scalarviz.stage.show import Show, alike
from scalarviz.story.caption import Caption, Card, Piece
from scalarviz.story.facts import NONE, Neuron
from scalarviz.story.guide import tour_caption
from scalarviz.story.panel_words import with_score
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.reading import cells_of
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.trainer import one_row

HELD = 1.5  # seconds that a manual change stays marked
NEAR = 7.0  # visible height in cells when a single cube is framed

WIDE = 1000.0  # width of a picture that has room for the meaning of all marks
MOST_BESIDE = 5  # weights that are pinned beside another one

# Set by the user; otherwise a picture during playback differs only in its numbers.
CHOSEN = attrgetter(
    *(
        "hover",
        "hover_neuron",
        "pinned",
        "pinned_neuron",
        "beside",
        "held",
        "_extent",
        "choice",
    ),
    *("look", "common.help", "marks", "common.panel", "common.menus", "adding"),
    "reading.now.playing",
    *("over.step", "over.cell", "over.piece", "over.title", "over.opened", "over.legend", "map"),
)


@dataclass
class Common:
    """Shared state of all panes of a picture.

    Attributes:
        scales: the scales of colors and sizes
        curve_view: the steps that the loss curve shows
        keys: the list of keys; `help` is whether it is shown
        silent: whether the picture has no buttons, as in a file
        menus: pixels of the picture covered by the menus of a window; `panel`, by its panel
        nodes: function called with the ViewBox of each new picture; or None
    """

    scales: Scales
    curve_view: CurveView = field(default_factory=CurveView)
    keys: list[tuple[str, str]] = field(default_factory=list)
    help: bool = False
    silent: bool = False
    menus: float = 0.0
    panel: float = 0.0
    nodes: Callable[[Any], object] | None = None


@final
class Stage(Messages):
    """The view of a show: camera, channels, pinned items, and everything else that a picture needs.

    Attributes:
        look: view options of the user
        common: shared state of all panes of a picture
        marks: whether the key to the marks is shown, for example while the mouse is on the legend
        travel: function called with a signed number of operations on a click on the strip
        patience: seconds that a picture waits for results of the session; later results are shown
            when available
        part_of_tour: the part of the tour that the caption describes, or ""
        adding: number of accumulated batch samples in the picture, fractional while one is being
            added; 0: the gradients are shown completely
        given: seconds that a slow step adds to the next operation, or 0
        pane: scale, name, color and loss of the pane if there are several; else None
        peers: the stages with common scales, in the order of their panes; usually only itself
        unfolded: whether a compiled function is shown as its graph even between operations
        pinned, hover: bank index of the pinned and of the hovered weight, or None
        pinned_neuron, hover_neuron: the pinned or hovered neuron instead of a weight, or None
        beside: bank indices of additionally pinned weights
        walking: whether the item was selected by keyboard, and is kept until the mouse moves on
        held: the item dragged while paused, and its previous state; None some time later
        over: the item under the mouse in the strip, the caption and the loss curve
        on_top: overlays of the last picture; empty before the first
    """

    def __init__(
        self,
        show: object,
        look: Look | None = None,
        *,
        reduced_motion: bool = False,
        patience: float = math.inf,
    ) -> None:
        super().__init__()
        self.hover: int | None = None
        self.hover_neuron: Neuron | None = None
        self.map: DiagramMark | None = None  # the map of a probe under the mouse
        self.walking = False
        self._spoken: Moment | None = None  # the operation on the last picture
        self._score: tuple[int, int] | None = None  # right answers before the last step
        self._resting = NOTHING  # what the mouse was on when it began, until it moves
        self.over = OverlayPointer()
        self.pinned: int | None = None
        self.pinned_neuron: Neuron | None = None
        self.beside: tuple[int, ...] = ()
        self.held: Held | None = None
        self._held_until = 0.0
        self._forgets = True  # whether the pinned weight's history was not recorded before
        self.on_top = OnTop()
        self.show = Show.of(show)
        self.patience = patience
        self.reduced_motion = reduced_motion
        self.look = (look or Look()).in_theme("dark")
        self.common = Common(Scales(self.look))
        self.marks = False
        self.unfolded = False
        self.travel: Callable[[int], object] = nothing
        self.given = 0.0
        self.pane: Pane | None = None
        self.peers: Sequence[Stage] = [self]
        self._picture: Any = None
        self._seen: FrameData | None = None  # of the last picture
        self._now = 0.0
        self._camera: Camera | None = None
        self._turn: int | None = None  # counter of rapid pictures
        self._numbers: object = None  # in the last picture
        self._chosen: object = None  # user settings, in the last picture
        self._focus: Focus | None = None  # in the last picture
        self._attention = Attention()
        self._extent = (1280.0, 800.0)
        self._begin()

    def _begin(self) -> None:
        self.reading = LiveValues(self.show.session, self.patience)
        self.opened: dict[str, int] = {}
        self.choice = Choice()
        division = Division.of(*self._extent)
        self._shape, self._room = shape_of(division.inner), room_of(division)
        self._structure = self.reading.now.run.structure
        self._walks, self._every = self.unfolded, self.look.every_weight and self.has_walls
        self.plan = layout_of(self.reading.now, self._shape, every=self._every, room=self._room)
        self._thread: Sequence[Step] = ()
        self._followed: dict[int, int] = {}
        self.eyes = CameraController(self.plan, self.look.preset, self.reduced_motion)
        self.motion = Motion(self.reading, cuts=self.reduced_motion)
        self._cards, self._maps = Cards(self.reading), SessionMaps(self.reading)
        self.narration = Narration(self.reading)
        self.common.scales.usual = None if self.plan.sequence is None else SCALE
        self.part_of_tour, self.adding = "", 0.0
        self._is_read = False  # whether the session was read for the next picture
        self.rescale()

    def replace(self, show: object) -> None:
        """Show another session."""
        self.pin(None)
        self.common.curve_view.show_all()
        self.show = Show.of(show)
        self.hover = self.hover_neuron = self._seen = self.held = None
        self.walking = False
        self.release()
        self._begin()
        if self.pane is None:  # side by side, channels are shared
            gone = {name for name in CUBES if getattr(self.look, name) not in self.channels}
            self.take(**dict.fromkeys(gone, "value"))

    # Settings.

    @property
    def channels(self) -> list[str]:
        """Names of the channels for color and size, including the optimizer's slots."""
        slots = dict.fromkeys((*self.reading.numbers.slots, *self.session.optimizer.row.slots))
        return names_of(list(slots), self.reading.has_layers)

    def take(self, **given: Any) -> None:
        """Change view options.

        Raises UnknownNameError for an unknown name or channel, and InputError for an invalid
        value.
        """
        self.look_as(self.look.changed(checked(given, self.channels)), given)

    def look_as(self, look: Look, changed: Collection[str]) -> None:
        """Set the view options; `changed` names the fields that differ."""
        self.look = self.common.scales.look = look.in_theme(self.look.theme)
        if "camera" in changed:
            self.eyes.look(look.preset)
            if isinstance(look.camera, Camera):
                self.eyes.go(look.camera)
        if not {*CUBES, "per_layer"}.isdisjoint(changed):
            self.rescale()

    @property
    def has_walls(self) -> bool:
        """Whether there are two layouts: with a cube for every weight, and without."""
        return has_walls(self.reading.now)

    @property
    def has_plane(self) -> bool:
        """Whether the data are points in a plane, so that maps can be drawn."""
        return isinstance(self.reading.learned, Plane)

    def rescale(self, *, anew: bool = False) -> None:
        """Fit the scales to the shown numbers; if `anew`, read the numbers again first."""
        for each in self.peers if anew else ():
            each.refresh()
        self.common.scales.choose([each.shown() for each in self.peers])

    def shown(self) -> Shown:
        """Return what the scales are fitted to: the numbers last read, and the plates."""
        return self._source(), self.plan.plates

    # Dragging.

    def hold(self, row: int, neuron: Neuron | None = None) -> None:
        """Record the picture before a weight or an input is dragged.

        During playback, weights move by themselves, and nothing is recorded.
        """
        seen = self._seen
        goes_on = self.held is not None and self._held_until == math.inf
        if seen is None or seen.moment is not None or self.reading.now.playing or goes_on:
            return
        numbers, values = self.reading.numbers.value.copy(), dict(seen.buffers.values)
        exhibit = None if seen.exhibit is None else replace(seen.exhibit, first=None)
        self.held, self._held_until = Held(row, neuron, numbers, values, exhibit), math.inf

    def let_go(self) -> None:
        """End dragging; the previous state stays visible for a while."""
        self._held_until = self._now + HELD

    # The camera.

    def frame_pinned(self) -> None:
        """Frame the pinned weight, or the whole network if none is pinned."""
        camera = self.eyes.camera
        if self.pinned is None:
            self.eyes.go(self.eyes.whole(camera), framed=True)
        elif (found := self.plan.plate_of(self.pinned)) is not None:
            plate, row, column = found
            target = tuple(plate.middle(row, column).tolist())
            self.eyes.go(replace(camera, target=target, height=min(NEAR, camera.height)))

    def restore(self) -> None:
        """Close help, panel, custom input, selection, chart or card, or else reset the view."""
        if self.over.close() or self.common.help or self.marks:
            self.common.help = self.marks = False
        elif self.own is not None:
            self.own = None
            self.offer({})
        elif self.walking:
            self.walking, self.hover, self.hover_neuron = False, None, None
        elif self.common.curve_view.close():
            return
        elif self.pinned is not None or self.pinned_neuron is not None:
            self.pin(None)
        elif self.choice != Choice():
            self.choice = Choice()
        else:
            self.eyes.look(self.look.preset)

    @property
    def looks(self) -> tuple[object, ...]:
        """A value that changes with the view, to trigger redrawing; it excludes the session."""
        return (
            *self.common.curve_view.looks,
            self.beside,
            self.choice,
            tuple(self.motion.by_neuron.shown.items()),
            self.reading.curves.past.progress,
        )

    # The mouse.

    def click(self, x: float, y: float) -> None:
        """Press the button at a pixel, else go to the operation or pin the item there, or unpin."""
        if (name := self.on_top.button_at(x, y)) is not None:
            self.press(name)
            return
        if self.over.click(self.on_top, x, y, self.common.curve_view):
            return
        if self.over.cell:
            self.travel(self.over.cell - self.motion.coming)
            return
        see = None if self._seen is None else self._see(self._seen)
        for badges in (True, False):
            frames = [] if see is None else frames_seen(see, self.plan, badges=badges)
            for key, is_open, box in reversed(frames):
                if box.has(x, y):
                    self.open_frame(key, self.opened.get(key, 1) + 1 if badges else not is_open)
                    return
        chosen = None if see is None or self._seen is None else choice_at(see, self._seen, x, y)
        target = self.target_at(x, y)
        if chosen is not None and (target.neuron is not None or not target):
            self.choice = chosen
            return
        self.pin(self.target_at(x, y).part)

    @property
    def choosing(self) -> tuple[str, ...]:
        """Keys that choose a place or a head of a sequence."""
        return tuple(keys_of_choice(self.plan.sequence))

    def choose(self, key: str) -> bool:
        """Choose a place or a head of a sequence by a key; return whether the key was used."""
        chosen = None if self._seen is None else choice_by_key(self._seen, key)
        self.choice = chosen or self.choice
        return chosen is not None

    def open_frame(self, key: str, number: int) -> None:
        """Open a frame of a followed model, given by its key, or close it.

        Args:
            number: 0 to close it, else the number of the shown one of its repetitions
        """
        self.opened[key] = number
        self._lay_out()

    # Pictures.

    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves by itself."""
        self._now = now
        moving = self.eyes.tick(now) or self.common.scales.tick(now) or self.adding > 0.0
        # While texts are queued, further pictures follow.
        lights = self._attention.moves or self._turn not in (None, int(now / TURN))
        lights = lights or self.held is not None
        return self.motion.tick(now) or moving or lights or self.expire(now) or self.reading.pending

    def read(self) -> Position:
        """Read the session for the next picture; return its position.

        Controls next to the picture show the same moment if the session is read before drawing.
        """
        self.reading.patience = self.patience
        before, self._camera, turn = self._camera, self.eyes.camera, self._turn
        hurries = (self.session.playing or self._camera != before) and self.patience < math.inf
        self._turn = int(self._now / TURN) if hurries else None
        self.reading.rests = hurries and turn == self._turn
        past = self.reading.curves.past
        past.waits, past.filled.asleep = self.patience == math.inf, self.reading.asleep
        self.refresh()
        self._is_read = True
        return self.reading.here

    def refresh(self) -> None:
        """Read the session again; update the layout if its operations have changed."""
        program = self.reading.program
        self.reading.refresh()
        self.reading.recall(self.pinned)
        if self.reading.program is not program:
            self._lay_out()
            self.motion.stop()
        if self.reading.now.run.structure is not self._structure:
            self._structure = self.reading.now.run.structure
            self._lay_out()

    def _source(self) -> ChannelSource:
        reading, shown = self.reading, (self.look.color, self.look.cubes)
        is_asked = CHANGE in shown or self.hover is not None
        before = reading.before()[0] if is_asked else reading.last.value
        first = self.peers[0]
        is_compared = DIFFERENCE in shown and alike(first.reading.now, reading.now)
        begun = reading.now.begun if SINCE_START in shown else None
        numbers = reading.numbers
        if reading.neurons is not None:
            grad = grown(reading.neurons, numbers.grad, self.plan, 0.0)
            numbers = replace(numbers, grad=grad)
        return ChannelSource(
            *(numbers, before, reading.program, reading.way),
            first.reading.numbers.value if is_compared else None,
            begun,
        )

    def frame_data(self) -> FrameData:
        """Return all data of the picture."""
        reading = self.reading
        if self.pane is None and not self._is_read:
            self.read()
        self._is_read = False
        if (seen := self._with_new_numbers()) is not None:
            return seen
        self.over.again(self.on_top)
        self.motion.given = self.given
        self.motion.follow(self._now)
        self._follow_thread()
        neurons = self.motion.neurons
        source = self._source()
        moment, part = self.motion.shown() if self.own is None else (None, 1.0)
        hovered, pinned = self._targets()
        if moment is not self._spoken:
            self._spoken, self._resting = moment, NOTHING if self.walking else hovered
        if moment is not None and hovered == self._resting:
            hovered = NOTHING
        look, scales, plates = self.look, self.common.scales, self.plan.plates
        colors, sizes, before = self.motion.mixed(look.color, look.cubes, source)
        if self.pane is None:
            scales.follow([(source, plates)], self._now)
        sums = partial(BatchSum.of, pinned=self.pinned)
        added = reading.ask("sums", (reading.key, self.pinned), sums) if self.adding else None
        pushed = self._pushed(part)
        top = None if added is None or pushed is None else float(np.nanmax(np.abs(pushed)))
        if added is not None:
            pushed = self._pushed(part, added)
        words = self._words(self._instead(added))
        moving: tuple[tuple[int, ...], float] = (), 1.0
        if before is not None and self.plan.sequence is None:
            followed = () if words.caption is None else words.caption.rows
            after, top_size = self.motion.ends[1].value, float(scales.of(look.cubes, plates).max())
            sizes, moving = magnified(before, sizes, after, top_size, followed)
        buffers = self._with_place(reading.buffers(self.motion.done))
        exhibit, maps = self._learned(awaits=moment is not None and buffers.answers is None)
        score = None if exhibit is None else exhibit.score()
        if score is not None and moment is not None and moment.kind != "step":
            self._score = score
        elif score is not None and moment is not None and words.caption is not None:
            old = (self._score or score)[0]
            words = replace(words, caption=with_score(words.caption, old, score[0]))
        if self.held is not None and self._now > self._held_until:
            self.held = None
        if self.held is not None and exhibit is not None:
            exhibit = replace(exhibit, first=self.held.exhibit, by_hand=True)
        common, module = self._scale_in_legend(hovered.row if pinned.row is None else pinned.row)
        self._seen = FrameData(
            self.plan,
            CubeValues(
                *(colors, sizes, look.color, look.cubes),
                *(scales.of(look.color, plates), scales.of(look.cubes, plates)),
                look.per_layer,
                scales.clipped(plates, colors),
                reading.now.frozen if reading.now.frozen.any() else None,
                before,
                scales.stops.just_grown(self._now),
                pushed,
                top,
                None if look.per_layer else common,
                moving,
                module,
            ),
            replace(buffers, scale=scales.stops.of(("value", -1))),
            reading.curves.pointed(
                *(self.over, self.common.curve_view, reading.now),
                reading.facts if self.common.curve_view.large and self.pane is None else None,
            ),
            words,
            moment,
            part,
            exhibit,
            self._with_probe(
                self._cards.hovered(hovered, pinned, source, self.plan, self.motion.done)
            ),
            self._cards.pinned(
                *(pinned, source, self.plan, self.motion.done),
                *((maps, exhibit), self.beside),
            ),
            self.chips(),
            self.work,
            self.offered,
            self.common.keys if self.common.help and self.pane is None else (),
            () if reading.now.recorded else cells_of(reading.program),
            self.motion.current,
            self.over.cell,
            hover_neuron=hovered.neuron,
            pinned_neuron=self.pinned_neuron,
            pointed=self.over.piece,
            opened=self.over.opened and self.motion.walking and not reading.now.playing,
            maps=maps if look.neuron_maps else None,
            probe=reading.now.run.probe,
            map=self.map,
            pane=self.pane,
            marks=self.marks or self.over.legend,
            menus=self.common.menus,
            panel=self.common.panel,
            beside=self.beside,
            walked=None if neurons is None else neurons.neuron,
            look=look,
            held=self.held,
            begun=reading.now.begun if look.ghosts and look.cubes == "value" else None,
            weights=colors if look.color == "value" else reading.numbers.value,
            now=None if self._turn is None else self._now,
            chosen=self._chosen,
            thread=self._thread,
            choice=self.choice,
        )
        self._fit(self._seen)
        found = focus_of(self._seen)
        level = self._attention.follow(found is not None, self._now, self.reduced_motion)
        self._focus = found or (self._focus if level else None)
        self._seen = replace(self._seen, focus=self._focus, attention=level)
        return self._seen

    def _with_place(self, buffers: Buffers) -> Buffers:
        """Return buffers with the numbers of the chosen place of a sequence."""
        plan = self.plan.sequence
        if plan is None:
            return buffers
        found = at_place(plan, {**buffers.values}, self.reading.numbers.value, self.choice)
        own = {name: np.array(each) for name, each in found.items()}
        return replace(buffers, values={**buffers.values, **own})

    def _with_probe(self, card: Card | None) -> Card | None:
        """Return a card about a weight with numbers of its module for the probe, if known."""
        run = self.reading.now.run
        if card is None or run.probe is None:
            return card
        before = [x.name for x in run.named_arrays if x.first <= card.row]
        row = run.probe[1].get(before[-1].rpartition(".")[0] if before else "", {})
        return replace(card, facts=[*card.facts, *probe_facts(row, run.probe[0])])

    def _with_new_numbers(self) -> FrameData | None:
        """Return the last frame data with new numbers; None if anything else may have changed.

        While pictures follow rapidly, only numbers are updated in some of them.
        """
        before, self._chosen = self._chosen, CHOSEN(self)
        seen, reading, look = self._seen, self.reading, self.look
        if seen is None or not reading.rests or before != self._chosen:
            return None
        moves = self.motion.walking or self._attention.moves or self.own is not None
        if moves or seen.layout is not self.plan or seen.moment is not None:
            return None
        new: dict[str, Any] = {"now": self._now}
        if reading.numbers is not self._numbers:
            colors, sizes, _ = self.motion.mixed(look.color, look.cubes, self._source())
            new["cubes"] = replace(seen.cubes, colors=colors, sizes=sizes)
            found = self._with_place(reading.buffers(0))
            new["buffers"] = replace(found, scale=seen.buffers.scale)
            new["weights"] = colors if look.color == "value" else reading.numbers.value
            self._numbers = reading.numbers
        self._seen = seen.with_numbers(**new)
        return self._seen

    def _follow_thread(self) -> None:
        """Choose the path with the largest contributions, for squares and strips.

        The path is kept during playback, and until the sample is computed.
        """
        plan, reading = self.plan, self.reading
        strips = any(fan.form == "strip" for fan in plan.fans)
        plays = reading.now.playing and (self._thread or plan.thread)
        if not (strips or (plan.fans and plan.fans[0].is_direct)) or plays:
            return
        known = reading.buffers(self.motion.done).values
        thread = thread_of(plan, reading.numbers.value, known)
        if strips:
            self._thread = thread or self._thread
        elif thread and thread != plan.thread:
            self.plan = with_thread(plan, thread)

    def _learned(self, *, awaits: bool) -> tuple[Exhibit | None, NeuronMaps | None]:
        """Return the exhibit, and the functions of the neurons if they are shown."""
        if reads_signs(self.reading.program):  # the scores are bars
            return None, None
        look, exhibit, maps = self.look, self.reading.exhibit(awaits=awaits), None
        if isinstance(exhibit, Plane):
            exhibit = replace(exhibit, show_tests=look.test_points, discrete=look.discrete)
        shows = look.neuron_maps and any(line.square for line in self.plan.neurons)
        if shows or self.pinned_neuron is not None:
            maps = self._maps.now(self.hover_neuron or self.pinned_neuron)
        if maps is not None:
            dot = exhibit.focus if isinstance(exhibit, Plane) else maps.dot  # also for features
            maps = replace(maps, dot=dot, discrete=look.discrete)
        return exhibit, maps

    def _pushed(self, part: float, added: BatchSum | None = None) -> FloatArray | None:
        """Return the gradients to draw as arrows, as far as they are accumulated over the batch."""
        reading, (before, after) = self.reading, (each.grad for each in self.motion.ends)
        if added is not None:
            after = added.pushes(after, self.adding)
        moment, neurons = self.motion.current, self.motion.neurons
        known = reading.program, reading.moments, moment
        found = pushes(*known, 1.0 if neurons else part, before, after, reading.now.frozen)
        if found is None or neurons is None:
            return found
        found = grown(neurons, found, self.plan, np.nan)
        return found if (np.abs(found) > 0.0).any() else None

    def _words(self, instead: Caption | None) -> PictureWords:
        """Return all texts of the picture; `instead` replaces the caption of the operation."""
        neurons = self.motion.neurons
        told = (None, neurons.neuron) if neurons else (self.pinned, self.pinned_neuron)
        if self.plan.sequence is not None and told[1] is None:
            told = told[0], place_told(self.plan.sequence, self.choice)
        found = self.narration.words(
            *(self.show, self.motion, *told),
            hint=not (self.common.silent or self.pane is not None),
            instead=instead,
        )
        return replace(found, task=found.task or self._key())

    def _key(self) -> str:
        """Return the meaning of the marks of a followed model, or why they are missing."""
        run = self.reading.now.run
        lack = run.structure["lack"] if run.structure is not None else ""
        key = marks_meaning(self.plan) if self._extent[0] >= WIDE else ""
        if run.probe is not None and any(each.kind == "map" for each in self.plan.marks):
            key = f"{text('structure.key.rows')}; {text('probe.key', step=run.probe[0])}"
        return text("structure.lack", why=lack) if lack else key

    def _scale_in_legend(self, row: int | None) -> tuple[float, str]:
        """Return the end of the legend's scale, and which module of a followed model has it.

        Args:
            row: bank index of a selected weight; None selects the largest plate
        """
        scales, plates = self.common.scales, self.plan.plates
        if not self.plan.marks or not plates:
            return scales.stops.of((self.look.color, -1)), ""
        program = self.reading.program
        with_row = (x for x in plates if row in program.operations[x.operation].parameters)
        plate = next(with_row, max(plates, key=lambda each: each.size))
        named = self.session.network.bank.name_of(plate.first)
        return float(scales.of(self.look.color, [plate])[0]), module_words(named)

    def _instead(self, added: BatchSum | None) -> Caption | None:
        """Return a caption that replaces the caption of the operation, or None."""
        if self.own is not None and self.reading.way.values:
            reading = self.reading
            outputs = reading.way.values[reading.program.outputs.name]
            return caption_of_custom(reading.now, reading.facts, self.own, outputs)
        if self.held is not None:
            asked = text(f"held.asked.{self.reading.now.data.things}")
            return Caption(asked, lines=((Piece(text("held.more")),),))
        if self.part_of_tour:
            return tour_caption(self.part_of_tour, *self.reading.moment(0))
        return None if added is None else added.caption(self.adding)

    def _fit(self, seen: FrameData) -> None:
        """Fit layout and camera to the free area; only the camera makes room for card and panel."""
        shape, room = self._shape_for(seen)
        walks = self.unfolded or self.motion.walking or self.reading.here.clock.operation > 0
        every = self.look.every_weight and self.has_walls
        opens = self._every != every and self.eyes.fold()
        by_pixels = self.plan.marks or self.plan.crossbar is not None
        pinned = NONE if self.pinned is None else self.pinned
        followed = followed_in(self.plan, seen.told, pinned, self.pinned_neuron, self._followed)
        is_other = (by_pixels and room != self._room) or followed != self._followed
        self._followed = followed
        if opens or is_other or (shape, walks) != (self._shape, self._walks):
            self._shape, self._walks, self._every = shape, walks, self._every != opens
            self._room = room
            self._lay_out(thread=seen.layout.thread)
            if opens and self._shape_for(replace(seen, layout=self.plan))[0] != shape:
                self._shape = self._shape_for(replace(seen, layout=self.plan))[0]
                self._lay_out(thread=self.plan.thread)
            shown = [each.shown() for each in self.peers]
            self.common.scales.follow(shown, self._now, tells=False)  # no number has grown
            cubes = self.common.scales.laid_out(seen.cubes, self.plan.plates)
            words = replace(seen.words, task=self.show.task or self._key())
            self._seen = seen = replace(
                seen, layout=self.plan, cubes=cubes, words=words, thread=self._thread
            )
        self.eyes.frame(self._extent, seen.division(*self._extent).inner)
        if opens:
            self.eyes.unfold()

    def _shape_for(self, seen: FrameData) -> tuple[float, tuple[float, float]]:
        """Return the aspect ratio and the size of the free area without card and panel."""
        division = replace(seen, pinned=None, panel=0.0).division(*self._extent)
        return shape_of(division.inner), room_of(division)

    def captioned(self) -> Caption:
        """Return the caption of the last operation."""
        return self.narration.caption(self.pinned, self.pinned_neuron)

    def moved(self, row: int) -> str | None:
        """Return as text which samples moved a weight most recently; None until known."""
        self.refresh()
        return self._cards.moved(row)

    def card(self, done: int) -> Card | None:
        """Return the card of the pinned item when `done` operations of the step are shown."""
        return self._cards.pinned(self._targets()[1], self._source(), self.plan, done)

    def unfold(self) -> None:
        """Show a compiled function always as its graph, whose cubes have scales without bars."""
        self.unfolded = self._walks = True
        self._lay_out()
        self.rescale()

    def _lay_out(self, thread: Sequence[Step] = ()) -> None:
        """Compute the layout for the current operations; camera, scales and `thread` are kept."""
        made = layout_of(
            *(self.reading.now, self._shape),
            walks=self._walks,
            every=self._every,
            room=self._room,
            opened=self.opened,
            followed=self._followed,
        )
        if thread and made.fans[0].is_direct:
            made = with_thread(made, thread)
        before, self.plan, self._focus, self._thread = self.plan, made, None, ()
        self._follow_thread()
        self.pinned_neuron = same_in(self.plan, before, self.pinned_neuron)
        self.hover_neuron = same_in(self.plan, before, self.hover_neuron)
        self.eyes.follow(self.plan)
        if self._picture is not None:
            self._picture.program = self.reading.program

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        if width < 2 or height < 2:
            return
        self.resize(width / ratio, height / ratio)
        try:
            seen = self.frame_data()  # for this size; nodes of users may depend on its layout
            self.on_top = self.picture().draw(seen, self.eyes.camera, width, height, ratio)
        except Exception:
            self.release()  # its GPU resources may be lost
            raise

    def resize(self, width: float, height: float) -> None:
        """Set the size in logical pixels."""
        self._extent = width, height

    def leave(self) -> None:
        """Unpin, and free the picture."""
        self.pin(None)
        self.release()

    def release(self) -> None:
        """Free the picture's GPU memory; the next picture allocates it again."""
        if self._picture is not None:
            self._picture.release()
            self._picture, self.on_top = None, OnTop()

    def picture(self) -> Any:
        """Return the Picture, which is bound to the first OpenGL context in which it is used."""
        from scalarviz.scene.picture import Picture

        if self._picture is None:
            self._picture = Picture(self.look.theme, self.reading.program)
            if self.common.nodes is not None:
                self.common.nodes(self._picture.scene.view)
        if self._picture.theme.name != self.look.theme:
            self._picture.set_theme(self.look.theme)
        return self._picture

    # Mouse and keyboard; positions are logical pixels.

    @property
    def session(self) -> Session:
        """The shown session."""
        return self.reading.session

    def _see(self, seen: FrameData) -> Projection:
        return cast(Projection, self._picture.see(seen, self.eyes.camera, *self._extent))

    def hover_at(self, x: float, y: float) -> None:
        """Set the hovered item to the item under the mouse."""
        self._resting = NOTHING
        found = NOTHING if self.over.hover(self.on_top, x, y) else self.target_at(x, y)
        if self._seen is not None and self._picture is not None and self.plan.marks:
            self.map = map_at(self._see(self._seen), self.plan, x, y)
        if found or not self.walking:
            self.hover, self.hover_neuron = found.row, found.neuron

    def target_at(self, x: float, y: float) -> PointerTarget:
        """Return the cube or the neuron at a pixel."""
        if self._picture is None or self._seen is None:
            return NOTHING
        row = what_at(self.on_top.pairs, x, y)
        if row is not None:
            return PointerTarget(row)
        parts = self._seen.division(*self._extent)
        covered = any(box.width and box.has(x, y) for box in (parts.exhibit, parts.card))
        if not parts.scene.has(x, y) or covered or self.on_top.on_chart(x, y):
            return NOTHING
        found = target_at(self._seen, self._see(self._seen), x, y)
        if found.neuron is not None:
            return replace(found, neuron=of_place(self._seen, found.neuron))
        return found

    def place_of(self, row: int) -> FloatArray | None:
        """Return the pixel (x, y) of a cube's center; None before the first picture."""
        if self._picture is None or self._seen is None:
            return None
        seen = cubes_seen(self._see(self._seen), self._seen, [row], None)
        return np.mean([(each.x, each.y) for each in seen[0]], axis=0) if seen else None

    @property
    def chart(self) -> Chart | None:
        """The loss curve in the last picture, or None."""
        return self.on_top.chart

    def handle_at(self, x: float, y: float) -> Handle | None:
        """Return the handle for dragging the weight of the cube at a pixel, or None."""
        row, seen = self.target_at(x, y).row, self._seen
        if row is None or seen is None:
            return None
        is_large = what_at(self.on_top.pairs, x, y) is not None
        values = self.reading.numbers.value
        return handle_at(seen, self._see(seen), values, row, is_large=is_large)

    @property
    def own(self) -> FloatArray | None:
        """Custom inputs that are shown in place of the sample, or None."""
        return self.reading.own

    @own.setter
    def own(self, inputs: FloatArray | None) -> None:
        if inputs is not None:
            inputs = np.array(inputs, np.float64).reshape(self.reading.program.inputs.size)
            self.reading.pad = pad_of(self.session, inputs)
        self.reading.own = inputs

    def grip_at(self, x: float, y: float) -> Grip | None:
        """Return the grip for entering custom inputs at a pixel, or None."""
        seen, name = self._seen, self.reading.program.inputs.name
        now = self.reading.way.values.get(name) if self.reading.has_layers else None
        if seen is None or now is None or self.on_top.on_chart(x, y):
            return None
        if seen.exhibit is not None and seen.exhibit.inputs_at(x, y):
            return panel_grip(now, lambda: self._seen.exhibit if self._seen else None)
        neuron = self.target_at(x, y).neuron
        if neuron is None or neuron[0] != name or neuron[1] >= len(now):
            return None
        is_image = any(line.shape for line in seen.layout.neurons if name in line.buffers)
        return None if is_image else sphere_grip(now, neuron, self.session.data, y)

    def put_in(self) -> None:
        """Begin a custom input, with the shown input or an empty image to draw on."""
        shown = self.reading.way.values.get(self.reading.program.inputs.name)
        if shown is not None:
            self.own = blank_of(self.session, shown)

    def pin(self, part: Weight | int | Perceptron | Neuron | None) -> None:
        """Pin a Weight or a bank index, to record its history and show its arithmetic.

        For a Perceptron, or a neuron given as buffer name and index, the sum is shown. A history
        that was recorded before is kept when the weight is unpinned.
        """
        neuron = neuron_of(self.session.network, self.plan, part)
        self.beside = ()
        self.pinned_neuron = neuron
        no_weight = part is None or neuron is not None
        row = None if no_weight else one_row(self.session.network, part)
        if row == self.pinned:
            return
        if self.pinned is not None and self._forgets:
            self.session.pin(self.pinned, False)
        if row is not None:
            self._forgets = row not in self.session.pinned
            self.session.pin(row)
            self.common.curve_view.pin(row)
        self.pinned = row
        self.reading.recall(row)

    def pin_beside(self, x: float, y: float) -> bool:
        """Pin the weight at a pixel in addition to the pinned weight, or unpin it again.

        Returns False if either weight is missing.
        """
        row = self.target_at(x, y).row
        if row is None or self.pinned is None or row == self.pinned:
            return False
        others = tuple(each for each in self.beside if each != row)
        self.beside = others if row in self.beside else (*others, row)[-MOST_BESIDE:]
        self.common.curve_view.pin(row)
        return True

    @property
    def pinned_part(self) -> int | Neuron | None:
        """The pinned item, in the form that `pin` accepts."""
        return self._targets()[1].part

    def _targets(self) -> tuple[PointerTarget, PointerTarget]:
        """Return the hovered and the pinned item."""
        return PointerTarget(self.hover, self.hover_neuron), PointerTarget(
            self.pinned, self.pinned_neuron
        )

    def walk(self, way: str) -> None:
        """Select the next item "left", "right", "up" or "down"; "" selects the first one."""
        if self._picture is not None and self._seen is not None:
            hovered, pinned = self._targets()
            box = self._seen.division(*self._extent).view
            found = next_target(self._seen, self._see(self._seen), box, hovered or pinned, way)
            self.walking, self.hover, self.hover_neuron = True, found.row, found.neuron

    def pin_pointed(self) -> None:
        """Pin the item selected by keyboard, or unpin it."""
        hovered, pinned = self._targets()
        self.pin(None if hovered == pinned else hovered.part)
