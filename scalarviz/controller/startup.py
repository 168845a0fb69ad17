"""Opening: what happens at the start, until the training plays."""

from __future__ import annotations

from typing import final

from scalarviz.controller import tour as tours
from scalarviz.controller.controller import Controller
from scalarviz.errors import ScalarvizError
from scalarviz.texts import text


@final
class Opening:
    """At the start, kernels are compiled if needed, and the tour is shown, or playing begins.

    controller  the controller
    tour        whether the tour is shown; None: only the first time on this machine, and only at
                the start of a training
    play        whether it plays without a tour, or when that is skipped
    """

    def __init__(
        self, controller: Controller, tour: bool | None = None, *, play: bool = True
    ) -> None:
        self.controller = controller
        begins = controller.session.clock.place == (0, 0) and controller.stage.pinned is None
        self._tours = begins and not tours.was_seen() if tour is None else tour
        self._plays = play
        if controller.warming.said:
            held = controller.warming.held
            controller.tell(text(f"notices.{'kernels_first' if held else 'objects_first'}"))

    def attend(self) -> None:
        """Do what is due; called several times a second from the first picture on."""
        controller = self.controller
        if controller.warming.held or not (self._tours or self._plays):
            return
        tours, plays = self._tours, self._plays
        self._tours = self._plays = False
        try:
            if controller.session.playing:
                return
            if tours:
                controller.guide.show_tour(controller.play if plays else lambda: None)
            else:
                controller.play()
        except ScalarvizError as error:
            controller.tell_error(error)
