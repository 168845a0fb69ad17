"""Changes that the user makes to a session, and Undo.

They apply to weights, learning rates, frozen layers, options, neurons and layers, presets and
inputs. Each change can be undone. Some changes replace the shown session by a new one; a button of
their message returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast, final
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.formulas.metric_formulas import is_one_hot
from scalarviz.core.layers import Dense
from scalarviz.core.program import Operation
from scalarviz.data.data_set import TableSet
from scalarviz.errors import InputError
from scalarviz.faces.controller.options import TRAINING, Options, rate_now
from scalarviz.faces.controller.precompile import computes
from scalarviz.faces.scene_options import as_number
from scalarviz.stage.handles import image_shape, target_of
from scalarviz.stage.show import Show, sizes_of
from scalarviz.story.facts import Neuron
from scalarviz.story.names import sentence, short_name
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.branches import Clock, did_in_words
from scalarviz.training.session.growth import add_neurons, insert_layer, remove_layer, remove_neuron
from scalarviz.training.session.reading import facts_of, writer_of
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now
from scalarviz.training.session.user_changes import Change

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


# Values of weights, typed or dragged.

Rows = int | list[int]


@final
class Edits:
    """Edits the weights of a session; all edits of one drag are undone together."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._drag: tuple[int, Change] | None = None  # the row of the last drag

    def edit(self, row: int, value: float, *, dragged: bool = False) -> None:
        """Set a weight; repeated `dragged` edits of the same weight are one change.

        An edit in the middle of a step is applied at the start of this step, and the operations
        are repeated, so that all shown numbers belong to the same weights.
        """
        session, timeline = self.session, self.session.timeline
        with session.doing():
            log = session.undo_log
            last = log.last
            goes_on = (
                dragged
                and last is not None
                and self._drag == (row, last)
                and (last.after is None or last.after.branch is timeline.branch)
            )
            with timeline.step_again():
                session.edit(row, value)
            if goes_on:
                log.join()
            log.done[-1].after = timeline.spot
            self._drag = (row, log.done[-1]) if dragged else None


def type_value(controller: Controller) -> None:
    """Open the input field for the value of the pinned weight, or explain how to pin a weight."""
    if controller.stage.pinned is None:
        controller.tell(text("notices.pin_first"))
    else:
        controller.face.start_editing("edit")


# Learning rates, of all weights and of pinned weights and layers; frozen layers.

HIGHEST_RATE = 100.0


@dataclass(frozen=True)
class PinnedRows:
    """The bank rows of a pinned weight or of a layer, with the numbers that controls show.

    Attributes:
        rows: indices into the bank
        name: name of the first row
        value: value of the first row
        frozen: whether all rows are frozen
        rate: learning rate before the schedule is applied; NaN if it differs between rows
    """

    rows: range
    name: str
    value: float
    frozen: bool
    rate: float


def pinned_rows(session: Session, rows: range) -> PinnedRows:
    """Return some rows of the bank, with the numbers that controls show."""
    bank, optimizer = session.network.bank, settings_now(session).optimizer
    own = optimizer.own_rates.of_all(rows)
    rate = optimizer.rate(bank.step_count) if own is None else own
    value = float(np.asarray(bank.value[rows.start]))
    frozen = bool(np.all(bank.frozen[rows.start : rows.stop]))
    return PinnedRows(rows, bank.name_of(rows.start), value, frozen, rate)


def pinned_weight(session: Session, row: int | None) -> PinnedRows | None:
    """Return the weight with this bank index; None if `row` is None or out of range."""
    if row is None or not 0 <= row < len(session.network.bank):
        return None
    return pinned_rows(session, range(row, row + 1))


def pinned_layer(session: Session, row: int | None, neuron: Neuron | None) -> PinnedRows | None:
    """Return the layer of a pinned weight or neuron; None if there is no layer with parameters."""
    found = operation_of(session, row, neuron)
    if found is None:
        return None
    operations = session.network.program.operations
    parts = [each.parameters for each in operations if each.layer == found.layer]
    rows = [part for part in parts if len(part)]
    if not rows:
        return None
    whole = range(min(part.start for part in rows), max(part.stop for part in rows))
    return pinned_rows(session, whole)


# The commands. An empty rate of a part restores the rate of the session.


@computes
def set_learning_rate(controller: Controller, rate: float | str) -> None:
    session = controller.session

    def take() -> None:
        session.learning_rate = as_number(rate)

    controller.do(take, name="learning rate")


@computes
def scale_learning_rate(controller: Controller, factor: float) -> None:
    """Multiply the learning rate by `factor`, from the next step whose rate can still change."""
    session = controller.session
    controller.do(lambda: setattr(session, "learning_rate", factor * rate_now(session)))


def set_rate(controller: Controller, rows: Rows, rate: float | str) -> None:
    """Set a separate learning rate for some weights; an empty text restores the global rate."""
    session = controller.session
    own = None if isinstance(rate, str) and not rate.strip() else rate
    controller.do(lambda: session.set_rate(rows, None if own is None else as_number(own)))


def freeze_rows(controller: Controller, rows: Rows, on: bool) -> None:
    """Freeze or unfreeze some weights."""
    controller.do(partial(controller.session.freeze, rows, on))


# Options of every session or of a scene; some restart training.


def set_option(controller: Controller, name: str, value: object) -> None:
    """Set the value of an option."""
    session, options = controller.session, controller.options
    change, did = options.changes(name), text("changes.option", name=name, value=value)
    if change == "engine":
        return controller.set_engine(str(value))
    if change == "rate":
        return set_learning_rate(controller, str(value))
    if name in {choice.name for choice in controller.face.state.common}:
        return set_common(controller, name, value, did)

    def begin(made: Options | None) -> None:
        if made is not None:
            tell_another(controller, did, show_another(controller, made.show, made))
        elif change == "data":
            controller.tell(text("notices.target"))

    def act() -> Options | None:
        return options.set(session, settings_now(session), name, value)

    return controller.do(act, begin, changing=True, said=did)


def set_common(controller: Controller, name: str, value: object, did: str) -> None:
    """Set an option that every session has; `did` describes the change for the user."""
    row, session = TRAINING[name], controller.session
    if row.value(session, settings_now(session)) == value:
        return None  # unchanged choice
    if row.anew:
        return grow(controller, lambda now: cast(Session, row.choose(now, value)))
    return controller.do(partial(row.choose, session, value), changing=True, said=did)


# Networks that grow and shrink: each change creates another session.


def grow(
    controller: Controller,
    make: Callable[[Session], Session],
    seen: Callable[[Session], Neuron | None] = nothing,
) -> None:
    """Replace the shown session by a session that `make` creates from it.

    Args:
        make: creates the new session, such as one with more neurons
        seen: returns the neuron of the new session to highlight until the mouse moves
    """

    def begin(made: Session) -> None:
        back = show_another(controller, *with_session(controller, made))
        controller.stage.hover_neuron = seen(made)
        assert made.origin is not None, "a session that was made from another one has an origin"
        tell_another(controller, made.origin.did, back)

    controller.do(partial(make, controller.session), begin)


# The commands.


def one_more(controller: Controller) -> None:
    """Add a neuron to the layer of the pinned item, or to the first hidden layer by default."""
    place = layer_at(controller)
    grow(controller, partial(add_neurons, layer=place), partial(last_neuron, place))


def one_less(controller: Controller) -> None:
    """Remove the pinned neuron, or the last neuron of the first hidden layer by default."""
    neuron = controller.stage.pinned_neuron
    operation = neuron and writer_of(controller.session.network.program, neuron[0])
    place = layer_at(controller)
    layers = controller.session.network.layers
    last = layers[place].outputs - 1 if layers else 0  # a compiled function is refused below
    number = neuron[1] if neuron and operation else last
    grow(controller, partial(remove_neuron, layer=place, neuron=number))


def layer_more(controller: Controller) -> None:
    """Add a layer before the layer of the pinned item, or before the last layer by default."""
    place = layer_at(controller, len(controller.session.network.layers) - 1)
    grow(controller, partial(insert_layer, layer=place))


def layer_less(controller: Controller) -> None:
    """Remove the layer of the pinned item, or the last hidden layer by default."""
    place = layer_at(controller, max(0, len(controller.session.network.layers) - 2))
    grow(controller, partial(remove_layer, layer=place))


def layer_at(controller: Controller, default: int = 0) -> int:
    """Return the layer index of the pinned neuron or weight; `default` if nothing is pinned."""
    stage = controller.stage
    found = operation_of(controller.session, stage.pinned, stage.pinned_neuron)
    return default if found is None else found.layer


def operation_of(session: Session, row: int | None, neuron: Neuron | None) -> Operation | None:
    """Return the operation that computes a neuron or uses a weight, or None."""
    if neuron is not None:
        return writer_of(session.network.program, neuron[0])
    operations = session.network.program.operations
    return next((each for each in operations if row in each.parameters), None)


def last_neuron(place: int, session: Session) -> Neuron:
    """Return the last neuron of the layer with this index."""
    operations = session.network.program.operations
    target = next(each.target for each in reversed(operations) if each.layer == place)
    return target.name, target.size - 1


# PRESETS: common failures of training, set up by a click.

TOO_FAST = 100.0  # factor of a learning rate that is too large
FAR = -10.0  # bias with which no sum is positive


def too_fast(session: Session) -> None:
    """Set a learning rate at which training diverges."""
    session.learning_rate = min(TOO_FAST * session.learning_rate, HIGHEST_RATE)


def all_zero(session: Session) -> None:
    """Set all weights and biases to zero."""
    session.edit(np.arange(len(session.network.bank)).tolist(), 0.0)


def dead(session: Session) -> None:
    """Use relu in the first hidden layer, with biases so low that its sums are never positive."""
    check_hidden_layers(session)
    with session.doing(as_one=True):
        session.set_activation(0, "relu")
        first = session.network.layers[0]
        session.edit([each.bias.index for each in first.perceptrons], FAR)


def shallow(session: Session) -> Session:
    """Remove all hidden layers."""
    check_hidden_layers(session)
    made = session
    while len(made.network.layers) > 1:
        made = remove_layer(made, 0)
    origin = made.origin
    assert origin is not None
    words = text("presets.shallow.did")
    made.timeline.origin = replace(origin, did=words, session=session, rows=None)
    return made


def check_hidden_layers(session: Session) -> None:
    """Raise InputError unless there are hidden layers, and all layers are Dense."""
    layers = session.network.layers
    if len(layers) < 2 or not all(isinstance(each, Dense) for each in layers):
        raise InputError("this needs a network of two or more Dense layers: try it on rgb or xor")


# Functions that change a session or return a replacement. The texts `presets.NAME` contain their
# names and hints.
PRESETS: dict[str, Callable[[Session], Session | None]] = {
    "rate": too_fast,
    "zero": all_zero,
    "dead": dead,
    "shallow": shallow,
}


def preset_names(shallow: bool) -> dict[str, str]:
    """Return the internal names of the presets, by their displayed names.

    Args:
        shallow: whether to include the preset "no hidden layer", see `needs_hidden_layers`
    """
    return {text(f"presets.{name}"): name for name in PRESETS if shallow or name != "shallow"}


def go_wrong(controller: Controller, name: str) -> None:
    """Apply the preset of a training failure, show a hint, and start to play."""
    session, log = controller.session, controller.session.undo_log

    def act() -> Session | None:
        if log.done and log.done[-1] is controller.preset:  # one at a time
            session.undo()
        before = session.current_branch
        made = PRESETS[name](session)
        if session.current_branch is not before:
            session.current_branch.given_name = text(f"presets.{name}")
        controller.preset = log.done[-1] if made is None else None
        return made

    def begin(made: Session | None) -> None:
        word, back = text("controls.undo"), controller.undo
        if made is not None:
            word = text("notices.earlier")
            back = show_another(controller, *with_session(controller, made))
        teach(controller, text(f"presets.{name}.look"))
        controller.tell(text(f"presets.{name}"), word, back)
        controller.play_soon()

    said = text("notices.sets_up", name=text(f"presets.{name}"))
    controller.do(act, begin, branching=False, changing=True, said=said)


def teach(controller: Controller, words: str) -> None:
    """Show a hint as the caption until the last preset is undone or its branch is left."""
    session, change = controller.session, controller.preset
    branch = session.current_branch

    def lesson() -> str:
        is_done = change is None or change in session.undo_log.done
        return words if is_done and session.current_branch is branch else ""

    controller.stage.narration.lesson = lesson


# Whether removing the hidden layers is a preset: only if a single layer cannot learn the data.

SAMPLED = 500  # number of samples for the decision
BENT = 0.25  # error rate of a single weighted sum above which it counts as insufficient
IS_BENT: WeakKeyDictionary[TableSet, bool] = WeakKeyDictionary()


def needs_hidden_layers(session: Session) -> bool:
    """Return whether the data of a dense network cannot be fitted by a single weighted sum."""
    data, layers = session.data, session.network.layers
    dense = len(layers) > 1 and all(isinstance(each, Dense) for each in layers)
    if not dense or data.outputs != 1 or not isinstance(data, TableSet):
        return False
    if data not in IS_BENT:
        x, y = (np.asarray(part[:SAMPLED], np.float64) for part in data.training)
        x = np.column_stack([x, np.ones(len(x))])
        above = x @ np.linalg.lstsq(x, y)[0] > y.mean()
        IS_BENT[data] = bool((above != (y > y.mean())).mean() >= BENT)
    return IS_BENT[data]


# Custom inputs: the network evaluates them in place of the samples.

FEW = 3  # answers offered beside the other buttons
MOST_ANSWERS = 12
MOST_READ = 10_000  # maximum targets examined for it


def put_in(controller: Controller, inputs: FloatArray | None = None) -> None:
    """Show the output for a custom input, with a button to return to the samples.

    Args:
        inputs: the custom input; None (default) starts from the shown input, or from an empty
            image to draw on
    """
    controller.guide.interrupt()
    stage = controller.stage
    begins = inputs is None or stage.own is None
    if inputs is None:
        stage.put_in()
    else:
        stage.own = inputs
    if begins and stage.own is not None:  # offers are not recreated at each move of the mouse
        stage.offer(offers_of_input(controller))


def begin_input(controller: Controller) -> None:
    """Start a custom input; if inputs are colors, also open the color picker."""
    put_in(controller)
    if controller.session.data.input_tint == "rgb":
        pick_color(controller)


def offers_of_input(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return the labels and actions of the buttons shown with a custom input."""
    found: dict[str, Callable[[], None]] = {text("own.end"): partial(take_out, controller)}
    session = controller.session
    answers = answers_of(session)
    if len(answers) > FEW:
        found[text("own.learn.as")] = partial(ask_answer, controller)
    else:
        found |= {label_of(answer): partial(learn_input, controller, answer) for answer in answers}
    if image_shape(session.network.program) is not None:
        found[text("own.anew")] = partial(put_in, controller)
    if session.data.input_tint == "rgb" and controller.face.ask_color is not None:
        found[text("own.pick")] = partial(pick_color, controller)
    return found


def label_of(answer: str) -> str:
    """Return the label of the button that adds a sample with this target; "": a computed target."""
    return text("own.learn.one", answer=answer) if answer else text("own.learn")


def answers_of(session: Session) -> dict[str, FloatArray | None]:
    """Return the targets that the user can choose for a custom sample, by name.

    If the target follows from the inputs, such as the color on a map, the result is {"": None}.
    """
    data = session.data
    if not isinstance(data, TableSet):
        return {}
    if data.rule is not None:
        return {"": None}
    if data.output_tint == "rgb":
        return {}
    known = np.unique(data.training[1][:MOST_READ], axis=0)
    if not 2 <= len(known) <= MOST_ANSWERS:
        return {}
    if is_one_hot(known):
        places = sorted(np.argmax(known, axis=1).tolist())
        names = [short_name(facts_of(session), place) for place in places]
        rows = [np.eye(known.shape[1])[place] for place in places]
    else:
        names, rows = [", ".join(f"{x:g}" for x in row) for row in known.tolist()], list(known)
    return dict(zip(names, rows, strict=True))


def ask_answer(controller: Controller) -> None:
    """Show a row of buttons to choose the target with which the custom input is learned."""
    found = {
        answer: partial(learn_input, controller, answer)
        for answer in answers_of(controller.session)
    }
    controller.stage.offer({**found, text("own.end"): partial(take_out, controller)})


def learn_input(controller: Controller, answer: str) -> None:
    """Add the custom input to the training samples, with a target given by name."""
    own, session = controller.stage.own, controller.session
    if own is None:
        return
    data, target = session.data, answers_of(session)[answer]
    target = target_of(data, own) if target is None else target

    def learned(_: object) -> None:
        words = text("own.learned", count=settings_now(session).data.samples)
        controller.tell(words, text("controls.undo"), controller.undo)

    controller.do(partial(session.add_samples, own, target), learned)
    controller.stage.offer(offers_of_input(controller))


def pick_color(controller: Controller) -> None:
    """Open a color picker; each picked color becomes the input."""
    own = controller.stage.own
    if own is not None and controller.face.ask_color is not None:
        put_in(controller, own)
        controller.stage.offer(offers_of_input(controller))  # the button removed all of them
        controller.face.ask_color(own, partial(put_in, controller))


def take_out(controller: Controller) -> None:
    """Discard the custom input, and show the samples again."""
    controller.stage.own = None
    controller.stage.offer({})


# Branches: switching to another one, and renaming.


def switch(controller: Controller, name: str) -> None:
    """Switch to a branch, given by its text in the menu, and report its name."""
    if len(controller.session.branches) == 1:
        return controller.tell(text("notices.one_branch"))
    number = int(name.partition(":")[0])
    controller.switch(number)
    return tell_branch(controller, number)


def tell_branch(controller: Controller, number: int) -> None:
    """Show a message that names the branch with this number."""
    branches = controller.session.branches
    name, last = branches[number].name, len(branches) - 1
    controller.tell(text("notices.switched", number=number, last=last, name=name))


def rename(controller: Controller, name: str) -> None:
    """Rename the shown branch."""
    controller.do(partial(setattr, controller.session.current_branch, "name", name))


# Other sessions in place of the shown one.


def show_another(controller: Controller, show: Show, options: Options) -> Callable[[], None]:
    """Show another session; return a function that shows the current one again."""
    former = controller.show, controller.options

    def back() -> None:
        controller.time.stand_still()
        controller.replace(*former)

    controller.replace(show, options)
    return back


def tell_another(controller: Controller, did: str, back: Callable[[], None]) -> None:
    """Show a message that explains why another session is shown, with a button to return."""
    controller.tell(text("notices.grown", did=sentence(did)), text("notices.earlier"), back)


def with_session(controller: Controller, session: Session) -> tuple[Show, Options]:
    """Return the Show and Options for another session; layer sizes in the title are updated."""
    show = controller.show
    sizes = sizes_of(show.session), sizes_of(session)
    title = show.title.replace(*sizes) if all(sizes) else show.title
    made = replace(show, session=session, title=title)
    return made, controller.options.anew(made)


# Undo and redo.


@computes
def reverse(controller: Controller, way: str) -> None:
    """Undo the last change, or redo the last undone one, and report it."""
    controller.time.stand_still()
    session = controller.session

    def acted() -> tuple[str, bool]:
        log = session.undo_log
        changes = log.done if way == "undo" else log.undone
        words = words_for(changes[-1]) if changes else ""
        before = session.clock.place
        getattr(session, way)()
        return words, session.clock.place != before

    def told(done: tuple[str, bool]) -> None:
        controller.time.fit()
        words, moved = done
        if moved:
            words = text("changes.at", did=words, step=session.step_index)
        tell_undone(controller, way, words)

    controller.do(acted, told, branching=False)


def words_for(change: Change) -> str:
    """Return a description of a change: its actions, or else the moment to which it moves."""
    before, after = change.before, change.after
    if change.name is not None:
        return text("changes.name", number=change.name[0].number)
    if change.actions:
        return did_in_words(change.actions)
    if after is None or after.clock == Clock():
        return text("changes.start")
    if after.branch.parent is before.branch and after.clock == before.clock:
        return text("changes.new_branch", step=after.clock.step)
    return text("changes.branch", number=after.branch.number)


def tell_undone(controller: Controller, way: str, words: str) -> None:
    """Show a message about the result of "undo" or "redo", with a button to reverse it."""
    if way == "undo":
        said, back, word = text("changes.undone", did=words), "redo", text("controls.redo")
    else:
        said, back, word = text("changes.redone", did=words), "undo", text("controls.undo")
    controller.tell(said, word, partial(reverse, controller, back))
