"""Models of other libraries: following changes no bit, and their structure has a picture.

`python -m pytest -m "" -s` prints a row of a table for each model. Nothing is downloaded.
"""

import json
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.layout.model_layout import MOST, ModelLayout
from scalarviz.scene.look import Look
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.follow import scalars

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch

from tests.training.follow.structures import CASES, Case, called, noise
from tests.training.follow.test_callbacks import lightning_module, package

# The packages warn of each other.
pytestmark = [
    pytest.mark.slow, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("one_thread")
]  # fmt: skip
STEPS = 10


def by_loop(case: Case, follow: Callable[[Any], Any]) -> Any:
    """Train a model in a loop, as most programs do; return it."""
    model = case.make()
    follow(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        case.loss(called(model, case.batch())).backward()
        optimizer.step()
    return model


def by_lightning(follow: Callable[[Any], Any]) -> Any:
    """Train a module by the Trainer of Lightning; return it."""
    module = lightning_module()
    follow(module)
    package("lightning").Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=False,
    ).fit(module, torch.randn(STEPS, 4, 4))  # fmt: skip
    return module


def by_keras(follow: Callable[[Any], Any]) -> Any:
    """Train a model of Keras, whose optimizer has no hooks; return it."""
    keras = package("keras")
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.BatchNormalization(), keras.layers.Flatten(), keras.layers.Dropout(0.2),
            keras.layers.Dense(1),
        ]
    )  # fmt: skip
    model.compile("adam", "mse")
    run, images = follow(model), torch.randn(4 * STEPS, 8, 8, 1).numpy()
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: run.step())
    model.fit(images, images[:, 0, 0], batch_size=4, verbose=0, callbacks=[callback])
    return model


def written(name: str, use: str) -> Any:
    """A small model of transformers."""
    library = package("transformers")
    config = getattr(library, f"{name}Config")(
        hidden_size=16, intermediate_size=32, num_attention_heads=2, num_hidden_layers=4,
        vocab_size=9,
    )  # fmt: skip
    return getattr(library, f"{name}For{use}")(config)


BROUGHT: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "nanoGPT": partial(by_loop, CASES["gpt"]),
    "variational autoencoder": partial(by_loop, CASES["vae"]),
    "LSTM language model": partial(by_loop, CASES["lstm"]),
    "torchvision resnet18": partial(
        by_loop, Case(lambda: package("torchvision").models.resnet18(), noise(2, 3, 32, 32))
    ),
    "torchvision ViT": partial(
        by_loop,
        Case(
            lambda: package("torchvision").models.VisionTransformer(32, 8, 12, 2, 16, 32, 0.1),
            noise(2, 3, 32, 32),
        ),
    ),
    "transformers BERT": partial(
        by_loop, CASES["dict"]._replace(make=lambda: written("Bert", "MaskedLM"))
    ),
    "transformers Llama": partial(
        by_loop, CASES["dict"]._replace(make=lambda: written("Llama", "CausalLM"))
    ),
    "Lightning": by_lightning,
    "Keras on PyTorch": by_keras,
}


def numbers(name: str, follow: Callable[[Any], Any]) -> list[bytes]:
    """Return the weights, buffers and random generator after a training."""
    torch.manual_seed(0)
    model = BROUGHT[name](follow)
    found = [*model.state_dict().values(), torch.get_rng_state()]
    return [each.detach().numpy().tobytes() for each in found]


@pytest.mark.parametrize("name", BROUGHT)
def test_a_brought_model_has_the_same_bits_and_a_picture(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setattr(scalars, "SHORT", 0.0)  # the loss of each step is read
    path = tmp_path / "night.sv"
    with ExitStack() as runs:
        found = numbers(name, lambda model: runs.enter_context(sv.follow(model, path, show=None)))
    assert found == numbers(name, Mock())
    night: Any = sv.load(path)
    structure = json.loads(zlib.decompress(night.record.tree))
    made = ModelLayout(night.structure, {}, 1232.0, 570.0)
    print(
        f"\n{name:24}{len(structure['nodes']):4} nodes{len(structure['frames']):4} frames"
        f"{structure['cost_ms']:7.1f} ms{made.count:4} things {structure['lack']}"
    )
    assert len(night.losses) == STEPS and np.isfinite(night.losses).all()
    assert structure["lack"] or (structure["edges"] and 0 < made.count <= MOST)
    assert Stage(Show(night.session, title="night"), Look(), reduced_motion=True).plan.marks
