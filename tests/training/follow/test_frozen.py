"""Frozen parameters of a followed model: in the record, in pictures and in pages."""

import base64
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.pages.page import page_of
from scalarviz.scene import marks
from scalarviz.scene.look import Look
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.node import floats, in_web
from tests.studio import Studio

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn

pytestmark = pytest.mark.usefixtures("dense", "one_thread")
SIZE = 1280, 800
CHANGED = {4: ("first", True), 8: ("base", False)}  # after these steps


class Adapted(nn.Module):
    """A frozen layer with an adapter, behind a layer that is frozen later."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.base = nn.Linear(16, 16).requires_grad_(False)
        self.down, self.up = nn.Linear(16, 4, bias=False), nn.Linear(4, 16, bias=False)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.first(x))
        return self.base(x) + self.up(self.down(x))


@pytest.fixture
def night(tmp_path: Path) -> Any:
    model = Adapted()
    optimizer = torch.optim.Adam(model.parameters())
    with sv.follow(model, tmp_path / "night.sv", show=None):
        for step in range(12):
            if step in CHANGED:
                name, is_frozen = CHANGED[step]
                getattr(model, name).requires_grad_(not is_frozen)
            optimizer.zero_grad()
            model(torch.ones(2, 8)).square().mean().backward()
            optimizer.step()
    return sv.load(tmp_path / "night.sv")


def frozen_at(step: int) -> set[str]:
    return {"base"} if step <= 4 else {"base", "first"} if step <= 8 else {"first"}


def modules_of(rows: Any, session: sv.Session) -> set[str]:
    """The modules of all weights in a mask; each module is all in it or not at all."""
    found = {session.network.bank.name_of(row).partition(".")[0] for row in np.flatnonzero(rows)}
    others = {session.network.bank.name_of(row).partition(".")[0] for row in np.flatnonzero(~rows)}
    assert not found & others
    return found


def test_each_moment_has_the_parameters_that_were_frozen_then(night: Any) -> None:
    session = night.session
    for step in [12, 3, 0, 8, 9, 4, 5]:
        session.seek(step)
        assert modules_of(session.network.bank.frozen.copy(), session) == frozen_at(step)
    assert session.copy().network.bank.frozen.any()


def test_the_picture_has_bars_along_frozen_arrays_and_says_so(
    studio: Studio, night: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = night.session
    for step in (3, 6, 10):
        session.seek(step)
        stages = [Stage(Show(session), Look(), reduced_motion=True) for _ in range(3)]
        with_bars = studio.stage(stages[0], 0.0, SIZE)
        with monkeypatch.context() as patch:
            patch.setattr(marks, "draw_bars", lambda *_: None)
            plain = studio.stage(stages[1], 0.0, SIZE)
        columns = (with_bars != plain).any(axis=(0, 2))
        bars = np.count_nonzero(np.diff(columns.astype(int)) > 0)
        assert bars == 4 * len(frozen_at(step))  # two for weights, two for biases
    stages[2].marks = True
    studio.stage(stages[2], 0.0, SIZE)
    assert text("marks.frozen.meaning") in stages[2].picture().words


def test_pages_have_the_frozen_weights_of_each_moment(night: Any) -> None:
    page, session = page_of(night), night.session
    made = page.recording
    assert made is not None
    given = {
        "bytes": base64.b64encode(gzip.decompress(made.data)).decode(),
        "engine": made.engine,
        "recording": made.spec,
    }
    body = "new RecordingClient(Uint8Array.from(atob(data.bytes), (c) => c.charCodeAt(0)), data)"
    places = in_web("client", f"return {body}.places;", **given)
    assert len(places) > 8
    for each in places:
        assert modules_of(floats(each["frozen"]) > 0.0, session) == frozen_at(each["step"])
