"""settings_now: the settings of a training with the changes that wait for its next step."""

from __future__ import annotations

from scalarviz.training.session.state import SessionState
from scalarviz.training.session.trainer import Settings, settings_after


def settings_now(session: SessionState) -> Settings:
    """Return the settings, including changes that take effect at the next step."""
    timeline = session.timeline
    return settings_after(timeline.trainer.settings, timeline.branch.waiting_at(timeline.clock))
