"""What does not fit into memory is refused with an error before it is allocated."""

import itertools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base import limits
from scalarviz.base.checks import shorten
from scalarviz.core import bank
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.initializers import PORTION, Init
from scalarviz.errors import InputError
from tests.wording import refused

GIGABYTE = 2**30


@pytest.fixture
def gigabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with so much memory."""
    monkeypatch.setattr(limits, "memory_size", lambda: GIGABYTE)


@pytest.mark.parametrize("sizes", [[10**6, 10**6], [10**5, 10**6, 1], [2, 10**17]])
def test_a_network_that_cannot_fit_is_refused(sizes: list[int]) -> None:
    count = sum(a * b + b for a, b in pairwise(sizes))
    with refused(InputError, f"{count:,} parameters", varies=r"has [\d.]+ .B"):
        sv.Network(sizes)


@pytest.mark.usefixtures("gigabyte")
def test_the_sentence_says_how_many_bytes_and_what_to_do() -> None:
    with refused(InputError, "10.0 TB"):
        sv.Network([10**6, 10**6])
    with refused(InputError, "17.3 TB"):
        sv.Network([10**6, 10**6], dtype="float64")
    with refused(InputError, "17.3 TB"):
        _ = sv.Dense(10**6, 10**6).bank


@pytest.mark.usefixtures("gigabyte")
def test_what_fits_is_taken_to_the_last_byte() -> None:
    rows = GIGABYTE // 11
    assert len(Bank(rows)) == rows
    with refused(InputError, f"{rows + 1:,} parameters"):
        Bank(rows + 1)


@pytest.mark.parametrize("steps", [2**27 + 1, 10**12, 2**62])
@pytest.mark.usefixtures("gigabyte")
def test_so_many_steps_are_refused_that_their_losses_cannot_fit(steps: int) -> None:
    net = sv.Network([2, 3, 1], "tanh")
    x, y = [[0.0, 1.0], [1.0, 1.0]], [[1.0], [0.0]]
    s = sv.Session(net, (x, y), batch=1, engine="cpu")
    runs = sv.replicate(s, range(2))
    with refused(InputError, f"{steps:,} steps"):
        net.train(x, y, steps=steps)
    with refused(InputError, f"{steps:,} steps"):
        s.seek(steps)
    with refused(InputError, f"{steps:,} steps"):
        s.advance(steps)
    with refused(InputError, " steps would take"):
        s.advance(steps, "epoch")
    with refused(InputError, " steps would take"):
        s.advance(min(steps * len(s.operations), 2**63 - 1), "operation")
    with refused(InputError, f"{steps:,} steps of 2 networks"):
        runs.advance(steps)
    assert s.step_index == runs.step_index == 0


def test_a_step_that_no_kernel_can_count_to_is_no_step() -> None:
    s = sv.Session(sv.Network([2, 1]), ([[0.0, 1.0]], [[1.0]]), engine="python")
    with refused(InputError, "1000000000000000000000000000000"):
        s.seek(10**30)
    with refused(InputError, "-1"):
        s.seek(-1)


def test_losses_that_the_system_has_no_room_for_are_told_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none_left(*_: object) -> None:
        raise MemoryError

    net = sv.Network([2, 1])
    monkeypatch.setattr(limits.np, "empty", none_left)
    with refused(InputError, "1,000 steps"):
        net.train([[0.0, 1.0]], [[1.0]], steps=1000)


@pytest.mark.usefixtures("gigabyte")
@pytest.mark.parametrize("seeds", [range(10**6), range(10**30), itertools.count()])
def test_replicas_that_cannot_fit_are_refused_before_they_are_made(seeds: Any) -> None:
    s = sv.Session(sv.Network([2, 4, 1]), ([[0.0, 1.0]], [[1.0]]), "mse", sv.Adam(), engine="cpu")
    with refused(InputError, shorten(seeds), varies=r"[\d.]+ KB|for [\d,]+"):
        sv.replicate(s, seeds)


@pytest.mark.parametrize("inputs", [10**9, 2**62])
@pytest.mark.usefixtures("gigabyte")
def test_inputs_of_a_compiled_function_that_cannot_fit_are_refused(inputs: int) -> None:
    with refused(InputError, f"{inputs:,} inputs"):
        sv.compile(lambda *x: x[0], inputs=inputs)


@pytest.mark.usefixtures("gigabyte")
def test_weights_are_objects_only_where_these_fit() -> None:
    net = sv.Network([2 * 10**6, 1], init="pytorch")
    with refused(InputError, "2,000,000 weights"):
        _ = net.layers[0].perceptrons[0]
    with refused(InputError, "2,000,000 weights"):
        sv.Perceptron(2 * 10**6)


def test_a_system_that_gives_less_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(limits, "memory_size", lambda: 0)
    with refused(InputError, "11.0 PB"):
        Bank(2**50)
    monkeypatch.setattr(bank.np, "zeros", none_left)
    with refused(InputError, "11.0 GB"):
        Bank(2**30)


def test_a_container_may_have_less_than_its_machine(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for said, bytes_ in (("123456\n", 123456), ("max\n", None)):
        (tmp_path / "limit").write_text(said)
        monkeypatch.setattr(limits, "LIMITS", (tmp_path / "none", tmp_path / "limit"))
        limits.memory_size.cache_clear()
        assert limits.memory_size() == bytes_ or (bytes_ is None and limits.memory_size() > 2**28)
    limits.memory_size.cache_clear()


def test_numbers_drawn_in_portions_are_those_drawn_at_once() -> None:
    init, count = Init("he_normal"), 2 * PORTION + 17
    rows = np.zeros(count, np.float32)
    init.fill(rows, init.weight, (30, 40), 7, 5)
    assert np.array_equal(rows, init.draw(init.weight, (30, 40), 7, 5, count).astype(np.float32))
