"""The callbacks of the guide, with the packages that they are for."""

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from tests.machine import ROOT

# The packages warn of each other.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
STEPS = 12


def package(name: str) -> Any:
    """A package, without which a test is skipped."""
    pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
    return pytest.importorskip(name, reason=f"pip install {name}")


def callback(name: str, folder: Path) -> Any:
    """The callback in the guide for a package, which records into a folder."""
    guide = (ROOT / "docs" / "guide" / "follow.md").read_text()
    found = re.search(rf"^    import {name}\n.*?(?=^    {name}\.)", guide, re.DOTALL | re.MULTILINE)
    assert found is not None
    code = textwrap.dedent(found[0])
    assert len(re.findall("^ +", code, re.MULTILINE)) <= 11
    follow = lambda model, path: sv.follow(model, folder / path, show=None)  # noqa: E731
    known: dict[str, Any] = {"sv": SimpleNamespace(follow=follow)}
    exec(code, known)
    return known["Follow"]()


def check(night: Any, losses: list[float], weights: dict[str, Any]) -> None:
    """Assert that a record has the losses, the names and the last weights of a training."""
    np.testing.assert_allclose(night.losses, losses, rtol=1e-6)
    assert not night.structure["lack"] and night.structure["edges"]
    last = night.parameters(night.steps[-1])
    for name, each in last.items():
        np.testing.assert_array_equal(each, weights[name].detach().numpy())
    assert night.steps[-1] == len(losses) and {*last} <= {*weights}


def lightning_module() -> Any:
    """A module of Lightning, which keeps its losses."""
    lightning, torch = package("lightning"), package("torch")

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
            self.head = torch.nn.Linear(8, 1)
            self.losses: list[float] = []

        def forward(self, x: Any) -> Any:
            return self.head(self.net(x))

        def training_step(self, batch: Any, index: int) -> Any:
            loss = (self(batch) - batch.sum(1, keepdim=True)).pow(2).mean()
            self.losses.append(float(loss))
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 1e-2)

    return Module()


@pytest.mark.parametrize("accumulated", [1, 2])
def test_lightning_gives_losses_and_names(tmp_path: Path, accumulated: int) -> None:
    lightning, torch = package("lightning"), package("torch")
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(torch.randn(4 * STEPS, 4), batch_size=4)
    module = lightning_module()
    quiet = dict.fromkeys(("logger", "enable_progress_bar", "enable_model_summary"), False)
    lightning.Trainer(
        max_epochs=1, accelerator="cpu", accumulate_grad_batches=accumulated,
        callbacks=[callback("lightning", tmp_path)], enable_checkpointing=False,
        default_root_dir=tmp_path, **quiet,
    ).fit(module, loader)  # fmt: skip
    means = np.mean(np.reshape(module.losses, (-1, accumulated)), axis=1)
    check(sv.load(tmp_path / "night.sv"), means.tolist(), module.state_dict())


def test_a_trainer_of_transformers_gives_losses_and_names(tmp_path: Path) -> None:
    transformers, torch = package("transformers"), package("torch")
    package("accelerate")
    config = transformers.GPT2Config(
        vocab_size=16, n_positions=8, n_embd=8, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(config)
    rows = [{"input_ids": each, "labels": each} for each in torch.randint(0, 16, (4 * STEPS, 8))]
    arguments = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=1, per_device_train_batch_size=4, report_to=[],
        use_cpu=True, logging_steps=1, save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, train_dataset=rows, callbacks=[callback("transformers", tmp_path)]
    )
    trainer.train()
    logged = [each["loss"] for each in trainer.state.log_history if "loss" in each]
    night = sv.load(tmp_path / "night.sv")
    np.testing.assert_allclose(night.losses, logged, atol=1e-3)  # which are rounded
    check(night, night.losses.tolist(), model.state_dict())
