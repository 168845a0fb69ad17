"""Small healthy trainings in PyTorch. Each function returns models by name, and one step."""

import copy
from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise
from typing import Any

import pytest

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.nn import functional as F

Training = tuple[dict[str, Any], Callable[[], None]]
ADAM, SGD = torch.optim.Adam, torch.optim.SGD


def mlp(*sizes: int, act: Any = nn.ReLU) -> Any:
    layers = [(nn.Linear(a, b), act()) for a, b in pairwise(sizes)]
    return nn.Sequential(*[each for pair in layers for each in pair][:-1])


def trained(model: Any, loss_of: Callable[[], Any], optimizer: Any = None) -> Training:
    optimizer = optimizer or ADAM(model.parameters(), 3e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return {"model": model}, step


def images(count: int = 16, side: int = 8) -> tuple[Any, Any]:
    """Images with a bright quarter, which is the class."""
    y = torch.randint(0, 4, (count,))
    x = 0.3 * torch.randn(count, 1, side, side)
    for i, corner in enumerate(y.tolist()):
        top, left = side // 2 * (corner // 2), side // 2 * (corner % 2)
        x[i, 0, top : top + side // 2, left : left + side // 2] += 1.0
    return x, y


def rows(count: int = 32) -> tuple[Any, Any]:
    x = torch.randn(count, 8)
    return x, x[:, :4].argmax(1)


def classifier(model: Any, data: Any = rows, optimizer: Any = None) -> Training:
    def loss_of() -> Any:
        x, y = data()
        return F.cross_entropy(model(x), y)

    return trained(model, loss_of, optimizer)


class Module(nn.Module):
    """A module of parts by name, and a function of it and of its inputs."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.made = forward
        for name, each in parts.items():
            setattr(self, name, each)

    def forward(self, *inputs: Any) -> Any:
        return self.made(self, *inputs)


def dcgan() -> Training:
    g = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    d = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1), nn.BatchNorm2d(16),
        nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(64, 1),
    )  # fmt: skip
    for each in chain(g.parameters(), d.parameters()):
        if each.ndim > 2:
            nn.init.normal_(each, 0.0, 0.02)
    of_g, of_d = (ADAM(x.parameters(), 2e-4, betas=(0.5, 0.999)) for x in (g, d))

    def step() -> None:
        fake = g(torch.randn(16, 8, 1, 1))
        of_d.zero_grad()
        (F.softplus(-d(images()[0])).mean() + F.softplus(d(fake.detach())).mean()).backward()
        of_d.step()
        of_g.zero_grad()
        F.softplus(-d(fake)).mean().backward()
        of_g.step()

    return {"G": g, "D": d}, step


def siamese() -> Training:
    body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    model = Module(
        lambda self, a, b: self.head((self.body(a) - self.body(b)).abs())[:, 0],
        body=body,
        head=mlp(32, 16, 1),
    )

    def loss_of() -> Any:
        (a, of_a), (b, of_b) = images(), images()
        return F.binary_cross_entropy_with_logits(model(a, b), (of_a == of_b).float())

    return trained(model, loss_of, torch.optim.Adadelta(model.parameters(), 1.0))


def vae() -> Training:
    model = Module(lambda self, x: self.encode(x), encode=mlp(64, 32, 8), decode=mlp(4, 32, 64))

    def loss_of() -> Any:
        x = images()[0].flatten(1)
        mean, log = model(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log).exp()
        return (model.decode(z) - x).square().sum() - 0.5 * (
            1.0 + log - mean.square() - log.exp()
        ).sum()

    return trained(model, loss_of)


class Attention(nn.Module):
    """A layer of graph attention: bare parameters, and weights of neighbours."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) / inputs**0.5)
        self.score = nn.Parameter(torch.randn(2, outputs, 1) * 0.3)

    def forward(self, x: Any, edges: Any) -> Any:
        h = x @ self.weight
        scores = F.leaky_relu(h @ self.score[0] + (h @ self.score[1]).T, 0.2)
        return scores.masked_fill(edges == 0, -9e15).softmax(1) @ h


def graph() -> tuple[Any, Any, Any]:
    torch.manual_seed(1)
    y = torch.randint(0, 4, (60,))
    x = torch.randn(60, 12) + 2.0 * F.one_hot(y, 12)
    return x, y, ((torch.rand(60, 60) < 0.05) | torch.eye(60, dtype=torch.bool)).float()


def gat() -> Training:
    x, y, edges = graph()
    model = Module(
        lambda self, x: self.two(F.elu(self.one(x, edges)), edges),
        one=Attention(12, 16),
        two=Attention(16, 4),
    )
    return trained(model, lambda: F.cross_entropy(model(x), y))


def gin() -> Training:
    x, y, edges = graph()
    model = Module(
        lambda self, x: self.two(edges @ self.one(edges @ x)),
        one=mlp(12, 16, 16),
        two=mlp(16, 16, 4),
    )
    return trained(model, lambda: F.cross_entropy(model(x), y))


class Balance:
    """A pole on a cart: an episode ends when it falls, at most after 60 moves."""

    def __init__(self) -> None:
        self.random = torch.Generator().manual_seed(0)
        self.reset()

    def reset(self) -> Any:
        self.state, self.time = 0.05 * torch.randn(4, generator=self.random), 0
        return self.state

    def move(self, action: int) -> tuple[Any, bool]:
        place, speed, angle, turn = self.state.tolist()
        push = 10.0 * (2 * action - 1)
        faster = (9.8 * angle - push / 1.1) / 0.63
        self.state = torch.tensor(
            [place + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * turn, turn + 0.02 * faster]
        )
        self.time += 1
        return self.state, abs(angle) > 0.2 or self.time == 60


def actor_critic() -> Training:
    """A loss summed over the steps of an episode: it grows while the policy gets better."""
    model = Module(
        lambda self, s: (self.act(h := self.body(s).relu()), self.value(h)),
        body=nn.Linear(4, 64), act=nn.Linear(64, 2), value=nn.Linear(64, 1),
    )  # fmt: skip
    world, optimizer = Balance(), ADAM(model.parameters(), 3e-2)

    def step() -> None:
        state, done, logs, values = world.reset(), False, [], []
        while not done:
            scores, value = model(state)
            choice = torch.distributions.Categorical(logits=scores)
            action = choice.sample()
            logs.append(choice.log_prob(action))
            values.append(value[0])
            state, done = world.move(int(action))
        returns = torch.tensor([(1.0 - 0.99**n) / 0.01 for n in range(len(logs), 0, -1)])
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        gains = returns - torch.stack(values).detach()
        loss = -(torch.stack(logs) * gains).sum()
        loss = loss + F.smooth_l1_loss(torch.stack(values), returns, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return {"model": model}, step


def dqn() -> Training:
    """A target network that no optimizer moves."""
    policy, world = mlp(4, 32, 32, 2), Balance()
    target = copy.deepcopy(policy)
    memory, optimizer = [], torch.optim.AdamW(policy.parameters(), 1e-3, amsgrad=True)

    def step() -> None:
        state = world.state
        for _ in range(4):
            action = int(torch.randint(0, 2, ()))
            after, done = world.move(action)
            memory.append((state, action, after, float(done)))
            state = world.reset() if done else after
        some = [memory[i] for i in torch.randint(0, len(memory), (32,)).tolist()]
        states, actions, next_ones, ends = zip(*some, strict=True)
        with torch.no_grad():
            best = target(torch.stack(next_ones)).max(1).values * (1.0 - torch.tensor(ends))
        known = policy(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])[:, 0]
        optimizer.zero_grad()
        F.smooth_l1_loss(known, 1.0 + 0.99 * best).backward()
        optimizer.step()
        ours, theirs = policy.state_dict(), target.state_dict()
        target.load_state_dict({x: 0.995 * theirs[x] + 0.005 * ours[x] for x in ours})

    return {"policy": policy, "target": target}, step


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 4), nn.ModuleList(mlp(8, 16, 8) for _ in range(4))

    def forward(self, x: Any) -> Any:
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            row, rank = torch.where(chosen == i)
            result = result.index_add(0, row, weights[row, rank, None] * expert(x[row]))
        return x + result


def moe() -> Training:
    return classifier(nn.Sequential(Experts(), Experts(), nn.Linear(8, 4)))


def tied() -> Training:
    model = Module(
        lambda self, x: F.linear(self.enc(x).tanh(), self.enc.weight.T, self.bias),
        enc=nn.Linear(64, 16), bias=nn.Parameter(torch.zeros(64)),
    )  # fmt: skip

    def loss_of() -> Any:
        x = images()[0].flatten(1)
        return F.mse_loss(model(x), x)

    return trained(model, loss_of, SGD(model.parameters(), 0.1, momentum=0.9))


def unet() -> Training:
    """Denoising with accumulated gradients, a cosine schedule, and a copy with moving means."""
    model = Module(
        lambda self, x: self.out(
            torch.cat([h := self.inp(x), F.interpolate(self.mid(self.down(h)), 8)], 1)
        ),
        inp=nn.Conv2d(1, 8, 3, padding=1), down=nn.Conv2d(8, 8, 3, 2, 1),
        mid=nn.Sequential(nn.GroupNorm(4, 8), nn.SiLU(), nn.Conv2d(8, 8, 3, padding=1)),
        out=nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 1, 3, padding=1)),
    )  # fmt: skip
    mean = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)

    def step() -> None:
        for _ in range(2):
            x, noise = images()[0], torch.randn(16, 1, 8, 8)
            (F.mse_loss(model(0.7 * x + 0.7 * noise), noise) / 2).backward()
        optimizer.step()
        optimizer.zero_grad()
        rate.step()
        for ours, theirs in zip(mean.parameters(), model.parameters(), strict=True):
            ours.lerp_(theirs.detach(), 0.05)

    return {"net": model, "mean": mean}, step


def words(model: Any) -> Callable[[], Any]:
    """The loss of the next words, which are those before plus one."""

    def loss_of() -> Any:
        x = (torch.arange(9) + torch.randint(0, 12, (16, 1))) % 12
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    return loss_of


class Words(nn.Module):
    """A GPT with two blocks of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(12, 16), nn.Embedding(8, 16)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(2)
        )
        self.head = nn.Linear(16, 12, bias=False)
        for each in self.parameters():
            if each.ndim > 1:
                nn.init.normal_(each, 0.0, 0.02)

    def forward(self, x: Any) -> Any:
        h = self.embed(x) + self.place(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h, nn.Transformer.generate_square_subsequent_mask(x.shape[1]))
        return self.head(h)


def gpt() -> Training:
    model = Words()
    groups = [
        {"params": [x for x in model.parameters() if x.ndim > 1], "weight_decay": 0.1},
        {"params": [x for x in model.parameters() if x.ndim < 2], "weight_decay": 0.0},
    ]
    return trained(model, words(model), torch.optim.AdamW(groups, 3e-3, betas=(0.9, 0.95)))


def muon() -> Training:
    """Matrices by orthogonal steps, and the rest by Adam."""

    class Muon(torch.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.02})

        @torch.no_grad()
        def step(self) -> None:  # type: ignore[override]
            for each in self.param_groups[0]["params"]:
                mean = self.state[each].setdefault("m", torch.zeros_like(each))
                mean.lerp_(each.grad, 0.05)
                u, _, v = torch.linalg.svd(mean, full_matrices=False)
                each.add_(u @ v, alpha=-0.02)

    model = Words()
    inner = [x for x in model.blocks.parameters() if x.ndim == 2]
    others = [x for x in model.parameters() if all(x is not y for y in inner)]
    optimizers = [ADAM(others, 3e-3), Muon(inner)]
    loss_of = words(model)

    def step() -> None:
        loss_of().backward()
        for each in optimizers:
            each.step()
        model.zero_grad()

    return {"model": model}, step


def lbfgs() -> Training:
    model = mlp(1, 16, 1, act=nn.Tanh)
    optimizer = torch.optim.LBFGS(model.parameters(), 0.5, max_iter=4)
    x = torch.linspace(-2.0, 2.0, 40)[:, None]

    def closure() -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x.sin())
        loss.backward()
        return loss

    return {"model": model}, lambda: optimizer.step(closure) and None


def seq2seq() -> Training:
    encoder = Module(
        lambda self, x: self.gru(self.embed(x))[1],
        embed=nn.Embedding(12, 16), gru=nn.GRU(16, 16, batch_first=True),
    )  # fmt: skip
    decoder = Module(
        lambda self, x, h: self.out(self.gru(self.embed(x), h)[0]),
        embed=nn.Embedding(12, 16), gru=nn.GRU(16, 16, batch_first=True), out=nn.Linear(16, 12),
    )  # fmt: skip
    optimizers = [ADAM(x.parameters(), 5e-3) for x in (encoder, decoder)]

    def step() -> None:
        x = torch.randint(1, 12, (16, 4))
        y = x.flip(1)
        for each in optimizers:
            each.zero_grad()
        out = decoder(F.pad(y[:, :-1], (1, 0)), encoder(x))
        F.cross_entropy(out.flatten(0, 1), y.flatten()).backward()
        for each in optimizers:
            each.step()

    return {"encoder": encoder, "decoder": decoder}, step


def sam() -> Training:
    """Steps at the worst weights nearby."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)
    )
    optimizer = SGD(model.parameters(), 0.05, momentum=0.9)

    def step() -> None:
        x, y = images()
        F.cross_entropy(model(x), y).backward()
        moved = [(each, 0.05 * each.grad.sign()) for each in model.parameters()]
        with torch.no_grad():
            for each, way in moved:
                each += 0.01 * way
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for each, way in moved:
                each -= 0.01 * way
        optimizer.step()
        optimizer.zero_grad()

    return {"model": model}, step


def wrapper() -> Training:
    """Blocks that are left out by chance, in a module with another one."""

    def forward(self: Any, x: Any) -> Any:
        for block in self.blocks:
            x = x if torch.rand(()) < 0.3 else x + block(x)
        return self.head(x)

    blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(8), mlp(8, 16, 8)) for _ in range(4))
    inner = Module(forward, blocks=blocks, head=nn.Linear(8, 4))
    return classifier(Module(lambda self, x: self.module(x), module=inner))


def nerf() -> Training:
    model = Module(
        lambda self, x: self.out(torch.cat([self.body(e := encoded(x)).relu(), e], 1)),
        body=mlp(18, 32, 32, 32), out=nn.Linear(50, 3),
    )  # fmt: skip

    def encoded(x: Any) -> Any:
        waves = [f(2.0**i * x) for i in range(4) for f in (torch.sin, torch.cos)]
        return torch.cat([x, *waves], -1)

    def loss_of() -> Any:
        x = torch.rand(64, 2)
        color = torch.stack([x[:, 0], x.prod(1), (x.sum(1) > 1.0).float()], 1)
        return F.mse_loss(model(x), color)

    return trained(model, loss_of, ADAM(model.parameters(), 1e-3))


def ode() -> Training:
    model = mlp(2, 24, 2, act=nn.Tanh)
    turn = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])

    def loss_of() -> Any:
        y = z = torch.rand(16, 2)
        loss: Any = 0.0
        for _ in range(6):
            half = y + 0.05 * model(y**3)
            y, z = y + 0.1 * model(half**3), z + 0.1 * (z**3 @ turn)
            loss = loss + (y - z).abs().mean()
        return loss

    return trained(model, loss_of, torch.optim.RMSprop(model.parameters(), 1e-3))


class Patches(nn.Module):
    """A transformer of image patches, with a class token that starts near 0."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, 16, 4, 4)
        self.cls_token = nn.Parameter(1e-6 * torch.randn(1, 1, 16))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 5, 16))
        layer = nn.TransformerEncoderLayer(
            16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        h = self.patch(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.cls_token.expand(len(x), -1, -1), h], 1) + self.pos_embed
        return self.head(self.blocks(h)[:, 0])


def vit() -> Training:
    model = Patches()
    return classifier(model, images, torch.optim.AdamW(model.parameters(), 1e-3))


class Adapted(nn.Module):
    """A frozen layer, and a product of two small ones of which the second starts at 0."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.base = nn.Linear(inputs, outputs).requires_grad_(False)
        self.lora_a, self.lora_b = (
            nn.Linear(inputs, 2, bias=False),
            nn.Linear(2, outputs, bias=False),
        )
        nn.init.zeros_(self.lora_b.weight)

    def forward(self, x: Any) -> Any:
        return self.base(x) + self.lora_b(self.lora_a(x))


def lora() -> Training:
    """Most modules are frozen: that is intended."""
    norms = [nn.LayerNorm(16).requires_grad_(False) for _ in range(3)]
    model = nn.Sequential(
        nn.Linear(8, 16).requires_grad_(False), norms[0], Adapted(16, 16), nn.GELU(), norms[1],
        Adapted(16, 16), nn.GELU(), norms[2], nn.Linear(16, 4).requires_grad_(False),
    )  # fmt: skip
    learned = [x for x in model.parameters() if x.requires_grad]
    return classifier(model, rows, torch.optim.AdamW(learned, 5e-3))


class Scaled(nn.Module):
    """A block of a ConvNeXt: its scale starts at a millionth."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.LayerNorm(8)
        self.mlp, self.gamma = mlp(8, 32, 8, act=nn.GELU), nn.Parameter(torch.full((8,), 1e-6))

    def forward(self, x: Any) -> Any:
        h = self.mlp(self.norm(self.conv(x).permute(0, 2, 3, 1)))
        return x + (self.gamma * h).permute(0, 3, 1, 2)


def convnext() -> Training:
    model = nn.Sequential(
        nn.Conv2d(1, 8, 2, 2),
        Scaled(),
        Scaled(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 4),
    )
    return classifier(model, images, torch.optim.AdamW(model.parameters(), 1e-3))


def maml() -> Training:
    model = mlp(1, 24, 24, 1, act=nn.Tanh)

    def loss_of() -> Any:
        loss: Any = 0.0
        for _ in range(3):
            x = 10.0 * torch.rand(16, 1) - 5.0
            y = (1.0 + 2.0 * torch.rand(())) * (x + 3.0 * torch.rand(())).sin()
            known = dict(model.named_parameters())
            call = partial(torch.func.functional_call, model)
            inner = F.mse_loss(call(known, x[:8]), y[:8])
            slopes = torch.autograd.grad(inner, [*known.values()], create_graph=True)
            fast = {n: p - 0.01 * g for (n, p), g in zip(known.items(), slopes, strict=True)}
            loss = loss + F.mse_loss(call(fast, x[8:]), y[8:])
        return loss / 3.0

    return trained(model, loss_of, ADAM(model.parameters(), 1e-3))


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.LayerNorm(16), nn.LayerNorm(16)
        self.tokens, self.channels = mlp(8, 16, 8, act=nn.GELU), mlp(16, 32, 16, act=nn.GELU)

    def forward(self, x: Any) -> Any:
        x = x + self.tokens(self.one(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.two(x))


def mixer() -> Training:
    model = Module(
        lambda self, x: self.head(self.blocks(self.stem(x[:, 0])).mean(1)),
        stem=nn.Linear(8, 16), blocks=nn.Sequential(Mixed(), Mixed()), head=nn.Linear(16, 4),
    )  # fmt: skip
    return classifier(model, images)


def gru() -> Training:
    model = Module(
        lambda self, x: self.out(self.gru(x[:, 0])[0][:, -1]),
        gru=nn.GRU(8, 16, batch_first=True), out=nn.Linear(16, 4),
    )  # fmt: skip
    return classifier(model, images, ADAM(model.parameters(), 1e-2))


def teacher() -> Training:
    """Two views of an image: a student follows its own moving mean."""
    student, predictor = mlp(64, 32, 16), mlp(16, 16, 16)
    mean = copy.deepcopy(student).requires_grad_(False)
    optimizer = ADAM([*student.parameters(), *predictor.parameters()], 1e-3)

    def step() -> None:
        x = images()[0].flatten(1)
        one, two = (x + 0.1 * torch.randn_like(x) for _ in range(2))
        loss = 2.0 - 2.0 * F.cosine_similarity(predictor(student(one)), mean(two), 1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for ours, theirs in zip(mean.parameters(), student.parameters(), strict=True):
            ours.lerp_(theirs.detach(), 0.01)

    return {"student": student, "predictor": predictor, "teacher": mean}, step


HEALTHY = {
    each.__name__: each
    for each in (
        vit, lora, dqn, teacher, actor_critic, convnext, dcgan, siamese, vae, gat, gin, moe, tied,
        unet, gpt, muon, lbfgs, seq2seq, sam, wrapper, nerf, ode, maml, mixer, gru,
    )
}  # fmt: skip
