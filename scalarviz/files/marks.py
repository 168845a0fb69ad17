"""Marks in a run file: the steps at which it stopped by itself or that were found, and why."""

from __future__ import annotations

from scalarviz.base.checks import shorten, size
from scalarviz.base.limits import LONGEST_MARK
from scalarviz.base.messages import visible
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Description
from scalarviz.files.networks import field
from scalarviz.training.session.stops import MOST_MARKS, Mark
from scalarviz.training.session.timeline import Timeline


def describe_marks(timeline: Timeline) -> Description:
    """Return the marks, as an entry of the description of a run."""
    places = {branch: i for i, branch in enumerate(timeline.branches)}
    marks = [
        [places[mark.branch], mark.step, mark.text[:LONGEST_MARK]] for mark in timeline.stops.marks
    ]
    return {"marks": marks} if marks else {}


def restore_marks(timeline: Timeline, description: Description) -> None:
    """Give a loaded training its marks; raise InputError if malformed."""
    if "marks" not in description:
        return
    listed = field(description, "marks", list)
    if len(listed) > MOST_MARKS:
        raise InputError(f"it has {len(listed)} marks, and at most {MOST_MARKS} are kept")
    marks = []
    for given in listed:
        if not isinstance(given, list) or len(given) != 3 or not isinstance(given[2], str):
            raise InputError(f"a mark is a branch, a step and a text, not {shorten(given)}")
        number, step = (size(each, "a number of a mark", 0) for each in given[:2])
        if number >= len(timeline.branches) or step > timeline.branches[number].end.step:
            raise InputError(f"a mark is at step {step} of branch {number}, which does not exist")
        text = visible(given[2], LONGEST_MARK)
        marks.append(Mark(timeline.branches[number], step, text))
    timeline.stops.marks = tuple(marks)
