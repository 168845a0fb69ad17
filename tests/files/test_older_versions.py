"""Files of version 1 of the format: what they called otherwise is read as before."""

import json
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.files import checked_safetensors
from scalarviz.files.checked_safetensors import read, write
from scalarviz.files.networks import describe, numbers
from tests.sessions import advanced


def write_as_version_1(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a file once more as version 1 did, where `Bank.state` was called scaling."""
    description, arrays = read(path, kind)
    old = {name.replace("state", "scaling"): array for name, array in arrays.items()}
    text = json.dumps(description)
    assert set(old) != set(arrays)
    with monkeypatch.context() as patch:
        patch.setattr(checked_safetensors, "VERSION", 1)
        write(path, kind, json.loads(text.replace('"state":', '"scaling":')), old)
    assert b'\\"version\\":1' in path.read_bytes() and b"state" not in path.read_bytes()


def test_a_network_of_version_1_has_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    net = sv.Network([sv.Dense(2, 3), sv.BatchNorm(3)])
    net.forward(np.random.default_rng(0).normal(size=(8, 2)))
    net.save(path)
    write_as_version_1(path, "network", monkeypatch)
    loaded = sv.load(path)
    assert loaded.bank.state.tolist() == net.bank.state.tolist()
    assert describe(loaded) == describe(net) and set(numbers(loaded)) == set(numbers(net))


def test_a_run_of_version_1_replays_to_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keyframes have a state, and so has an action that wrote all numbers."""
    path = tmp_path / "run.safetensors"
    net = sv.Network([sv.Dense(2, 3, "tanh"), sv.Dropout(3, 0.2), sv.Dense(3, 1)])
    s = advanced(sv.Session(net, data.Xor(), engine="python"), 3)
    net.bank.step_count += 1  # past the session, which journals all numbers
    s.advance(3)
    s.save(path)
    write_as_version_1(path, "run", monkeypatch)
    loaded = sv.Session.load(path)
    for step in (4, 6):
        s.seek(step)
        loaded.seek(step)
        assert loaded.network.bank.value.tolist() == s.network.bank.value.tolist()
        assert loaded.network.bank.step_count == s.network.bank.step_count


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_run_of_kernels_with_another_order_of_sums_says_so(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.safetensors"
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Xor(), engine=engine), 3)
    s.save(path)
    assert sv.Session.load(path).step_index == 3  # warnings are errors
    description, arrays = read(path, "run")
    del description["order_of_sums"]
    write(path, "run", description, arrays)
    if engine == "python":
        sv.Session.load(path)
        return
    with pytest.warns(UserWarning, match="in another order") as caught:
        loaded = sv.Session.load(path)
    assert caught[0].filename == __file__
    assert loaded.network.bank.value.tolist() == s.network.bank.value.tolist()
