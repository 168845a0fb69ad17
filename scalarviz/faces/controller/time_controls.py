"""Controls of the clock: play, back and on, speed and rate, and which sample is shown."""

from __future__ import annotations

import math

from scalarviz.base.texts import text
from scalarviz.faces.controller.control import PER_DECADE, Control, LogScale, Scale
from scalarviz.faces.controller.parts import HIGHEST_RATE, scale_learning_rate, set_learning_rate
from scalarviz.faces.controller.play import SLOW
from scalarviz.faces.controller.state import State

FASTEST = 1e5  # steps a second on a slider; its right end is as fast as possible
SLOWEST = 0.25  # operations a second
RATES = LogScale(1e-6, HIGHEST_RATE)


def speeds(state: State) -> LogScale:
    """Return the scale of speeds, in steps a second; 1, 10, ... are among its places."""
    place = round(PER_DECADE * math.log10(SLOWEST / state.operations))
    lowest = 10.0 ** (place / PER_DECADE)
    if state.by_operation:
        return LogScale(lowest, SLOW / state.operations)
    return LogScale(lowest, FASTEST, endless=True)


def about_speed(state: State) -> str:
    return text(f"controls.speed.{'operation' if state.by_operation else 'step'}")


def play_or_pause(state: State) -> str:
    return text(f"controls.{'pause' if state.playing else 'play'}")


def has_samples(state: State) -> bool:
    return state.samples > 1


TIME_CONTROLS = [
    Control(
        "play",
        "button",
        play_or_pause,
        lambda controller, _: controller.toggle_play(),
        primary=True,
        strong=True,
        icon=lambda state: "pause" if state.playing else "play",
        key="space",
        help="play and pause",
        acts_on="group",
    ),
    Control(
        "back",
        "button",
        lambda state: text("controls.back", unit=state.unit),
        lambda controller, times: controller.step(-1, times),
        primary=True,
        icon="backward",
        key="left",
        help="back and on by the unit; with shift, ten times",
        acts_on="group",
    ),
    Control(
        "on",
        "button",
        lambda state: text("controls.on", unit=state.unit),
        lambda controller, times: controller.step(+1, times),
        primary=True,
        icon="forward",
        key="right",
        help="back and on by the unit; with shift, ten times",
        acts_on="group",
    ),
    Control(
        "timeline",
        "timeline",
        "Every step so far",
        lambda controller, step: controller.seek(step),
        lambda state: state.step,
        scale=lambda state: Scale(0, max(1, state.end)),
        marks=lambda state: [fork.start for fork in state.branches if fork.parent >= 0],
        primary=True,
        acts_on="group",
    ),
    Control(
        "where",
        "text",
        "Where the training stands",
        get=lambda state: state.place,
        primary=True,
        room=12,
    ),
    Control(
        "speed",
        "slider",
        about_speed,
        lambda controller, speed: controller.set_speed(speed),
        lambda state: state.speed,
        scale=speeds,
        primary=True,
        label="Speed",
        acts_on="group",
    ),
    Control(
        "pace",
        "text",
        "Steps a second, as measured while it plays",
        get=lambda state: state.pace,
        primary=True,
        label="Speed",
        room=8,
    ),
    Control(
        "rate in numbers",
        "number",
        "Learning rate, in numbers",
        set_learning_rate,
        lambda state: state.rate,
        primary=True,
        label="Rate",
        acts_on="each",
    ),
    Control(
        "start",
        "button",
        "Back to the start",
        lambda controller, _: controller.seek(0),
        label="Move by",
        icon="step-backward",
        acts_on="group",
    ),
    Control(
        "unit",
        "choice",
        "What the arrows move by; with neuron and operation, Play does one operation at a time",
        lambda controller, name: controller.set_unit(name),
        lambda state: state.unit,
        names=lambda state: state.units,
        label="Move by",
        room=5,
        acts_on="group",
    ),
    Control(
        "operation back",
        "button",
        "One operation back",
        lambda controller, _: controller.operation(-1),
        menu="Time",
        key=",",
        help="back and on by one operation, or neuron if that is the unit",
        acts_on="group",
    ),
    Control(
        "operation on",
        "button",
        "One operation on",
        lambda controller, _: controller.operation(+1),
        menu="Time",
        key=".",
        help="back and on by one operation, or neuron if that is the unit",
        acts_on="group",
    ),
    Control(
        "slow step",
        "button",
        "Do the next step slowly, then go on",
        lambda controller, _: controller.slow_step(),
        menu="Time",
        text="The next step slowly",
        key="s",
        help="do the next step slowly, then go on",
        acts_on="group",
    ),
    Control(
        "guess",
        "tick",
        lambda state: text("guess.about") if state.can_guess else text("guess.not_here"),
        lambda controller, on: controller.guessing.turn(on),
        lambda state: state.guesses,
        enabled=lambda state: state.can_guess,
        menu="Time",
        key="p",
        help=lambda state: text("guess.help"),
    ),
    Control(
        "reset",
        "button",
        "Start again",
        lambda controller, _: controller.reset(),
        menu="Time",
        key="r",
        help="start again with the same first weights",
        acts_on="group",
    ),
    Control(
        "double rate",
        "button",
        "Double the learning rate",
        lambda controller, _: scale_learning_rate(controller, 2.0),
        key="up",
        help="double and halve the learning rate",
        acts_on="each",
    ),
    Control(
        "halve rate",
        "button",
        "Halve the learning rate",
        lambda controller, _: scale_learning_rate(controller, 0.5),
        key="down",
        help="double and halve the learning rate",
        acts_on="each",
    ),
    Control(
        "rate",
        "slider",
        "Learning rate",
        set_learning_rate,
        lambda state: state.rate,
        scale=lambda state: RATES,
        label="Rate",
        acts_on="each",
    ),
]

SAMPLE_CONTROLS = [
    Control(
        "before",
        "button",
        "The sample before",
        lambda controller, _: controller.next_sample(-1),
        enabled=has_samples,
        label="Sample",
        text="<",
        icon="angle-left",
        key="<",
        help="show another sample of the batch",
        acts_on="each",
    ),
    Control(
        "sample",
        "text",
        "The sample that is shown",
        get=lambda state: text("controls.sample", number=state.focus, last=state.samples - 1),
        enabled=has_samples,
        label="Sample",
        room=6,
    ),
    Control(
        "after",
        "button",
        "The next sample",
        lambda controller, _: controller.next_sample(),
        enabled=has_samples,
        label="Sample",
        text=">",
        icon="angle-right",
        key=">",
        help="show another sample of the batch",
        acts_on="each",
    ),
    Control(
        "add up",
        "button",
        "Add up the batch, sample by sample",
        lambda controller, _: controller.guide.add_up(),
        enabled=has_samples,
        menu="Time",
        text="Add up the batch",
        key="a",
        help="add up the gradients of the batch, sample by sample",
    ),
]
