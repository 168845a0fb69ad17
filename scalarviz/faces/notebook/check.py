"""check: runs code that a learner has written beside ours, and shows the first wrong number."""

from __future__ import annotations

from typing import Any, final

from scalarviz.base.checks import answered
from scalarviz.base.leaf_calls import value_html
from scalarviz.base.texts import text
from scalarviz.core.value_graph import all_values
from scalarviz.faces.notebook.html import as_html
from scalarviz.faces.notebook.place import Shown
from scalarviz.pages.lessons.answers import MIME
from scalarviz.training.learner_checks import Comparison, first_wrong, scenario, shown


@answered
def check(mine: Any, like: Any = None, x: Any = None) -> Checked:
    """Run code of yours beside ours, and say which number is the first that is wrong, and why.

    mine  what you have written, see below
    like  what it should equal: an optimizer, a Perceptron or a Dense; None, the default: a weight
          or a Value is compared with ours, gradients of a layer with finite differences
    x     inputs for a layer, shape (inputs,) or (batch, inputs); None, the default: one sample of
          as many numbers as the layer takes

    - a class of weights, made from a number: `forward(x)`, `backward(upstream)`, `step(rate)`,
      `zero_grad()`, and the attributes `value` and `grad`
    - a class of Values, made from a number: operators, functions such as `tanh`, `backward()`, and
      the attributes `data` and `grad`
    - a perceptron or a layer, an object: `forward(x)`, `backward(upstream)`, perhaps `zero_grad()`;
      parameters such as `weights`, first, with gradients beside them such as `weights_grad`, or
      made of objects with `value` and `grad`. A row of weights belongs to an output
    - an optimizer: a function of w, its gradient and perhaps the rate that returns the new w; or a
      class, made from a rate, with `step(w, gradient)`

    What is not written yet is left out. Returns a Checked, which is true if all is right; an error
    in your code is reported with its line. Raises InputError for anything else.

    >>> class Number:
    ...     def __init__(self, value):
    ...         self.value, self.grad = value, 0.0
    ...     def forward(self, x):
    ...         self.x = x
    ...         return self.value * x
    ...     def backward(self, upstream):
    ...         self.grad += upstream
    >>> check(Number).wrong.got
    -4.0
    """
    name = getattr(mine, "__name__", type(mine).__name__)
    kind, moments = scenario(mine, like, x)
    made = Checked(name, kind, first_wrong(moments, name))
    made.show()
    return made


@final
class Checked(Shown):
    """What a check has found: true if all is right.

    name   name of the learner's class or function
    kind   what it was compared with: "Weight", "Value", "Dense", "sgd"
    wrong  None, or the first number that is wrong: its `place`, `got`, `expected`, and `why`
    """

    def __init__(self, name: str, kind: str, wrong: Comparison | None) -> None:
        self.name, self.kind, self.wrong = name, kind, wrong

    def __bool__(self) -> bool:
        return self.wrong is None

    @property
    def said(self) -> str:
        """The result in a sentence."""
        if self.wrong is None:
            return text("check.right", name=self.name)
        return text("check.said", name=self.name, wrong=self.wrong)

    def __repr__(self) -> str:
        lines = [self.said]
        if self.wrong and self.wrong.graph:
            root, wrong = self.wrong.graph
            for node in all_values(root):
                numbers = {"data": shown(float(node.data)), "grad": shown(float(node.grad))}
                mark = text("check.mark", got=shown(self.wrong.got)) if node is wrong else ""
                lines.append(text("check.node", node=node, mark=mark, **numbers))
        return "\n".join(lines)

    def bundle(self) -> dict[str, Any]:
        """Return the sentence, the graph with the wrong number, and the record."""
        html = f"<p>{as_html(self.said)}</p>"
        if self.wrong and self.wrong.graph:
            root, node = self.wrong.graph
            label, mark = node.label, text("check.mark", got=shown(self.wrong.got))
            node.label = f"{label} {mark}"
            html += value_html(root)
            node.label = label
        record = {"lesson": "", "key": f"check {self.kind}", "guesses": [], "right": bool(self)}
        return {"text/plain": repr(self), "text/html": html, MIME: record}
