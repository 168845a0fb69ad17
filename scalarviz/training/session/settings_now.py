"""settings_now: the settings of a training with the changes that wait for its next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.training.session.trainer import Settings, settings_after

if TYPE_CHECKING:
    from scalarviz.training.session.session import Session


def settings_now(session: Session) -> Settings:
    """Return the settings, including changes that take effect at the next step."""
    timeline = session.timeline
    return settings_after(session.trainer.settings, timeline.branch.waiting_at(timeline.clock))
