"""Optimizers on given gradients, and schedules."""

from collections.abc import Callable
from typing import Any

import torch
from tensors import Entry, random, tensor
from torch import Tensor, nn

STEPS = 10
START = [0.8, -0.5, 0.0]

# Ours by PyTorch's: the class with its fixed settings, the names of its settings and of its slots.
OPTIMIZERS: dict[str, tuple[Callable[..., Any], dict[str, str], dict[str, str]]] = {
    "sgd": (torch.optim.SGD, {}, {}),
    "momentum": (
        lambda *args, momentum=0.9, **rest: torch.optim.SGD(*args, momentum=momentum, **rest),
        {"momentum": "momentum"},
        {"velocity": "momentum_buffer"},
    ),
    "nesterov": (
        lambda *args, momentum=0.9, **rest: torch.optim.SGD(
            *args, momentum=momentum, nesterov=True, **rest
        ),
        {"momentum": "momentum"},
        {"velocity": "momentum_buffer"},
    ),
    "rmsprop": (
        torch.optim.RMSprop,
        {"alpha": "alpha", "eps": "eps"},
        {"square": "square_avg"},
    ),
    "adam": (
        torch.optim.Adam,
        {"beta1": "betas", "beta2": "betas", "eps": "eps"},
        {"m": "exp_avg", "v": "exp_avg_sq"},
    ),
    "adamw": (
        torch.optim.AdamW,
        {"beta1": "betas", "beta2": "betas", "eps": "eps", "decay": "weight_decay"},
        {"m": "exp_avg", "v": "exp_avg_sq"},
    ),
}
OTHER_SETTINGS = {
    "momentum": 0.5, "alpha": 0.9, "beta1": 0.7, "beta2": 0.95, "eps": 1e-3, "decay": 0.2,
}  # fmt: skip

# What is done to the gradients first. "settings" takes OTHER_SETTINGS, all else the defaults.
CASES: dict[str, dict[str, float]] = {
    "defaults": {},
    "settings": {},
    "all": {"clip_norm": 2.0, "clip_value": 0.7, "l1": 0.05, "l2": 0.3},
}
ONE_BY_ONE: dict[str, dict[str, float]] = {
    "l2": {"l2": 0.3},
    "l1": {"l1": 0.05},
    "clip_norm": {"clip_norm": 1.5},
    "clip_value": {"clip_value": 0.4},
}


def steps() -> Entry:
    """Where the weights begin, and their gradients at each step; one is 0, some far from 1."""
    torch.manual_seed(1)
    gradients = random(STEPS, len(START))
    gradients[2, 0], gradients[4, 1], gradients[6, 2] = 0.0, 1e4, 1e-9
    return {"start": START, "gradients": gradients.tolist()}


def prepare(w: Tensor, common: dict[str, float]) -> None:
    """Clip as torch.nn.utils does, then add what PyTorch's optimizers do not: l1."""
    if "clip_norm" in common:
        nn.utils.clip_grad_norm_([w], common["clip_norm"])
    if "clip_value" in common:
        nn.utils.clip_grad_value_([w], common["clip_value"])
    assert w.grad is not None
    w.grad += common.get("l1", 0.0) * w.detach().sign()


def optimizer(name: str, case: str, common: dict[str, float]) -> Entry:
    make, names, slots = OPTIMIZERS[name]
    settings = {key: OTHER_SETTINGS[key] for key in names} if case == "settings" else {}
    options: Entry = {names[key]: value for key, value in settings.items() if "beta" not in key}
    if "beta1" in settings:
        options["betas"] = (settings["beta1"], settings["beta2"])
    w = tensor(START, learns=True)
    l2 = common.get("l2", 0.0)
    if name != "adamw":
        options["weight_decay"] = l2
    rule = make([w], lr=0.05, foreach=False, **options)
    path = []
    for row in steps()["gradients"]:
        w.grad = tensor(row)
        prepare(w, common)
        if name == "adamw":  # whose own weight_decay is another thing
            w.grad += l2 * w.detach()
        rule.step()
        path.append(w.tolist())
    kept = {ours: rule.state[w][theirs].tolist() for ours, theirs in slots.items()}
    return {"lr": 0.05, "settings": settings, "common": common, "weights": path, "slots": kept}


def optimizers() -> Entry:
    found = {}
    for name in OPTIMIZERS:
        cases = CASES | (ONE_BY_ONE if name == "sgd" else {})
        found[name] = {case: optimizer(name, case, common) for case, common in cases.items()}
    return found


RATE = 0.3
Scheduler = torch.optim.lr_scheduler.LRScheduler


def warmup_cosine(rule: Any) -> Scheduler:
    up = torch.optim.lr_scheduler.LinearLR(rule, start_factor=1 / 5, total_iters=4)
    down = torch.optim.lr_scheduler.CosineAnnealingLR(rule, 20, 0.1 * RATE)
    return torch.optim.lr_scheduler.SequentialLR(rule, [up, down], [5])


# The settings, as ours take them; PyTorch's scheduler; up to which step it is the same. (PyTorch's
# cosine rises again after its end, ours stays.)
SCHEDULES: dict[str, tuple[dict[str, float], Callable[[Any], Scheduler], int]] = {
    "constant": ({}, lambda rule: torch.optim.lr_scheduler.LambdaLR(rule, lambda _: 1.0), 5),
    "step": (
        {"every": 4, "factor": 0.7},
        lambda rule: torch.optim.lr_scheduler.StepLR(rule, 4, 0.7),
        30,
    ),
    "cosine": (
        {"steps": 20, "floor": 0.1},
        lambda rule: torch.optim.lr_scheduler.CosineAnnealingLR(rule, 20, 0.1 * RATE),
        20,
    ),
    "warmup_cosine": ({"warmup": 5, "steps": 25, "floor": 0.1}, warmup_cosine, 25),
    "warmup": (
        {"warmup": 5},
        lambda rule: torch.optim.lr_scheduler.LinearLR(rule, start_factor=1 / 5, total_iters=4),
        9,
    ),
    "one_cycle": (
        {"steps": 21},
        lambda rule: torch.optim.lr_scheduler.OneCycleLR(
            rule, RATE, total_steps=21, pct_start=0.3, cycle_momentum=False
        ),
        20,
    ),
}


def schedules() -> Entry:
    found = {}
    for name, (settings, make, last) in SCHEDULES.items():
        rule = torch.optim.SGD([tensor([0.0], learns=True)], RATE)
        scheduler = make(rule)
        rates = []
        for _ in range(last + 1):
            rates.append(scheduler.get_last_lr()[0])
            rule.step()
            scheduler.step()
        found[name] = {"lr": RATE, "settings": settings, "rates": rates}
    return found
