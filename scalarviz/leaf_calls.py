"""Calls into packages below: objects draw, save and export themselves by them.

A package imports only from those above it. These calls are the exceptions: `Network.save`,
`Weight._repr_html_` and the like end in one of them. Each function imports inside its body, so
nothing below is loaded before it is used. tests/test_architecture.py holds the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalarviz.autograd.value import Value
    from scalarviz.layers.perceptron import Perceptron
    from scalarviz.model.weight import Weight
    from scalarviz.network.network import Network
    from scalarviz.session.caption import Caption
    from scalarviz.session.session import Session
    from scalarviz.session.state import SessionState
    from scalarviz.session.timeline import Timeline


def value_html(value: Value) -> str:
    """Return the graph of a Value as HTML."""
    from scalarviz.displays.value import value_html

    return value_html(value)


def weight_html(weight: Weight) -> str:
    """Return a weight's value, gradient and arithmetic as HTML."""
    from scalarviz.displays.weight import weight_html

    return weight_html(weight)


def perceptron_html(perceptron: Perceptron) -> str:
    """Return a perceptron's formula and weights as HTML."""
    from scalarviz.displays.perceptron import perceptron_html

    return perceptron_html(perceptron)


def network_html(network: Network) -> str:
    """Return a network's drawing and the table of its layers as HTML."""
    from scalarviz.displays.network import network_html

    return network_html(network)


def session_html(session: SessionState) -> str:
    """Return a session's step, losses and settings as HTML."""
    from scalarviz.displays.session import session_html

    return session_html(session)


def session_caption(session: Session, row: int | None) -> Caption:
    """Return what the last operation of a session did, with the numbers of the weight at `row`."""
    from scalarviz.presenter.captions.edits import caption_and_edit

    return caption_and_edit(session, row)


def save_network(network: Network, path: object) -> None:
    """Write a network to a file; a file of that name is replaced, whole or not at all."""
    from scalarviz.files.networks import save_network

    save_network(network, path)


def load_network(path: object, engine: str, limit: int | None) -> Network:
    """Return the network in a file that `save_network` wrote, moved to an engine."""
    from scalarviz.files.networks import load_network

    return load_network(path, engine, limit)


def save_onnx(network: Network, path: object) -> None:
    """Write a network as an ONNX model."""
    from scalarviz.onnx.writing import save_model

    save_model(network, path)


def export_network(network: Network, path: object, precision: str = "float32") -> None:
    """Write a network as a shader or as named arrays; the ending of the name says which."""
    from scalarviz.shaders.export import export_network

    export_network(network, path, precision)


def save_run(timeline: Timeline, path: object) -> None:
    """Write a session's past, branches and settings to a file, whole or not at all."""
    from scalarviz.files.runs import save_timeline

    save_timeline(timeline, path)


def save_text(text: str, path: object) -> None:
    """Write text to a file, whole or not at all."""
    from scalarviz.files.tables import save_text

    save_text(text, path)


def load_run(path: object, data: object, limit: int | None, metrics: object = ()) -> Timeline:
    """Return the past of the session in a file that `save_run` wrote."""
    from scalarviz.files.runs import load_timeline

    return load_timeline(path, data, limit, metrics)
