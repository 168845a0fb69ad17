"""Opening: what happens at the start, until the training plays."""

from __future__ import annotations

from typing import final

from scalarviz.base.texts import text
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.story import tour as tours


@final
class Opening:
    """At the start, kernels are compiled if needed, and the tour is shown, or playing begins.

    controller  the controller, or a group of them
    tour        whether the tour is shown, which several sessions do not have; None: only the first
                time on this machine, and only at the start of a training
    play        whether it plays without a tour, or when that is skipped
    """

    def __init__(
        self, controller: Controller | Group, tour: bool | None = None, *, play: bool = True
    ) -> None:
        self.group = group = Group.of(controller)
        lead = group.lead
        begins = lead.session.clock.place == (0, 0) and lead.stage.pinned is None
        wanted = begins and not tours.was_seen() if tour is None else tour
        self._tours = wanted and not group.several
        self._plays = play
        if any(member.warming.said for member in group.members):
            held = group.held
            group.tell(text(f"notices.{'kernels_first' if held else 'objects_first'}"))

    def attend(self) -> None:
        """Do what is due; called several times a second from the first picture on."""
        group = self.group
        if group.held or not (self._tours or self._plays):
            return
        tours, plays = self._tours, self._plays
        self._tours = self._plays = False
        try:
            if group.is_playing:
                return
            if tours:
                group.lead.guide.show_tour(group.play if plays else lambda: None)
            else:
                group.play()
        except ScalarvizError as error:
            group.lead.tell_error(error)
