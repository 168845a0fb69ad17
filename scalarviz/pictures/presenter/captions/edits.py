"""The caption of a weight that a user may have edited since the last step."""

from __future__ import annotations

from dataclasses import replace

from scalarviz.base.texts import text
from scalarviz.pictures.presenter.arithmetic import change_between
from scalarviz.pictures.presenter.captions.moments import caption
from scalarviz.training.session.caption import Caption, plain_lines
from scalarviz.training.session.last_change import last_edit
from scalarviz.training.session.session import Session


def caption_and_edit(session: Session, row: int | None) -> Caption:
    """Return the caption of the last moment, with the edit of the weight at `row`, if any, last."""
    with session.doing():
        found = caption(session, row)
        edit = None if row is None else last_edit(session.timeline, row)
    if edit is None:
        return found
    old, new, _ = change_between(edit.old, edit.new)
    line = plain_lines(text("captions.edited", old=old, new=new, step=edit.step))
    whole = (*found.whole, *line) if found.whole else ()
    return replace(found, lines=(*found.lines, *line), whole=whole)
