"""The GPT of the guide: a plain class, Value and kernels give the same losses."""

import random
from typing import Any

import pytest

import scalarviz as sv
from benchmarks import microgpt as benchmark


@pytest.fixture
def microgpt(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(benchmark.FOLDER)
    return __import__("microgpt")


@pytest.mark.slow
def test_twenty_losses_are_the_same(microgpt: Any) -> None:
    names = ["nel", "ova", "tarn", "dalmo"]
    trained = names * 5
    plain = microgpt.learn(microgpt.Scalar, trained)
    assert len(plain) == 20 and max(plain[-4:]) < min(plain[:4])
    ours = microgpt.learn(sv.Value, trained)
    assert max(abs(a - b) for a, b in zip(plain, ours, strict=True)) <= 4e-16
    gpt = microgpt.Gpt(sv.Value)
    fast = microgpt.Compiled(gpt, names, sv.Adam(0.01))
    kernels = [fast.step(name) for name in trained]
    assert kernels == pytest.approx(plain, rel=1e-14, abs=0.0)
    assert {*gpt.invent(random.Random(0))} < {*microgpt.LETTERS}


@pytest.mark.slow
def test_its_gradients_are_those_of_finite_differences(microgpt: Any) -> None:
    gpt, draw = microgpt.Gpt(microgpt.Scalar), random.Random(1)
    numbers = gpt.parameters()
    assert len(numbers) == 4192
    gpt.loss("ova").backward()
    for number in draw.sample([each for each in numbers if each.grad], 4):
        before, slopes = number.data, []
        for step in (1e-5, -1e-5):
            number.data = before + step
            slopes.append(gpt.loss("ova").data / step)
        number.data = before
        assert sum(slopes) / 2.0 == pytest.approx(number.grad, rel=1e-4, abs=1e-8)


@pytest.mark.slow
def test_the_benchmark_times_each_side() -> None:
    assert [*benchmark.SIDES] == ["plain", "value", "compiled"]
    assert benchmark.milliseconds("plain", "1") > 0.0
