"""Hints for error messages: names from other libraries and their equivalents in this package.

Words are looked up in lower case, without hyphens and underscores. The value of each entry is a
name in this package, or a sentence with the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType

LONGEST = 100  # characters of a name that is looked up
OF_FUNCTIONS = {  # for a function instead of a name
    "loss": "sv.loss(function) makes a custom loss to pass here",
    "schedule": "sv.schedule(function) makes a custom schedule to pass here",
}
NONE = "leave it out: this variant is not available"
CALLBACK = "write s.on_step(f, every=100), where f(view) sees the step and can stop the training"
TRAIN = "write sv.Session(net, data).advance(steps), or net.train(inputs, targets, steps=100)"
PARAMETERS = "the network or the session passes its parameters itself"
WEIGHTS = (
    "sample weights belong to the data of a session: write sv.Session(net, "
    "sv.data.Arrays(inputs, targets, sample_weight=weights))"
)
NO_SUCH = "this layer is not available; available layers: sv.Dense, sv.Conv2d, sv.Residual ..."

ACTIVATIONS = {
    "lrelu": "leaky_relu",
    "silu": "swish",
    "logistic": "sigmoid",
    **dict.fromkeys(("identity", "none", "null", ""), "linear"),
    "softmax": "sv.Softmax is a layer here, and the loss 'softmax_cross_entropy' has its own",
    "logsoftmax": "sv.LogSoftmax is a layer here; 'softmax_cross_entropy' has its own",
    **dict.fromkeys(
        ("tanhshrink", "prelu"),
        "not available: sv.activation(function, derivative) makes a custom activation",
    ),
}
LOSSES = {
    **dict.fromkeys(
        ("ce", "crossentropy", "categoricalcrossentropy", "sparsecategoricalcrossentropy", "nll"),
        "softmax_cross_entropy",
    ),
    **dict.fromkeys(
        ("bce", "bcewithlogits", "binarycrossentropy", "binarycrossentropywithlogits", "log"),
        "sigmoid_cross_entropy",
    ),
    **dict.fromkeys(("l1", "meanabsoluteerror"), "mae"),
    **dict.fromkeys(("mse", "l2", "meansquarederror", "squarederror", "rmse"), "mse"),
    "huber": "huber",
    "smoothl1": "huber",
    "meanabsolutepercentageerror": "mape",
}
METRIC_NAMES = {
    "acc": "accuracy",
    **dict.fromkeys(
        ("heldoutaccuracy", "valaccuracy", "testaccuracy", "heldoutloss", "valloss"),
        "each metric is also measured on held-out samples: leave out this prefix",
    ),
}
SCHEDULES = {
    "steplr": "write sv.Schedule('step', every=step_size, factor=gamma)",
    **dict.fromkeys(
        ("exponential", "exponentiallr"), "write sv.Schedule('step', every=1, factor=gamma)"
    ),
    **dict.fromkeys(
        ("cosineannealing", "cosineannealinglr"),
        "write sv.Schedule('cosine', steps=T_max, floor=eta_min / lr)",
    ),
    **dict.fromkeys(("linearlr", "linear"), "warmup"),
    "onecyclelr": "one_cycle",
    **dict.fromkeys(("lambdalr", "multisteplr"), "write sv.schedule(function)"),
    "reducelronplateau": "set s.learning_rate between two steps",
}
INITIALIZERS = {
    **dict.fromkeys(("kaiming", "kaiminguniform", "he"), "he_uniform"),
    "kaimingnormal": "he_normal",
    **dict.fromkeys(("glorot", "glorotuniform", "xavier"), "xavier_uniform"),
    "glorotnormal": "xavier_normal",
    **dict.fromkeys(("constant", "ones"), "write Init('uniform', low=1, high=1), for example"),
    "default": "pytorch",
}
ENGINES = {
    **dict.fromkeys(("gpu", "cuda0", "nvidia"), "cuda"),
    **dict.fromkeys(("numba", "numpy"), "cpu"),
    **dict.fromkeys(("best", "fastest"), "auto"),
    "mps": "no engine uses Apple's GPUs: 'cpu' is the fastest there",
}
DTYPES = {
    "double": "float64",
    "single": "float32",
    **dict.fromkeys(
        ("half", "float16", "bfloat16"), "precision='mixed' computes in half precision"
    ),
}

# Arguments by name; CALLS, for single functions, is searched first.
ARGUMENTS = {
    "learningrate": "lr",
    "betas": "write beta1=0.9, beta2=0.999",
    "epsilon": "eps",
    "rho": "alpha",
    **dict.fromkeys(("clipnorm", "maxnorm", "maxgradnorm", "gradclip"), "clip_norm"),
    **dict.fromkeys(("lrscheduler", "scheduler"), "schedule"),
    "weightdecay": "write l2=, which adds the decay to the gradient",
    **dict.fromkeys(
        ("amsgrad", "centered", "dampening", "maximize", "foreach", "fused", "capturable"), NONE
    ),
    "params": f"leave it out: {PARAMETERS}",
    **dict.fromkeys(("infeatures", "inputsize", "indim", "inputdim"), "inputs"),
    **dict.fromkeys(("outfeatures", "units", "outdim", "outputsize"), "outputs"),
    "inchannels": "write shape=(channels, height, width), the shape of the input picture",
    **dict.fromkeys(("outchannels", "filters"), "channels"),
    "kernelsize": "kernel",
    **dict.fromkeys(("numfeatures", "normalizedshape"), "features"),
    "p": "rate",
    "usebias": "bias",
    "kernelinitializer": "init",
    **dict.fromkeys(("dim", "axis"), "leave it out: all numbers of a sample are normalized"),
    "batchsize": "batch",
    **dict.fromkeys(("lossfn", "criterion"), "loss"),
    **dict.fromkeys(("optim", "opt"), "optimizer"),
    "device": "engine",
    "model": "network",
    **dict.fromkeys(("dataset", "dataloader", "traindata"), "data"),
    "randomstate": "seed",
    "nsamples": "samples",
    "lr": "write optimizer=sv.SGD(lr)",
    **dict.fromkeys(("sampleweight", "sampleweights", "classweight", "classweights"), WEIGHTS),
    "stratify": "leave it out: the same share of each class is held out",
    **dict.fromkeys(("epochs", "nepochs", "numepochs"), "write s.advance(n, 'epoch') of a session"),
    **dict.fromkeys(("callback", "callbacks"), CALLBACK),
    **dict.fromkeys(
        ("validationdata", "validationsplit", "valdata", "testdata"),
        "write data=sv.data.Arrays(inputs, targets, share=0.8), or held_out=(inputs, targets)",
    ),
}
OF_ESTIMATORS = {  # of scikit-learn's networks
    "hiddenlayersizes": "hidden",
    "solver": "optimizer",
    **dict.fromkeys(("learningrate", "learningrateinit"), "lr"),
    "alpha": "l2",
    "maxiter": "epochs",
    "niternochange": "patience",
    "validationsplit": "validation_fraction",
    "seed": "random_state",
}
CALLS = {
    **dict.fromkeys(("Classifier", "Regressor"), OF_ESTIMATORS),
    "EarlyStopping": {
        "monitor": "metric",
        "restorebestweights": "leave it out: s.stopped says where it was best, s.seek goes there",
    },
    "ReduceOnPlateau": {"monitor": "metric", "minlr": "min_rate"},
    "SGD": {
        "momentum": "write sv.Momentum(lr, momentum=0.9)",
        "nesterov": "write sv.Nesterov(lr, momentum=0.9)",
    },
    "Momentum": {"nesterov": "write sv.Nesterov(lr, momentum=0.9)"},
    "RMSProp": {"momentum": NONE},
    "Adam": {
        "weightdecay": "write l2=, which adds the decay to the gradient, or sv.AdamW(decay=), "
        "which decouples it"
    },
    "AdamW": {"weightdecay": "decay"},
    "Arrays": dict.fromkeys(("weight", "weights", "sampleweights"), "sample_weight"),
    "Loss": dict.fromkeys(("weight", "posweight"), WEIGHTS),
    "from_csv": {
        **dict.fromkeys(("sampleweight", "weight"), "weights"),
        **dict.fromkeys(
            ("sep", "delimiter"),
            "leave it out: line 1 shows whether it is a tab, semicolon or comma",
        ),
        **dict.fromkeys(("usecols", "columns"), "inputs"),
        **dict.fromkeys(("target", "labels"), "targets"),
    },
    "watch": {"present": "leave it out: F11 fills the screen, and letters grow with the window"},
    "sweep": {
        "folder": "leave it out: runs.save('runs.csv') keeps the runs",
        "stop": "leave it out: success=0.05 counts the runs below a loss",
    },
    "BatchNorm": {"numfeatures": "shape", "features": "shape"},
    "Schedule": {
        "stepsize": "every",
        "gamma": "factor",
        **dict.fromkeys(("tmax", "totalsteps", "maxsteps"), "steps"),
        "etamin": "write floor=eta_min / lr: a floor is a fraction of the rate",
        "warmupsteps": "warmup",
    },
}

LAYERS = {
    "linear": "write sv.Dense(inputs, outputs)",
    **dict.fromkeys(
        ("sequential", "model", "module", "mlp"),
        "write sv.Network([sv.Dense(3, 8, 'tanh'), sv.Dense(8, 3)]), for example",
    ),
    **dict.fromkeys(("batchnorm1d", "batchnorm2d"), "BatchNorm"),
    **dict.fromkeys(("dropout1d", "dropout2d"), "Dropout"),
    **dict.fromkeys(("adaptiveavgpool2d", "globalaveragepooling2d", "avgpool1d"), "AvgPool2d"),
    "maxpool1d": "MaxPool2d",
    **dict.fromkeys(("conv3d", "convtranspose2d", "embedding", "lstm", "gru"), NO_SUCH),
    **dict.fromkeys(("rnn", "transformer", "multiheadattention"), NO_SUCH),
}
PUBLIC = {
    **LAYERS,
    **dict.fromkeys(
        ("optim", "adagrad", "adadelta", "nadam", "radam"),
        "the optimizers are sv.SGD, sv.Momentum, sv.Nesterov, sv.RMSProp, sv.Adam and sv.AdamW",
    ),
    **dict.fromkeys(
        ("tensor", "variable", "array"),
        "pass numpy arrays, which are also returned; sv.Value is one number with a gradient",
    ),
    "parameter": "Weight",
    **dict.fromkeys(
        ("dataset", "dataloader", "tensordataset"),
        "write sv.data.Arrays(inputs, targets), or pass the pair",
    ),
    **dict.fromkeys(("train", "trainer", "fit", "run"), TRAIN),
    **dict.fromkeys(("callback", "callbacks", "modelcheckpoint"), CALLBACK),
    "reducelronplateau": "ReduceOnPlateau",
    "summarywriter": "sv.follow(model) returns a run: write run.log(accuracy=0.93)",
    "storyboard": "write sv.record(s, 'step.gif', 1, unit='operation'), which shows each operation",
    "save": "write net.save(path), or s.save(path) of a session",
    "nograd": "leave it out: net(x) stores nothing for a backward, net.forward(x) does",
    **dict.fromkeys(("manualseed", "seed"), "pass seed= to sv.Network and sv.Session"),
    **dict.fromkeys(("device", "cuda"), "write net.to('cuda')"),
    "shader": "write net.export('net.glsl'), and call `network` of that file in your own shader",
}

# Attributes, by the class that lacks the name, or on which it cannot be set.
TO_CUDA = "write net.to('cuda'), or s.to('cuda') of a session"
FREEZE = "write .freeze(), or s.freeze(part) of a session"
SET_ACTIVATION = "call s.set_activation(layer, name) of the session, or of the network"
ATTRIBUTES_OF: Mapping[str, Mapping[str, str]] = {
    "Session": {
        "lr": "learning_rate",
        "landscape": "write sv.picture(s, past='value') for the weights behind the loss curve",
        **{
            each: f"pass {each}= to sv.Session: it holds for the whole training"
            for each in ("memory", "seed")
        },
        "batchsize": "batch",
        "loss": "set s.loss_function",
        **dict.fromkeys(("criterion", "lossfn", "objective"), "loss_function"),
        "network": "make a Session of the other network",
        "unfreeze": "write s.freeze(part, False)",
        **dict.fromkeys(
            ("l1", "l2", "weightdecay"),
            "set s.optimizer to one with it, such as sv.SGD(0.1, l2=0.01)",
        ),
        **dict.fromkeys(("net", "model"), "network"),
        "cuda": TO_CUDA,
        **dict.fromkeys(("device", "backend"), "engine"),
        "activation": SET_ACTIVATION,
        **dict.fromkeys(
            ("branches", "currentbranch", "branch"),
            "write s.switch(number), or s.branch() for a new one",
        ),
        **dict.fromkeys(
            ("stepindex", "step", "clock", "epoch", "done", "next"),
            "write s.seek(step), s.advance() or s.back()",
        ),
        **dict.fromkeys(("train", "fit", "run"), "write s.advance(steps)"),
        "playing": "write s.play() and s.pause()",
        "metrics": "pass metrics=['accuracy', ...] to sv.Session: it holds for the whole training",
        **dict.fromkeys(("callbacks", "addcallback", "oncallback"), CALLBACK),
        "pinned": "write s.pin(weight)",
        **dict.fromkeys(("parameters", "weights"), "write s.network.parameters()"),
        "layers": "write s.network.layers",
        **dict.fromkeys(("predict", "eval"), "write s.network(x)"),
        "statedict": "write s.save(path), and sv.Session.load(path)",
        "requiresgrad": FREEZE,
        **dict.fromkeys(("dead", "deadneurons"), "write sv.diagnose(s)"),
        **dict.fromkeys(("grad", "gradients"), "write s.norms(), or s.network.bank.grad"),
        **dict.fromkeys(("todataframe", "dataframe"), "to_pandas"),
    },
    "Part": {
        **dict.fromkeys(("requiresgrad", "trainable", "frozen"), FREEZE),
        "activation": SET_ACTIVATION,
    },
    "Network": {
        **{each: f"pass {each}= to sv.Network" for each in ("seed", "init")},
        "cuda": TO_CUDA,
        "cpu": TO_CUDA.replace("cuda", "cpu"),
        "eval": "leave it out: net(x) evaluates, and net.forward(x) is for a backward",
        "predict": "write net(x)",
        **dict.fromkeys(("saveweights", "loadweights"), "write net.save(path), and sv.load(path)"),
        **dict.fromkeys(
            ("double", "float", "half", "astype"), "write net.copy('float64'), for example"
        ),
        **dict.fromkeys(("engine", "device"), "call net.to('cpu'), or s.to('cpu') of a session"),
        "precision": "call net.to(engine, precision)",
        "dtype": "net.copy(dtype) is a network in another",
        "weights": "write net.parameters(): each has a name",
        **dict.fromkeys(("modules", "children"), "layers"),
        **dict.fromkeys(("fit", "optimize"), TRAIN),
        "summary": "write print(net)",
        **dict.fromkeys(("onnx", "toonnx", "exportonnx"), "write net.save('net.onnx')"),
        **dict.fromkeys(("lr", "learningrate", "optimizer"), "write net.step(sv.SGD(lr))"),
    },
    "LossValue": {
        "backward": "it is a float: write net.backward(loss.backward()), after loss.forward(p, t)",
        **dict.fromkeys(("item", "detach", "numpy"), "leave it out: the loss is a float"),
    },
    "SGD": CALLS["SGD"],
    "Optimizer": {
        "step": "write net.step(optimizer), or s.advance() of a session",
        "zerograd": "write net.zero_grad()",
        "learningrate": "lr",
        "paramgroups": "optimizer.lr is the rate of all parameters",
        **dict.fromkeys(
            ("statedict", "loadstatedict", "state"),
            "write net.save(path), which also saves the state of the optimizer",
        ),
        **dict.fromkeys(
            ("momentum", "alpha", "beta1", "beta2", "eps", "decay", "weightdecay"),
            "optimizer.settings has it; to change it, make another optimizer",
        ),
        "name": "make another optimizer",
    },
}
HINTS: Mapping[str, Mapping[str, str]] = {
    "activation": ACTIVATIONS,
    "loss": LOSSES,
    "metric": METRIC_NAMES,
    "schedule": SCHEDULES,
    "initializer": INITIALIZERS,
    "engine": ENGINES,
    "dtype": DTYPES,
    "argument": ARGUMENTS,
    "public name": PUBLIC,
    **{f"argument of {call}": names for call, names in CALLS.items()},
    **{f"attribute of {kind}": names for kind, names in ATTRIBUTES_OF.items()},
}
# Kinds of names that are public in other libraries, and what to write here.
ELSEWHERE = {
    "data set": "it is in sv.data: write sv.data.{}",
    "activation": "an activation is a string: write sv.Dense(3, 8, {!r}), for example",
    "loss": "write sv.Loss({!r})",
    "schedule": "write sv.Schedule({!r})",
}


def meaning(kind: str, name: object, names: Iterable[str]) -> str:
    """Return the probable meaning of a name: one of `names`, a hint, or "".

    Args:
        kind: what the name is of, such as "loss" or "argument of Adam"
        name: the unknown name, or an object that was passed instead
        names: the valid names
    """
    word = plain(text_of(name)[:LONGEST])
    known = {plain(each): each for each in names if len(each) <= LONGEST}
    common = kind.partition(" of ")[0]
    for each in (word, word.removesuffix(common)):  # MSELoss is "mse"
        for table in (known, HINTS.get(kind, {}), HINTS.get(common, {})):
            if each in table:
                return table[each]
    return OF_FUNCTIONS.get(kind, "") if isinstance(name, FunctionType) else ""


def meaning_elsewhere(name: str, names: Mapping[str, Iterable[str]]) -> str:
    """Return what to write for a name that is not public, but of a kind in ELSEWHERE; else "".

    Args:
        name: the unknown name
        names: valid names by kind; kinds without them are looked up in HINTS only
    """
    for kind, remedy in ELSEWHERE.items():
        if found := meaning(kind, name, names.get(kind, ())):
            return found if " " in found else remedy.format(found)
    return ""


def plain(word: str) -> str:
    """Return a word in lower case without punctuation."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


def text_of(name: object) -> str:
    """Return the name of a function, class, dtype or object; return a string unchanged."""
    if isinstance(name, str):
        return name
    if type(name).__name__.lower().endswith("dtype"):  # of numpy and PyTorch
        return str(name).rpartition(".")[2]
    return str(getattr(name, "__name__", None) or type(name).__name__)
