"""The structure of PyTorch models, observed in the first forward passes of their training.

`make test-all` installs PyTorch.
"""

import copy
import gc
import io
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.training.follow import following
from scalarviz.training.follow import observer as observing
from scalarviz.training.follow.observer import Observer
from scalarviz.training.follow.structure import Graph
from tests.wording import refused

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.nn import functional as F

from tests.training.follow.structures import CASES, Case, called, linear, model_of

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


def structure_of(model: Any, *batch: Any, **named: Any) -> dict[str, Any]:
    """Return the structure of a model that is called once."""
    before = hooks_of(model)
    observer = Observer(model)
    output = model(*batch, **named)
    del output
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
    ],
)
def test_lines_lead_from_what_made_a_tensor(forward: Any, wanted: set[str]) -> None:
    model = model_of(forward, a=linear(2, 2), b=linear(2, 2))
    assert lines(structure_of(model, torch.ones(1, 2))) == wanted


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
         "called in parts: functions between its modules are not seen"),
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
    assert night.structure["nodes"][0]["sizes"] == [(5, 4), (5,)]
    assert lines(night.structure) and night.structure["frames"][0]["kind"] == "Sequential"
    monkeypatch.setattr(following, "STRUCTURE", 0.0)  # it would take too much of the file
    assert follow(CASES["mlp"].make(), path).structure["lack"] == "no structure was recorded"
    night = follow(CASES["mlp"].make(), path, structure=False)
    assert night.record.tree is None and night.structure == {
        "lack": "no structure was recorded", "frames": [], "nodes": [], "edges": [],
    }  # fmt: skip
    assert len(night.steps) > 1


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
