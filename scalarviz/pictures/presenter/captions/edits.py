"""The caption of a weight that a user may have edited since the last step."""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.pictures.presenter.arithmetic import change_between
from scalarviz.pictures.presenter.captions.moments import caption
from scalarviz.pictures.presenter.captions.steps import with_line
from scalarviz.training.session.caption import Caption
from scalarviz.training.session.explanation import last_edit
from scalarviz.training.session.session import Session


def caption_and_edit(session: Session, row: int | None) -> Caption:
    """Return the caption of the last moment, with the edit of the weight at `row`, if any, last."""
    with session.doing():
        found = caption(session, row)
        edit = None if row is None else last_edit(session.timeline, row)
    if edit is None:
        return found
    old, new, _ = change_between(edit.old, edit.new)
    return with_line(found, text("captions.edited", old=old, new=new, step=edit.step))
