"""A random user of trainings of every sort, and the direct way to the moment that was reached."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.core.optimizer import Optimizer
from scalarviz.errors import OrderError
from scalarviz.faces.controller.changes import all_zero
from scalarviz.training.session.actions import set_numbers
from scalarviz.training.session.branches import Branch, Clock
from tests.sessions import bits

ENGINES = ("python", "cpu")


@dataclass(frozen=True)
class Training:
    """How a session is made, and what can be chosen in it.

    Attributes:
        sets: data sets of one width that can be exchanged
        losses: losses that can be exchanged
        activations: of each layer that can have another one
        most_steps: that it goes at once, on the python engine and on cpu
        expression: whether it is a compiled function, which can neither be copied nor saved
    """

    make: Callable[[], Any]
    sets: Sequence[Callable[[], data.DataSet]]
    batch: int | None = 8
    loss: str = "mse"
    losses: tuple[str, ...] = ("mse", "mae", "huber")
    precision: str = "full"
    engines: tuple[str, ...] = ENGINES
    activations: dict[int, tuple[str, ...]] = field(default_factory=dict)
    most_steps: tuple[int, int] = (4, 300)
    expression: bool = False

    def session(self, engine: str, memory: int) -> sv.Session:
        optimizer = sv.Adam(0.005, clip_norm=1.0)
        return sv.Session(
            self.make(), self.sets[0](), self.loss, optimizer, self.batch, engine, 5,
            precision=self.precision, memory=memory,
        )  # fmt: skip


def tables(inputs: int, outputs: int, samples: int) -> list[Callable[[], data.DataSet]]:
    """Three data sets of random numbers."""

    def table(seed: int) -> data.DataSet:
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(samples, inputs)), rng.random((samples, outputs))
        order = ("shuffled", "picked", "in_order")[seed]
        return data.Arrays(x.round(3), y.round(3), order=order)

    return [lambda seed=seed: table(seed) for seed in range(3)]  # type: ignore[misc]  # mypy infers no defaults of a lambda


def wave() -> Any:
    """A compiled function with three parameters."""
    a, b, c = (sv.Value(x, label=label) for x, label in ((0.5, "a"), (1.0, "b"), (-0.2, "c")))
    return sv.compile(lambda x, y: [(a * x + b * y).sin() + c, (b * x - y).tanh() * a], inputs=2)


def network(*layers: Any, dtype: str = "float32") -> Callable[[], sv.Network]:
    """A network of layers that are made anew each time; a function makes one."""
    return lambda: sv.Network([make() for make in layers], seed=2, dtype=dtype)


def shared() -> sv.Network:
    twice = sv.Dense(5, 5, "tanh")
    layers = [sv.FrequencyEncoding(2, 1), sv.Dense(4, 5, "swish"), twice, sv.RMSNorm(5), twice]
    return sv.Network([*layers, sv.Dense(5, 2)], seed=1, dtype="float64")


CURVED = ("tanh", "relu", "sigmoid", "swish", "sin", "linear")
COLORS: list[Callable[[], data.DataSet]] = [
    lambda: data.Rgb("invert", levels=4),
    lambda: data.Rgb("sepia", levels=4),
    lambda: data.Rgb("hue", levels=4, angle=120.0),
]

TRAININGS: dict[str, Training] = {
    "colours": Training(
        lambda: sv.Network([3, 8, 3], "tanh", "sigmoid", seed=1),
        COLORS,
        activations={0: CURVED, 1: ("sigmoid", "linear")},
    ),
    "one by one": Training(
        lambda: sv.Network([3, 4, 3], "leaky_relu", "sigmoid", seed=3),
        COLORS,
        batch=1,
        activations={0: CURVED},
        most_steps=(30, 400),
    ),
    "shared": Training(shared, tables(2, 2, 20), activations={1: CURVED, 2: CURVED}),
    "batch norm and dropout": Training(
        network(
            lambda: sv.Dense(4, 8, "relu"),
            lambda: sv.BatchNorm(8),
            lambda: sv.Dropout(8, 0.3),
            lambda: sv.Dense(8, 3),
        ),
        tables(4, 3, 24),
        loss="softmax_cross_entropy",
        losses=("softmax_cross_entropy", "mse", "sigmoid_cross_entropy"),
        activations={0: CURVED},
    ),
    "pictures": Training(
        network(
            lambda: sv.Conv2d((1, 5, 4), 3, 3, padding=1, activation="tanh"),
            lambda: sv.BatchNorm((3, 5, 4)),
            lambda: sv.MaxPool2d((3, 5, 4)),
            lambda: sv.Flatten((3, 2, 2)),
            lambda: sv.Dense(12, 2),
        ),
        tables(20, 2, 24),
        activations={0: CURVED},
        most_steps=(2, 60),
    ),
    "residual": Training(
        network(
            lambda: sv.Dense(3, 6, "swish"),
            lambda: sv.Residual(sv.Dense(6, 4, "tanh"), sv.LayerNorm(4), sv.Dense(4, 6)),
            lambda: sv.Dropout(6, 0.2),
            lambda: sv.Dense(6, 3, "sigmoid"),
            dtype="float64",
        ),
        tables(3, 3, 40),
        activations={0: CURVED},
    ),
    "mixed precision": Training(
        lambda: sv.Network([4, 16, 2], "tanh", seed=4),
        tables(4, 2, 64),
        batch=16,
        precision="mixed",
        engines=("cpu",),
        activations={0: CURVED},
    ),
    "wide": Training(
        lambda: sv.Network([32, 64, 8], "relu", "sigmoid", seed=5),
        tables(32, 8, 2048),
        batch=1024,
        engines=("cpu",),
        activations={0: CURVED},
        most_steps=(1, 12),
    ),
    "expression": Training(wave, tables(2, 2, 40), expression=True),
}
OPTIMIZERS: list[Callable[[], Optimizer]] = [
    lambda: sv.SGD(0.02),
    lambda: sv.Momentum(0.01, l2=0.01),
    lambda: sv.Nesterov(0.01, clip_value=0.5),
    lambda: sv.RMSProp(0.002, schedule=sv.Schedule("step", every=7, factor=0.9)),
    lambda: sv.Adam(0.004, schedule=sv.Schedule("cosine", steps=500)),
    lambda: sv.AdamW(0.004, l1=0.001),
]


def differences(a: sv.Session, b: sv.Session) -> str:
    """What of two moments is not the same; empty if all is."""
    x, y = bits(a), bits(b)
    return ", ".join(name for name in x if x[name] != y[name])


def by_journal(s: sv.Session, branch: Branch, clock: Clock) -> None:
    """Take a new session straight to a moment of another one's branch, by what its journal says."""
    actions = [action for action in branch.journal if action.place < clock.place]
    actions += branch.actions_at(clock.place)[: clock.actions]
    actions += [a for a in branch.journal if a.asked and a.asked <= clock.place < a.place]
    for action in sorted(actions, key=lambda action: action.asked or action.place):
        go_on(s, action.asked or action.place)
        AGAIN[action.kind](s, **action.details)
    go_on(s, clock.place)


def go_on(s: sv.Session, place: tuple[int, int]) -> None:
    """Go forward to a place."""
    step, operation = place
    while step > s.step_index:  # where it stops by itself, it goes on
        s.advance(step - s.step_index)
    while operation > s.clock.operation:
        s.advance(operation - s.clock.operation, "operation")
    assert s.clock.place == place


# What a journal holds, as a user would do it.
AGAIN: dict[str, Callable[..., Any]] = {
    "stop when": lambda s, conditions: s.stop_when(*conditions),
    "edit": lambda s, rows, values: s.edit(rows, values),
    "freeze": lambda s, rows, on: s.freeze(rows, on),
    "numbers": lambda s, **numbers: set_numbers(s.network.bank, **numbers),
    "learning rate": lambda s, rate: setattr(s, "learning_rate", rate),
    "optimizer": lambda s, optimizer, goes_on: setattr(s, "optimizer", optimizer),
    "data": lambda s, data: setattr(s, "data", data),
    "loss": lambda s, loss: setattr(s, "loss_function", loss),
    "batch": lambda s, size: setattr(s, "batch", size),
    "engine": lambda s, name, precision: s.to(name, precision),
    "activation": lambda s, layer, name: s.set_activation(layer, name),
}


THREADS = min(2, numba.config.NUMBA_NUM_THREADS)
MEMORIES = (4_000, 60_000, 2**24)  # bytes for keyframes

Act = Callable[[sv.Session], None]
Moment = tuple[int, int, int]  # step, operation, and how much was done at this place


@dataclass(frozen=True)
class Event:
    """Something that was done; what changes a step waits for the next one if it is asked within."""

    when: Moment
    name: str
    act: Act
    waits: bool

    @property
    def place(self) -> tuple[int, int]:
        return self.when[:2]


@dataclass
class Course:
    """What was done on a branch, in the order of the clock, and how far it was followed.

    If it is open, it was followed further than that.
    """

    events: list[Event] = field(default_factory=list)
    end: Moment = (0, 0, 0)
    is_open: bool = False

    def until(self, now: Moment) -> list[Event]:
        """What was done before a moment, and still holds in a branch that starts there."""
        gone_back = self.end > now
        return [
            event
            for event in self.events
            if (event.when < now if not event.waits else event.place < now[:2])
            or (event.waits and event.place == now[:2] and not gone_back)
        ]


class User:
    """Does so many things at random."""

    def __init__(self, training: Training, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.training = training
        self.engine = self.chance.choice(training.engines)
        self.memory = self.chance.choice(MEMORIES)
        self.folder = folder
        self.s = training.session(self.engine, self.memory)
        self.courses = [Course()]
        self.current = 0
        self.now: Moment = (0, 0, 0)
        self.done: list[str] = []
        self.pinned: set[int] = set()
        self.names: dict[int, str] = {}  # given to branches

    # The straight way.

    def straight(self, threads: int) -> sv.Session:
        """A new session that goes forward to the present moment, with no step back."""
        numba.set_num_threads(threads)
        s = self.training.session(self.engine, 2**24)
        for event in self.courses[self.current].until((*self.now[:2], 10**9)):
            if event.when < self.now or event.waits:
                go_on(s, event.place)
                event.act(s)
        go_on(s, self.now[:2])
        return s

    def check(self) -> None:
        """Compare with the straight way, on one thread and on two."""
        for threads in {1, THREADS}:
            straight = self.straight(threads)
            wrong = differences(self.s, straight)
            assert not wrong, f"{wrong} of {self.s} is not as on the straight way: {self.story()}"
        self.check_history()
        given = {each.number: each.given_name for each in self.s.branches if each.given_name}
        assert given == self.names, f"{given} are not the names {self.names}: {self.story()}"

    def check_history(self) -> None:
        """What is known of a pinned weight is what it was."""
        for row in sorted(self.pinned)[:1]:
            steps, values = self.s.history(row, wait=True)
            if not len(steps):
                continue  # as far as it is known: not of a branch that was left before
            assert (np.diff(steps) > 0).all() and steps[-1] <= self.now[0]
            twin = self.training.session(self.engine, 2**24)
            events = list(self.courses[self.current].until(self.now))
            for step, value in zip(steps.tolist(), values.tolist(), strict=True):
                while events and events[0].place < (step, 0):
                    event = events.pop(0)
                    go_on(twin, event.place)
                    event.act(twin)
                go_on(twin, (step, 0))
                known = float(twin.network.bank.value[row])
                assert value == known, f"at step {step}, row {row} was {known}, not {value}"

    def story(self) -> str:
        return "; ".join(self.done)

    # What is done.

    def live(self, count: int) -> None:
        """Do so many things."""
        for _ in range(count):
            ways = [*GOING, *GOING, *DOING, *LOOKING]
            if not self.training.expression:
                ways += NETWORKS_ONLY
            way = self.chance.choice(ways)
            self.done.append(way.__name__.strip("_"))
            way(self)

    def went(self, expected: tuple[int, int] | None = None) -> None:
        """Note that the clock was moved."""
        place = self.s.clock.place
        self.done[-1] += f" to {place}"
        assert expected is None or place == expected, f"not to {expected}: {self.story()}"
        self.now = (*place, 0)
        course = self.courses[self.current]
        course.end = max(course.end, self.now)

    def do(self, name: str, act: Act, waits: bool = False) -> None:
        """Do something, and note it where it was done."""
        act(self.s)
        self.done[-1] += f": {name} at {self.now[:2]}"
        waits = waits and self.now[1] > 0
        course = self.courses[self.current]
        if course.end > self.now:
            self.fork()
            course = self.courses[self.current]
        event = Event(self.now, name, act, waits)
        after = [i for i, each in enumerate(course.events) if each.place > event.place]
        course.events.insert(after[0] if after else len(course.events), event)
        if not waits:
            self.now = (*self.now[:2], self.now[2] + 1)
        course.end = self.now

    def fork(self) -> None:
        """What the session does when something else is done in the past."""
        left = self.courses[self.current]
        self.courses.append(Course(left.until(self.now), self.now))
        self.current = len(self.courses) - 1

    def rows(self) -> list[int]:
        count = len(self.s.network.bank)
        return self.chance.sample(range(count), self.chance.randint(1, min(3, count)))

    def steps(self) -> int:
        most = self.training.most_steps[self.s.engine == "cpu"]
        return self.chance.randint(1, self.chance.choice([1, 3, most]))


# ---- going ---------------------------------------------------------------------------------------


def advance(user: User) -> None:
    count = user.steps()
    user.s.advance(count)
    user.went(None if user.s.stopped else (user.now[0] + count, 0))


def advance_operations(user: User) -> None:
    user.s.advance(user.chance.randint(1, 15), "operation")
    user.went()


def advance_phases(user: User) -> None:
    user.s.advance(user.chance.randint(1, 4), "phase")
    user.went()


def advance_epoch(user: User) -> None:
    steps = user.s.trainer.batches.steps_an_epoch
    if steps > user.training.most_steps[user.s.engine == "cpu"]:
        return advance(user)
    user.s.advance(1, "epoch")
    user.went(None if user.s.stopped else ((user.now[0] // steps + 1) * steps, 0))
    return None


def back(user: User) -> None:
    count, (step, operation, _) = user.steps(), user.now
    is_single = user.s.trainer.batches.size == 1
    unit = "sample" if is_single and user.chance.random() < 0.5 else "step"
    user.s.back(count, unit)  # type: ignore[arg-type]  # one of two words
    user.went((max(0, step + (operation > 0) - count), 0))


def back_operations(user: User) -> None:
    user.s.back(user.chance.randint(1, 15), "operation")
    user.went()


def back_phases(user: User) -> None:
    user.s.back(user.chance.randint(1, 3), "phase")
    user.went()


def back_epoch(user: User) -> None:
    user.s.back(1, "epoch")
    user.went()


def seek(user: User) -> None:
    step = user.chance.randint(0, user.courses[user.current].end[0])
    user.s.seek(step)
    user.went((step, 0))


def play(user: User) -> None:
    """Where that leads depends on the time it takes: so from there it goes back at once."""
    s, start = user.s, user.now[0]
    speed, unit = (500.0, "operation") if user.chance.random() < 0.3 else (None, "step")
    s.play(speed if s.engine == "cpu" else 300.0, unit)  # type: ignore[arg-type]  # one of the units
    time.sleep(user.chance.uniform(0.0, 0.02))
    s.pause()
    place, played = s.clock.place, bits(s)
    s.seek(start)
    go_on(s, place)
    moved = [name for name, value in bits(s).items() if value != played[name]]
    assert place[0] == start or not moved, f"{moved} at {place} came back otherwise: {user.story()}"
    s.seek(start)
    s.branch()
    course = user.courses[user.current]
    course.is_open = True
    user.now = (start, 0, 0)
    course.end = max(course.end, (start, 1, 0))
    user.fork()


def reset(user: User) -> None:
    user.s.reset()
    user.now = (0, 0, 0)
    if user.courses[user.current].end > user.now:
        user.fork()


def branch(user: User) -> None:
    user.s.branch()
    user.fork()


def switch(user: User) -> None:
    known = [i for i, course in enumerate(user.courses) if not course.is_open]
    number = user.chance.choice(known)
    user.s.switch(number)
    end = user.courses[number].end
    user.current = number
    user.now = end if end[0] <= user.now[0] else (user.now[0], 0, 0)
    user.done[-1] += f" to {number} at {user.now}"
    assert user.s.clock.place == user.now[:2], user.story()


GOING = (
    advance, advance, advance, advance_operations, advance_phases, advance_epoch, back, back,
    back_operations, back_phases, back_epoch, seek, seek, play, reset, branch, switch,
)  # fmt: skip


# ---- doing ---------------------------------------------------------------------------------------


def edit(user: User) -> None:
    rows = user.rows()
    values = [user.chance.gauss(0.0, 0.5) for _ in rows]
    user.do(f"edit {rows}", lambda s: s.edit(rows, values))


def freeze(user: User) -> None:
    rows, on = user.rows(), user.chance.random() < 0.6
    user.do(f"freeze {rows} {on}", lambda s: s.freeze(rows, on))


def learning_rate(user: User) -> None:
    rate = user.chance.uniform(0.0, 0.02)
    user.do("learning rate", lambda s: setattr(s, "learning_rate", rate), waits=True)


def own_rate(user: User) -> None:
    """Of weights that a step moves; another rate, or that of the session again."""
    rows = [row for row in user.rows() if not user.s.network.bank.frozen[row]]
    rate = user.chance.choice([None, 0.0, user.chance.uniform(0.0, 0.02)])
    if rows:
        user.do(f"rate of {rows}", lambda s: s.set_rate(rows, rate), waits=True)


def samples(user: User) -> None:
    count, seed = user.chance.randint(1, 3), user.chance.randrange(100)

    def act(s: sv.Session) -> None:
        rng = np.random.default_rng(seed)
        s.add_samples(rng.random((count, s.network.inputs)), rng.random((count, s.network.outputs)))

    user.do(f"{count} samples", act, waits=True)


def optimizer(user: User) -> None:
    make = user.chance.choice(OPTIMIZERS)
    user.do(f"optimizer {make().name}", lambda s: setattr(s, "optimizer", make()), waits=True)


def other_data(user: User) -> None:
    make = user.chance.choice(user.training.sets)
    user.do("data", lambda s: setattr(s, "data", make()), waits=True)


def loss_function(user: User) -> None:
    name = user.chance.choice(user.training.losses)
    user.do(f"loss {name}", lambda s: setattr(s, "loss_function", name), waits=True)


def batch_size(user: User) -> None:
    most = min(32, user.training.sets[0]().samples)  # another data set lacks those that were added
    count = user.chance.choice([None, 1, user.chance.randint(1, most)])
    user.do(f"batch {count}", lambda s: setattr(s, "batch", count), waits=True)


def engine(user: User) -> None:
    name = user.chance.choice(user.training.engines)
    user.do(f"engine {name}", lambda s: s.to(name), waits=True)


def stop_when(user: User) -> None:
    number = 10.0 ** user.chance.uniform(-3.0, 0.0)
    known = [
        f"loss < {number!r}", f"loss > {number!r}", "loss rises 2x", "loss falls 2x", "not finite",
        f"grad norm > {number!r}", f"grad norm < {number!r}",
    ]  # fmt: skip
    found = user.chance.sample(known, user.chance.randint(0, 2))
    user.do(f"stop when {found}", lambda s: s.stop_when(*found))


def first(user: User) -> None:
    """Looking for it changes nothing."""
    user.s.first("grad norm > 1 or loss < 0")


def write(user: User) -> None:
    """Past the session, in one of the ways that there are."""
    row, value = user.rows()[0], user.chance.gauss(0.0, 0.5)
    way = user.chance.choice(["bank", "weight", "gradient", "frozen"])
    on = not user.s.network.bank.frozen[row]

    def act(s: sv.Session) -> None:
        bank = s.network.bank
        if way == "bank":
            bank.value[row] = value
        elif way == "gradient" and s.clock.operation:
            bank.grad[row] = value
        elif way == "frozen":
            bank.frozen[row] = on
        elif user.training.expression:
            s.network.parameters[row].data = value
        else:
            s.network.weight(row).value = value
        s.branches  # noqa: B018  # looking on is not doing: it is noticed with the next call

    user.do(f"write {way} of {row}", act)


def train_beside(user: User) -> None:
    """With the verbs of the network itself."""
    rng = np.random.default_rng(user.chance.randrange(100))
    x, y = rng.normal(size=(3, user.s.network.inputs)), rng.random((3, user.s.network.outputs))
    loss, make = user.training.loss, user.chance.choice(OPTIMIZERS)
    user.do("train_step beside", lambda s: s.network.train_step(x, y, loss, make()))


def undo_and_redo(user: User) -> None:
    """What was just done is taken back and done again, so that nothing is otherwise."""
    user.chance.choice([edit, freeze, learning_rate, optimizer, batch_size])(user)
    user.s.undo()
    user.s.redo()


def preset(user: User) -> None:
    user.do("all weights to zero", all_zero)


DOING = (
    undo_and_redo, undo_and_redo, preset,
    edit, edit, freeze, learning_rate, own_rate, optimizer, other_data, samples, loss_function,
    batch_size, engine, write, write, train_beside, stop_when, stop_when,
)  # fmt: skip


def activation(user: User) -> None:
    layer = user.chance.choice(list(user.training.activations))
    name = user.chance.choice(user.training.activations[layer])
    user.do(f"{name} in layer {layer}", lambda s: s.set_activation(layer, name), waits=True)


def precision(user: User) -> None:
    if "python" in user.training.engines:
        return engine(user)
    name = user.chance.choice(["full", "mixed"])
    user.do(f"precision {name}", lambda s: s.to("cpu", name), waits=True)
    return None


def copy(user: User) -> None:
    user.s = user.s.copy()


def save_and_load(user: User) -> None:
    path = user.folder / "run"
    user.s.save(path)
    if user.chance.random() < 0.7:
        user.s = sv.Session.load(path)
        user.pinned.clear()


def grow(user: User) -> None:
    """Another session of this one, which stays as it is."""
    ways: list[Callable[[sv.Session], sv.Session]] = [
        sv.reinitialize,
        lambda s: sv.set_biases(s, False),
        lambda s: sv.add_neurons(s, 0),
    ]
    way, before = user.chance.choice(ways), bits(user.s)
    try:
        made = way(user.s)
    except sv.ScalarvizError:  # its layers cannot
        return
    made.advance(2)
    path = user.folder / "grown"
    made.save(path)
    loaded = sv.Session.load(path)
    loaded.seek(0)
    go_on(loaded, made.clock.place)
    wrong = differences(loaded, made)
    assert not wrong, f"{wrong} of what was made of it came back otherwise: {user.story()}"
    assert bits(user.s) == before, f"growing has changed it: {user.story()}"


NETWORKS_ONLY = (activation, activation, precision, copy, save_and_load, grow)


# ---- looking, which changes nothing --------------------------------------------------------------


def pin(user: User) -> None:
    rows, on = user.rows(), user.chance.random() < 0.8
    user.s.pin(rows, on)
    user.pinned = user.pinned | set(rows) if on else user.pinned - set(rows)
    assert set(user.s.pinned) == user.pinned


def name(user: User) -> None:
    # A write past the session begins its branch with the next call, not with a look.
    number = user.chance.randrange(len(user.s.branches))
    given = user.chance.choice(["", "one", "another", "größer"])
    user.s.branches[number].name = given
    user.names = {**user.names, number: given} if given else without(user.names, number)


def without(names: dict[int, str], number: int) -> dict[int, str]:
    return {each: name for each, name in names.items() if each != number}


def numbers(user: User) -> None:
    if user.now[:2] != (0, 0) and not user.training.expression:
        names = [each.name for each in user.s.network.program.operations]
        with suppress(OrderError):  # an activation that only the next step will have
            user.s.numbers(user.chance.choice(names))


def explain(user: User) -> None:
    if user.now[:2] != (0, 0):
        user.s.explain(user.rows()[0])


def look(user: User) -> None:
    s = user.s
    s.focus = user.chance.randrange(s.trainer.batches.size)
    snapshot = s.snapshot()
    snapshot.request()
    assert (snapshot.read().value == s.network.bank.value).all()
    assert len(s.losses) == s.step_index and s.next in s.operations and repr(s)
    s._repr_html_()


def own_input(user: User) -> None:
    """Ask the network for its answer to an input of one's own."""
    rng = np.random.default_rng(user.chance.randrange(100))
    if not user.training.expression:
        before = bits(user.s)
        user.s.network(rng.normal(size=(2, user.s.network.inputs)))
        assert bits(user.s) == before, f"an input of one's own has changed it: {user.story()}"


def threads(user: User) -> None:
    numba.set_num_threads(user.chance.randint(1, THREADS))


def mistake(user: User) -> None:
    """Something that is refused, and changes nothing."""
    s = user.s
    wrong: list[Callable[[], Any]] = [
        lambda: s.edit(0, float("nan")),
        lambda: s.edit(10**6, 1.0),
        lambda: s.advance(-1),
        lambda: s.seek(-1),
        lambda: s.switch(10**6),
        lambda: s.freeze("all"),  # type: ignore[arg-type]  # on purpose
        lambda: s.set_activation(0, "tahn"),
        lambda: s.to("gpu"),
        lambda: s.branch("two\nlines"),
        lambda: setattr(s, "learning_rate", -1.0),
        lambda: setattr(s, "batch", 10**6),
        lambda: setattr(s, "loss_function", "squared"),
        lambda: setattr(s, "data", ([[0.0]], [[0.0, 0.0]])),
        lambda: s.save(user.folder),
        lambda: s.numbers("nothing"),
    ]
    try:
        user.chance.choice(wrong)()
    except sv.ScalarvizError:
        return
    raise AssertionError(f"it was not refused: {user.story()}")


LOOKING = (pin, name, numbers, explain, look, own_input, threads, mistake, first)
