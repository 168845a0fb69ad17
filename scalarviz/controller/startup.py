"""The opening: what happens by itself in the first moments, until the training plays."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import final

from scalarviz.controller.controller import Controller
from scalarviz.controller.tour import Tour
from scalarviz.errors import ScalarvizError
from scalarviz.session.branches import Clock
from scalarviz.texts import text


@final
class Opening:
    """Kernels are compiled where that was never done, the first step is shown, then it plays.

    tour  whether the first step is shown operation by operation; None: only the first time
    play  whether it plays by itself in the end

    Whoever does something meanwhile has seen enough.
    """

    def __init__(
        self, controller: Controller, tour: bool | None = None, *, play: bool = True
    ) -> None:
        self.controller = controller
        self._session = controller.session
        self.tour = Tour(controller.session, tour)
        self._plays = play
        self._left: Clock | None = None  # where the tour left the training
        if controller.warming.said:
            held = controller.warming.held
            controller.tell(text(f"notices.{'kernels_first' if held else 'objects_first'}"))

    def attend(self) -> None:
        """Do what is due; called some times a second, from the first picture on."""
        controller = self.controller
        if controller.session is not self._session:
            self._session = controller.session
            self.tour.active = False
        try:
            if not controller.warming.held:
                self._go_on()
        except ScalarvizError as error:
            self.tour.active = False
            controller.tell_error(error)

    def _go_on(self) -> None:
        controller, session = self.controller, self.controller.session
        if self.tour.active and controller.hand.busy:
            return
        if self.tour.active:
            if session.playing or self._left not in (None, session.clock):
                self.tour.active = self._plays = False
                if session.playing:
                    controller.stage.look("perspective")
                return
            if self._left is None:
                controller.tell(text("notices.tour"), text("notices.skip"), controller.play)
                controller.stage.look("flat")  # face on one sees where the wires cross
            self.tour.attend(perf_counter(), self._do)
            self._left = session.clock
        elif self._plays:
            self._plays = False
            if self._left is not None:
                controller.stage.look("perspective")
            if not session.playing:
                controller.play()

    def _do(self, command: Callable[[], None]) -> None:
        self.controller.do(command, lambda _: setattr(self, "_left", self.controller.session.clock))
