"""Watching a network learn in a terminal, or reading about it where there is none.

    training = Training(network, batches, "mse", SGD(0.5))
    watch(training, steps=2000)

The picture asks a `Training` for its network, its losses and where it is, and for nothing else.
"""

from __future__ import annotations

import math
import os
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter, sleep

import numpy as np
from rich.console import Console
from rich.live import Live

from scalarviz.checks import FloatArray, as_batch, number, size
from scalarviz.formulas.losses import Loss
from scalarviz.formulas.table import pick
from scalarviz.layers import Dense, Layer
from scalarviz.network import Network
from scalarviz.optimizer import Optimizer
from scalarviz.view.blocks import Plate, Swatches
from scalarviz.view.colors import MAPS, ColorMap, spread, to_bytes
from scalarviz.view.curve import round_up
from scalarviz.view.terminal import Look, Moment, picture

STEPS = 2000
FRAME = 1 / 20  # seconds
DRAWING = 1 / 20  # of the time at most, if training could use it
SLOW, SLOW_SECONDS, DOUBLING = 10.0, 6.0, 3.0  # steps/s at first, for how long, then doubled each

Batches = Callable[[int], tuple[FloatArray, FloatArray]]


class Training:
    """A network, where its batches come from, and how it learns.

    `batches(step)` gives the inputs and targets of a step. `palette` is a pair of arrays, inputs
    and targets, that are shown as colours; `title` and `hint` (what to try next) are shown too.
    """

    def __init__(
        self,
        network: Network,
        batches: Batches,
        loss: str | Loss,
        optimizer: Optimizer,
        *,
        palette: tuple[FloatArray, FloatArray] | None = None,
        title: str = "",
        hint: str = "",
    ) -> None:
        self.network = network
        self.batches = batches
        self.loss_function = Loss.of(loss)
        self.optimizer = optimizer
        self.palette = None
        if palette is not None:
            inputs, targets = [as_batch(colors, 3, "the palette")[0] for colors in palette]
            self.palette = inputs, targets
        self.title = title
        self.hint = hint
        self.step_index = 0
        self._losses = array("d")

    @property
    def losses(self) -> FloatArray:
        """The loss of every step so far, of its own batch and before the weights moved."""
        return np.array(self._losses)

    @property
    def learning_rate(self) -> float:
        """The rate of the next step."""
        return self.optimizer.rate(self.step_index)

    def advance(self, steps: int = 1) -> None:
        """Take so many steps."""
        for _ in range(steps):
            inputs, targets = self.batches(self.step_index)
            loss = self.network.train_step(inputs, targets, self.loss_function, self.optimizer)
            self._losses.append(loss)
            self.step_index += 1


def watch(
    training: Training, steps: int = STEPS, speed: float | None = None, theme: str = "auto"
) -> None:
    """Train in front of someone's eyes, and say at the end what came of it.

    `speed` is in steps a second, 0 for flat out; None starts slowly, so that one sees it learn, and
    then goes faster and faster. `theme` is "dark", "light", or "auto" to ask the terminal.
    """
    steps = size(steps, "steps")
    speed = None if speed is None else number(speed, "the speed", 0.0)
    console = Console()
    look = Look(color_map(theme), console.color_system in ("256", "truecolor"))
    if console.no_color:
        look = Look(look.map, False)
    if can_draw(console):
        show(training, steps, speed, look, console)
    else:
        report(training, steps)


def can_draw(console: Console) -> bool:
    """Whether someone looks at a terminal that can place characters, and braille among them."""
    looking = console.file.isatty() and console.is_terminal and not console.is_dumb_terminal
    return looking and console.encoding.startswith("utf")


def color_map(theme: str) -> ColorMap:
    """The colours of a theme; those that tell their programs so name the background's last."""
    if theme == "auto":
        background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
        theme = "light" if background in ("7", "15") else "dark"
    return pick({"auto": MAPS["dark"], **MAPS}, theme, "theme")


def show(training: Training, steps: int, speed: float | None, look: Look, console: Console) -> None:
    """The live picture, on a screen of its own, which is given back whatever happens."""
    scale, pace = round_up(spread(training.network.bank.value)), 0.0
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            for pace, note in play(training, steps, speed):
                scale = max(scale, round_up(spread(training.network.bank.value)))
                moment = moment_of(training, steps, pace, scale, note)
                live.update(picture(moment, look, *console.size), refresh=True)
    except KeyboardInterrupt:
        pass
    moment = moment_of(training, steps, pace, scale, "")
    height = console.height - 2  # room for the closing line and the prompt
    console.print(picture(moment, look, console.width, height), height=height)
    console.print(closing(training, steps), highlight=False, markup=False)


def report(training: Training, steps: int = STEPS) -> None:
    """Lines of plain text, for a pipe, a log, or a terminal that cannot draw."""
    steps = size(steps, "steps")
    print(training.title)
    print(f"{len(training.network.bank)} parameters, {training.optimizer!r}", flush=True)
    try:
        for part in range(1, 11):
            start = perf_counter()
            before = training.step_index
            training.advance(steps * part // 10 - before)
            if training.step_index > before:
                pace = (training.step_index - before) / (perf_counter() - start)
                loss = f"loss {training.losses[-1]:#.3g}"
                print(f"step {training.step_index:>8,}   {loss:14} {pace:,.0f} steps/s", flush=True)
    except KeyboardInterrupt:
        pass
    shown = swatches(training)
    if shown is not None:
        for name in ("inputs", "outputs", "targets"):
            codes = [f"#{code.tobytes().hex()}" for code in to_bytes(getattr(shown, name))]
            print(f"{name:8}", *codes)
    print(closing(training, steps))


def play(training: Training, steps: int, speed: float | None) -> Iterator[tuple[float, str]]:
    """Train at a speed, and stop for a picture twenty times a second.

    Each time it gives the steps taken in the last second and why they are so many. Where drawing
    would hold the training up, there are fewer pictures.
    """
    start, first = perf_counter(), training.step_index
    recent: deque[tuple[float, int]] = deque(maxlen=round(1 / FRAME))
    while True:
        began = perf_counter()
        recent.append((began, training.step_index))
        seconds, taken = began - recent[0][0], training.step_index - recent[0][1]
        yield taken / seconds if seconds else 0.0, note_on(speed, began - start)
        if training.step_index >= steps:
            return
        now = perf_counter()
        end = max(began + FRAME, now + (now - began) / DRAWING)
        while now < end and training.step_index < min(steps, first + steps_due(now - start, speed)):
            training.advance()
            now = perf_counter()
        sleep(max(0.0, began + FRAME - now))


def steps_due(seconds: float, speed: float | None) -> float:
    """How many steps should have been taken by then."""
    if speed is not None:
        return speed * seconds if speed else math.inf
    if seconds <= SLOW_SECONDS:
        return SLOW * seconds
    growth = math.exp2((seconds - SLOW_SECONDS) / DOUBLING) - 1.0
    return SLOW * (SLOW_SECONDS + growth * DOUBLING / math.log(2.0))


def note_on(speed: float | None, seconds: float) -> str:
    """What to say about the speed."""
    if speed is not None:
        return f"{speed:g} steps a second, as asked" if speed else "as fast as it goes"
    if seconds <= SLOW_SECONDS:
        return f"{SLOW:g} steps a second at first, so that one sees it learn"
    return f"speeding up: twice as fast every {DOUBLING:g} seconds"


def moment_of(training: Training, steps: int, pace: float, scale: float, note: str) -> Moment:
    """What there is to see of a training now."""
    layers = [(i, layer) for i, layer in enumerate(training.network.layers) if layer.size]
    return Moment(
        title=training.title,
        step=training.step_index,
        steps=steps,
        losses=training.losses,
        speed=pace,
        learning_rate=training.learning_rate,
        plates=[plate(i, layer, training) for i, layer in layers],
        scale=scale,
        swatches=swatches(training),
        note=note,
    )


def plate(index: int, layer: Layer, training: Training) -> Plate:
    """The numbers of a layer; a norm has one gain for each output instead of weights."""
    dense = isinstance(layer, Dense)
    inputs = [str(i) for i in range(layer.inputs)] if dense else ["gain"]
    outputs = [str(i) for i in range(layer.outputs)]
    if training.palette is not None:
        inputs = list("RGB") if index == 0 else inputs
        outputs = list("RGB") if layer is training.network.layers[-1] else outputs
    kind = layer.activation if dense else type(layer).__name__
    values = layer.bank.value[layer.rows]
    weights, biases = np.split(values, [len(inputs) * len(outputs)])
    return Plate(
        name=f"layer {index}",
        about=f"{layer.inputs} → {layer.outputs}  {kind}",
        weights=weights.reshape(-1, len(inputs)),
        biases=biases,
        inputs=inputs,
        outputs=outputs,
    )


def swatches(training: Training) -> Swatches | None:
    """The palette as the network sees it now, if the training has one."""
    if training.palette is None:
        return None
    inputs, targets = training.palette
    return Swatches(inputs, training.network(inputs), targets)


def closing(training: Training, steps: int) -> str:
    """What came of it, and what to try next."""
    losses, step = training.losses, training.step_index
    course = f"loss from {losses[0]:#.3g} to {losses[-1]:#.3g}" if step else "nothing learned yet"
    text = f"Stopped at step {step:,} of {steps:,}" if step < steps else f"{steps:,} steps"
    text = f"{text}: {course}."
    return f"{text} Next: {training.hint}" if training.hint else text
