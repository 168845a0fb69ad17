"""Opening: what happens at the start, until the training plays."""

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
    """At the start, kernels are compiled if needed, the first step is shown, and playing begins.

    controller  the controller
    tour        whether the first step is shown by operations; None: only the first time
    play        whether it plays in the end

    Any action of the user ends the tour.
    """

    def __init__(
        self, controller: Controller, tour: bool | None = None, *, play: bool = True
    ) -> None:
        self.controller = controller
        self._session = controller.session
        self.tour = Tour(controller.session, tour)
        self._plays = play
        self._left: Clock | None = None  # clock at the end of the tour's last action
        if controller.warming.said:
            held = controller.warming.held
            controller.tell(text(f"notices.{'kernels_first' if held else 'objects_first'}"))

    def attend(self) -> None:
        """Do what is due; called several times a second from the first picture on."""
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
                return
            if self._left is None:
                controller.tell(text("notices.tour"), text("notices.skip"), controller.play)
            self.tour.attend(perf_counter(), self._do)
            self._left = session.clock
        elif self._plays:
            self._plays = False
            if not session.playing:
                controller.play()

    def _do(self, command: Callable[[], None]) -> None:
        self.controller.do(command, lambda _: setattr(self, "_left", self.controller.session.clock))
