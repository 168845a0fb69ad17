"""The recording that a page of a training has for browsers that cannot train it."""

import base64
import gzip
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.pages import page as page_module
from scalarviz.pages import recording
from scalarviz.pages.exhibit_data import probe_of
from scalarviz.pages.page import page_of
from scalarviz.pages.recording import PLACES, spare_of
from tests.pages.in_web import in_web
from tests.pages.pages import data_in
from tests.sessions import advanced

LOOK = """
const client = new RecordingClient(Uint8Array.from(data.bytes), data);
const first = await client.ask("state");
const step = await client.ask("advance", { count: 1, unit: "operation" });
const last = await client.ask("seek", { step: 1e6 });
return [first.step, first.value, step.operation, last.step, last.loss];
"""


def small(**given: Any) -> sv.Session:
    network = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    given = {"batch": 8, "engine": "python", **given}
    return sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), **given)


def test_a_page_has_a_recording_from_where_the_session_stands() -> None:
    session = advanced(small(engine="cpu"), 7)
    before = session.network.bank.value.copy()
    given = data_in(page_of(session).text)["spare"]
    assert len(given["recording"]["steps"]) > PLACES[1]
    assert session.step_index == 7 and np.array_equal(session.network.bank.value, before)
    content = list(gzip.decompress(base64.b64decode(given.pop("bytes"))))
    step, value, operation, last, loss = in_web("client", LOOK, **given, bytes=content)
    assert (step, operation, last) == (7, 1, 607)
    np.testing.assert_allclose(value, before, atol=1e-3)
    assert loss < 0.9 * session.loss


def test_a_training_in_mixed_precision_has_one_of_its_own_numbers() -> None:
    session = advanced(small(engine="cpu", precision="mixed"), 7)
    given = data_in(page_of(session).text)["spare"]
    assert given["engine"] and session.network.precision.mixed


def test_it_is_the_same_each_time_and_measures_nothing() -> None:
    calls = []

    def mine(predictions: Any, targets: Any) -> float:
        calls.append(len(targets))
        return 0.0

    session = advanced(small(metrics=[mine], every=1), 2)
    before, probe = len(calls), probe_of(session)
    assert spare_of(session, probe) == spare_of(session, probe) is not None
    assert len(calls) == before > 0 and session.step_index == 2


def test_a_training_that_is_refused_at_once_has_none() -> None:
    network = sv.Network([2, 3, 1], "relu", "linear", seed=0)
    network.bank.value[:] = 1e30
    session = sv.Session(network, data.Xor(), "mse", sv.SGD(1e30), engine="python")
    assert spare_of(session, probe_of(session)) is None


@pytest.mark.parametrize(("limit", "value"), [("ROOM", 500), ("WORK", 10.0), ("NUMBERS", 100)])
def test_where_too_little_fits_there_is_none(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(recording, limit, value)
    session = small()
    assert spare_of(session, probe_of(session)) is None


def test_a_page_that_is_too_large_with_it_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    session = small(engine="cpu")
    whole = page_of(session).text
    monkeypatch.setattr(page_module, "LARGEST", len(whole) - 1000)
    assert data_in(page_of(session).text)["spare"] is None
