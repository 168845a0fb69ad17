"""settings_now: the settings of a training with the changes that wait for its next step."""

from __future__ import annotations

from scalarviz.session.state import SessionState
from scalarviz.session.trainer import Settings, settings_after


def settings_now(session: SessionState) -> Settings:
    """Return the settings, including changes that take effect at the next step."""
    timeline = session.timeline
    clock, settings = timeline.clock, timeline.trainer.settings
    if clock.operation:
        noted = timeline.branch.actions_at((clock.step + 1, 0))
    else:
        noted = timeline.branch.actions_at(clock.place)[clock.actions :]
    waiting = [a for a in noted if a.asked is not None and a.asked <= clock.place]
    return settings_after(settings, waiting) if waiting else settings
