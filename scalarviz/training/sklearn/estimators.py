"""Classifier and Regressor: networks as scikit-learn estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar, cast, final

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_array, check_random_state, shuffle
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from scalarviz.base.checks import answered, listed, number, require, shorten, size
from scalarviz.base.messages import caution
from scalarviz.core.formulas.losses import AnyLoss
from scalarviz.core.optimizer import Optimizer
from scalarviz.data import Arrays
from scalarviz.data.samples import MOST_NAMES, columns_in
from scalarviz.errors import InputError
from scalarviz.training.network.network import Network
from scalarviz.training.session.callbacks import EarlyStopping
from scalarviz.training.session.session import Session

RATE = 0.01  # for an optimizer given by name
LARGE = 1000.0  # size of targets above which a Regressor warns
OPEN = {"open_low": True, "open_high": True}
Array = npt.NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])


def whole_or_not(method: Method) -> Method:
    """Wrap a method so that the estimator and its fitted attributes are restored after an error."""

    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast("Method", call)


class NetworkEstimator(BaseEstimator):  # type: ignore[misc]  # a class without types
    """Base class of Classifier and Regressor: a network of dense layers as an estimator.

    See Classifier and Regressor for the parameters `hidden, activation, optimizer, lr, l2, loss`,
    `batch, epochs, early_stopping, validation_fraction, patience, engine, random_state`.
    """

    _LOSS: ClassVar[str]  # by default

    network_: Network
    _session: Session

    @answered
    def __init__(
        self,
        hidden: Any = (16,),
        *,
        activation: str = "relu",
        optimizer: Optimizer | str = "adam",
        lr: float | None = None,
        l2: float | None = None,
        loss: AnyLoss | None = None,
        batch: int | None = 32,
        epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        engine: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.optimizer = optimizer
        self.lr = lr
        self.l2 = l2
        self.loss = loss
        self.batch = batch
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.engine = engine
        self.random_state = random_state

    @abstractmethod
    def _arrays(self, X: Any, y: Any, *, first: bool = True, **options: Any) -> Arrays:
        """Return a data set of checked samples and targets, with their names.

        Args:
            X, y: samples and targets passed to `fit`
            first: whether training starts; otherwise samples and targets must have the same form as
                before
            options: keyword arguments of Arrays
        """

    @final
    @whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train a new network on `X` and `y`, and return the estimator.

        Args:
            X: array of shape (samples, inputs), or a data frame whose columns name the inputs
            y: array of shape (samples,); for a Regressor also (samples, outputs)
            sample_weight: non-negative weight of each sample; None (default) means equal weights

        Results for the same `random_state` are equal bit for bit. Raises InputError, which is a
        ValueError, or another ValueError for invalid data.
        """
        seed, epochs, held_out = self._seed(), size(self.epochs, "epochs"), 0.0
        if self.early_stopping:
            held_out = number(self.validation_fraction, "validation_fraction", 0.0, 1.0, **OPEN)
        data = self._arrays(X, y, share=1.0 - held_out, seed=seed, sample_weight=sample_weight)
        if self.early_stopping and data.held_out is None:
            raise InputError(
                f"early_stopping holds samples out, and a validation_fraction of {held_out:g} of "
                f"{data.samples} gives none: make it larger, or pass more samples"
            )
        session = self._begun(data, seed)
        if not self.early_stopping:
            session.advance(epochs=epochs)
            return self._end(session)
        stopping = session.on_step(EarlyStopping(patience=self.patience))
        session.advance(epochs=epochs)
        stopping.remove()  # no early stopping of manual training
        session.seek(session.best_step())
        return self._end(session)

    @property
    def session_(self) -> Session:
        """The Session that trained the estimator, with its history, shown by `sv.watch(estimator)`.

        The session's network is separate from `network_`, so moving the session, for example with
        `seek(0)`, does not change predictions. Raises NotFittedError before `fit`, and in copied or
        unpickled estimators, which have no session.
        """
        check_is_fitted(self, "network_")
        if "_session" not in vars(self):
            raise NotFittedError(
                f"the session of a {type(self).__name__} is not part of a copy or pickle: call "
                "fit again, or est.session_.save(path) on the fitted estimator"
            )
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, which contain the network but no session."""
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_session"}

    def _seed(self) -> int:
        given = self.random_state
        is_seed = isinstance(given, Integral)
        return int(given if is_seed else check_random_state(given).randint(2**31 - 1))

    def _begun(self, data: Arrays, seed: int, network: Network | None = None) -> Session:
        """Return an untrained session for a `network`, by default a new one."""
        sizes = [data.inputs, *np.array(self.hidden, object).ravel(), data.outputs]
        batch = self._batch(data)
        return Session(
            network or Network(sizes, self.activation, seed=seed),
            data,
            self.loss or self._LOSS,
            self._optimizer(),
            batch,
            self.engine,
            seed,
            metrics="loss" if self.early_stopping else (),
            every=data.batches(batch).steps_an_epoch,
        )

    def _batch(self, data: Arrays) -> int | None:
        return None if self.batch is None else min(size(self.batch, "batch"), data.samples)

    def _optimizer(self) -> Optimizer:
        given = {"lr": self.lr, "l2": self.l2}
        given = {name: value for name, value in given.items() if value is not None}
        if isinstance(self.optimizer, str):
            return Optimizer(self.optimizer, **{"lr": RATE, **given})  # type: ignore[arg-type]  # lr and l2 only
        require(
            not given,
            f"lr and l2 apply only to an optimizer given by name, not {shorten(self.optimizer)}: "
            "pass them to it, or write optimizer='adam'",
        )
        return Optimizer.of(self.optimizer)

    @whole_or_not
    def _go_on(self, X: Any, y: Any, sample_weight: Any, **classes: Any) -> Self:
        """Train for one epoch on these samples, from the current weights if fitted before."""
        require(
            not self.early_stopping,
            "early_stopping=True belongs to fit, and partial_fit holds no samples out: write "
            "early_stopping=False",
        )
        seed, first = self._seed(), "network_" not in vars(self)
        session = vars(self).get("_session")
        step = 0 if session is None else session.step_index
        # In this order training uses each sample once, from any step.
        options, mixed = {"order": "in_order", **classes}, {"random_state": (seed + step) % 2**32}
        if sample_weight is not None:
            options["sample_weight"] = shuffle(sample_weight, **mixed)
        X, y = shuffle(X, y, **mixed)
        data = self._arrays(X, y, first=first, **options)
        if session is None:
            session = self._begun(data, seed, None if first else self.network_.copy())
        else:
            session.data = data
            session.batch = self._batch(data)
        session.advance(data.batches(self._batch(data)).steps_an_epoch)
        return self._end(session)

    def _end(self, session: Session) -> Self:
        """Store the trained network, and return the estimator."""
        self._session = session
        self.network_ = session.network.copy()
        return self

    def _rows(self, X: Any) -> Array:
        """Check the samples of a prediction, and return them as an array."""
        check_is_fitted(self, "network_")
        rows: Array = validate_data(self, X, dtype="float32", reset=False)
        return rows


@final
class Classifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]  # a class without types
    """A scikit-learn classifier: a network with one output per class, followed by softmax.

    Labels can be numbers, strings or booleans. Attributes after fitting: `classes_`, the labels;
    `network_`, the Network used for predictions; `session_`, the Session that trained it.

    Args:
        hidden: sizes of the hidden layers, one number or several; (16,) by default
        activation: activation of the hidden layers; "relu" by default
        optimizer: a name or an Optimizer; "adam" by default
        lr: learning rate if the optimizer is given by name; None (default) means 0.01
        l2: factor of the penalty l2 / 2 * w * w if the optimizer is given by name; None (default)
            means 0
        loss: a loss on logits; None (default) means "softmax_cross_entropy"
        batch: number of samples per step; 32 by default; None means all samples
        epochs: number of epochs, at least 1; 100 by default
        early_stopping: whether to stop when the held-out loss stops improving, and keep the weights
            of the best epoch; False by default
        validation_fraction: fraction of the samples of each class to hold out for early stopping;
            0.1 by default
        patience: number of epochs without improvement before stopping; 10 by default
        engine: "python", "cpu", "cuda" or "auto"; "auto" (default) chooses the fastest one
            available
        random_state: seed of the initial weights and the batches, a non-negative integer or a
            RandomState; None (default) chooses a random seed
        class_weight: weights of the classes: a dict from labels to weights, where missing labels
            have weight 1; "balanced", which gives each class the same total weight; or None
            (default), which gives all samples the same weight

    >>> est = Classifier(hidden=(8,), engine="python", random_state=0)
    >>> est.fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    Classifier(engine='python', hidden=(8,), random_state=0)
    >>> est.predict([[0.5], [2.5]]).tolist(), est.session_.step_index
    (['low', 'high'], 100)
    """

    _LOSS = "softmax_cross_entropy"

    classes_: Array

    @answered
    def __init__(
        self,
        hidden: Any = (16,),
        *,
        activation: str = "relu",
        optimizer: Optimizer | str = "adam",
        lr: float | None = None,
        l2: float | None = None,
        loss: AnyLoss | None = None,
        batch: int | None = 32,
        epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        engine: str = "auto",
        random_state: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        super().__init__(
            hidden,
            activation=activation,
            optimizer=optimizer,
            lr=lr,
            l2=l2,
            loss=loss,
            batch=batch,
            epochs=epochs,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            patience=patience,
            engine=engine,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def _arrays(
        self, X: Any, y: Any, classes: Any = None, *, first: bool = True, **options: Any
    ) -> Arrays:
        x, y = validate_data(self, X, y, dtype="float32", reset=first)
        check_classification_targets(y)
        if first:
            self.classes_ = np.unique(y if classes is None else classes)
        count = len(self.classes_)
        if count < 2:
            raise InputError(
                "a classifier needs several classes, and there is only one class, "
                f"{shorten(self.classes_.tolist()[0])}: pass samples of two classes or more"
            )
        encoder = LabelEncoder()
        encoder.classes_ = self.classes_
        names = [str(each) for each in self.classes_] if count <= MOST_NAMES else []
        return Arrays(
            x,
            encoder.transform(y),
            classes=count,
            input_names=columns_in(X, x.shape[1]),
            output_names=names,
            class_weight=self._class_weight(),
            **options,
        )

    def _class_weight(self) -> Any:
        """Return `class_weight`; if it is a dict, with labels replaced by indices in `classes_`."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        if odd := [key for key in self.class_weight if key not in places]:
            known = listed([shorten(label) for label in places])
            raise InputError(f"class_weight has {shorten(odd[0])}, and the classes are {known}")
        return {places[key]: weight for key, weight in self.class_weight.items()}

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one more epoch on these samples from the current weights; return the estimator.

        Args:
            X, y, sample_weight: see `fit`
            classes: labels of all classes, required in the first call; None (default) means the
                known classes

        The first call starts training. Further calls continue from the current moment of the
        session, which records the samples of all calls. Raises ValueError for invalid data.
        """
        if classes is None and "network_" not in vars(self):
            raise InputError(
                "the first partial_fit needs all classes in advance: write est.partial_fit(X, y, "
                "classes=['no', 'yes'])"
            )
        return self._go_on(X, y, sample_weight, classes=classes)

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities, in the order of `classes_`, for each row of `X`."""
        rows = self._rows(X)  # raises an error if not fitted
        return self.network_.predict_proba(rows)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row of `X`."""
        shares = self.predict_proba(X)
        best: Array = self.classes_[shares.argmax(axis=1)]
        return best


@final
class Regressor(MultiOutputMixin, RegressorMixin, NetworkEstimator):  # type: ignore[misc]  # classes without types
    """A scikit-learn regressor: a network with one output for each target column.

    Attributes after fitting: `network_`, the Network used for predictions; `session_`, the Session
    that trained it. If the targets are much larger or smaller than 1, use a
    TransformedTargetRegressor.

    Attributes:
        hidden: sizes of the hidden layers, one number or several; (16,) by default
        activation: activation of the hidden layers; "relu" by default
        optimizer: a name or an Optimizer; "adam" by default
        lr: learning rate if the optimizer is given by name; None (default) means 0.01
        l2: factor of the penalty l2 / 2 * w * w if the optimizer is given by name; None (default)
            means 0
        loss: a name or a Loss; None (default) means "mse"
        batch: number of samples per step; 32 by default; None means all samples
        epochs: number of epochs, at least 1; 100 by default
        early_stopping: whether to stop when the held-out loss stops improving, and keep the weights
            of the best epoch; False by default
        validation_fraction: fraction of the samples to hold out for early stopping; 0.1 by default
        patience: number of epochs without improvement before stopping; 10 by default
        engine: "python", "cpu", "cuda" or "auto"; "auto" (default) chooses the fastest one
            available
        random_state: seed of the initial weights and the batches, a non-negative integer or a
            RandomState; None (default) chooses a random seed

    >>> est = Regressor(hidden=(8,), lr=0.1, engine="python", random_state=0)
    >>> est.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]).predict([[1.5]]).round(1)
    array([1.5])
    """

    _LOSS = "mse"

    def _arrays(self, X: Any, y: Any, *, first: bool = True, **options: Any) -> Arrays:
        x, targets = validate_data(
            self, X, y, dtype="float32", multi_output=True, y_numeric=True, reset=first
        )
        targets = check_array(targets, dtype="float64", ensure_2d=False)  # no sparse ones
        if first:
            self._shape = targets.shape[1:]
            if (largest := float(np.abs(targets).max(initial=0.0))) > LARGE:
                caution(
                    f"targets as large as {largest:.6g} are hard to learn: fit "
                    "TransformedTargetRegressor(est, transformer=StandardScaler())"
                )
        frame = y.to_frame() if hasattr(y, "to_frame") else y
        names = columns_in(frame, int(np.prod(targets.shape[1:])))
        inputs = columns_in(X, x.shape[1])
        return Arrays(x, targets, input_names=inputs, output_names=names, **options)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one more epoch on these samples from the current weights; return the estimator.

        Args:
            X, y, sample_weight: see `fit`

        The first call starts training. Further calls continue from the current moment of the
        session, which records the samples of all calls. Raises ValueError for invalid data.
        """
        return self._go_on(X, y, sample_weight)

    def predict(self, X: Any) -> Array:
        """Return predictions for each row of `X`: one number, or a row of numbers, as in `fit`."""
        rows = self._rows(X)
        outputs: Array = self.network_(rows).astype(np.float64)
        return outputs.reshape(len(rows), *self._shape)
