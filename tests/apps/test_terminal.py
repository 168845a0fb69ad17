"""What one sees of a training in a terminal, and what one reads where there is none."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.apps import terminal
from scalarviz.apps.terminal import Training, moment_of, steps_due, watch
from scalarviz.errors import (
    GradientError,
    InputError,
    OrderError,
    ShapeError,
    UnknownNameError,
)
from scalarviz.view.colors import MAPS, rgb, to_bytes

PALETTE = np.random.default_rng(0).random((8, 3))


@pytest.fixture
def training() -> Training:
    def batches(step: int) -> tuple[np.ndarray, np.ndarray]:
        colors = np.random.default_rng([0, step]).random((8, 3))
        return colors, 1.0 - colors

    network = sv.Network([3, 8, 3], activation="tanh", output="sigmoid", seed=0)
    colors = PALETTE, 1.0 - PALETTE
    return Training(
        network, batches, "mse", sv.SGD(0.5), palette=colors, title="colours", hint="more"
    )


# What is shown of a training.


def test_a_moment_has_the_numbers_of_the_training(training: Training) -> None:
    training.advance(3)
    moment = moment_of(training, 2000, 10.0, 1.5, "a note")
    assert (moment.title, moment.step, moment.steps, moment.note) == ("colours", 3, 2000, "a note")
    assert (moment.speed, moment.learning_rate, moment.scale) == (10.0, 0.5, 1.5)
    assert moment.losses.tolist() == training.losses.tolist() and len(moment.losses) == 3


def test_a_plate_has_each_weight_at_its_perceptron_and_input(training: Training) -> None:
    network = training.network
    for layer, plate in zip(network.layers, moment_of(training, 9, 0, 1, "").plates, strict=True):
        for i, perceptron in enumerate(layer.perceptrons):
            assert plate.weights[i].tolist() == [weight.value for weight in perceptron.weights]
            assert plate.biases[i] == perceptron.bias.value


def test_a_plate_says_its_shape_its_activation_and_where_the_colours_are(
    training: Training,
) -> None:
    first, second = moment_of(training, 9, 0, 1, "").plates
    assert (first.name, first.about) == ("layer 0", "3 → 8  tanh")
    assert (second.name, second.about) == ("layer 1", "8 → 3  sigmoid")
    assert "".join(first.inputs) == "".join(second.outputs) == "RGB"
    assert "".join(first.outputs) == "".join(second.inputs) == "01234567"


def test_swatches_are_the_colours_that_the_network_says(training: Training) -> None:
    swatches = moment_of(training, 9, 0, 1, "").swatches
    assert swatches is not None
    np.testing.assert_array_equal(swatches.outputs, training.network(PALETTE))
    np.testing.assert_array_equal(swatches.targets, 1.0 - PALETTE)


def test_showing_leaves_nothing_behind_in_the_network(training: Training) -> None:
    moment_of(training, 9, 0, 1, "")
    with pytest.raises(OrderError):
        training.network.backward()


def test_layers_without_weights_are_left_out_and_norms_are_shown() -> None:
    layers = [sv.FrequencyEncoding(2), sv.Dense(12, 4, bias=False), sv.LayerNorm(4)]
    training = Training(sv.Network(layers), lambda step: ([[0.0]], [[0.0]]), "mse", sv.SGD())
    dense, norm = moment_of(training, 9, 0, 1, "").plates
    assert (dense.name, dense.weights.shape, dense.biases.shape) == ("layer 1", (4, 12), (0,))
    assert (norm.about, norm.weights.shape, norm.biases.shape) == ("4 → 4  LayerNorm", (4, 1), (4,))


def test_a_palette_must_be_of_colours(training: Training) -> None:
    with pytest.raises(ShapeError, match="the palette takes a sample of 3"):
        Training(
            training.network, training.batches, "mse", sv.SGD(), palette=(PALETTE, PALETTE[:, :2])
        )


# Speed.


def test_it_opens_at_ten_steps_a_second_and_then_doubles() -> None:
    assert steps_due(5.0, None) == 50.0
    rates = [steps_due(t + 0.01, None) - steps_due(t, None) for t in (6.0, 9.0, 12.0)]
    assert np.divide(rates, 0.01) == pytest.approx([10.0, 20.0, 40.0], rel=0.01)


def test_a_speed_that_is_asked_for_is_kept() -> None:
    assert steps_due(3.0, 20.0) == 60.0
    assert steps_due(0.0, 0.0) == np.inf


class Clock:
    """A time that passes only where something is said to take time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("speed", "pictures_a_second"), [(0.0, 1.0 / (0.03 + 20 * 0.03)), (10.0, 20.0)]
)
def test_slow_pictures_become_fewer_where_they_would_hold_the_training_up(
    training: Training, monkeypatch: pytest.MonkeyPatch, speed: float, pictures_a_second: float
) -> None:
    clock = Clock()

    def advance() -> None:
        clock.wait(0.001)
        training.step_index += 1

    monkeypatch.setattr(terminal, "perf_counter", clock)
    monkeypatch.setattr(terminal, "sleep", clock.wait)
    monkeypatch.setattr(training, "advance", advance)
    pictures = 0
    for _ in terminal.play(training, 50 if speed else 50_000, speed):
        clock.wait(0.03)  # a picture takes this long
        pictures += 1
    assert pictures / clock.now == pytest.approx(pictures_a_second, rel=0.05)


# Watching.


class Tty(io.StringIO):
    """A terminal, as far as a program can tell."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def watch(self, training: Training, **options: Any) -> str:
        """What is written to this terminal while someone watches."""
        with redirect_stdout(self):
            watch(training, **options)
        return self.getvalue()


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> Tty:
    for name, value in {"TERM": "xterm-256color", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "COLORFGBG", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return Tty()


ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def test_watching_uses_a_screen_of_its_own_and_leaves_the_last_picture(
    training: Training, tty: Tty
) -> None:
    tty.watch(training, steps=30, speed=0)
    live, _, after = tty.getvalue().partition(LEAVE)
    assert ENTER in live
    assert "30 of 30" in after and "layer 0" in after
    assert f"30 steps: loss from 0.110 to {training.losses[-1]:#.3g}. Next: more" in after


def test_ctrl_c_gives_the_terminal_back_and_says_where_it_stopped(
    training: Training, tty: Tty
) -> None:
    ask = training.batches

    def interrupted(step: int) -> tuple[np.ndarray, np.ndarray]:
        if step == 7:
            raise KeyboardInterrupt
        return ask(step)

    training.batches = interrupted
    tty.watch(training, steps=30, speed=0)
    _, _, after = tty.getvalue().partition(LEAVE)
    assert "\x1b[?25h" in tty.getvalue()  # the cursor is shown again
    assert "Stopped at step 7 of 30: loss from 0.110 to " in after


def test_an_error_gives_the_terminal_back(training: Training, tty: Tty) -> None:
    training.network.bank.value[:] = np.nan
    with pytest.raises(GradientError):
        tty.watch(training, steps=30, speed=0)
    assert tty.getvalue().index(ENTER) < tty.getvalue().index(LEAVE)


@pytest.mark.parametrize(
    ("background", "theme", "zero"),
    [
        ("15;0", "auto", "dark"),
        ("0;15", "auto", "light"),
        ("", "auto", "dark"),
        ("15;0", "light", "light"),
    ],
)
def test_the_colours_suit_the_background(
    training: Training,
    tty: Tty,
    monkeypatch: pytest.MonkeyPatch,
    background: str,
    theme: str,
    zero: str,
) -> None:
    monkeypatch.setenv("COLORFGBG", background)
    tty.watch(training, steps=1, speed=0, theme=theme)
    red, green, blue = to_bytes(rgb((MAPS[zero].colors[4],)))[0].tolist()
    assert f"48;2;{red};{green};{blue}m" in tty.getvalue()


def test_no_color_is_respected(
    training: Training, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    tty.watch(training, steps=1, speed=0)
    assert not re.search(r"[\[;][34]8;[25];", tty.getvalue())
    assert "- below 0, + above" in tty.getvalue()


def make_pipe(patch: pytest.MonkeyPatch, tty: Tty) -> None:
    patch.setattr(tty, "isatty", lambda: False)


def make_pipe_with_forced_colour(patch: pytest.MonkeyPatch, tty: Tty) -> None:
    make_pipe(patch, tty)
    patch.setenv("FORCE_COLOR", "1")


def make_dumb_terminal(patch: pytest.MonkeyPatch, tty: Tty) -> None:
    patch.setenv("TERM", "dumb")


def make_terminal_without_braille(patch: pytest.MonkeyPatch, tty: Tty) -> None:
    patch.setattr(Tty, "encoding", "cp1252")


@pytest.mark.parametrize(
    "make",
    [make_pipe, make_pipe_with_forced_colour, make_dumb_terminal, make_terminal_without_braille],
)
def test_where_nothing_can_be_drawn_there_are_plain_lines(
    training: Training,
    tty: Tty,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[pytest.MonkeyPatch, Tty], None],
) -> None:
    make(monkeypatch, tty)
    text = tty.watch(training, steps=40)
    assert text.isascii() and "\x1b" not in text
    assert re.search(r"step +20 +loss 0\.\d+ +[\d,]+ steps/s", text)
    outputs = re.search(r"outputs +(.*)", text)
    codes = [f"#{code.tobytes().hex()}" for code in to_bytes(training.network(PALETTE))]
    assert outputs and outputs.group(1).split() == codes
    assert f"40 steps: loss from 0.110 to {training.losses[-1]:#.3g}." in text


def test_bad_wishes_are_refused_before_anything_is_drawn(training: Training, tty: Tty) -> None:
    with pytest.raises(InputError, match="steps must be"):
        tty.watch(training, steps=0)
    with pytest.raises(InputError, match="the speed must be"):
        tty.watch(training, speed=-1)
    with pytest.raises(UnknownNameError, match="unknown theme 'ligth'"):
        tty.watch(training, theme="ligth")
    assert tty.getvalue() == "" and training.step_index == 0
