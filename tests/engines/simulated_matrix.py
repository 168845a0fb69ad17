"""The cuda engine in numba's simulator, against the python engine: kinds by types, sessions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.program import KINDS
from scalarviz.data.batches import (
    Shuffled,
)
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.cuda import device_memory, gpu_layout
from scalarviz.engines.cuda.table import KERNELS, WHOLE_BATCH
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import FileError
from scalarviz.faces.controller import precompile
from tests.engines.agreement import (
    LARGE,
    NETWORKS,
    bits_of,
    difference,
    network,
)
from tests.engines.simulator import (
    fits,
    pair,
    reference_steps,
    run_of,
    slow,
)
from tests.wording import refused

every_network = pytest.mark.parametrize("name", [*NETWORKS, *slow(*LARGE)])


def test_the_matrix_has_every_kind() -> None:
    operations = [each for name in NETWORKS for each in network(name).program.operations]
    assert [*KERNELS, "convolution"] == list(WHOLE_BATCH)
    assert {each.kind for each in operations} == set(WHOLE_BATCH) == set(KINDS) - {"own"}
    assert {each.formula for each in operations if each.kind in ("row", "each_place")} == set(
        ROW_FORMULAS
    )
    assert max(len(each.settings) for each in operations) <= gpu_layout.MOST_SETTINGS


# ---- steps on every path, in float32 ------------------------------------------------------------

# Whole steps or kernel by kernel, samples of a tile (more than a team takes, and fewer), blocks and
# threads.
PATHS = [(True, 18, 1, 4), (True, 5, 2, 3), (False, 8, 3, 4), (False, 8, 1, 5)]


@pytest.mark.some("one weight", "tall window")
@every_network
def test_every_path_has_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, optimizer = network(name, "float32"), sv.SGD(0.01, clip_norm=0.5)
    batches = Shuffled(*pair(net, 18), 17, seed=5)  # of 17 samples and of 1: an empty chunk
    found, steps = [], range(2, 4)
    for whole, tile, blocks, threads in PATHS[2 * (not fits(net)) :]:
        each = net.copy()
        with monkeypatch.context() as patch:
            patch.setattr(device_memory, "tile_width", lambda *_, width=tile: width)
            run = run_of(each, batches, whole=whole)
        run._work.device.blocks, run._work.device.threads = blocks, threads
        found.append((each.bank, run.steps(optimizer, steps.start, len(steps)).losses))
    each, losses = net.copy(), []
    run = run_of(each, batches, whole=False)
    for step in steps:
        run.begin(step)
        for moment in each.program.moments:
            run.perform(moment, optimizer)
        losses.append(run.loss)
    found.append((each.bank, np.array(losses)))
    first, expected = found[0]
    for bank, other in found[1:]:
        assert bits_of(bank) == bits_of(first)
        assert other.tobytes() == expected.tobytes()
        assert bank.step_count == first.step_count == len(steps)
    reference = net.copy()
    wanted = reference_steps(reference, batches, sv.Loss(), optimizer, steps)
    assert expected == pytest.approx(wanted, rel=1e-5)
    assert difference(reference.bank.value, first.value) < 1e-5
    assert difference(reference.bank.state, first.state) < 1e-5


RATE = 0.2


def labelled() -> data.Arrays:
    """Samples in the plane, in three classes; some are held out."""
    points = np.random.default_rng(2).uniform(-1.0, 1.0, (36, 2))
    labels = (points[:, 0] > 0.0).astype(int) + (points[:, 1] > 0.2)
    return data.Arrays(points, labels, share=0.75, classes=3)


def test_no_training_takes_a_kernel_that_its_kind_does_not_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A window compiles what kinds name before it trains; a sweep trains replicas."""
    monkeypatch.setattr(cuda_file, "_modules", {})
    net = sv.Network([2, 3, 3], "tanh", "linear", seed=3)
    s = sv.Session(net, labelled(), "softmax_cross_entropy", sv.SGD(RATE), batch=8, engine="cuda")
    named = set(precompile.paths_of(precompile.kind_of(s, "cuda")))
    sv.replicate(s, range(2)).advance(2)
    s.advance(2)
    s.advance(len(s.operations), "operation")
    net([[0.0, 1.0]] * 5)
    s.optimizer = sv.Adam(0.1)
    named |= set(precompile.paths_of(precompile.kind_of(s, "cuda")))
    s.advance(1)
    s.back(2)
    taken = cuda_file._modules.values()
    others = {module.NAME for module in taken if Path(str(module.__file__)) not in named}
    assert not others and len(taken) > 5


def test_a_file_in_mixed_precision_is_not_loaded_on_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    sv.Network([2, 3, 3], engine="cpu", precision="mixed").save(path)
    refused(FileError, "cuda engine").by(sv.load, path, "cuda")
    assert sv.load(path, "auto").precision == sv.Precision("mixed")
    # A run of an earlier version.
    with monkeypatch.context() as patch:
        patch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], only_full=""))
        net = sv.Network([2, 4, 3], "tanh", seed=3)
        sv.Session(net, labelled(), batch=8, engine="cuda", precision="mixed").save(path)
    refused(FileError, "cuda engine").by(sv.Session.load, path)
