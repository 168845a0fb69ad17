"""One training step as an ONNX graph: forward, loss, backward and the optimizer's arithmetic."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.core.formulas.formula_words import UnwritableError
from scalarviz.core.formulas.losses import Loss, LossRow, by_nothing
from scalarviz.core.formulas.optimizers import clip, regularize
from scalarviz.core.layers.parameters import ParameterArray, named_layers, state_arrays
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Buffer, Operation
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file
from scalarviz.files.onnx.package import the_package
from scalarviz.files.onnx.step_graph import StepGraph
from scalarviz.files.onnx.step_kinds import At, StepParts, writers_of
from scalarviz.files.onnx.writing import FORMAT, OPSET
from scalarviz.training.session.session import Session

NEW = "new "  # before the name of an input: what the step makes of it


def save_step_model(session: Session, path: object) -> None:
    """Write a step of a session as a model; see `scalarviz.files.onnx.save_step`."""
    onnx = the_package()
    found = as_path(path)
    if not isinstance(session, Session):
        raise InputError(
            f"sv.onnx.save_step saves a step of a Session, not {shorten(session)}: write "
            "sv.onnx.save_step(sv.Session(net, data), path)"
        )
    with session.doing():
        model = onnx.helper.make_model(
            StepWriter(session, onnx.helper).graph(),
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            ir_version=FORMAT,
            producer_name="scalarviz",
        )
    onnx.checker.check_model(model, full_check=True)
    replace_file(found, model.SerializeToString(deterministic=True))


@final
class StepWriter:
    """Writes the step that a session takes, as it is now."""

    def __init__(self, session: Session, helper: Any) -> None:
        self.session = session
        self.net = session.network
        self.optimizer: Optimizer = session.trainer.settings.optimizer
        self.loss: Loss = session.trainer.settings.loss
        check_step(session)
        self.made = StepGraph(helper, self.net.dtype)
        self.values: dict[Buffer, str] = {}
        self.flows: dict[Buffer, str] = {}
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.net.dtype))
        self.arrays = {each.rows.start: each for _, each in self.net.named_parameters()}

    def graph(self) -> Any:
        """Return the graph."""
        made, program = self.made, self.net.program
        x = made.given("inputs", ("batch", program.inputs.size))
        goals = made.given("targets", ("batch", program.outputs.size))
        parameters = {
            row: made.given(each.name, each.shape, each.value.copy())
            for row, each in self.arrays.items()
        }
        state, shapes = self._given_state()
        made.place = "batch"
        count = made.put("Gather", made.put("Shape", x), made.number(0, "int64"))
        samples = made.put("Cast", count, to=self.kind)
        self.parts = StepParts(made, parameters, samples, state)
        self.values[program.inputs] = x
        for operation in program.operations:
            made.place = f"forward/{operation.name}"
            self._forward(operation)
        self._loss(goals)
        for operation in reversed(program.operations):
            made.place = f"backward/{operation.name}"
            self._backward(operation)
        self._move()
        for place, name in self.parts.states.items():
            made.result(f"{NEW}{state[place]}", name, shapes[place])
        return made.finish("training step")

    def _given_state(self) -> tuple[dict[int, str], dict[int, tuple[int, ...]]]:
        """Add the running statistics to the inputs; return names and shapes by first places."""
        names, shapes = {}, {}
        for prefix, layer in named_layers(self.net.layers):
            place = layer.first_state
            for role, array in state_arrays(layer).items():
                if role.startswith("running"):
                    known = array.astype(self.net.dtype)
                    names[place] = self.made.given(f"{prefix}.{role}", array.shape, known)
                    shapes[place] = array.shape
                place += array.size
        return names, shapes

    def _at(self, operation: Operation, **more: str) -> At:
        return At(self.parts, operation, tuple([self.values[s] for s in operation.sources]), **more)

    def _forward(self, operation: Operation) -> None:
        forward, _ = writers_of(operation) or (None, None)
        try:
            if forward is None:
                raise UnwritableError
            self.values[operation.target] = forward(self._at(operation))
        except UnwritableError as error:
            raise refusal(f"the operation {operation.name!r}") from error

    def _backward(self, operation: Operation) -> None:
        """Write what arrives before an operation, and add its gradients of parameters."""
        upstream = self.flows.get(operation.target)
        if upstream is None:
            return
        _, backward = writers_of(operation) or (None, None)
        assert backward is not None  # `_forward` has refused it
        try:
            at = self._at(operation, y=self.values[operation.target], upstream=upstream)
            arrives = backward(at)
        except UnwritableError as error:
            raise refusal(f"the derivative of the operation {operation.name!r}") from error
        for source, flow in zip(operation.sources, arrives, strict=True):
            known = self.flows.get(source)
            self.flows[source] = self.made.put("Add", known, flow) if known else flow

    def _loss(self, goals: str) -> None:
        """Write the loss, and its gradient with respect to the outputs."""
        made, row, p = self.made, self.loss.row, self.values[self.net.program.outputs]
        made.place = f"loss/{row.name}"
        divisor = self.loss.divisor(self.net.outputs)
        scale = made.number(self.loss.factor)
        if divisor:
            every = made.put("Mul", self.parts.samples, made.number(float(divisor)))
            scale = made.put("Div", scale, every)
        try:
            errors, slopes = self._errors(row, p, goals)
        except UnwritableError as error:
            raise refusal(f"the loss {row.name!r}") from error
        loss = made.put("Mul", made.sums(errors), scale)
        made.result("loss", loss, ())
        self.flows[self.net.program.outputs] = made.put("Mul", slopes, scale)

    def _errors(self, row: Any, p: str, goals: str) -> tuple[str, str]:
        """Return the errors of predictions, and their derivatives."""
        made = self.made
        if isinstance(row, LossRow):
            found = [made.formula(each, p, goals) for each in (row.value, row.derivative)]
            if row.weight is not by_nothing:
                weight = made.formula(row.weight, p, goals)
                found = [made.put("Mul", each, weight) for each in found]
            errors, slopes = found
            return errors, slopes
        if row.name != "softmax_cross_entropy":
            raise UnwritableError
        mass = made.sums(goals, 1, keep=True)
        logs = made.put("LogSoftmax", p, axis=1)
        predicted = made.put("Mul", mass, made.put("Exp", logs))
        errors = made.put("Neg", made.put("Mul", goals, logs))
        return errors, made.put("Sub", predicted, goals)

    def _move(self) -> None:
        """Write the optimizer's arithmetic for each array of parameters."""
        made, optimizer, bank = self.made, self.optimizer, self.net.bank
        made.place = f"step/{optimizer.name}"
        rate = optimizer.rate(bank.step_count)
        lr = made.given("learning_rate", (), np.array(rate, self.net.dtype))
        taken = made.given("steps", (), np.array(float(bank.step_count)))
        step = made.put("Add", taken, made.number(1.0, "float64"))
        made.result(f"{NEW}steps", step, (), "float64")
        rest: list[str | float] = [lr, *optimizer.settings.values(), *self._constants(step)]
        for first, array in self.arrays.items():
            made.place = f"step/{array.name}"
            slots = []
            for slot, numbers in zip(optimizer.row.slots, self._slots(array), strict=True):
                slots.append(made.given(f"{array.name} {slot}", array.shape, numbers))
            names = [self.parts.parameters[first], *slots]
            g = None if array.frozen else self.parts.gradients.get(first)
            moved = names if g is None else self._moved(names, g, rest)
            for name, now in zip(names, moved, strict=True):
                made.result(f"{NEW}{name}", now, array.shape)

    def _slots(self, array: ParameterArray) -> list[FloatArray]:
        """Return what the optimizer has kept for an array of parameters."""
        block = self.net.bank.slot_block(self.optimizer.row.slots)
        return [each[array.rows].reshape(array.shape).copy() for each in block]

    def _constants(self, step: str) -> list[str]:
        """Return the constants of a step, which are computed in float64."""
        made, row, settings = self.made, self.optimizer.row, self.optimizer.settings.values()
        made.dtype, dtype = "float64", made.dtype
        places = range(len(row.constants(1.0, *settings)))
        found = [made.formula(row.constants, step, *settings, place=i) for i in places]
        made.dtype = dtype
        return [made.put("Cast", each, to=self.kind) for each in found]

    def _moved(self, names: list[str], g: str, rest: list[str | float]) -> list[str]:
        """Return what a weight and its slots become."""
        update = self.optimizer.row.update
        given = [names[0], self._conditioned(names[0], g), *names[1:], *rest]
        try:
            return [self.made.formula(update, *given, place=i) for i in range(len(names))]
        except UnwritableError as error:
            raise refusal(f"the optimizer {self.optimizer.name!r}") from error

    def _conditioned(self, w: str, g: str) -> str:
        """Return a gradient after clipping and regularization."""
        optimizer, made = self.optimizer, self.made
        if optimizer.clip_value < math.inf:
            g = made.formula(clip, g, 1.0, optimizer.clip_value)
        if optimizer.l1 or optimizer.l2:
            g = made.formula(regularize, g, w, optimizer.l1, optimizer.l2)
        return g


def refusal(what: str) -> InputError:
    return InputError(
        f"{what} cannot be written as operators of ONNX: choose another one to save the step"
    )


def check_step(session: Session) -> None:
    """Raise InputError for a training whose step is more than a graph can say."""
    optimizer, net = session.trainer.settings.optimizer, session.network
    why = ""
    if net.program.is_graph:
        why = "a compiled function has no layers"
    elif net.precision.mixed:
        why = "mixed precision rounds between the operations"
    elif optimizer.clip_norm < math.inf:
        why = "clip_norm looks at all gradients at once"
    elif optimizer.own_rates.spans:
        why = "some weights have learning rates of their own"
    else:
        arrays = [array for _, array in net.named_parameters()]
        some = [each for each in arrays if net.bank.frozen[each.rows].any() and not each.frozen]
        why = f"only a part of {some[0].name} is frozen" if some else ""
    if why:
        raise InputError(f"this training cannot be saved as a step of plain operators: {why}")
