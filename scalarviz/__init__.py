"""scalarviz: see a neural network learn, every weight an object.

    numbers       Value where maximum minimum lookup name compile gradcheck
                  nn: nn.Neuron, nn.Layer, nn.MLP
    one by one    Weight Perceptron Bank
    layers        Network Layer Dense Conv2d Conv1d MaxPool2d AvgPool2d Flatten Reshape Activation
                  Softmax LogSoftmax PReLU BatchNorm LayerNorm GroupNorm RMSNorm Dropout Residual
                  Product Concatenate FrequencyEncoding Slice Spread Elementwise Affine Embedding
                  Attention
    start         Init Precision
    loss          Loss
    optimizers    Optimizer SGD Momentum Nesterov RMSProp Adam AdamW Schedule
    custom        activation layer loss optimizer schedule
    samples       data: data.Arrays, data.from_csv, data.Rgb, data.Digits, data.Names and more
                  metrics: metrics.f1, metrics.confusion and more
    training      Session EarlyStopping ReduceOnPlateau diagnose
                  sklearn: sklearn.Classifier, sklearn.Regressor
    elsewhere     follow: a training run in PyTorch or any other program
    many          replicate sweep
    growing       add_neurons remove_neuron insert_layer remove_layer reinitialize set_biases
                  ablated
    seeing        watch picture record page Show Cubes shader
    lessons       predict predictions check
    files         load from_torch onnx: onnx.load, onnx.save, onnx.save_step
    errors        ScalarvizError, and its subclasses in errors

Training takes four lines, and a fifth shows it:

    net = sv.Network([3, 8, 3], "tanh", output="sigmoid")
    s = sv.Session(net, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8)
    s.advance(1000)
    print(s.loss, net([0.2, 0.4, 0.9]))
    sv.watch(s)

See `help(sv.Network)` and so on for details; `scalarviz list` on the command line lists the scenes.
Names are loaded on first use, so `import scalarviz` is quick and imports neither a window toolkit
nor a compiler.
"""

import sys
from importlib import import_module

from scalarviz.base import __version__ as __version__

# Instead of typing's: until this file is loaded, Ctrl-C ends a program with a traceback.
TYPE_CHECKING = False

# Public names, and the modules that define them. Each kind of layer is also public, by its line in
# core/layers/kinds.py.
_HOMES = {
    "Value": "core.value",
    "where": "core.value_functions",
    "maximum": "core.value_functions",
    "minimum": "core.value_functions",
    "lookup": "core.value_functions",
    "name": "core.value_functions",
    "Weight": "core.weight",
    "Bank": "core.bank",
    "Perceptron": "core.layers",
    "Layer": "core.layers",
    "Network": "training.network.network",
    "Precision": "core.precision",
    "activation": "engines.custom.custom_formulas",
    "layer": "engines.custom.custom_formulas",
    "loss": "engines.custom.custom_formulas",
    "optimizer": "engines.custom.custom_optimizers",
    "schedule": "engines.custom.custom_optimizers",
    "Loss": "core.formulas.losses",
    "Init": "core.formulas.initializers",
    "Schedule": "core.formulas.optimizers",
    "Optimizer": "core.optimizer",
    "SGD": "core.optimizer",
    "Momentum": "core.optimizer",
    "Nesterov": "core.optimizer",
    "RMSProp": "core.optimizer",
    "Adam": "core.optimizer",
    "AdamW": "core.optimizer",
    "compile": "training.network.expression",
    "gradcheck": "training.network.gradcheck",
    "load": "files.expressions",
    "from_torch": "files.onnx.torch_modules",
    "Session": "training.session.session",
    "EarlyStopping": "training.session.callbacks",
    "ReduceOnPlateau": "training.session.callbacks",
    "follow": "training.follow.following",
    "diagnose": "training.diagnosis",
    "replicate": "training.session.replicas",
    "sweep": "sweeps.sweep",
    "ablated": "training.network.grown_networks",
    "add_neurons": "training.session.growth",
    "remove_neuron": "training.session.growth",
    "insert_layer": "training.session.growth",
    "remove_layer": "training.session.growth",
    "reinitialize": "training.session.growth",
    "set_biases": "training.session.growth",
    "watch": "faces.watch",
    "picture": "stage.render",
    "record": "stage.render",
    "page": "pages.page",
    "Show": "stage.show",
    "Cubes": "stage.cubes_node",
    "predict": "faces.notebook.exercises",
    "predictions": "faces.notebook.exercises",
    "check": "faces.notebook.exercises",
    "ScalarvizError": "errors",
    "data": "data",
    "metrics": "training.metrics",
    "sklearn": "training.sklearn",
    "nn": "nn",
    "onnx": "files.onnx",
}

if TYPE_CHECKING:  # the same names for type checkers and editors
    from scalarviz import data as data
    from scalarviz import nn as nn
    from scalarviz.core.bank import Bank as Bank
    from scalarviz.core.formulas.initializers import Init as Init
    from scalarviz.core.formulas.losses import Loss as Loss
    from scalarviz.core.formulas.optimizers import Schedule as Schedule
    from scalarviz.core.layers import Layer as Layer
    from scalarviz.core.layers import Perceptron as Perceptron
    from scalarviz.core.layers.kinds import *  # noqa: F403
    from scalarviz.core.optimizer import SGD as SGD
    from scalarviz.core.optimizer import Adam as Adam
    from scalarviz.core.optimizer import AdamW as AdamW
    from scalarviz.core.optimizer import Momentum as Momentum
    from scalarviz.core.optimizer import Nesterov as Nesterov
    from scalarviz.core.optimizer import Optimizer as Optimizer
    from scalarviz.core.optimizer import RMSProp as RMSProp
    from scalarviz.core.precision import Precision as Precision
    from scalarviz.core.value import Value as Value
    from scalarviz.core.value_functions import lookup as lookup
    from scalarviz.core.value_functions import maximum as maximum
    from scalarviz.core.value_functions import minimum as minimum
    from scalarviz.core.value_functions import name as name
    from scalarviz.core.value_functions import where as where
    from scalarviz.core.weight import Weight as Weight
    from scalarviz.engines.custom.custom_formulas import activation as activation
    from scalarviz.engines.custom.custom_formulas import layer as layer
    from scalarviz.engines.custom.custom_formulas import loss as loss
    from scalarviz.engines.custom.custom_optimizers import optimizer as optimizer
    from scalarviz.engines.custom.custom_optimizers import schedule as schedule
    from scalarviz.errors import ScalarvizError as ScalarvizError
    from scalarviz.faces.notebook.exercises import check as check
    from scalarviz.faces.notebook.exercises import predict as predict
    from scalarviz.faces.notebook.exercises import predictions as predictions
    from scalarviz.faces.watch import watch as watch
    from scalarviz.files import onnx as onnx
    from scalarviz.files.expressions import load as load
    from scalarviz.files.onnx.torch_modules import from_torch as from_torch
    from scalarviz.pages.page import page as page
    from scalarviz.stage.cubes_node import Cubes as Cubes
    from scalarviz.stage.render import picture as picture
    from scalarviz.stage.render import record as record
    from scalarviz.stage.show import Show as Show
    from scalarviz.sweeps.sweep import sweep as sweep
    from scalarviz.training import metrics as metrics
    from scalarviz.training import sklearn as sklearn
    from scalarviz.training.diagnosis import diagnose as diagnose
    from scalarviz.training.follow.following import follow as follow
    from scalarviz.training.network.expression import compile as compile
    from scalarviz.training.network.gradcheck import gradcheck as gradcheck
    from scalarviz.training.network.grown_networks import ablated as ablated
    from scalarviz.training.network.network import Network as Network
    from scalarviz.training.session.callbacks import EarlyStopping as EarlyStopping
    from scalarviz.training.session.callbacks import ReduceOnPlateau as ReduceOnPlateau
    from scalarviz.training.session.growth import add_neurons as add_neurons
    from scalarviz.training.session.growth import insert_layer as insert_layer
    from scalarviz.training.session.growth import reinitialize as reinitialize
    from scalarviz.training.session.growth import remove_layer as remove_layer
    from scalarviz.training.session.growth import remove_neuron as remove_neuron
    from scalarviz.training.session.growth import set_biases as set_biases
    from scalarviz.training.session.replicas import replicate as replicate
    from scalarviz.training.session.session import Session as Session


def _homes() -> dict[str, str]:
    """Return a dict from all public names, including layers, to the modules that define them."""
    kinds = vars(import_module("scalarviz.core.layers.kinds"))
    return _HOMES | {name: "core.layers.kinds" for name in kinds if not name.startswith("_")}


def __getattr__(name: str) -> object:
    """Load a public name on first use."""
    if name == "__all__" and sys._getframe(1).f_globals.get("__name__") != "pydoc":
        return sorted(_homes())  # help(sv) lists the names by subject, but not all their pages
    if name.startswith("_"):  # requested from every module by inspect, pytest and others
        raise AttributeError(f"scalarviz has no public name {name!r}")
    homes = _HOMES if name in _HOMES else _homes()
    if name not in homes:
        near, errors = map(import_module, ("scalarviz.base.near_names", "scalarviz.errors"))
        meant = near.meaning("public name", name, homes) or near.meaning_elsewhere(
            name,
            {
                "activation": import_module("scalarviz.core.formulas.activations").ACTIVATIONS,
                "data set": import_module("scalarviz.data").__all__,
            },
        )
        if name in dir(errors):
            meant = f"write sv.errors.{name}"
        hint = errors.hint(meant, name, list(homes))
        raise AttributeError(f"scalarviz has no public name {name!r}{hint and f': {hint}'}")
    module = import_module(f"scalarviz.{homes[name]}")
    value = getattr(module, name, module)  # for data and onnx the module itself
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*sorted(_homes()), "__version__"]
