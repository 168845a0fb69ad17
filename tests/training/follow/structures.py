"""Small PyTorch models of many kinds, each with a batch and its loss, for test_structure.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


def model_of(forward: Callable[..., Any], **modules: nn.Module) -> Any:
    """Return a model of some modules with a function as its forward."""
    model = type("Model", (nn.Module,), {"forward": forward})()
    for name, each in modules.items():
        model.add_module(name, each)
    return model


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.ones(width)) for _ in range(2))

    def forward(self, x: Any) -> Any:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.width = heads, width

    def forward(self, x: Any) -> Any:
        split = *x.shape[:2], self.heads, self.width // self.heads
        q, k, v = (y.view(split).transpose(1, 2) for y in self.c_attn(x).split(self.width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(x.shape))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = Norm(width), Attention(width, 2), Norm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, blocks: int = 12, width: int = 8) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(11, width), nn.Embedding(6, width)
        self.h, self.ln_f = nn.ModuleList([Block(width) for _ in range(blocks)]), Norm(width)
        self.lm_head = nn.Linear(width, 11, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx: Any, targets: Any) -> Any:
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        x = self.lm_head(self.ln_f(x))
        return x, F.cross_entropy(x.view(-1, 11), targets.view(-1))


class Basic(nn.Module):
    """A block of a ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.conv2, self.relu = nn.Conv2d(outputs, outputs, 3, 1, 1), nn.ReLU(inplace=True)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else nn.Sequential()

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.shortcut(x)
        return self.relu(y)


def resnet(width: int = 4) -> nn.Module:
    first = nn.Conv2d(3, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
    blocks = []
    for stage in range(4):
        inputs, outputs = width * 2 ** max(0, stage - 1), width * 2**stage
        blocks += [Basic(inputs, outputs, 1 + (stage > 0)), Basic(outputs, outputs, 1)]
    last = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 5)
    return nn.Sequential(*first, *blocks, *last)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = 1, 2, 4, 8, 16
        pairs = [*pairwise(widths)]
        self.down = nn.ModuleList([nn.Conv2d(a, b, 3, padding=1) for a, b in pairs])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs[:0:-1]])
        self.join = nn.ModuleList([nn.Conv2d(2 * a, a, 3, padding=1) for a, _ in pairs[:0:-1]])

    def forward(self, x: Any) -> Any:
        kept = []
        for conv in self.down:
            x = F.relu(conv(F.max_pool2d(x, 2) if kept else x))
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, kept[-2::-1], strict=True):
            x = join(torch.cat([up(x), skip], 1))
        return x


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.mean, self.spread = nn.Linear(6, 5), nn.Linear(5, 2), nn.Linear(5, 2)
        self.decoder = nn.Linear(2, 6)

    def encode(self, x: Any) -> Any:
        h = F.relu(self.fc1(x))
        return self.mean(h), self.spread(h)

    def forward(self, x: Any) -> Any:
        mean, spread = self.encode(x.view(-1, 6))
        z = mean + torch.exp(0.5 * spread) * torch.randn_like(spread)
        return torch.sigmoid(self.decoder(z))


class Words(nn.Module):
    """An LSTM with tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(9, 4), nn.LSTM(4, 4), nn.Linear(4, 9)
        self.decoder.weight = self.encoder.weight

    def forward(self, x: Any) -> Any:
        return self.decoder(F.dropout(self.rnn(self.encoder(x))[0], 0.1))


def over_time(self: Any, x: Any) -> Any:
    h = c = torch.zeros(x.shape[1], 3)
    for each in x:
        h, c = self.cell(each, (h, c))
    return self.out(h)


def by_sign(self: Any, x: Any) -> Any:
    return self.c(self.a(x) if x.sum() > 0 else self.b(x))


def recomputed(self: Any, x: Any) -> Any:
    return checkpoint(self.b, self.a(x), use_reentrant=False)


def of_words(self: Any, input_ids: Any, labels: Any) -> Any:
    x = self.head(self.inner(self.words(input_ids)))
    return {"loss": F.cross_entropy(x.view(-1, 9), labels.view(-1)), "logits": x}


def linear(a: int, b: int) -> nn.Module:
    return nn.Linear(a, b)


class Case(NamedTuple):
    """A kind of model, its batch, and the loss of its output."""

    make: Callable[[], nn.Module]
    batch: Callable[[], Any]
    loss: Callable[[Any], Any] = lambda output: output.float().square().mean()


def called(model: Any, batch: Any) -> Any:
    return model(**batch) if isinstance(batch, dict) else model(*batch)


def noise(*shape: int) -> Callable[[], Any]:
    return lambda: (torch.randn(*shape),)


def words(*shape: int, most: int = 9) -> Callable[[], Any]:
    return lambda: (torch.randint(0, most, shape), torch.randint(0, most, shape))


def encoder() -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)


CASES = {
    "mlp": Case(lambda: nn.Sequential(linear(4, 5), nn.Tanh(), linear(5, 2)), noise(3, 4)),
    "resnet": Case(resnet, noise(2, 3, 16, 16)),
    "unet": Case(UNet, noise(1, 1, 16, 16)),
    "vae": Case(VAE, noise(5, 2, 3)),
    "gpt": Case(GPT, words(2, 6), lambda output: output[1]),
    "lstm": Case(Words, lambda: words(5, 2)()[:1]),
    "over time": Case(
        lambda: model_of(over_time, cell=nn.LSTMCell(2, 3), out=linear(3, 2)), noise(6, 2, 2)
    ),
    "by sign": Case(
        lambda: model_of(by_sign, a=linear(4, 4), b=linear(4, 4), c=linear(4, 2)), noise(3, 4)
    ),
    "recomputed": Case(
        lambda: model_of(recomputed, a=linear(4, 4), b=nn.Sequential(linear(4, 4), nn.ReLU())),
        noise(3, 4),
    ),
    "dict": Case(
        lambda: model_of(of_words, words=nn.Embedding(9, 8), inner=encoder(), head=linear(8, 9)),
        lambda: dict(zip(("input_ids", "labels"), words(2, 5)(), strict=True)),
        lambda output: output["loss"],
    ),
    "lazy": Case(lambda: nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(2)), noise(3, 4)),
}
