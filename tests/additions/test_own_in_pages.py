"""Formulas of users compute in a page what they do here: their kernels are as all others."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from tests.additions.test_own_losses import poisson
from tests.additions.test_own_optimizers import lion
from tests.pages.pages import InPage


@pytest.mark.slow  # kernels are compiled for the page
def test_a_page_learns_by_a_loss_and_an_optimizer_of_the_user(tmp_path: Path) -> None:
    sv.loss(poisson)
    kind = sv.optimizer(lion, ("m",))

    def training() -> sv.Session:
        net = sv.Network([2, 3, 1], seed=0, dtype="float64")
        return sv.Session(net, data.Xor(), "poisson", kind(0.01), engine="cpu")

    session = training()
    session.advance(20)
    page = InPage(training(), tmp_path)
    found = page.run("const {losses} = engine.train(20); return {losses, value: engine.value}")
    np.testing.assert_allclose(found["value"], session.network.bank.value, rtol=1e-12)
    np.testing.assert_allclose(found["losses"], session.losses, rtol=1e-12)
