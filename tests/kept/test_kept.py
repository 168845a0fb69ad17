"""Files of an earlier version: networks load, runs replay to their weights, scenes work."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.faces.cli.commands import main
from tests.kept.make_kept import FOLDER, SAMPLES, moments

EXPECTED = np.load(FOLDER / "expected.npz")
# Other versions of numpy, or another processor, may round otherwise.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_kept_network_computes_what_it_did(engine: str) -> None:
    net = sv.load(FOLDER / "network.safetensors", engine=engine)
    np.testing.assert_allclose(net(SAMPLES), EXPECTED["outputs"], **CLOSE)


def test_a_kept_run_replays_to_its_weights_at_every_step() -> None:
    s = sv.Session.load(FOLDER / "run.safetensors")
    found = moments(s)
    assert len(found) == 2
    for branch, values in found.items():
        np.testing.assert_allclose(values, EXPECTED[branch], **CLOSE)


def test_a_kept_run_goes_on() -> None:
    s = sv.Session.load(FOLDER / "run.safetensors")
    before = s.step_index
    s.advance(3)
    assert s.step_index == before + 3
    assert np.isfinite(s.loss)


def test_a_kept_scene_trains(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", str(FOLDER / "xor_scene.py"), "--steps", "20"])
    assert ended.value.code in (0, None)
    assert "20" in capsys.readouterr().out
