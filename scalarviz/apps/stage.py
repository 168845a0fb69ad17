"""Stage: a session as it is looked at: channels, scales, camera, what is pinned, moment by moment.

It asks the session for what is shown, and never holds its training up. Whoever draws it gives it
the time: a window its clock, a video the number of the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from scalarviz.apps.cards import Pinned, hover_card
from scalarviz.apps.channels import Source, count_beyond, names_of, read, scales_of
from scalarviz.apps.eyes import Eyes
from scalarviz.apps.ground import layout_of
from scalarviz.apps.messages import Messages
from scalarviz.apps.motion import Motion
from scalarviz.apps.reading import Reading
from scalarviz.apps.show import Show
from scalarviz.apps.story import caption
from scalarviz.formulas.table import pick
from scalarviz.program import NONE
from scalarviz.session import Session
from scalarviz.view.picking import half_sides
from scalarviz.view.picking import pick as pick_cube
from scalarviz.view.sight import Cubes, Sight, Words
from scalarviz.view.theme import THEMES

DECADES = 4.0


@final
class Stage:
    """What is shown of a show, and how.

    pinned, hover   rows of the bank, or None
    color, size     the channels
    per_layer       whether each layer has scales of its own
    help            whether the keys are shown; `keys` are they
    rate            steps a second, as somebody else has measured them
    """

    def __init__(
        self,
        show: object,
        theme: str = "dark",
        camera: str = "perspective",
        layout: str = "crossbar",
        *,
        reduced_motion: bool = False,
    ) -> None:
        self.show = Show.of(show)
        self.reduced_motion = reduced_motion
        self.theme = pick(THEMES, theme, "theme").name
        self.messages = Messages()
        self.keys: list[tuple[str, str]] = []
        self.help = False
        self.rate = 0.0
        self.hover: int | None = None
        self.pinned: int | None = None
        self._layout_name = layout
        self._color, self._size = "value", "gradient"
        self._per_layer = False
        self._picture: Any = None
        self._captioned: tuple[Any, Any] = (None, None)
        self._now = 0.0
        self._begin(camera)

    def _begin(self, camera: str) -> None:
        self.reading = Reading(self.session)
        self.plan = layout_of(self.session, self._layout_name)
        self.eyes = Eyes(self.plan, camera, cuts=self.reduced_motion)
        self.motion = Motion(self.reading, cuts=self.reduced_motion)
        self._card = Pinned(self.session)
        self.rescale()

    @property
    def session(self) -> Session:
        return self.show.session

    def replace(self, show: object) -> None:
        """Look at another session from now on."""
        self.show = Show.of(show)
        self.pinned = self.hover = None
        self._picture = None
        self._begin(self.eyes.name)

    # What is chosen.

    @property
    def channels(self) -> list[str]:
        return names_of(list(self.reading.numbers.slots), self.reading.has_layers)

    @property
    def color(self) -> str:
        return self._color

    @color.setter
    def color(self, name: str) -> None:
        self._color = pick({each: each for each in self.channels}, name, "channel")
        self.rescale()

    @property
    def size(self) -> str:
        return self._size

    @size.setter
    def size(self, name: str) -> None:
        self._size = pick({each: each for each in self.channels}, name, "channel")
        self.rescale()

    @property
    def per_layer(self) -> bool:
        return self._per_layer

    @per_layer.setter
    def per_layer(self, on: bool) -> None:
        self._per_layer = on
        self.rescale()

    @property
    def layout(self) -> str:
        return self._layout_name

    @layout.setter
    def layout(self, name: str) -> None:
        self.plan = layout_of(self.session, name)
        self._layout_name = name
        self.eyes.set_layout(self.plan)
        self.rescale()

    def rescale(self) -> None:
        """Choose scales that suit the numbers of now; they stay until somebody asks again."""
        source = self._source()
        plates = self.plan.plates
        self._colors, self._sizes = read(self._color, source), read(self._size, source)
        self._color_scales = scales_of(plates, self._colors, per_layer=self._per_layer)
        self._size_scales = scales_of(plates, self._sizes, per_layer=self._per_layer)
        self._has_sizes = bool(np.any(self._sizes))
        self._clipped = count_beyond(plates, self._colors, self._color_scales)

    # Where it is looked at from.

    def look(self, name: str) -> None:
        self.eyes.look(name)

    def orbit(self, dx: float, dy: float) -> None:
        self.eyes.orbit(dx, dy)

    def move(self, dx: float, dy: float) -> None:
        self.eyes.move(dx, dy)

    def zoom(self, factor: float, x: float, y: float) -> None:
        self.eyes.zoom(factor, x, y)

    def frame_pinned(self) -> None:
        if self.pinned is not None:
            self.eyes.frame_cube(self.pinned)

    def frame_all(self) -> None:
        self.help = False
        self.eyes.frame_all()

    # The mouse.

    def hover_at(self, x: float, y: float) -> None:
        self.hover = self.cube_at(x, y)

    def click(self, x: float, y: float) -> None:
        """Press what is there, or pin the cube that is there; beside all of them, none."""
        for box, name in reversed(self._picture.buttons if self._picture else []):
            if box.has(x, y):
                if name == "rescale":
                    self.rescale()
                else:
                    self.messages.press(name)
                return
        self.pin(self.cube_at(x, y))

    def pin(self, row: int | None) -> None:
        """Keep the history of a weight, and show its arithmetic."""
        if self.pinned is not None and self.pinned != row:
            self.session.pin(self.pinned, False)
        if row is not None:
            self.session.pin(row)
        self.pinned = row

    def cube_at(self, x: float, y: float) -> int | None:
        """The row of the cube that is seen at a pixel."""
        if self._picture is None:
            return None
        see = self._picture.see(self.sight(self._now), self.eyes.camera, *self._extent)
        plates = self.plan.plates
        sizes = self._sizes
        tops = {id(plate): top for plate, top in zip(plates, self._size_scales, strict=True)}

        def half(plate: Any, index: int) -> float:
            return float(half_sides(sizes[index : index + 1], tops[id(plate)], DECADES)[0])

        right, up = see.across(x, y)
        found = pick_cube(plates, see.matrix, right, up, half)
        return None if found == NONE else found

    # What is said.

    def notice(self, text: str, action: str = "", then: Callable[[], None] | None = None) -> None:
        """A message for some seconds, with something to press, or nothing."""
        self.messages.notice(text, action, then, self._now)

    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None:
        """Large choices; none takes them away."""
        self.messages.offer(offers)

    def stepped(self, forward: bool) -> None:
        """The session went by one operation: show it."""
        del forward  # the reading sees it by itself

    # One picture.

    def tick(self, now: float) -> bool:
        """Let time go on; whether something moves by itself."""
        self._now = now
        moving = self.eyes.tick(now)
        return self.motion.tick(now) or moving or self.messages.tick(now)

    def _source(self) -> Source:
        reading = self.reading
        return Source(reading.numbers, reading.last.value, reading.program, reading.way)

    def sight(self, now: float) -> Sight:
        """All that a picture shows now."""
        reading, session = self.reading, self.session
        reading.refresh(now)
        self.motion.follow(now)
        source = self._source()
        moment, part = self.motion.shown()
        mixed = self.motion.mixed(
            self._color, self._size, source, self.plan.plates, per_layer=self._per_layer
        )
        if not self._has_sizes and np.any(read(self._size, source)):
            self.rescale()
        self._sizes = mixed.sizes
        clipped = count_beyond(self.plan.plates, mixed.colors, self._color_scales)
        chips = self.messages.chips()
        if clipped > self._clipped:
            chips.append((f"{clipped:,} cubes clipped", "rescale"))
        frozen = np.asarray(session.network.bank.frozen)
        return Sight(
            self.plan,
            Cubes(
                mixed.colors,
                mixed.sizes,
                self._color,
                mixed.size_name or self._size,
                self._color_scales,
                self._size_scales if mixed.size_scales is None else mixed.size_scales,
                self._per_layer,
                clipped,
                frozen if frozen.any() else None,
                mixed.before,
            ),
            reading.buffers(self.motion.done),
            reading.curve(),
            self._words(),
            moment,
            part,
            reading.exhibit,
            hover_card(session, self.hover, source, reading.since),
            self._card.card(self.pinned, source, reading.since, reading.key),
            chips,
            self.messages.offers(),
            self.keys if self.help else (),
        )

    def _caption(self) -> tuple[str, str, tuple[str, ...]] | None:
        """What the operation does, while someone goes by operations; asked for once for each."""
        if not self.motion.walking or (self.session.playing and self.motion.hasty):
            return None
        key = self.reading.key, self.pinned, self.session.focus
        if key != self._captioned[0]:
            said = caption(self.session, self.pinned)
            self._captioned = key, (said.title, said.formula, said.numbers)
        said_before: tuple[str, str, tuple[str, ...]] = self._captioned[1]
        return said_before

    def _words(self) -> Words:
        session = self.session
        speed = [("", f"{self.rate:,.0f} steps a second")] if self.rate >= 0.5 else []
        if not session.playing:
            speed = [("", "paused")]
        return Words(
            self.show.title,
            self.show.about,
            [
                ("step", f"{session.step_index:,}"),
                ("epoch", f"{session.epoch:,.1f}"),
                ("learning rate", f"{session.learning_rate:g}"),
                *speed,
                ("engine", session.engine),
                ("done:", session.done or "nothing"),
                ("next:", session.next),
            ],
            self._caption(),
        )

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw it into the OpenGL context that is current."""
        if width < 2 or height < 2:
            return
        picture = self.picture()
        self._extent = width / ratio, height / ratio
        self.eyes.frame(self._extent)
        picture.draw(self.sight(self._now), self.eyes.camera, width, height, ratio)

    _extent = (1280.0, 800.0)

    def picture(self) -> Any:
        """What draws it; bound to the context in which it is first used."""
        from scalarviz.view.picture import Picture

        if self._picture is None:
            self._picture = Picture(self.theme, self.reading.program)
        if self._picture.theme.name != self.theme:
            self._picture.set_theme(self.theme)
        return self._picture
