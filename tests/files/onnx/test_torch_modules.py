"""Networks of PyTorch modules, and back; the slow tests use PyTorch itself.

What needs PyTorch is slow, since only `make test-all` installs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scalarviz.scenes.names import gpt

import scalarviz as sv
from scalarviz.engines.reference import program_backward
from scalarviz.errors import InputError
from scalarviz.files.onnx.torch_modules import check_same
from scalarviz.training.network.torch_layers import described, layer_of, unwrapped
from tests.files.onnx.test_ordinary_models import built
from tests.wording import refused

SIZES = SimpleNamespace(shape=(4, 3)), SimpleNamespace(shape=(4, 3, 5, 5))
SQUARE = {"kernel_size": 2, "stride": 2, "padding": 0}
KERNEL = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "padding_mode": "zeros"}


@pytest.mark.parametrize(
    ("kind", "settings", "arrays", "shape", "made"),
    [
        ("Linear", {}, {"weight": SIZES[0]}, (3,), sv.Dense(3, 4, bias=False)),
        ("Hardtanh", {"min_val": -1, "max_val": 1}, {}, (3,), sv.Activation(3, "hard_tanh")),
        ("Hardshrink", {"lambd": 0.5}, {}, (3,), sv.Activation(3, "hardshrink")),
        ("GELU", {"approximate": "tanh"}, {}, (2, 3, 3), sv.Activation((2, 3, 3), "gelu_tanh")),
        ("AvgPool2d", SQUARE, {}, (1, 4, 4), sv.AvgPool2d((1, 4, 4), 2)),
        ("AdaptiveAvgPool2d", {"output_size": (1, 1)}, {}, (2, 4, 4), sv.AvgPool2d((2, 4, 4), 4)),
        ("RMSNorm", {"eps": 1e-6, "normalized_shape": (3,)}, {}, (3,), sv.RMSNorm(3, 1e-6)),
        ("BatchNorm1d", {"eps": 1e-5, "momentum": 0.2}, {}, (3,), sv.BatchNorm(3, momentum=0.2)),
        ("Dropout", {"p": 0.3}, {}, (3,), sv.Dropout(3, 0.3)),
        ("MaxPool1d", SQUARE, {}, (3, 8), sv.MaxPool2d((3, 1, 8), (1, 2))),
        ("AdaptiveAvgPool1d", {"output_size": 1}, {}, (3, 8), sv.AvgPool2d((3, 1, 8), (1, 8))),
        ("Unflatten", {"unflattened_size": (3, 2, 2)}, {}, (12,), sv.Reshape(12, (3, 2, 2))),
        (
            "Conv2d",
            {**KERNEL, "padding": "same"},
            {"weight": SIZES[1], "bias": SIZES[0]},
            (3, 8, 8),
            sv.Conv2d((3, 8, 8), 4, 5, padding=2),
        ),
    ],
)
def test_a_module_is_the_layer_that_does_the_same(
    kind: str, settings: dict[str, Any], arrays: dict[str, Any], shape: Any, made: sv.Layer
) -> None:
    found = layer_of(kind, settings, arrays, shape)
    assert type(found) is type(made)
    assert found.settings() == made.settings()


@pytest.mark.parametrize(
    ("kind", "settings", "arrays", "shape", "made"),
    [
        ("Linear", {}, {"weight": SIZES[0]}, (3, 5), sv.Conv1d((3, 5), 4, 1, bias=False)),
        ("LayerNorm", {"eps": 1e-5, "normalized_shape": (3,)}, {}, (3, 5), sv.LayerNorm((3, 5))),
        ("LogSoftmax", {"dim": -1}, {}, (3, 5), sv.LogSoftmax((3, 5))),
        ("ReLU", {}, {}, (3, 5), sv.Activation((3, 5), "relu")),
        ("PReLU", {"num_parameters": 1}, {}, (3, 5), sv.PReLU((3, 1, 5), 1)),
        ("Embedding", {}, {"weight": SIZES[0]}, (5,), sv.Embedding(4, 3, 5)),
        ("Attention", {"heads": 2, "causal": True}, {}, (12, 5), sv.Attention(4, 2, places=5)),
    ],
)
def test_a_module_at_the_places_of_a_sequence_is_the_layer_that_does_the_same(
    kind: str, settings: dict[str, Any], arrays: dict[str, Any], shape: Any, made: sv.Layer
) -> None:
    found = layer_of(kind, settings, arrays, shape, at_places=True)
    assert type(found) is type(made) and found.settings() == made.settings()


@pytest.mark.parametrize(
    ("kind", "settings", "shape"),
    [
        ("Linear", {}, (5, 3)),
        ("LayerNorm", {"eps": 1e-5, "normalized_shape": (5, 3)}, (3, 5)),
        ("LogSoftmax", {"dim": 1}, (3, 5)),
        ("BatchNorm1d", {"eps": 1e-5, "momentum": 0.2}, (3, 5)),
        ("Embedding", {"padding_idx": 0}, (5,)),
        ("Embedding", {}, (5, 2)),
    ],
)
def test_a_module_that_mixes_places_is_no_layer_at_each_place(
    kind: str, settings: dict[str, Any], shape: Any
) -> None:
    with pytest.raises((LookupError, ValueError)):
        layer_of(kind, settings, {"weight": SIZES[0]}, shape, at_places=True)


@pytest.mark.parametrize(
    ("kind", "settings", "shape"),
    [
        ("LSTM", {}, (3,)),
        ("Linear", {}, (5,)),
        ("Flatten", {"start_dim": 2}, (3, 2, 2)),
        ("Softplus", {"beta": 1.0, "threshold": 5}, (3,)),
        ("MaxPool2d", {**SQUARE, "return_indices": True}, (1, 4, 4)),
        ("AvgPool2d", {**SQUARE, "ceil_mode": True}, (1, 4, 4)),
        ("AdaptiveAvgPool2d", {"output_size": 2}, (1, 4, 4)),
        ("LayerNorm", {"eps": 1e-5, "normalized_shape": (4,)}, (3, 4)),
        ("Softmax", {"dim": 0}, (3,)),
    ],
)
def test_a_module_that_does_something_else_is_no_layer(
    kind: str, settings: dict[str, Any], shape: Any
) -> None:
    with pytest.raises((LookupError, ValueError)):
        layer_of(kind, settings, {"weight": SIZES[0]}, shape)


def test_settings_are_numbers_and_texts() -> None:
    module = SimpleNamespace(p=0.5, dim=[1, (2, "x")], stride=object(), weight=3)
    assert described(module) == {"p": 0.5, "dim": [1, (2, "x")]}


def test_what_is_no_module_is_refused() -> None:
    for wrong in (3, sv.Network([2, 1]), None):
        refused(InputError, "takes a PyTorch module").by(sv.from_torch, wrong, [[1.0, 2.0]])


def test_without_pytorch_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    refused(InputError, "which is not installed").by(sv.Network([2, 1]).to_torch)


@pytest.fixture
def torch() -> Any:
    import torch

    torch.manual_seed(0)
    return torch


@pytest.fixture
def models(torch: Any) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Modules with the shape of a batch."""
    from torch import nn
    from torch.nn import functional

    def block(m: Any, x: Any) -> Any:
        inner = functional.relu(m.bn1(m.conv1(x)))
        return functional.relu(x + m.bn2(m.conv2(inner)))

    def picture(m: Any, x: Any) -> Any:
        x = m.block(functional.leaky_relu(m.stem(x), 0.2)).mean((2, 3))
        x = torch.sigmoid(m.fc1(x.view(x.size(0), -1)))
        x = functional.dropout(x, 0.2, m.training)
        return m.fc2(x.reshape(x.shape[0], 5))

    def gate(m: Any, x: Any) -> Any:
        left = m.a(x) * torch.sigmoid(m.b(x))
        return m.out(torch.cat([left, m.c(x) + m.d(x)], dim=1))

    def halves(m: Any, x: Any) -> Any:
        left, right = m.a(x).chunk(2, dim=-1)
        inner = functional.softshrink(left, 0.1) * functional.tanhshrink(right)
        return m.out(functional.glu(m.b(inner), 1))

    def pooled(m: Any, x: Any) -> Any:
        x = torch.relu(m.a(x))
        gate = torch.sigmoid(m.u(torch.relu(m.d(x.mean((2, 3))))))
        x = x * gate[:, :, None, None]
        least = functional.adaptive_avg_pool2d(x, 1).squeeze(-1).squeeze(-1)
        return m.out(torch.cat([torch.cat([x.flatten(2).mean(2), x.amax((2, 3))], 1), least], 1))

    line = nn.Linear

    def row(*modules: Any) -> Any:
        return nn.Sequential(*modules)

    return {
        "mlp": (row(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 2)), (5, 3)),
        "cnn": (
            row(
                nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(4, 6, 3, stride=2, groups=2), nn.GELU(), nn.Flatten(), nn.Linear(6, 10),
            ),
            (2, 1, 7, 7),
        ),
        "norms": (
            row(
                nn.Linear(4, 8), nn.LayerNorm(8), nn.PReLU(8), nn.Linear(8, 6), nn.BatchNorm1d(6),
                nn.SiLU(), nn.Linear(6, 4), nn.RMSNorm(4), nn.Softmax(1),
            ),
            (5, 4),
        ),
        "pictures": (
            row(
                nn.Conv2d(1, 3, 3), nn.LayerNorm([3, 4, 4]), nn.Hardtanh(-0.5, 0.5), nn.PReLU(3),
                nn.Flatten(), nn.Linear(48, 12), nn.Mish(), nn.Unflatten(1, (3, 2, 2)),
                nn.Conv2d(3, 2, 1), nn.Softplus(2.0),
            ),
            (5, 1, 6, 6),
        ),
        "sequence": (
            row(
                nn.Conv1d(2, 4, 5, 2, 2), nn.ReLU(), nn.BatchNorm1d(4), nn.MaxPool1d(2),
                nn.Conv1d(4, 6, 3, padding="same", dilation=2, groups=2, bias=False), nn.GELU(),
                nn.AvgPool1d(3, 2, 1), nn.Flatten(), nn.Linear(18, 2),
            ),
            (5, 2, 23),
        ),
        "sizes": (
            row(
                nn.Conv2d(2, 3, (3, 5), (1, 2), (0, 2)), nn.MaxPool2d((1, 2), (2, 1), (0, 1)),
                nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2),
            ),
            (3, 2, 8, 9),
        ),
        "groups": (
            row(
                nn.Conv2d(2, 6, 3), nn.GroupNorm(3, 6, 1e-3), nn.ReLU(),
                nn.InstanceNorm2d(6, affine=True), nn.Flatten(), nn.Linear(24, 4),
                nn.GroupNorm(2, 4),
            ),
            (4, 2, 4, 4),
        ),
        "residual": (
            built(  # its parts are in another order than their use
                picture, fc2=line(5, 3), fc1=line(4, 5), stem=nn.Conv2d(1, 4, 3),
                block=built(
                    block, bn1=nn.BatchNorm2d(4), bn2=nn.BatchNorm2d(4),
                    conv1=nn.Conv2d(4, 4, 3, padding=1, bias=False),
                    conv2=nn.Conv2d(4, 4, 3, padding="same"),
                ),
            ),
            (2, 1, 8, 8),
        ),
        "gate": (
            built(
                gate, a=line(6, 8), b=line(6, 8), c=line(6, 8), d=line(6, 8), out=line(16, 2)
            ),
            (3, 6),
        ),
        "inputs": (  # of a function and a point, as DeepONet
            built(
                lambda m, x: m.out(torch.tanh(m.branch(x[:, :5])) * torch.tanh(m.trunk(x[:, 5:]))),
                branch=line(5, 8), trunk=line(2, 8), out=line(8, 1),
            ),
            (4, 7),
        ),
        "operator": (  # DeepONet, of two inputs
            built(
                lambda m, branch, trunk: (
                    (m.branch(branch) * torch.tanh(m.trunk(trunk))).sum(1, keepdim=True)
                ),
                branch=line(20, 8), trunk=line(1, 8),
            ),
            (4, 21),
        ),
        "tied": (built(lambda m, x: m.a(torch.relu(m.a(x))), a=line(4, 4)), (3, 4)),
        "siren": (
            built(lambda m, x: m.b(torch.sin(30 * m.a(x))), a=line(2, 16), b=line(16, 1)),
            (3, 2),
        ),
        "pooled": (
            built(pooled, a=nn.Conv2d(2, 8, 3), d=line(8, 4), u=line(4, 8), out=line(24, 3)),
            (3, 2, 5, 6),
        ),
        "scaled": (
            built(
                lambda m, x: 2 * (m.a(x) * m.gain + m.b0) - 1, a=line(4, 3),
                gain=nn.Parameter(torch.randn(3)), b0=nn.Parameter(torch.randn(3)),
            ),
            (3, 4),
        ),
        "shrunk": (
            row(
                nn.Linear(3, 8), nn.Tanhshrink(), nn.Linear(8, 12), nn.GLU(), nn.Linear(6, 8),
                nn.Softshrink(0.1), nn.Linear(8, 8), nn.Hardshrink(0.1), nn.Linear(8, 2),
            ),
            (9, 3),
        ),
        "gated sequence": (
            row(nn.Conv1d(2, 6, 3), nn.GLU(1), nn.Conv1d(3, 2, 1), nn.Flatten()), (3, 2, 8)
        ),
        "halves": (built(halves, a=line(4, 16), b=line(8, 8), out=line(4, 2)), (7, 4)),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize(
    "name",
    [
        "mlp", "cnn", "norms", "pictures", "sequence", "sizes", "groups", "residual", "gate",
        "inputs", "tied", "siren", "shrunk", "gated sequence", "halves", "pooled", "scaled",
    ],
)  # fmt: skip
def test_a_module_and_its_network_compute_the_same_there_and_back(
    name: str, wide: bool, torch: Any, models: dict[str, Any]
) -> None:
    (model, shape), dtype = models[name], torch.float64 if wide else torch.float32
    model = model.to(dtype)
    for _ in range(3):  # so that running statistics are their own
        model(torch.randn((8, *shape[1:]), dtype=dtype))
    batch, before = torch.randn(shape, dtype=dtype), model.training
    net = sv.from_torch(model, batch)
    assert model.training is before
    wanted = model.eval()(batch).detach().numpy().reshape(len(batch), -1)
    tolerance = 1e-12 if wide else 1e-5
    np.testing.assert_allclose(
        net(batch.numpy().reshape(len(batch), -1)), wanted, atol=tolerance * np.abs(wanted).max()
    )
    again = net.to_torch().eval()
    np.testing.assert_allclose(
        again(batch).detach().numpy().reshape(len(batch), -1), wanted, atol=tolerance
    )
    ours, theirs = again.state_dict(), model.state_dict()
    assert {*ours} == {*theirs}
    for key in theirs:
        assert "num_batches" in key or torch.equal(ours[key], theirs[key]), key


@pytest.mark.slow
def test_several_inputs_are_side_by_side_in_a_row(
    tmp_path: Path, torch: Any, models: dict[str, Any]
) -> None:
    model = models["operator"][0].double()
    batches = torch.randn(5, 20).double(), torch.randn(5, 1).double()
    wanted, row = model(*batches).detach().numpy(), np.hstack([each.numpy() for each in batches])
    net = sv.from_torch(model, batches)
    np.testing.assert_allclose(net(row), wanted, atol=1e-12)
    assert [*net.input_widths.items()] == [("branch", 20), ("trunk", 1)]
    assert [repr(each) for each in net.layers[0].layers[::2]] == [
        "Slice(shape=21, first=0, end=20)", "Slice(shape=21, first=20, end=21)",
    ]  # fmt: skip
    assert [each.frozen for each in dict(net.named_parameters()).values()] == [False] * 4 + [True]
    given = dict(zip(net.input_widths, [each.numpy() for each in batches], strict=True))
    assert (net(given) == net(row)).all()
    back = net.to_torch()
    np.testing.assert_allclose(
        back(trunk=batches[1], branch=batches[0]).detach(), wanted, atol=1e-12
    )
    sv.onnx.save(net, tmp_path / "net.onnx")
    for again in (
        sv.from_torch(back, batches), sv.onnx.load(tmp_path / "net.onnx", dtype="float64"),
    ):  # fmt: skip
        assert [*again.input_widths.items()] == [*net.input_widths.items()]
        assert repr(again.layers) == repr(net.layers) and (again(given) == net(row)).all()


@pytest.mark.slow
def test_names_of_inputs_are_arguments_that_python_permits(torch: Any) -> None:
    sums = built(lambda m, xLeft, right: torch.tanh(xLeft) + right)
    net = sv.from_torch(sums, (torch.ones(2, 3), torch.ones(2, 3)))
    assert net.input_widths == {"xLeft": 3, "right": 3}
    net.input_widths = {"lambda": 2, "2 a": 2, "2.a": 1, "self": 1}
    back = net.to_torch()
    assert back.forward.__code__.co_varnames[:5] == ("self", "lambda_2", "_2_a", "_2_a_2", "self_2")
    assert back(*[torch.zeros(1, n) for n in (2, 2, 1, 1)]).tolist() == [[0.0] * 3]
    net = sv.Network([sv.Conv2d((1, 2, 3), 2, 2), sv.Flatten((2, 1, 2))])
    net.input_widths, row = {"top": 3, "bottom": 3}, torch.rand(5, 6)
    found = net.to_torch()(row[:, :3], row[:, 3:]).detach().numpy()
    np.testing.assert_allclose(found, net(row.numpy()), atol=1e-6)


@pytest.mark.slow
def test_a_norm_without_gains_has_those_that_change_nothing_and_keeps_them(torch: Any) -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv1d(2, 4, 3), torch.nn.InstanceNorm1d(4), torch.nn.Flatten(),
        torch.nn.LayerNorm(16, elementwise_affine=False),
    ).double()  # fmt: skip
    batch = torch.randn(3, 2, 6).double()
    net = sv.from_torch(model, batch)
    np.testing.assert_allclose(net(batch.numpy()), model(batch).detach(), atol=1e-12)
    frozen = [each.frozen for each in dict(net.named_parameters()).values()]
    assert frozen == [False, False, True, True, True, True]


@pytest.mark.slow
def test_what_is_frozen_stays_frozen(torch: Any, models: dict[str, Any]) -> None:
    model = models["mlp"][0]
    model[0].weight.requires_grad = False
    net = sv.from_torch(model, torch.zeros(1, 3))
    assert [each.frozen for each in dict(net.named_parameters()).values()] == [
        True, False, False, False,
    ]  # fmt: skip
    assert [each.requires_grad for each in net.to_torch().parameters()] == [
        False, True, True, True,
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PReLU", "LayerNorm", "RMSNorm", "BatchNorm1d", "GroupNorm"])
def test_a_module_in_two_places_is_one_layer_that_trains_as_there(kind: str, torch: Any) -> None:
    nn, sizes = torch.nn, {"PReLU": (), "GroupNorm": (2, 8)}.get(kind, (8,))

    shared, norm = (getattr(nn, kind)(*sizes) for _ in range(2))
    branches = built(  # the same of the same value, before both factors
        lambda m, x: m.out(torch.sigmoid(m.a(m.norm(x))) * m.b(m.norm(x))),
        norm=norm, a=nn.Linear(8, 6), b=nn.Linear(8, 6), out=nn.Linear(6, 3),
    )  # fmt: skip
    row = nn.Sequential(nn.Linear(8, 8), shared, nn.Linear(8, 8), shared, nn.Linear(8, 3))
    x, t = torch.randn(9, 8).double(), torch.randn(9, 3).double()
    for model in [row.double(), branches.double()][: 1 if kind == "BatchNorm1d" else 2]:
        net = sv.from_torch(model, x)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(5):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), t).backward()
            optimizer.step()
            net.train_step(x.numpy(), t.numpy(), "mse", sv.SGD(0.1))
        assert len(net.bank) == sum(each.numel() for each in model.parameters())
        for found in (net(x.numpy()), net.to_torch().eval()(x).detach()):
            np.testing.assert_allclose(found, model.eval()(x).detach(), atol=1e-12)


@pytest.mark.slow
def test_what_forward_cuts_off_and_adds_is_trained_as_there(torch: Any) -> None:
    model = built(
        lambda m, x: torch.tanh(m.a(x)[..., :-2])[:, :, 1:-1][..., -1] + m.b0,
        a=torch.nn.Conv1d(3, 8, 3, padding=2), b0=torch.nn.Parameter(torch.zeros(8)),
    ).double()  # fmt: skip
    x, t = torch.randn(6, 3, 9).double(), torch.randn(6, 8).double()
    net = sv.from_torch(model, x)
    for _ in range(3):
        model.zero_grad()
        torch.nn.functional.mse_loss(model(x), t).backward()
        torch.optim.SGD(model.parameters(), 0.1).step()
        net.train_step(x.numpy().reshape(6, -1), t.numpy(), "mse", sv.SGD(0.1))
    back = net.to_torch()
    for found in (net(x.numpy().reshape(6, -1)), back(x).detach()):
        np.testing.assert_allclose(found, model(x).detach(), atol=1e-12)
    assert torch.allclose(back.b0, model.b0, atol=1e-12) and back.b0.requires_grad


@pytest.mark.slow
def test_a_module_is_left_as_it_is_to_the_bit(torch: Any, models: dict[str, Any]) -> None:
    model, shape = models["cnn"]
    model[1].eval()
    batch = torch.randn(shape)
    model(batch).sum().backward()
    shared = torch.nn.Sequential(model, torch.nn.Linear(10, 10), *[torch.nn.RMSNorm(10)] * 2)
    arrays = [*shared.parameters(), *shared.buffers(), *[p.grad for p in model.parameters()]]
    before = [each.clone() for each in arrays]
    drawn, modes = torch.get_rng_state(), [each.training for each in shared.modules()]
    sv.from_torch(shared, batch).to_torch()
    after = [*shared.parameters(), *shared.buffers(), *[p.grad for p in model.parameters()]]
    assert all(a is b and torch.equal(a, c) for a, b, c in zip(after, arrays, before, strict=True))
    assert modes == [each.training for each in shared.modules()] and shared[2].eps is None
    assert torch.equal(drawn, torch.get_rng_state())


@pytest.mark.slow
@pytest.mark.usefixtures("models")  # after their random numbers, some inputs are negative
def test_what_trains_otherwise_is_refused_by_name(torch: Any) -> None:
    slope = torch.nn.PReLU()
    model = torch.nn.Sequential(slope, torch.nn.Linear(3, 3), slope)
    apart = sv.Network([sv.PReLU(3), sv.Dense(3, 3), sv.PReLU(3)])
    rows = {"0.weight": slice(0, 1), "1.weight": slice(1, 10), "1.bias": slice(10, 13)}
    apart.load_state_dict(
        {
            f"{name}.{role}": model[name].state_dict()[role]
            for name, role in ((0, "weight"), (1, "weight"), (1, "bias"), (2, "weight"))
        }
    )
    for more, said in (
        ({}, "the gradient of its parameter '0.weight'"),
        ({"2.weight": slice(13, 14)}, "has no parameter '2.weight'"),
    ):
        refused(InputError, said).by(
            check_same, torch, model, apart, [np.ones((1, 3))], rows | more
        )


@pytest.mark.slow
def test_a_network_of_ours_becomes_a_module_that_trains_alike(
    rng: np.random.Generator, torch: Any
) -> None:
    net = sv.Network(
        [
            sv.Affine(3, [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]),
            sv.Dense(3, 8, "gelu_tanh"),
            sv.Residual(sv.Dense(8, 8, "relu"), sv.Dense(8, 8)),
            sv.Product(sv.Dense(8, 4, "sigmoid"), sv.Dense(8, 4)),
            sv.Concatenate(sv.Dense(4, 2, "sin"), sv.Dense(4, 3, "leaky_relu(0.2)")),
            sv.Dense(5, 2),
        ],
        dtype="float64",
        seed=3,
    )
    module = net.to_torch()
    x, t = rng.normal(size=(16, 3)), rng.normal(size=(16, 2))
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    losses = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(torch.tensor(x)), torch.tensor(t))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    np.testing.assert_allclose(net.train(x, t, "mse", sv.AdamW(0.01), steps=50), losses, rtol=1e-12)


@pytest.mark.slow
def test_modules_that_cannot_be_networks_are_refused_in_words() -> None:
    import torch
    from torch import nn

    def highway(m: Any, x: Any) -> Any:
        gate = torch.sigmoid(m.t(x))
        return gate * m.h(x) + (1 - gate) * x

    scale = nn.Parameter(torch.ones(1))
    both = {"h": nn.Linear(3, 3), "t": nn.Linear(3, 3)}
    siblings = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    siblings[2].weight = siblings[0].weight
    batch = torch.ones(2, 3)
    for module, example, said in (
        (nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 4)), batch, "'1' (LSTM): unsupported layer"),
        (nn.Linear(4, 2), batch, "it is given (3,) a sample"),
        (nn.InstanceNorm1d(3, track_running_stats=True), torch.ones(2, 3, 4), "something else"),
        (nn.Linear(3, 2), torch.ones(3), "the example is a batch"),
        (nn.Linear(3, 2), "x", "the example is a batch"),
        (
            built(lambda m, x: x.mean(1), "Mean"),
            torch.ones(2, 3, 4, 4),
            "only a whole picture has a mean here",
        ),
        (built(lambda m, x: x.flip(1), "Turned"), batch, "'flip' (flip): unsupported layer"),
        (
            built(lambda m, x: x.chunk(2, 1)[0], "Thirds"),
            batch,
            "2 outputs of the sizes [1, 1], for (3,)",
        ),
        (
            built(lambda m, x, y: x + y, "Two"),
            batch,
            "its forward takes 2 inputs, and the example has 1",
        ),
        (
            built(lambda m, x: x if x.sum() > 0 else -x, "Chooses"),
            batch,
            "its forward cannot be traced",
        ),
        (
            built(lambda m, x: x * m.scale, "Loose", scale=scale),
            batch,
            "its parameter scale has 1 numbers for (3,)",
        ),
        (
            built(lambda m, x: x * m.scale.exp(), "Loose2", scale=scale),
            batch,
            "its parameter scale is used outside of a layer",
        ),
        (built(highway, "Highway", **both), batch, "the result of 't' goes two ways"),
        (
            built(
                lambda m, x: m.norm(m.h(x)) * m.norm(m.t(x)),
                "Highway",
                norm=nn.LayerNorm(3),
                **both,
            ),
            batch,
            "its weights 'norm.weight' are used twice",
        ),
        (siblings, batch, "its weights '0.weight' are used by two layers"),
        (nn.BatchNorm1d(3, affine=False), batch, "(BatchNorm1d) has no gains"),
        (nn.Flatten(1, 2), torch.ones(2, 3, 2, 2), "no layer here does this with end_dim=2"),
    ):
        refused(InputError, said).by(sv.from_torch, module, example)
    refused(InputError, "no module of PyTorch is made of FrequencyEncoding").by(
        sv.Network([sv.FrequencyEncoding(2), sv.Dense(12, 1)]).to_torch
    )


def sequences() -> dict[str, tuple[Any, Any]]:
    """Return modules of sequences, and an example of the shape (batch, places, features)."""
    import torch
    from torch import nn
    from torch.nn import functional

    def step(m: Any, x: Any) -> Any:
        h = m.norm1(x)
        x = x + m.heads(h, h, h)[0]
        return x + m.narrow(functional.gelu(m.wide(m.norm2(x))))

    def block() -> Any:
        parts = {"norm1": nn.LayerNorm(8), "norm2": nn.LayerNorm(8), "wide": nn.Linear(8, 12)}
        return built(step, "Block", **parts, heads=attention(), narrow=nn.Linear(12, 8))

    def attention(**more: Any) -> Any:
        return nn.MultiheadAttention(8, 4, batch_first=True, **more)

    def by_hand(m: Any, x: Any) -> Any:
        _, places = x.size()
        x = m.letters(x) + m.places(torch.arange(places, device=x.device))
        h = m.norm(x)
        mask = torch.ones(places, places).triu(1).bool()
        x = x + m.heads(h, h, h, attn_mask=mask, need_weights=False)[0]
        return m.out(x + m.narrow(functional.gelu(m.wide(x))))

    def causal(m: Any, x: Any) -> Any:
        h = m.norm(x * m.scale)
        return x + m.heads(h, h, h, attn_mask=m.mask, need_weights=False)[0]

    def halves(m: Any, x: Any) -> Any:
        left, right = m.a(x).chunk(2, -1)
        return torch.cat([right, left], -1)

    mask = nn.Transformer.generate_square_subsequent_mask(5)
    x, letters = torch.randn(6, 5, 8).double(), torch.randint(0, 7, (6, 5))
    return {
        "rows": (
            nn.Sequential(
                nn.Linear(8, 6), nn.PReLU(), nn.LayerNorm(6), nn.Linear(6, 4), nn.Dropout(0.0),
                nn.RMSNorm(4), nn.GLU(), nn.LogSoftmax(-1),
            ),
            x,
        ),
        "heads": (attention(), x),
        "no bias": (attention(bias=False), x),
        "blocks": (nn.Sequential(block(), block(), nn.Linear(8, 3)), x),
        "letters": (nn.Sequential(nn.Embedding(7, 8), block(), nn.ReLU()), letters),
        "one place": (nn.Sequential(nn.Embedding(7, 8), block()), letters[:, :1]),
        "by hand": (
            built(
                by_hand, letters=nn.Embedding(7, 8), places=nn.Embedding(5, 8),
                norm=nn.LayerNorm(8), heads=attention(bias=False), wide=nn.Linear(8, 16),
                narrow=nn.Linear(16, 8), out=nn.Linear(8, 7),
            ),
            letters,
        ),
        "dropout": (
            built(lambda m, x: m.a(x, x, x)[0], a=attention(dropout=0.1)).eval(), x,
        ),
        "causal": (
            built(
                causal, heads=attention(), norm=nn.LayerNorm(8), mask=mask.isneginf(),
                scale=nn.Parameter(torch.rand(8)),
            ),
            x,
        ),
        "positions": (
            built(
                lambda m, x: m.a(m.letters(x) + m.places), letters=nn.Embedding(7, 8),
                places=nn.Parameter(torch.randn(1, 5, 8)), a=nn.Linear(8, 2),
            ),
            letters,
        ),
        "halves": (built(halves, a=nn.Linear(8, 6)), x),
        "mean": (built(lambda m, x: m.b(m.a(x).mean(1)), a=block(), b=nn.Linear(8, 3)), x),
        "last": (built(lambda m, x: m.b(m.a(x)[:, -1]), a=block(), b=nn.Linear(8, 3)), x),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "rows", "heads", "no bias", "blocks", "letters", "one place", "by hand", "causal",
        "positions", "halves", "mean", "last",
    ],
)  # fmt: skip
def test_a_module_of_sequences_computes_and_trains_as_its_network(name: str, torch: Any) -> None:
    model, batch = sequences()[name]
    net = sv.from_torch(model.double(), batch)
    inputs = (batch.mT if batch.ndim == 3 else batch).reshape(len(batch), -1).numpy()

    def outputs() -> Any:
        found = model(batch, batch, batch)[0] if name in ("heads", "no bias") else model(batch)
        return (found.mT if found.ndim == 3 else found).reshape(len(batch), -1)

    np.testing.assert_allclose(net(inputs), outputs().detach(), rtol=0, atol=1e-12)
    upstream = np.random.default_rng(0).normal(size=(len(batch), net.outputs))
    outputs().backward(torch.from_numpy(upstream))
    _, gradient = program_backward(
        net.program, net.bank, inputs.astype(float), upstream, learning=True
    )
    trained = gradient[~net.bank.frozen]
    theirs = torch.cat([each.grad.ravel() for each in model.parameters()])
    np.testing.assert_allclose(np.sort(trained), theirs.sort()[0], rtol=0, atol=1e-10)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(outputs(), torch.from_numpy(upstream)).backward()
        optimizer.step()
        net.train_step(inputs, upstream, "mse", sv.SGD(0.1))
    np.testing.assert_allclose(net(inputs), outputs().detach(), rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["blocks", "letters", "one place", "by hand", "dropout", "causal", "positions", "mean"],
)
def test_a_network_of_sequences_becomes_the_module_again(name: str, torch: Any) -> None:
    model, batch = sequences()[name]
    back = sv.from_torch(model.double(), batch).to_torch()
    back.train(model.training)
    np.testing.assert_allclose(back(batch).detach(), model(batch).detach(), rtol=0, atol=1e-12)
    ours, theirs = back.state_dict(), model.state_dict()
    assert {*ours} == {*theirs}
    assert all(torch.equal(ours[key].ravel(), theirs[key].ravel()) for key in theirs)


@pytest.mark.slow
def test_a_gpt_becomes_a_module_that_trains_alike_and_comes_back(torch: Any) -> None:
    net = gpt(7, 5, width=8, hidden=12, blocks=2, deviation=0.3).copy("float64")
    module, letters = net.to_torch(), torch.randint(0, 7, (6, 5))
    targets = torch.softmax(torch.randn(6, 5, 7), -1).double()
    rows = letters.numpy().astype(float), targets.mT.reshape(6, -1).numpy()
    optimizer, losses = torch.optim.Adam(module.parameters(), 0.01), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = -(targets * module(letters)).sum() / 6
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found = net.train(*rows, "negative_log_likelihood", sv.Adam(0.01), steps=20)
    np.testing.assert_allclose(found, losses, rtol=1e-10)
    for again in (sv.from_torch(module, letters), net):
        np.testing.assert_allclose(
            again(rows[0]), module(letters).mT.reshape(6, -1).detach(), rtol=0, atol=1e-10
        )


@pytest.mark.slow
def test_what_attention_and_embeddings_cannot_be_here_is_refused_in_words(torch: Any) -> None:
    nn, x, letters = torch.nn, torch.randn(2, 5, 8), torch.zeros(2, 5, dtype=torch.long)

    def heads(**more: Any) -> Any:
        return nn.MultiheadAttention(8, 2, **{"batch_first": True, **more})

    def masked(mask: Any) -> Any:
        return built(
            lambda m, x: m.a(x, x, x, None, True, m.mask)[0], "Masked", a=heads(), mask=mask
        )

    padded = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True)
    encoder, alone = nn.TransformerEncoder(padded, 2), "a forward of yours, such as nn.Multihead"
    for module, example, said in (
        (heads(batch_first=False), x, "set its attribute batch_first to True"),
        (heads(dropout=0.1), x, "call eval() of the module"),
        (heads(add_bias_kv=True), x, "has add_bias_kv=True, which no layer here has"),
        (heads(add_zero_attn=True), x, "has add_zero_attn=True, which no layer here has"),
        (built(lambda m, x: m.a(x, x, -x)[0], "Crossed", a=heads()), x, "has cross-attention"),
        (built(lambda m, x: m.a(x, x, x)[1], "Shares", a=heads()), x, "returns several values"),
        (masked(torch.ones(5, 5)), x, "has a mask that is not causal, or not known"),
        (masked(torch.ones(5, 5).tril(-1) > 0), x, "has a mask that is not causal, or not known"),
        (
            built(lambda m, x: m.a(x, x, x, attn_mask=x[0, :, :5])[0], "Masked", a=heads()),
            x,
            "has a mask that is not causal, or not known",
        ),
        (
            built(
                lambda m, x: m.a(x, x, x, key_padding_mask=x[:, :, 0] > 0)[0], "Padded", a=heads()
            ),
            x,
            "has a padding mask",
        ),
        *[(each, x, alone) for each in (padded, encoder, nn.Sequential(encoder))],
        (nn.Embedding(7, 8, padding_idx=0), letters, "padding_idx=0"),
        (
            nn.Embedding(7, 8),
            letters + 7,
            "cannot be called with the example in float64: 'index out",
        ),
        (
            built(lambda m, x: m.a(x * 2), "Doubled", a=nn.Embedding(7, 8)),
            letters,
            "its a (Embedding) takes computed indices",
        ),
        (
            built(lambda m, x: m.a(x) + m.a(torch.arange(5)), "Part", a=nn.Embedding(7, 8)),
            letters,
            "takes computed indices",
        ),
        (nn.Sequential(nn.Linear(8, 3), nn.Flatten()), x, "ordered by feature here"),
        (nn.Sequential(nn.LayerNorm(8), nn.Conv1d(5, 3, 1)), x, "it is given (5, 8) a sample"),
    ):
        refused(InputError, said).by(sv.from_torch, module, example)
    (_, kept, _) = sv.from_torch(masked(torch.zeros(5, 5)), x).layers  # a mask that hides nothing
    assert kept.settings()["causal"] is False
    computed = [sv.Conv1d((1, 5), 1, 1), sv.Embedding(7, 8, 5)]
    for layers, said in (
        ([sv.Attention(4, places=2)], "unless a Conv1d with kernel=1 is before it"),
        (computed, "PyTorch's Embedding takes indices"),
    ):
        refused(InputError, said).by(sv.Network(layers).to_torch)


@pytest.mark.slow
def test_norms_at_the_places_of_a_sequence_are_norms_of_a_module(torch: Any) -> None:
    layers = [sv.Conv1d((4, 5), 3, 1), sv.LayerNorm((3, 5)), sv.RMSNorm((3, 5), gain=False)]
    net = sv.Network([*layers, sv.LogSoftmax((3, 5))], dtype="float64", seed=0)
    x = torch.randn(2, 4, 5).double()
    np.testing.assert_allclose(
        net.to_torch()(x).detach().reshape(2, -1), net(x.numpy()), rtol=0, atol=1e-12
    )


@pytest.mark.slow
def test_a_wrapped_module_is_the_module_in_it(torch: Any, models: dict[str, Any]) -> None:
    model = models["mlp"][0]
    assert unwrapped(torch.nn.DataParallel(model)) is model
