"""Arrays of pictures, (samples, channels, height, width): rows where the shape is known."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import NotFiniteError, ShapeError
from tests.wording import refused

ENGINES = pytest.mark.parametrize("engine", ["python", "cpu"])
PICTURES = np.random.default_rng(0).random((12, 1, 4, 4))
ROWS = PICTURES.reshape(12, -1)
KINDS = np.arange(12) % 3


def conv(engine: str = "python", channels: int = 1) -> sv.Network:
    layers = [
        sv.Conv2d((channels, 4, 4), 2, 3, activation="relu"),
        sv.Flatten((2, 2, 2)),
        sv.Dense(8, 3),
    ]
    return sv.Network(layers, seed=0, engine=engine)


@ENGINES
def test_a_network_takes_pictures_as_the_rows_of_their_numbers(engine: str) -> None:
    net = conv(engine)
    rows = net(ROWS)
    assert net.input_shape == (1, 4, 4)
    for same in (PICTURES, PICTURES[:, 0], PICTURES.tolist(), np.asfortranarray(PICTURES)):
        assert (net(same) == rows).all()
        assert (net.forward(same) == rows).all()
        assert (net.predict_proba(same) == net.predict_proba(ROWS)).all()
        assert (net.layers[0](same) == net.layers[0](ROWS)).all()
    assert net(PICTURES[0]).shape == (1, 3)  # a batch of one picture without its channel


@ENGINES
def test_a_step_on_pictures_is_that_on_rows(engine: str) -> None:
    one, other = conv(engine), conv(engine)
    loss = "softmax_cross_entropy"
    assert one.train_step(PICTURES, KINDS, loss) == other.train_step(ROWS, KINDS, loss)
    assert (
        one.train(PICTURES, KINDS, loss, steps=2) == other.train(ROWS, KINDS, loss, steps=2)
    ).all()
    assert (one.bank.value == other.bank.value).all()


@ENGINES
@pytest.mark.parametrize("pooled", [sv.MaxPool2d, sv.AvgPool2d])
def test_channels_come_before_rows_and_columns(engine: str, pooled: Any) -> None:
    colours = np.random.default_rng(1).random((2, 3, 4, 4))
    net = sv.Network([pooled((3, 4, 4), 4), sv.Flatten((3, 1, 1))], engine=engine)
    wanted = colours.max((2, 3)) if pooled is sv.MaxPool2d else colours.mean((2, 3))
    assert net(colours) == pytest.approx(wanted, rel=1e-6)
    assert net(colours.transpose(0, 2, 3, 1).transpose(0, 3, 1, 2)) == pytest.approx(
        wanted, rel=1e-6
    )


@ENGINES
@pytest.mark.parametrize("options", [{}, {"share": 0.75}, {"held_out": (PICTURES[:2], KINDS[:2])}])
def test_a_session_trains_on_pictures_as_on_rows(engine: str, options: dict[str, object]) -> None:
    told = dict(options)
    if "held_out" in told:
        told["held_out"] = (ROWS[:2], KINDS[:2])
    banks = []
    for table in (data.Arrays(PICTURES, KINDS, **options), data.Arrays(ROWS, KINDS, **told)):  # type: ignore[arg-type]
        s = sv.Session(conv(engine), table, "softmax_cross_entropy", batch=4, engine=engine)
        s.advance(4)
        banks.append(s.network.bank.value)
    assert (banks[0] == banks[1]).all()


def test_data_remember_that_they_are_pictures() -> None:
    table = data.Arrays(PICTURES, KINDS)
    assert table.sample_shape == (1, 4, 4)
    assert str(table) == "Arrays(inputs=12 x 1 x 4 x 4, targets=12 x 1): 16 -> 1, 12 samples"
    again = data.remake("arrays", table.settings())
    assert isinstance(again, data.Arrays)
    assert again.sample_shape == (1, 4, 4)
    assert data.Arrays(PICTURES[:, 0], KINDS).sample_shape == (4, 4)
    assert data.Arrays(ROWS, KINDS).sample_shape == ()


def test_a_picture_is_added_to_a_session_of_pictures() -> None:
    s = sv.Session(conv(), (PICTURES, KINDS), "softmax_cross_entropy")
    s.add_samples(PICTURES[:2], [0, 1])
    assert isinstance(s.data, data.Arrays)
    assert (s.data.training[0][12:] == ROWS[:2]).all()


def test_replicas_take_pictures() -> None:
    many = sv.replicate(
        sv.Session(conv("cpu"), (PICTURES, KINDS), "softmax_cross_entropy"), seeds=[0, 1]
    )
    assert (many.outputs(PICTURES) == many.outputs(ROWS)).all()


def test_another_shape_is_told_both_shapes() -> None:
    net = conv()
    for wrong in (PICTURES.transpose(0, 2, 3, 1), np.zeros((2, 1, 5, 5)), np.zeros((2, 5, 4))):
        with refused(ShapeError, str(wrong.shape)):
            net(wrong)
    with refused(ShapeError, "(0, 1, 4, 4)"):
        net(PICTURES[:0])
    with refused(ShapeError, "(12, 1, 4, 4)"):
        net.train_step(PICTURES, PICTURES)
    with refused(ShapeError, "x[None] is a batch of this one"):
        conv(channels=3)(np.zeros((3, 4, 4)))
    with refused(ShapeError, "(12, 1, 4, 4)"):
        sv.Network([16, 3])(PICTURES)
    with refused(NotFiniteError, "row 1, column 5"):
        net(np.where(np.arange(192).reshape(12, 1, 4, 4) == 21, np.nan, PICTURES))


def test_data_of_another_shape_are_refused() -> None:
    for net in (sv.Network([16, 3]), conv(channels=3)):
        with refused(ShapeError, "(1, 4, 4)"):
            sv.Session(net, (PICTURES, KINDS), "softmax_cross_entropy")
    with refused(ShapeError, "(16,)"):
        data.Arrays(PICTURES, KINDS, held_out=(ROWS, KINDS))
    with refused(ShapeError, "(1, 12, 1, 4, 4)"):
        data.Arrays(PICTURES[None], KINDS)
    s = sv.Session(conv(), (PICTURES, KINDS), "softmax_cross_entropy")
    with refused(ShapeError, "(4, 4, 1)"):
        s.data = (PICTURES.transpose(0, 2, 3, 1), KINDS)
