"""The weight gradients of a batch, added up sample by sample."""

import re
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.stage import by_parts
from scalarviz.stage.by_parts import BatchSum, can_add_up
from scalarviz.stage.stage import Stage
from tests.sessions import colours


def at_push(session: sv.Session, name: str) -> sv.Session:
    session.advance(2)
    session.advance(session.operations.index(name) + 1, "operation")
    return session


def small_pictures() -> sv.Session:
    """A convolution, whose weights are used at many places, a batch norm and a dense layer."""
    layers = [
        sv.Conv2d((1, 5, 5), 2),
        sv.BatchNorm((2, 3, 3)),
        sv.Flatten((2, 3, 3)),
        sv.Dense(18, 2),
    ]
    rng = np.random.default_rng(0)
    inputs, targets = rng.normal(size=(6, 25)), rng.normal(size=(6, 2))
    return sv.Session(sv.Network(layers, seed=0), (inputs, targets), engine="python")


def sessions() -> list[Any]:
    return [
        pytest.param(colours, "weight gradient 1", id="dense"),
        pytest.param(colours, "weight gradient 0", id="first"),
        pytest.param(small_pictures, "weight gradient 0", id="convolution"),
        pytest.param(small_pictures, "weight gradient 1", id="scale"),
    ]


@pytest.mark.parametrize(("make", "name"), sessions())
def test_partial_sums_are_those_of_the_products(make: Any, name: str) -> None:
    session = at_push(make(), name)
    found = BatchSum.of(session)
    rows = found.operation.parameters
    samples = session.trainer.batches.size
    assert found.count == samples
    products = {}
    for row in rows:
        products[row] = session.explain(row).products.reshape(samples, -1).sum(axis=1)
    for number in (0, 1, samples // 2, samples):
        wanted = [products[row][:number].sum() for row in rows]
        np.testing.assert_allclose(found.gradients(number), wanted, rtol=1e-9, atol=1e-12)
    half = [products[row][:2].sum() + 0.5 * products[row][2] for row in rows]
    np.testing.assert_allclose(found.gradients(2.5), half, rtol=1e-9, atol=1e-12)
    bank = session.network.bank
    np.testing.assert_allclose(found.gradients(samples), bank.grad[rows], rtol=1e-4, atol=1e-7)
    others = [row for row in range(len(bank)) if row not in rows]
    np.testing.assert_array_equal(found.pushes(bank.grad, 1.0)[others], bank.grad[others])


@pytest.mark.parametrize(("make", "name"), sessions())
def test_each_caption_can_be_checked_with_a_calculator(make: Any, name: str) -> None:
    session = at_push(make(), name)
    found = BatchSum.of(session)
    count, before = found.count, 0.0
    explained = session.explain(found.row)
    own = explained.products.reshape(count, -1).sum(axis=1)
    for number in range(1, count + 1):
        caption = found.caption(number - 0.5)
        assert caption.title == f"Added up one after the other: {number} of {count}."
        said, sum_of, so_far, total = re.fullmatch(
            r"sample (\d+): (?:(.*) = )?(\S+) so far, of (\S+)", caption.numbers[1]
        ).groups()
        assert (sum_of is None) == (number == 1 and found.terms()[0].shape[1] > 1)
        sum_of = sum_of or so_far
        assert int(said) == number
        digits = len(re.sub(r"e.*|^[-.0]+|[-.]", "", so_far)) - 1
        worth = 10.0 ** (np.floor(np.log10(abs(float(so_far)) or 1e-9)) - digits)
        result = eval(sum_of.replace("×", "*").replace("- -", "+ "))
        assert result == pytest.approx(float(so_far), abs=0.51 * worth)
        assert float(so_far) == pytest.approx(own[:number].sum(), abs=0.51 * worth)
        assert float(total) == pytest.approx(explained.grad, rel=6e-2)
        if number > 1:
            assert float(re.match(r"\S+", sum_of)[0]) == pytest.approx(before, rel=6e-2)
        before = own[:number].sum()
        assert caption.lines[0][0].row == found.row and caption.rows == (found.row,)
    assert found.caption(count).title == f"All {count} are added up."
    assert caption.pieces[0].row == found.row and caption.lines[0][0].words == found.name


def test_the_pinned_weight_is_followed_if_the_operation_has_it() -> None:
    session = at_push(sessions()[0].values[0](), "weight gradient 1")
    first = session.network.program.operations[2].parameters.start
    assert BatchSum.of(session, first + 5).row == first + 5
    assert BatchSum.of(session, 0).row in session.network.program.operations[2].parameters


def test_the_sum_is_of_the_weight_that_the_caption_tells_of() -> None:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    session = sv.Session(net, data.Rgb(), optimizer=sv.SGD(0.5), batch=8, engine="python")
    told = 0
    for _ in session.operations:
        session.advance(1, "operation")
        found = BatchSum.of(session)
        if found is not None:
            assert session.caption().rows == (found.row,)
            told += 1
    assert told == 2


def test_only_after_a_weight_gradient_there_is_a_sum() -> None:
    session = sessions()[0].values[0]()
    assert BatchSum.of(session) is None
    session.advance(7, "operation")
    assert BatchSum.of(session) is None


def test_what_would_take_long_is_not_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    operation = sessions()[0].values[0]().network.program.operations[0]
    assert can_add_up(operation)
    monkeypatch.setattr(by_parts, "MOST_PRODUCTS", 23)
    assert not can_add_up(operation)


def test_arrows_of_the_picture_grow_with_the_samples() -> None:
    session = at_push(sessions()[0].values[0](), "weight gradient 1")
    stage = Stage(session)
    whole = stage.frame_data().cubes.pushes
    assert whole is not None
    rows = session.network.program.operations[2].parameters
    found = BatchSum.of(session)
    for samples in (0.5, 3.0, 8.0):
        stage.adding = samples
        assert stage.tick(samples)
        seen = stage.frame_data()
        assert seen.cubes.pushes is not None and seen.words.caption is not None
        np.testing.assert_allclose(seen.cubes.pushes[rows], found.gradients(samples))
        assert seen.cubes.top_push == pytest.approx(np.nanmax(np.abs(whole)))
        assert seen.words.caption == found.caption(samples)
    stage.adding = 0.0
    assert stage.frame_data().cubes.top_push is None
    assert "added up" not in stage.frame_data().words.caption.title
