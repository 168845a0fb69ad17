"""The structure of PyTorch models, observed in the first forward passes of their training.

`make test-all` installs PyTorch.
"""

import copy
import gc
import io
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.scene.layout.model_layout import ModelLayout
from scalarviz.scene.layout.model_tree import tree_of
from scalarviz.training.follow import following
from scalarviz.training.follow import observer as observing
from scalarviz.training.follow.observer import IN_PARTS, Observer
from scalarviz.training.follow.structure import Graph
from tests.wording import refused

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.nn import functional as F

from tests.training.follow.structures import CASES, Case, Norm, called, linear, model_of

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore:.*nested tensor.*:UserWarning", "ignore:Lazy modules"
    ),
    pytest.mark.usefixtures("one_thread"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "night.sv"


def train(case: Case, prepare: Callable[[Any], None], steps: int = 3) -> list[Any]:
    """Train a model; return the numbers of its state, its losses, and the random generator."""
    torch.manual_seed(0)
    model = case.make()
    prepare(model)
    losses = []
    for _ in range(steps):
        loss = case.loss(called(model, case.batch()))
        loss.backward()
        with torch.no_grad():
            for each in model.parameters():
                if each.grad is not None:
                    each -= 0.1 * each.grad
                    each.grad = None
        losses.append(loss.detach())
    found = [*model.state_dict().values(), *losses, torch.get_rng_state()]
    return [each.detach().numpy().tobytes() for each in found]


def hooks_of(model: Any) -> int:
    return sum(len(x._forward_hooks) + len(x._forward_pre_hooks) for x in model.modules())


def assert_clean(model: Any, hooks: int = 0) -> None:
    """No hook, no mode, and no other function of PyTorch is left."""
    assert hooks_of(model) == hooks and torch._C._len_torch_function_stack() == 0
    assert torch.Tensor.backward.__module__ == "torch._tensor"
    assert "__wrapped__" not in torch.jit._recursive.get_hook_stubs.__dict__


def structure_of(model: Any, *batch: Any, calls: int = 1, **named: Any) -> dict[str, Any]:
    """Return the structure of a model that is called, by default once."""
    before = hooks_of(model)
    observer = Observer(model)
    outputs = [model(*batch, **named) for _ in range(calls)]
    del outputs
    found = observer.close()
    assert_clean(model, before)
    return found


def lines(found: dict[str, Any]) -> set[str]:
    """Return the edges of a structure as words."""
    names = [each["path"] or each["name"] for each in found["nodes"]]
    return {f"{names[a]}>{names[b]}" for a, b, _ in found["edges"]}


# ---- the training is the same -------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_training_has_the_same_bits(name: str) -> None:
    known: list[Observer] = []
    case = CASES[name]
    assert train(case, lambda model: known.append(Observer(model))) == train(
        case, lambda model: None
    )
    [observer] = known
    assert observer.is_done(1)
    found = observer.close()
    assert found["lack"] == "" and found["nodes"] and found["edges"]
    assert [each["path"] for each in found["frames"] if each["parent"] == -1] == [""]
    assert_clean(observer._model)


@pytest.mark.parametrize("name", ["gpt", "resnet", "dict"])
def test_an_observation_that_is_cut_anywhere_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, count, works = CASES[name], [0, 0], Observer._try

    def cut(self: Observer, work: Any, *given: Any) -> None:
        count[0] += 1
        works(self, Mock(side_effect=RuntimeError("cut")) if count[0] == count[1] else work, *given)

    wanted = train(case, lambda model: None, 1)
    monkeypatch.setattr(Observer, "_try", cut)
    known: list[Observer] = []
    train(case, lambda model: known.append(Observer(model)), 1)
    known.pop().close()
    for end in range(1, count[0], max(1, count[0] // 12)):
        count[:] = 0, end
        assert train(case, lambda model: known.append(Observer(model)), 1) == wanted
        assert known[-1].close()["lack"] == "RuntimeError: cut"
        assert_clean(known[-1]._model)


def fails(error: type[BaseException], self: Any, x: Any) -> Any:
    y = self.b(F.relu(self.a(x)))
    if self.a.is_broken:
        self.a.is_broken = False
        with torch.device("meta"):
            raise error
    return y


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_forward_is_that_of_the_model(error: type[BaseException]) -> None:
    model = model_of(lambda self, x: fails(error, self, x), a=linear(2, 3), b=linear(3, 2))
    model.a.is_broken = True
    observer = Observer(model)
    with pytest.raises(error):
        model(torch.ones(1, 2))
    model(torch.ones(1, 2))
    is_interrupt = error is KeyboardInterrupt  # after which PyTorch calls no hook
    assert observer.is_done(1)
    found = observer.close()
    assert found["lack"] == ("a forward pass was interrupted" if is_interrupt else "")
    assert is_interrupt or lines(found) == {"x>a", "a>relu", "relu>b"}
    assert_clean(model)


def test_no_tensor_is_kept_alive() -> None:
    model = nn.Sequential(linear(2, 3), nn.ReLU(), linear(3, 1))
    observer, known = Observer(model), []
    for each in model:
        each.register_forward_hook(lambda *given: known.append(weakref.ref(given[2])))
    batch = torch.ones(4, 2)
    model(batch).sum().backward()
    known.append(weakref.ref(batch))
    del batch
    gc.collect()
    assert len(known) == 4 and not any(each() is not None for each in known)
    assert not observer._graph.makers.functions  # which keep numbers of the pass
    assert observer.close()["lack"] == ""


def test_copies_and_other_observers_of_a_model_do_not_matter() -> None:
    model, batch = CASES["mlp"].make(), CASES["mlp"].batch()
    observers = [Observer(model), Observer(model)]
    saved = io.BytesIO()
    copies = [copy.deepcopy(model), *copy.deepcopy([model[0]])]
    assert hooks_of(copies[0]) == hooks_of(copies[1]) == 0 < hooks_of(model)
    before = hooks_of(model)
    for each in (model, model[0], *copies):
        assert torch.equal(torch.jit.script(each)(*batch), each(*batch))
    assert hooks_of(model) == before
    for each in observers:
        each._calls.clear()
    torch.save(model, saved)
    assert b"scalarviz" not in saved.getvalue()  # a program without it can load the model
    saved.seek(0)
    torch.load(saved, weights_only=False)(*batch)
    torch.jit.trace(model, batch)
    assert not any(each._calls for each in observers)
    model(*batch)
    found = [each.close() for each in observers]
    assert lines(found[0]) == lines(found[1]) == {"input>0", "0>1", "1>2"}
    assert_clean(model)


def test_a_mode_of_the_model_is_left_alone_where_the_observation_ends_within_it() -> None:
    def forward(self: Any, x: Any) -> Any:
        with torch.device("meta"):
            x = self.a(x)
            observer.lack = "cut"
            assert torch.relu(x).device.type == "cpu" and torch.ones(1).is_meta
        assert not torch.ones(1).is_meta
        return self.b(x)

    model = model_of(forward, a=linear(2, 2), b=linear(2, 2))
    observer = Observer(model)
    model(torch.ones(1, 2))
    assert observer.close()["lack"] == "cut"
    assert_clean(model)


# ---- what is found ------------------------------------------------------------------------------


def of_two(name: str, found: dict[str, Any]) -> int:
    """Count the nodes of a name that two nodes lead to."""
    ends = [b for _, b, _ in found["edges"]]
    return sum(x["name"] == name and ends.count(x["id"]) == 2 for x in found["nodes"])


@pytest.mark.parametrize(
    ("name", "sign", "count"),
    [("resnet", "+", 8), ("gpt", "+", 25), ("unet", "cat", 3), ("vae", "+", 1), ("vae", "×", 1)],
)
def test_branches_meet_where_the_model_adds_or_joins_them(name: str, sign: str, count: int) -> None:
    case = CASES[name]
    assert of_two(sign, structure_of(case.make(), *case.batch())) == count


@pytest.mark.parametrize("name", ["mlp", "resnet"])
def test_lines_agree_with_torch_fx(name: str) -> None:
    model, *batch = of(name)

    def word(node: Any) -> str:
        words = {"placeholder": "input", "call_function": "+"}
        return words.get(node.op, str(node.target))

    graph = torch.fx.symbolic_trace(model).graph
    wanted = {
        f"{word(each)}>{word(node)}"
        for node in graph.nodes
        if node.op != "output"
        for each in node.all_input_nodes
    }
    assert lines(structure_of(model, *batch)) == wanted


def test_nodes_say_what_is_in_them() -> None:
    gpt = {x["path"] or x["name"]: x for x in structure_of(*of("gpt"))["nodes"][::-1]}
    assert gpt["lm_head"]["shared"] == ["wte.weight"] or gpt["wte"]["shared"] == ["lm_head.weight"]
    attn = gpt["h.3.attn.c_attn"]
    assert (attn["arrays"][0], attn["sizes"]) == ("h.3.attn.c_attn.weight", [[24, 8], [24]])
    assert attn["ways"][:2] == [["split", *[[2, 6, 8]] * 3], ["view", [2, 6, 2, 4]]]
    assert gpt["attention"]["settings"] == {"heads": 2, "causal": True}
    assert gpt["layer_norm"]["arrays"] == ["h.0.ln_1.weight", "h.0.ln_1.bias"]
    vae = structure_of(*of("vae"))
    assert [x["within"] for x in vae["nodes"] if x["path"] == "fc1"] == [["encode"]]
    assert {"noise>×", "spread>×", "mean>+", "×>+"} <= {
        each.replace("randn_like", "noise") for each in lines(vae)
    }
    assert next(x["settings"] for x in vae["nodes"] if x["name"] == "×") == {"by": 0.5}
    assert [x["name"] for x in vae["nodes"] if x["out"]] == ["sigmoid"]


def of(name: str) -> tuple[Any, ...]:
    return CASES[name].make(), *CASES[name].batch()


def test_a_loop_over_time_is_one_node_and_a_loop_over_modules_is_many() -> None:
    found = structure_of(*of("over time"))
    assert [(x["path"], x["times"]) for x in found["nodes"] if x["path"]] == [
        ("cell", 6),
        ("out", 1),
    ]
    blocks = nn.ModuleList([linear(2, 2) for _ in range(3)])

    def forward(self: Any, x: Any) -> Any:
        for block in self.blocks:
            x = x + block(x)
        return x

    found = structure_of(model_of(forward, blocks=blocks), torch.ones(1, 2))
    assert [x["times"] for x in found["nodes"] if x["name"] == "+"] == [1, 1, 1]
    assert of_two("+", found) == 3


def policy(self: Any, x: Any) -> Any:
    x = F.relu(self.a(x))
    return F.softmax(self.b(x), -1), self.b(x)


def decoder(self: Any, x: Any) -> Any:
    h, outs = torch.zeros(2), list[Any]()
    for each in x:
        h = self.a(torch.maximum(torch.tanh(each), h)) * 0.5
        outs.append(torch.sigmoid(self.b(h)))
    return torch.stack(outs)


def slope(self: Any, x: Any) -> Any:  # Runge-Kutta
    for _ in range(4):
        one = self.f(x)
        x = x + 0.5 * (one + self.f(x + one))
    return x


def halved(self: Any, x: Any) -> Any:
    x = self.a(x)
    for _ in range(5):
        x = torch.tanh(0.5 * x)
    return self.b(x)


def power(self: Any, x: Any) -> Any:
    return self.a(x**3)


def by_activation(self: Any, x: Any) -> Any:
    for layer in self.layers:
        x = self.relu(layer(x)) + x
    return x


def by_parameter(self: Any, x: Any) -> Any:
    for each in self.ws:
        x = torch.relu(F.linear(x, each))
    return x


def small() -> dict[str, Any]:
    return {"a": linear(2, 2), "b": linear(2, 2)}


def layers(count: int = 3) -> nn.ModuleList:
    return nn.ModuleList([linear(2, 2) for _ in range(count)])


LOOPS: dict[str, tuple[Callable[[], Any], dict[str, list[int]]]] = {
    "policy": (lambda: model_of(policy, **small()), {"relu": [1], "softmax": [1]}),
    "decoder": (
        lambda: model_of(decoder, **small()),
        {"tanh": [3], "maximum": [3], "a": [3], "×": [3], "b": [3], "sigmoid": [3], "stack": [1]},
    ),
    "slope": (
        lambda: model_of(slope, f=model_of(power, a=linear(2, 2))),
        {"pow": [4, 4], "a": [4, 4], "+": [4, 4, 4], "×": [4]},
    ),
    "halved": (lambda: model_of(halved, **small()), {"×": [5], "tanh": [5]}),
    "activation": (
        lambda: model_of(by_activation, layers=layers(), relu=nn.ReLU()),
        {"relu": [1] * 3, "+": [1] * 3},
    ),
    "parameters": (
        lambda: model_of(by_parameter, ws=nn.ParameterList([torch.ones(2, 2)] * 3)),
        {"linear": [1] * 3, "relu": [1] * 3},
    ),
}


@pytest.mark.parametrize("name", [*(name for name in CASES if name != "lazy"), *LOOPS])
def test_more_passes_before_a_step_find_the_same_structure(name: str) -> None:
    make, batch = (
        (CASES[name].make, CASES[name].batch())
        if name in CASES
        else (LOOPS[name][0], (torch.ones(3, 2),))
    )
    torch.manual_seed(0)
    named = batch if isinstance(batch, dict) else {}
    once, often = (
        structure_of(make(), *([] if named else batch), calls=calls, **named) for calls in (1, 3)
    )
    assert {**once, "cost_ms": 0} == {**often, "cost_ms": 0} and once["nodes"]


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_loop_repeats_is_one_node_unless_the_loop_is_over_modules(name: str) -> None:
    make, wanted = LOOPS[name]
    times: dict[str, list[int]] = {}
    for each in structure_of(make(), torch.ones(3, 2))["nodes"]:
        times.setdefault(each["path"].split(".")[-1] or each["name"], []).append(each["times"])
    assert wanted.items() <= times.items()


class Skipped(nn.Module):
    """A residual layer that is left out of some passes."""

    def __init__(self) -> None:
        super().__init__()
        self.f, self.is_out = linear(2, 2), False

    def forward(self, x: Any) -> Any:
        self.is_out = not self.is_out
        return x if self.is_out else x + self.f(x)


def in_parts(self: Any, x: Any) -> Any:
    outs = [self.net(each) for each in x.chunk(2)]
    return {name: torch.cat([each[name] for each in outs]) for name in outs[0]}


def of_two_heads(self: Any, x: Any) -> Any:
    x = self.layers(x)
    return {"digit": self.digit(x), "odd": self.odd(x)}


def test_passes_that_differ_call_the_same_nodes() -> None:
    blocks = nn.Sequential(Skipped(), linear(2, 2), Skipped(), Skipped())
    blocks[2].is_out = True
    net = model_of(of_two_heads, layers=blocks, digit=linear(2, 10), odd=linear(2, 1))
    found = structure_of(model_of(in_parts, net=net), torch.ones(4, 2), calls=3)
    sums = [x["frame"] for x in found["nodes"] if x["name"] == "+"]
    assert len(sums) == len({*sums}) == 3  # one in each block
    outs = [(x["name"], x["shape"]) for x in found["nodes"] if x["out"]]
    assert outs == [("cat", [4, 10]), ("cat", [4, 1])]


def of_graph(self: Any, x: Any, adj: Any) -> Any:
    return self.b(self.a(x, adj), adj)


def of_condition(self: Any, x: Any, t: Any) -> Any:
    t = self.time(t)
    return self.b(self.a(torch.relu(self.time(x)), t), t)


def conditioned() -> dict[str, nn.Module]:
    """Two layers with a second input."""
    return {
        name: model_of(lambda self, x, e: torch.relu(self.f(x) + e), f=linear(16, 16))
        for name in "ab"
    }


class Conditioned(nn.Module):
    """A residual block with a second input."""

    def __init__(self) -> None:
        super().__init__()
        self.c1, self.emb, self.c2, self.short = layers(4)

    def forward(self, x: Any, e: Any) -> Any:
        return self.c2(self.c1(x) + self.emb(e)) + self.short(x)


@pytest.mark.parametrize(
    ("forward", "modules", "wanted"),
    [
        (of_graph, conditioned(), {"adj"}),
        (of_condition, {"time": linear(16, 16), **conditioned()}, {"time"}),
        (
            lambda self, x, _: x + self.b(self.a(x)),
            {"a": linear(16, 16), "b": linear(16, 16)},
            {"skip"},
        ),
    ],
)
def test_only_what_meets_its_own_result_is_a_skip_connection(
    forward: Any, modules: dict[str, Any], wanted: set[str]
) -> None:
    made = ModelLayout(structure_of(model_of(forward, **modules), *torch.ones(2, 2, 16)), {})
    assert {path.word for path in made.paths if path.word} == wanted
    assert {path.word for path in made.paths if path.kind == "around"} == wanted & {"skip"}


def test_a_second_input_of_a_closed_frame_is_no_skip_connection() -> None:
    net = model_of(
        lambda self, x, e: self.head(self.block(x, e)), block=Conditioned(), head=linear(2, 2)
    )
    made = ModelLayout(structure_of(net, *torch.ones(2, 2, 2)), {}, opened={"block": 0})
    block = next(each for each in made.root.children if each.path == "block")
    assert [name for *_, name in made.skips(block)] == ["skip: short"]


def attended(self: Any, x: Any) -> Any:
    x = self.a(x).view(1, -1, 2, 1).transpose(1, 2)
    return self.b((F.dropout(F.softmax(x @ x.mT, -1), 0.1) @ x).flatten(2).mT)


@pytest.mark.parametrize(
    ("forward", "wanted"),
    [
        (attended, ["@", "softmax", "2 heads", "@"]),
        (policy, ["relu", "softmax"]),
        (lambda self, x: F.softmax(self.b(self.a(x)).view(1, 3, 2, 1), 1), ["softmax"]),
    ],
)
def test_a_softmax_is_attention_if_a_product_with_values_follows(
    forward: Any, wanted: list[str]
) -> None:
    root, _ = tree_of(structure_of(model_of(forward, **small()), torch.ones(3, 2)))
    chips = [each for each in root.leaves() if each.kind == "function"]
    assert [word for each in chips for word in each.words] == wanted


def test_each_of_several_results_ends_in_out_with_its_shape() -> None:
    def forward(self: Any, x: Any) -> Any:
        mean = self.a(x)
        hidden = torch.tanh(mean)
        return {"mean": mean, "hidden": hidden, "sum": torch.relu(hidden).sum()}

    root, _ = tree_of(structure_of(model_of(forward, **small()), torch.ones(3, 2)))
    said = [each.words for each in root.leaves() if each.kind in ("function", "output")]
    assert said == [["tanh"], ["relu", "sum"], ["out", "3×2"], ["out", "3×2"], ["out"]]


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with torch._C.DisableTorchFunction():  # as in a kernel
            return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


def helped(self: Any, x: Any) -> Any:
    def add(a: Any, b: Any) -> Any:
        return a + b

    return add(add(self.a(x), self.b(x)), x)


def written(self: Any, x: Any) -> Any:
    y = torch.zeros(1, 4)
    y[:, :2], y[:, 2:] = self.a(x), self.b(x)
    return torch.relu(y)


def overwritten(self: Any, x: Any) -> Any:
    y = self.a(x)
    view = y.view(2)
    F.relu(y, inplace=True)
    return self.b(view)


def joined(name: str) -> set[str]:
    return {"x>a", "x>b", f"a>{name}", f"b>{name}"}


CHOSEN, FIRST = {"x>a", "x>gt", "gt>where", "a>where"}, torch.zeros(1, 1, dtype=torch.long)


def test_a_tensor_that_is_given_twice_has_the_name_of_the_first_argument() -> None:
    model = model_of(lambda self, x, label=None: self.a(x) - label, a=linear(2, 2))
    given = torch.ones(1, 2)
    assert lines(structure_of(model, given, label=given)) == {"x>a", "a>−", "x>−"}


def test_a_helper_that_is_called_twice_is_two_nodes() -> None:
    model = model_of(helped, a=linear(2, 2), b=linear(2, 2))
    assert of_two("+", structure_of(model, torch.ones(1, 2))) == 2


@pytest.mark.parametrize(
    ("forward", "wanted"),
    [
        (helped, {"x>a", "x>b", "a>+", "b>+", "+>+", "x>+"}),
        (written, {"x>a", "x>b", "a>setitem", "b>setitem", "setitem>setitem", "setitem>relu"}),
        (overwritten, {"x>a", "a>relu", "relu>b"}),
        (lambda self, x: self.b(Own.apply(self.a(x))), {"x>a", "a>b"}),
        (lambda self, x: self.b(torch.from_numpy(self.a(x).detach().numpy())), {"x>a"}),
        (lambda self, x: self.b(torch.ones_like(self.a(x))), {"x>a"}),
        (lambda self, x: self.b(self.a(x)[:, torch.arange(2)].clone()), {"x>a", "a>b"}),
        (lambda self, x: x @ self.a.weight.T, {"x>@", "T>@"}),
        (lambda self, x: self.b(self.a(x).masked_fill(x > 0, 0.0)), {"x>a", "x>gt", "a>b"}),
        (lambda self, x: self.b(torch.where(torch.ones(2) > 0, self.a(x), 0.0)), {"x>a", "a>b"}),
        (lambda self, x: self.b(torch.where(x > 0, 1.0, 0.0)), {"x>gt", "gt>b"}),
        (lambda self, x: torch.where(x > 0, self.a(x), 0.0), CHOSEN),
        (lambda self, x: self.a(x).where(x > 0, torch.zeros_like(x)), CHOSEN),
        (
            lambda self, x: torch.where(condition=x > 0, input=self.a(x), other=self.b(x)),
            CHOSEN | {"x>b", "b>where"},
        ),
        (lambda self, x: torch.maximum(self.a(x), self.b(x)), joined("maximum")),
        (lambda self, x: torch.minimum(self.a(x), self.b(x)), joined("minimum")),
        (lambda self, x: self.a(x).lerp(self.b(x), 0.5), joined("lerp")),
        (lambda self, x: self.a(x).index_put((torch.arange(1),), self.b(x)), joined("index_put")),
        (lambda self, x: self.a(x).scatter(1, FIRST, self.b(x)), joined("scatter")),
        (lambda self, x: self.b(torch.zeros(1, 2).index_put_((FIRST[0],), self.a(x)[0, :1])),
         {"x>a", "a>index_put", "index_put>b"}),
        (lambda self, x: self.b(self.a(x).gather(1, (x > 0).long())),
         {"x>a", "x>gt", "a>gather", "gt>gather", "gather>b"}),
    ],
)  # fmt: skip
def test_lines_lead_from_what_made_a_tensor(forward: Any, wanted: set[str]) -> None:
    model = model_of(forward, a=linear(2, 2), b=linear(2, 2))
    assert lines(structure_of(model, torch.ones(1, 2))) == wanted


def by_functional_call(model: Any, x: Any) -> None:
    named = {name: 0.5 * each for name, each in model.named_parameters()}
    torch.func.functional_call(model, named, x)


def by_gradient_of_each_sample(model: Any, x: Any) -> None:
    def loss(named: Any, each: Any) -> Any:
        return torch.func.functional_call(model, named, each[None]).mean()

    torch.func.vmap(torch.func.grad(loss), (None, 0))(dict(model.named_parameters()), x)


def by_ensemble(model: Any, x: Any) -> None:
    named, _ = torch.func.stack_module_state([copy.deepcopy(model) for _ in range(2)])
    torch.func.vmap(lambda each: torch.func.functional_call(model, each, x))(named)


@pytest.mark.parametrize(
    "call",
    [
        by_functional_call,
        by_gradient_of_each_sample,
        by_ensemble,
        lambda model, x: torch.func.vmap(model)(x),
        lambda model, x: torch.func.jacrev(model)(x),
        lambda model, x: torch.func.jvp(model, (x,), (x,)),
    ],
)
def test_calls_with_other_parameters_or_transformed_are_drawn(call: Any) -> None:
    norm = Norm(3)
    model = nn.Sequential(linear(2, 3), norm, nn.Tanh(), linear(3, 1))
    observer = Observer(model)
    for _ in range(2):
        call(model, torch.ones(4, 2))
    found = observer.close()
    assert lines(found) == {"input>0", "0>layer_norm", "layer_norm>2", "2>3"}
    arrays = [[*each["arrays"]] for each in found["nodes"]]
    assert arrays == [[], ["0.weight", "0.bias"], ["1.weight", "1.bias"], [],
                      ["3.weight", "3.bias"]]  # fmt: skip
    assert found["lack"] == "" and [each["times"] for each in found["nodes"]] == [1] * 5
    assert_clean(model)


def test_parameters_that_the_model_computes_lead_to_the_module_that_uses_them() -> None:
    def forward(self: Any, x: Any) -> Any:
        return torch.func.functional_call(self.b, {"weight": self.a(x).view(2, 2)}, x[:2])

    model = model_of(forward, a=linear(2, 2), b=nn.Linear(2, 2, bias=False))
    assert lines(structure_of(model, torch.ones(2, 2))) == {"x>a", "x>b", "a>b"}


def test_two_models_are_one_structure(path: Path) -> None:
    g, d = nn.Sequential(linear(2, 3)), nn.Sequential(linear(3, 1))
    moves_g, moves_d = (torch.optim.SGD(each.parameters(), 0.1) for each in (g, d))
    with sv.follow(path=path, show=None, G=g, D=d):
        for _ in range(2):
            fake = g(torch.ones(1, 2))
            (d(torch.ones(1, 3)) - d(fake.detach())).sum().backward()
            moves_d.step()
            d(fake).sum().backward()
            moves_g.step()
    found = sv.load(path).structure
    assert lines(found) == {"input>G.0", "input>D.0", "G.0>D.0"}
    assert [each["times"] for each in found["nodes"]] == [1, 1, 1, 1]
    assert {*sv.load(path).parameters(1)} == {"G.0.weight", "G.0.bias", "D.0.weight", "D.0.bias"}


def in_a_thread(model: Any, x: Any) -> None:
    thread = threading.Thread(target=model, args=(x,))
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("make", "call", "lack"),
    [
        (nn.DataParallel, lambda m, x: m(x), "DataParallel is not looked into"),
        (lambda m: m.eval(), lambda m, x: m(x), "no forward pass in training mode was seen"),
        (lambda m: m, in_a_thread, "no forward pass in training mode was seen"),
        (lambda m: m, lambda m, x: m[1](m[0](x)),
         IN_PARTS),
    ],
)  # fmt: skip
def test_what_cannot_be_observed_is_said(make: Any, call: Any, lack: str) -> None:
    model = make(nn.Sequential(linear(2, 2), linear(2, 2)))
    observer = Observer(model)
    call(model, torch.ones(1, 2))
    found = observer.close()
    assert found["lack"] == lack and not found["nodes"]
    assert_clean(model)


@pytest.mark.parametrize(("limit", "value"), [("MOST_NODES", 2), ("MOST_SECONDS", -1)])
def test_an_observation_has_limits(
    limit: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, limit, value)
    assert "the rest is not drawn" in structure_of(*of("mlp"))["lack"]


def test_an_observation_ends_although_a_module_is_never_called() -> None:
    observer = Observer(
        model := model_of(lambda self, x: self.a(x), a=linear(2, 2), b=linear(2, 2))
    )
    ends = []
    for _ in range(observing.MOST_CALLS):
        model(torch.ones(1, 2))
        ends.append((observer.is_done(1), observer.is_done(observing.MOST_STEPS)))
    assert ends == [(False, True), (False, True), (True, True)]
    assert observer.close()["lack"] == "" and not hooks_of(model)


# ---- entry points -------------------------------------------------------------------------------


def follow(model: Any, path: Path, call: Any = None, **named: Any) -> Any:
    """Follow three steps of a model, and return the record."""
    moved = torch.optim.SGD(model.parameters(), 0.1)
    with sv.follow(model, path, show=None, **named) as run:
        for _ in range(3):
            (call or model)(torch.ones(2, 4)).sum().backward()
            moved.step()
    assert run.lack == "" and run.steps == 3
    assert_clean(model)
    return sv.load(path)


def test_a_record_has_the_structure_unless_it_is_not_wanted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, counts = CASES["mlp"].make(), list[int]()
    night = follow(model, path, lambda x: counts.append(hooks_of(model)) or model(x))
    assert counts == [8, 0, 0]  # two of each module until the first step
    assert lines(night.structure) == {"input>0", "0>1", "1>2"} and not night.structure["lack"]
    assert night.structure["nodes"][1]["sizes"] == [(5, 4), (5,)]
    assert lines(night.structure) and night.structure["frames"][0]["kind"] == "Sequential"
    monkeypatch.setattr(following, "STRUCTURE", 0.0)  # it would take too much of the file
    assert follow(CASES["mlp"].make(), path).structure["lack"] == "no structure was recorded"
    night = follow(CASES["mlp"].make(), path, structure=False)
    assert night.record.tree is None and night.structure == {
        "lack": "no structure was recorded", "frames": [], "nodes": [], "edges": [],
    }  # fmt: skip
    assert len(night.steps) > 1


class Wrapper(nn.Module):
    """Calls its module, as DistributedDataParallel does."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Any) -> Any:
        return torch.cat([self.module(each) for each in x.chunk(2)])


class Scaled(Wrapper):
    """A wrapper with a parameter."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Any) -> Any:
        return self.scale * self.module(x)


def plain() -> Any:
    return model_of(lambda self, x: x + self.b(self.a(x)), a=linear(4, 4), b=linear(4, 4))


def tied() -> nn.Module:
    model = plain()
    model.b.weight = model.a.weight
    return model


def parallel(model: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = torch.distributed.init_process_group
        group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    return nn.parallel.DistributedDataParallel(model)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "plain": plain,
    "tied": tied,
    "wrapped": lambda: Wrapper(plain()),
    "wrapped twice": lambda: Wrapper(Wrapper(tied())),
    "wrapped with a parameter": lambda: Scaled(Wrapper(plain())),
    "averaged": lambda: torch.optim.swa_utils.AveragedModel(plain()),
    "parallel": lambda: parallel(plain()),
    "data parallel": lambda: nn.DataParallel(plain()),
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(linear(4, 4)),
    "list": lambda: model_of(
        lambda self, x: sum(each(x) for each in self.parts), parts=nn.ModuleList([plain()] * 2)
    ),
    "parameters": lambda: model_of(
        lambda self, x: x @ self.ws[0] @ self.ws[1], ws=nn.ParameterList([torch.eye(4)] * 2)
    ),
    "compiled": lambda: torch.compile(Wrapper(plain()), backend="eager"),
    "compiled in a wrapper": lambda: Wrapper(torch.compile(plain(), backend="eager")),
}


@pytest.mark.parametrize(
    "name",
    [  # compiling takes seconds
        pytest.param(name, marks=pytest.mark.slow) if "compiled" in name else name
        for name in MODELS
    ],
)
def test_each_wall_has_numbers_and_each_parameter_a_wall(name: str, path: Path) -> None:
    try:
        night = follow(MODELS[name](), path)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    root, _ = tree_of(night.session.trainer.run.structure)
    shown = {array for each in root.leaves(every=True) for array in each.arrays}
    assert shown == {each.name for each in night.head().arrays if not each.is_buffer}


def test_a_module_without_optimizer_has_a_structure(path: Path) -> None:
    model = linear(4, 2)
    with sv.follow(model, path, show=None) as run:
        for _ in range(2):
            model(torch.ones(1, 4)).sum().backward()
            run.step()
    assert lines(sv.load(path).structure) == {"input>Linear"}


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (Observer, "_is_elsewhere"),
        (Observer, "_hook"),
        (Graph, "begin"),
        (Graph, "enter"),
        (Graph, "call"),
        (Graph, "leave"),
        (Graph, "rows"),
    ],
)
def test_an_error_of_the_observer_never_reaches_the_training(
    owner: Any, method: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, Mock(side_effect=MemoryError("two\nlines")))
    model = model_of(lambda self, x: torch.relu(self.a(x)), a=linear(4, 2))
    night = follow(model, path)
    assert night.structure["lack"] == "MemoryError: two\\nlines" and len(night.steps) > 1


@pytest.mark.parametrize(
    "named",
    [
        {"shwo": "window"},
        {"G": 3},
        {"model": linear(1, 1), "G": linear(1, 1)},
        {"type": linear(1, 1)},
        {"model": linear(1, 1), "structure": 1},
    ],
)
def test_bad_models_are_refused(named: dict[str, Any], path: Path) -> None:
    refused(InputError).by(sv.follow, path=path, show=None, **named)
    assert not path.exists()


# ---- compiled models ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", ["whole", "part", "before", "method"])
def test_compiling_makes_the_same_graphs(
    how: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch._dynamo as dynamo

    monkeypatch.setattr(observing, "MOST_STEPS", 2)
    counts, numbers = [], []
    for is_followed in (False, True):
        dynamo.reset()
        dynamo.utils.counters.clear()
        torch.manual_seed(0)
        model = nn.Sequential(linear(4, 5), nn.Dropout(0.5), linear(5, 2), nn.BatchNorm1d(2))
        called = model
        if how == "part":
            model[0] = torch.compile(model[0], backend="eager")
        elif how == "method":
            model.compile(backend="eager")
        else:
            called = torch.compile(model, backend="eager")
        if is_followed:
            night = follow(model if how == "before" else called, path, called)
        else:
            moved = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(3):
                called(torch.ones(2, 4)).sum().backward()
                moved.step()
        stats = dynamo.utils.counters
        counts.append((stats["stats"]["unique_graphs"], dict(stats["graph_break"])))
        numbers.append([each.tolist() for each in model.state_dict().values()])
    assert counts[0] == counts[1] and numbers[0] == numbers[1]
    found, parts = night.structure, {"input>0", "0>1", "1>2", "2>3", "0>2"}
    lack = {"before": "no forward pass in training mode", "method": "model.compile() also compiles"}
    assert found["lack"].startswith(lack.get(how, "")) and bool(found["lack"]) == (how in lack)
    assert how in lack or lines(found) <= parts


@pytest.mark.slow
def test_of_a_compiled_model_that_depends_on_numbers_nothing_is_said(path: Path) -> None:
    model = CASES["by sign"].make()
    night = follow(torch.compile(model, backend="eager"), path)
    assert night.structure["lack"].startswith("the way through this compiled model depends on its")
