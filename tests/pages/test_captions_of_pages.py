"""The captions, cards and numbers of a page are those of Python, word for word."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import exp, log, log1p
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.pages.caption_data import as_data, optimizer_data
from scalarviz.pages.engine_data import training_of
from scalarviz.stage.handles import caption_of_custom
from scalarviz.story.equations import change_between
from scalarviz.story.formats import said
from scalarviz.story.guide import custom_answer
from scalarviz.training.session.reading import facts_of, loss_facts
from tests.additions.test_custom_losses import (
    chosen,
    pinball,
    pinball_derivative,
    squares,
    squares_gradient,
)
from tests.additions.test_custom_optimizers import lion
from tests.additions.test_layer_classes import Radial, Sines
from tests.pages.node import InPage, in_web
from tests.pages.states import (
    Walk,
    alike,
    compare,
    compared,
    expected,
    plain,
    questions,
    said_by_node,
    spec_of,
)
from tests.sessions import advanced

Make = Callable[[], sv.Session]

CAPTIONED_OPTIMIZERS = [
    sv.Momentum(0.1),
    sv.Nesterov(0.1),
    sv.RMSProp(0.01),
    sv.Adam(0.01),
    sv.AdamW(0.01),
    sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=10)),
    sv.SGD(0.1, schedule=sv.Schedule("warmup_cosine", warmup=3, steps=10, floor=0.1)),
    sv.SGD(0.1, schedule=sv.Schedule("step", every=2)),
    sv.SGD(0.1, clip_value=0.01),
    sv.SGD(0.1, clip_norm=0.01),
    sv.SGD(0.1, clip_norm=0.01, clip_value=0.003, l1=0.01, l2=0.02),
    sv.Momentum(0.1, l2=0.1),
]


def colours(*layers: Any, batch: int = 4, lr: float = 0.5, **options: Any) -> sv.Session:
    """A network that learns colours on the python engine."""
    network = sv.Network([*layers], seed=1)
    options = {"optimizer": sv.SGD(lr), **options}
    return sv.Session(network, data.Rgb(), batch=batch, engine="python", **options)


def classes(network: sv.Network, inputs: int, batch: int = 4, weights: Any = None) -> sv.Session:
    """A network that learns two classes of made-up samples."""
    points = np.random.default_rng(0).normal(size=(10, inputs))
    samples = data.Arrays(points, np.arange(10) % 2, class_weight=weights)
    options = {"loss": "softmax_cross_entropy", "optimizer": sv.Adam(0.05)}
    return sv.Session(network, samples, batch=batch, engine="python", **options)


def with_kernels(pool: Any) -> sv.Session:
    kernels = sv.Conv2d((1, 8, 8), 3, 3, activation="relu", padding=1)
    return classes(sv.Network([kernels, pool((3, 8, 8), 2), sv.Dense(48, 2)], seed=1), 64, 3)


def with_groups() -> sv.Session:
    few = sv.Conv2d((4, 5, 5), 4, 3, (2, 1), 1, "relu", dilation=(1, 2), groups=2)
    depthwise = sv.Conv2d((4, 3, 3), 8, 2, groups=4)
    return classes(sv.Network([few, depthwise, sv.Dense(32, 2)], seed=1), 100, 3)


def part_frozen() -> sv.Session:
    session = colours(sv.Dense(3, 8, "tanh"), sv.Dense(8, 3, "sigmoid"))
    session.freeze(session.network.layers[0])
    return session


def held_norm() -> sv.Session:
    session = advanced(colours(sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)), 2)
    session.freeze(session.network.layers[1])
    return session


def own_rates(optimizer: sv.Optimizer) -> sv.Session:
    session = colours(sv.Dense(3, 8, "tanh"), sv.Dense(8, 3, "sigmoid"), optimizer=optimizer)
    session.set_rate(session.network.layers[0], 0.0123)
    return session


COSINE = sv.Schedule("cosine", steps=10)
# Layers that learn colours, and options.
COLOURS: dict[str, tuple[list[sv.Layer], dict[str, Any]]] = {
    "one sample": ([sv.Dense(3, 8, "tanh"), sv.Dense(8, 3, "sigmoid")], {"batch": 1}),
    "large batch": ([sv.Dense(3, 40, "tanh"), sv.Dense(40, 3, "sigmoid")], {"batch": 100}),
    "deep": ([sv.Dense(3, 6, "elu"), sv.Dense(6, 4, "elu"), sv.Dense(4, 3)], {}),
    "no biases": ([sv.Dense(3, 4, "tanh", bias=False), sv.Dense(4, 3, bias=False)], {}),
    "linear only": ([sv.Dense(3, 3)], {}),
    "softmax": ([sv.Dense(3, 5, "tanh"), sv.Dense(5, 3), sv.Softmax(3)], {}),
    "log_softmax": ([sv.Dense(3, 5, "selu"), sv.Dense(5, 3), sv.LogSoftmax(3)], {}),
    "layer norm": ([sv.Dense(3, 5, "tanh"), sv.LayerNorm(5), sv.Dense(5, 3)], {}),
    "group norm": ([sv.Dense(3, 6, "tanh"), sv.GroupNorm(6, 2), sv.Dense(6, 3)], {}),
    "sequence": (
        [sv.Conv1d((1, 3), 2, 2, padding=1), sv.MaxPool2d((2, 1, 4), (1, 2)), sv.Dense(4, 3)],
        {},
    ),
    "rms norm": ([sv.Dense(3, 5, "tanh"), sv.RMSNorm(5), sv.Dense(5, 3)], {}),
    "batch norm": ([sv.Dense(3, 5, "tanh"), sv.BatchNorm(5), sv.Dense(5, 3)], {}),
    "slopes": ([sv.PReLU(3), sv.Dense(3, 4), sv.PReLU(4, slopes=2), sv.Dense(4, 3)], {}),
    "dropout": ([sv.Dense(3, 8, "tanh"), sv.Dropout(8, 0.5), sv.Dense(8, 3)], {}),
    "residual": ([sv.Dense(3, 4, "tanh"), sv.Residual(sv.Dense(4, 4, "tanh")), sv.Dense(4, 3)], {}),
    "gate": (
        [
            sv.Dense(3, 8, "tanh"),
            sv.Product(sv.Activation((2, 2, 2), "linear"), [sv.Dense(8, 2), sv.Spread((2, 2, 2))]),
            sv.Dense(8, 3),
        ],
        {},
    ),
    "two inputs": (
        [
            sv.Product([sv.Slice(3, 0, 2), sv.Dense(2, 4)], [sv.Slice(3, 2, 3), sv.Dense(1, 4)]),
            sv.Dense(4, 3),
        ],
        {},
    ),
    "projection": (
        [sv.Dense(3, 4), sv.Residual(sv.Dense(4, 5, "tanh"), skip=sv.Dense(4, 5)), sv.Dense(5, 3)],
        {},
    ),
    "product": (
        [sv.Product([sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)], sv.Dense(3, 3)), sv.Dense(3, 3)],
        {},
    ),
    "concatenation": (
        [
            sv.Dense(3, 4),
            sv.Concatenate(sv.Dense(4, 3, "tanh"), sv.Dense(4, 2)),
            sv.Dense(5, 3),
        ],
        {},
    ),
    "as Python": ([sv.Dense(3, 4, "tanh"), Radial(4, 6), sv.Dense(6, 3)], {}),
    "as Python inside": ([sv.Dense(3, 4), sv.Residual(Sines(4, 4)), sv.Dense(4, 3)], {}),
    "waves": ([sv.FrequencyEncoding(3, 2), sv.Dense(12, 3)], {}),
    "diverging": ([sv.Dense(3, 4, "relu"), sv.Dense(4, 3)], {"lr": 1e4}),
    "tiny steps": ([sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)], {"lr": 1e-6}),
}
NETWORKS: dict[str, Make] = {
    **{name: partial(colours, *layers, **options) for name, (layers, options) in COLOURS.items()},
    "settings": lambda: colours(sv.Dense(3, 5, "elu(0.5)"), sv.Dense(5, 3, "hard_tanh(-2,0.5)")),
    "frozen": part_frozen,
    "held batch norm": held_norm,
    "own rates": partial(own_rates, sv.SGD(0.1)),
    "own decays": partial(
        own_rates, sv.AdamW(0.1, groups={"*.bias": {"decay": 0.5}, "1": {"lr": 0.2}})
    ),
    "scheduled own rates": partial(own_rates, sv.Adam(0.1, schedule=COSINE)),
    "max pool": partial(with_kernels, sv.MaxPool2d),
    "average pool": partial(with_kernels, sv.AvgPool2d),
    "groups": with_groups,
}


def test_captions_of_a_small_network_are_those_of_python(tmp_path: Path) -> None:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0)
    session = sv.Session(network, data.Xor(), optimizer=sv.SGD(0.5), engine="python", batch=4)
    assert compared(session, tmp_path) > 100


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, {1: 3.0}], ids=["alike", "by weights"])
def test_captions_of_classes_with_adam_are_those_of_python(tmp_path: Path, weights: Any) -> None:
    network = sv.Network([4, 3, 2], "leaky_relu", "linear", seed=0)
    assert compared(classes(network, 4, weights=weights), tmp_path) > 100


def test_captions_and_cards_of_edited_weights_are_those_of_python(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3))
    walk, states, wanted = Walk(session), [], []
    asked = [(name, {"row": row}) for row in (1, 20) for name in ("caption", "card")]
    for done, state in enumerate(walk.states(2), 1):
        if done in (4, 8, len(session.operations)):  # the last one is after a whole step
            session.edit(1 if done != 8 else 20, 0.1 * done)
            state = walk.state()
        states.append({"state": state, "asked": asked})
        wanted.append([expected(session, state, *each) for each in asked])
    compare(session, states, wanted, tmp_path)


def test_a_schedule_of_two_words_is_that_of_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(SCHEDULES, "warm up", replace(SCHEDULES["cosine"], name="warm up"))
    optimizer = sv.SGD(0.5, schedule=sv.Schedule("warm up", steps=50))
    assert compared(colours(sv.Dense(3, 2), sv.Dense(2, 3), optimizer=optimizer), tmp_path) > 100


def test_what_learns_is_explained_by_itself(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3))
    session.freeze([0, 1, 2])
    assert compared(session, tmp_path) > 100
    assert session.caption().rows[0] > 2


def test_captions_without_the_whole_batch_have_the_same_titles(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3), optimizer=sv.Adam(0.01))
    asked = [("caption", each) for each in questions(session)]
    lean, wanted = [], []
    for state in Walk(session).states(2):
        wanted.append([expected(session, state, *each)["title"] for each in asked])
        missing = {"all": None, "fresh": None, "grad_before": None, "earlier": None}
        lean.append({"state": {**state, **missing}, "asked": asked})
    found = said_by_node({"spec": spec_of(session), "states": lean}, tmp_path)
    assert [[caption["title"] for caption in captions] for captions in found] == wanted
    assert all(caption["lines"] for captions in found for caption in captions)


def test_a_card_between_played_steps_has_what_is_known(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3))
    state = [*Walk(session).states(2)][-1]
    rests = {"moment": -1, "gradients": {}, "all": None}
    unknown = {**rests, "before": None, "slots_before": None, "earlier": None}
    states = [
        {"state": {**state, **each}, "asked": [("card", {"row": 5})]} for each in (rests, unknown)
    ]
    (known,), (bare,) = said_by_node({"spec": spec_of(session), "states": states}, tmp_path)
    old, new = state["before"][5], state["value"][5]
    assert known["blocks"][0]["words"] == "{} → {}".format(*change_between(old, new)[:2])
    assert known["blocks"][-1]["words"].startswith("new w = ")
    grad = said(float(state["grad"][5]))
    assert bare["blocks"][0]["words"] == said(float(new), 3)
    assert [block["words"] for block in bare["blocks"][2:]] == [
        f"Its gradient, the blame with the opposite sign, is {grad}."
    ]


FORMULAS = """
    const { activations, parametrics, loss } = readyFacts(data.facts);
    const caseOf = (lists, numbers) => {
        const holds = ({ tests }) => tests.every(([test, is]) => test(...numbers) === is);
        const found = lists.map((cases) => cases.find(holds)).filter((each) => each?.text);
        return found.map((each) => each.compute(...numbers));
    };
    const bent = Object.values(activations).map((row) => data.points.map((z) => {
        const a = row.value(z);
        return [a, row.derivative(z, a), caseOf(row.cases, [z]), caseOf(row.slope_cases, [z, a])];
    }));
    const { value, derivative } = parametrics.prelu;
    const losses = data.losses.map((each) => readyFacts({ ...data.facts, loss: each }).loss);
    const scalar = losses.map(({ error, slope }) => [error, slope].map(
        (part) => part.compute && [part.compute(0.3, 0.8), ...caseOf(part.cases, [0.3, 0.8])]));
    const rows = losses.map(({ of_row: ofRow }) => ofRow && ofRow([1, -2, 0.5], [0, 1, 0]));
    return [bent, [value(-2, 0.25), derivative(-2, 0.25)], scalar, rows];
"""


def test_formulas_of_facts_are_functions() -> None:
    bent = [sv.Dense(3, 3, name) for name in sorted(ACTIVATIONS)]
    facts = spec_of(colours(*bent, sv.PReLU(3)))["facts"]
    names, points = [*LOSSES, *ROW_LOSSES], [-2.2, -0.3, 0.0, 0.7, 3.1]
    losses = [as_data(loss_facts(sv.Loss(name), 3)) for name in names]
    given = {"facts": facts, "points": points, "losses": losses}
    shown, prelu, scalar, rows = in_web("facts", FORMULAS, **given)
    assert len(shown) == len(ACTIVATIONS) - 1  # "linear" is no operation
    for name, found in zip(facts["activations"], shown, strict=True):
        row = ACTIVATIONS[name]
        for z, (a, slope, *written) in zip(points, found, strict=True):
            wanted = row.value(z), row.derivative(z, row.value(z))
            assert (a, slope) == pytest.approx(wanted), name
            for each, number in zip(written, wanted, strict=True):
                assert each == pytest.approx([number] * len(each), rel=1e-5), name
    assert prelu == [-0.5, 0.25]
    for loss, parts in zip(LOSSES.values(), scalar, strict=False):
        wanted = [each(0.3, 0.8) for each in (loss.value, loss.derivative)]
        for (number, *written), plainly in zip(parts, wanted, strict=True):
            assert number == pytest.approx(plainly * loss.weight(0.3, 0.8)), loss.name
            assert written == pytest.approx([plainly] * len(written)), loss.name
    given = [1.0, -2.0, 0.5], [0.0, 1.0, 0.0]
    found = [pytest.approx(row.value(*given)) for row in ROW_LOSSES.values()]
    assert scalar[-1] == [None, None] and rows == [*[None] * len(LOSSES), *found]


EXPLAINED = """
    const facts = readyFacts(data.facts);
    const { state, row } = data;
    const { lines, settings, clips } = readyState(facts, state).explained(row);
    const found = lines.map((line) => {
        const { name, value, known, numbered, card, corrections, same, own_rate, follows } = line;
        const named = (each) => known.get(each);
        const numbers = (numbered?.names ?? []).map(named);
        for (const { name, by, card } of corrections) {
            known.set(`${name}_corrected`, named(name) / named(by));
            if (card.compute(...card.names.map(named)) !== named(`${name}_corrected`)) return card;
        }
        const by_name = card?.compute(...card.names.map(named));
        const computed = [numbered?.compute(...numbers) ?? value, by_name ?? value];
        return [name, same, own_rate, follows, value, ...computed];
    });
    state.grad[row] = NaN;
    const [refused] = readyState(facts, state).explained(row).lines;
    return [found, settings, clips, refused];
"""


@pytest.mark.some(2)
@pytest.mark.parametrize("optimizer", CAPTIONED_OPTIMIZERS[4::2], ids=repr)
def test_the_lines_of_an_optimizer_are_functions(optimizer: sv.Optimizer) -> None:
    session = own_rates(optimizer)
    for row in (5, len(session.network.bank) - 1):  # of the first one the rate is its own
        [*_, state] = Walk(session).states()
        given = {"facts": spec_of(session)["facts"], "state": state, "row": row}
        lines, settings, clips, refused = in_web("facts", EXPLAINED, **given)
        wanted = session.explain(row).lines
        assert settings == list(optimizer.settings) and clips == (optimizer.clip_norm < math.inf)
        for (*about, value, one, other), line in zip(lines, wanted, strict=True):
            assert about == [line.name, line.same, line.own_rate, True]
            assert [value, one, other] == pytest.approx([line.value] * 3, rel=1e-5), line
        assert refused["words"].startswith("as it is") and refused["numbered"] is refused["card"]


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", CAPTIONED_OPTIMIZERS, ids=repr)
def test_captions_of_every_optimizer_are_those_of_python(
    optimizer: sv.Optimizer, tmp_path: Path
) -> None:
    session = colours(sv.Dense(3, 5, "tanh"), sv.Dense(5, 3, "sigmoid"), optimizer=optimizer)
    assert compared(session, tmp_path, steps=4, skip=3) > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_captions_of_every_kind_are_those_of_python(name: str, tmp_path: Path) -> None:
    assert compared(NETWORKS[name](), tmp_path, steps=3) > 50


WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()

MAKERS = f"""
    const {{ captionOf }} = await import("{WEB}/captions.js");
    const {{ cardOf }} = await import("{WEB}/cards.js");
    const {{ readyFacts }} = await import("{WEB}/facts.js");
    const {{ setTexts }} = await import("{WEB}/texts.js");
    setTexts(own.texts);
    own.facts = readyFacts(own.facts);
    const withPieces = (found) => ({{ ...found, pieces: found.pieces }});
    const makers = {{ caption: (...asked) => withPieces(captionOf(...asked)), card: cardOf }};
    const clock = new Clock(engine);
    const said = (state) => asked.map(([name, target]) => makers[name](own, state, target));
"""
WALK = f"""{MAKERS}
    return Array.from({{ length: count }}, () => {{
      clock.advance(1, "operation");
      return said(clock.state());
    }});
"""


def near(found: Any) -> Any:
    """What is said, with numbers to twelve digits: sums differ in their last bits."""
    if isinstance(found, dict):
        return {key: near(each) for key, each in found.items()}
    if isinstance(found, list):
        return [near(each) for each in found]
    return float(f"{found:.12g}") if isinstance(found, float) else found


def xor() -> sv.Session:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0, dtype="float64")
    return sv.Session(network, data.Xor(), optimizer=sv.Adam(0.1), batch=4, engine="cpu")


@pytest.mark.slow
def test_captions_of_the_engine_are_those_of_a_session(tmp_path: Path) -> None:
    session = xor()
    page, own = InPage(session, tmp_path), spec_of(session)
    asked = [("caption", each) for each in questions(session)]
    asked += [("card", each) for _, each in asked if "row" in each]
    wanted = [
        [expected(session, state, *each) for each in asked] for state in Walk(session).states(3)
    ]
    given = {"own": own, "asked": asked, "count": len(wanted)}
    words = "".join(f"const {name} = {json.dumps(each)};" for name, each in given.items())
    for ours, theirs in zip(wanted, page.run(words + WALK), strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            assert near(plain(mine)) == near(other)


AFTER = {  # what is chosen after a step, in a page and in Python
    "rate": (
        "clock.change({ kind: 'learning rate', rate: 0.25 })",
        lambda s: s.__setattr__("learning_rate", 0.25),
    ),
    "adam": (
        "clock.change({ kind: 'optimizer', number: 1 })",
        lambda s: s.__setattr__("optimizer", sv.Adam()),
    ),
}


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.slow
def test_a_step_is_explained_by_what_made_it_whatever_is_chosen_after_it(
    tmp_path: Path, name: str
) -> None:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0, dtype="float64")
    session = sv.Session(network, data.Xor(), optimizer=sv.SGD(0.5), batch=4, engine="cpu")
    page, own = InPage(session, tmp_path), spec_of(session)
    optimizers = training_of(session.trainer, 0).optimizers
    own["facts"]["optimizers"] = [optimizer_data(each, mixed=False) for each in optimizers]
    asked = [("caption", {"row": 5}), ("card", {"row": 5})]
    change, do = AFTER[name]
    given = f"const own = {json.dumps(own)}, asked = {json.dumps(asked)};"
    found = page.run(f"""{given}
        {MAKERS}
        const walk = (operations) => {{
          for (let i = 0; i < operations; i++) clock.advance(1, "operation");
          return said(clock.state());
        }};
        walk(2 * clock.operations);
        {change};
        return [said(clock.state()), walk(clock.operations)];
    """)
    walk = Walk(session)
    [*_, state] = walk.states(2)
    do(session)
    assert alike(found[0], [plain(expected(session, state, *each)) for each in asked])
    [*_, state] = walk.states(1)
    assert alike(found[1], [plain(expected(session, state, *each)) for each in asked])


TABLES: list[dict[str, Any]] = [ACTIVATIONS, LOSSES, ROW_LOSSES, OPTIMIZERS]


def stairs(x: float) -> float:
    if x < -0.5:
        return -1.0
    if x < 0.5:
        return 2.0 * x
    return 1.0


def stairs_derivative(x: float, y: float) -> float:
    return 2.0 if -0.5 <= x < 0.5 else 0.0


def log_cosh(p: float, t: float) -> float:
    e = abs(p - t)
    return e + log1p(exp(-2.0 * e)) - log(2.0)


def warmed_constants(step: float, steps: float = 100.0) -> tuple[float]:
    return (step / steps if step < steps else 1.0,)


def warmed(w: float, g: float, lr: float, steps: float, share: float) -> Any:
    return w - share * lr * g


def halved(w: float, g: float, lr: float) -> Any:
    for _ in range(3):
        g = 0.5 * g
    return w - lr * g


@pytest.fixture
def own_rows() -> Iterator[None]:
    """The tables as they were before the test, afterwards."""
    before = [dict(each) for each in TABLES]
    yield
    for each, rows in zip(TABLES, before, strict=True):
        each.clear()
        each.update(rows)


def learner(activation: str = "tanh", loss: str = "mse", optimizer: Any = None) -> sv.Session:
    network = sv.Network([3, 4, 3], activation, "linear", seed=1)
    optimizer = optimizer or sv.SGD(0.1)
    return sv.Session(network, data.Rgb(), loss, optimizer, batch=4, engine="python")


def with_stairs() -> sv.Session:
    sv.activation(stairs, stairs_derivative)
    return learner("stairs")


def with_loss(*functions: Any) -> sv.Session:
    sv.loss(*functions)
    return learner(loss=functions[0].__name__)


OWN: dict[str, Callable[[], sv.Session]] = {
    "an activation with cases": with_stairs,
    "a loss with cases": lambda: with_loss(pinball, pinball_derivative),
    "a loss with a recorded derivative": lambda: with_loss(log_cosh),
    "a loss by where": lambda: with_loss(chosen),
    "an optimizer with cases": lambda: learner(
        optimizer=sv.optimizer(lion, slots=("m",))(0.01, clip_norm=1.0)
    ),
    "an optimizer with constants": lambda: learner(
        optimizer=sv.optimizer(warmed, constants=warmed_constants)(0.5, steps=3)
    ),
}


@pytest.mark.usefixtures("own_rows")
@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_own_formulas_are_those_of_python(name: str, tmp_path: Path) -> None:
    assert compared(OWN[name](), tmp_path, steps=4) > 300


@pytest.mark.usefixtures("own_rows")
@pytest.mark.slow
def test_formulas_that_a_page_cannot_follow_are_left_out(tmp_path: Path) -> None:
    """A loop is no formula: the loss and the new weight are said without arithmetic."""
    sv.loss(squares, squares_gradient, rows=True)
    session = learner(loss="squares", optimizer=sv.optimizer(halved)(0.1))
    loss, step = [
        state
        for state in Walk(session).states()
        if state["moment"] in (4, len(session.operations) - 1)
    ]
    asked = [("caption", {"row": 3}), ("card", {"row": 3})]
    states = [{"state": state, "asked": asked} for state in (loss, step)]
    found = said_by_node({"spec": spec_of(session), "states": states}, tmp_path)
    loss = found[0][0]["why"].rstrip(".").split()[-1]
    assert [[piece["words"] for piece in line] for line in found[0][0]["lines"]] == [
        [f"L = {loss}"]
    ]
    assert " moved: " in found[1][0]["title"]
    assert "head" in found[1][1]["blocks"][-1]  # the sum of the gradient, and no more lines


def session_of(made: Any, sizes: list[int], loss: str = "mse") -> sv.Session:
    return sv.Session(sv.Network(sizes, "tanh", seed=0), made, loss, engine="python")


ROWS = np.zeros((2, 3))


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "session",
    [
        session_of(data.Xor(), [2, 3, 1]),
        session_of(data.Rgb("invert"), [3, 4, 3]),
        session_of((ROWS, ROWS[:, :1]), [3, 2, 1]),
        session_of((ROWS, ROWS[:, :2]), [3, 2, 2]),
        session_of(data.Xor(), [2, 3, 1], "sigmoid_cross_entropy"),
    ],
)
def test_it_names_the_numbers_that_have_names(session: sv.Session) -> None:
    program = session.network.program
    inputs, outputs = np.full(program.inputs.size, 0.25), np.full(program.outputs.size, -0.34)
    window = caption_of_custom(session, facts_of(session), inputs, outputs).title
    given, answer = (
        window.removeprefix("Your input: ").removesuffix(".").split(". The network answers ")
    )
    page = custom_answer(facts_of(session), inputs, outputs, "Your point")
    assert page == f"Your point: {given}. The network answers {answer}."
