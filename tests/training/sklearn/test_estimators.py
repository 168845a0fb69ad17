"""Classifier and Regressor: what scikit-learn asks of estimators, and what only these have."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import scalarviz as sv
from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.stage.show import Several, Show
from tests.wording import refused

QUICK: dict[str, Any] = {"hidden": (8,), "lr": 0.05, "epochs": 30}
KINDS = [sv.sklearn.Classifier, sv.sklearn.Regressor]
FLOWERS = load_iris()
X, y = FLOWERS.data, FLOWERS.target
KINDS_OF_FLOWERS = FLOWERS.target_names[y]


class Frame:
    """A table with named columns, as pandas and polars have them."""

    def __init__(self, table: Any, columns: list[str]) -> None:
        self.table, self.columns, self.shape = np.asarray(table), columns, np.shape(table)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.table, dtype)

    def __len__(self) -> int:
        return len(self.table)


class Column:
    """One of its columns."""

    def __init__(self, numbers: Any, name: str) -> None:
        self.numbers, self.name, self.shape = numbers, name, numbers.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numbers, dtype)

    def __len__(self) -> int:
        return len(self.numbers)

    def to_frame(self) -> Frame:
        return Frame(self.numbers[:, None], [self.name])


def classifier(**options: Any) -> Any:
    return sv.sklearn.Classifier(**{**QUICK, "engine": "cpu", "random_state": 0, **options})


def regressor(**options: Any) -> Any:
    return sv.sklearn.Regressor(**{**QUICK, "engine": "cpu", "random_state": 0, **options})


def checks() -> Iterator[Any]:
    """Every check of scikit-learn for both.

    One is left out: that weights are as samples repeated, to 1e-7, where these compute in float32
    and take batches in random order; `test_weights_are_as_samples_repeated` is in their place.
    """
    for kind in KINDS:
        for engine in ("python", "cpu"):
            for each, check in estimator_checks_generator(kind(**QUICK, engine=engine)):
                name = getattr(check, "func", check).__name__
                if name == "check_sample_weight_equivalence_on_dense_data":
                    continue
                yield pytest.param(each, check, id=f"{kind.__name__}-{engine}-{name}")


@pytest.mark.some(9)
@pytest.mark.parametrize(("estimator", "check"), [*checks()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_a_check_of_scikit_learn_holds(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("load", "floor"), [(load_iris, 0.95), (load_wine, 0.97), (load_digits, 0.91)]
)
def test_it_is_about_as_good_as_the_networks_of_scikit_learn(load: Any, floor: float) -> None:
    X, y = load(return_X_y=True)
    ours, theirs = sv.sklearn.Classifier(random_state=0), MLPClassifier((16,), random_state=0)
    theirs.set_params(learning_rate_init=0.01, batch_size=32, max_iter=100, tol=0.0)
    found = [cross_val_score(make_pipeline(StandardScaler(), est), X, y) for est in (ours, theirs)]
    assert found[0].mean() > max(floor, found[1].mean() - 0.015)


def test_targets_of_any_size_are_learned_when_they_are_scaled() -> None:
    X, y = load_diabetes(return_X_y=True)
    net = make_pipeline(StandardScaler(), regressor(lr=0.01, early_stopping=True))
    ours = TransformedTargetRegressor(net, transformer=StandardScaler())
    found = [cross_val_score(each, X, y).mean() for each in (ours, LinearRegression())]
    assert found[0] > max(0.42, found[1] - 0.05)
    with pytest.warns(UserWarning, match=r"346000 .*TransformedTargetRegressor"):
        regressor(epochs=1).fit(X, 1000.0 * y)


@pytest.mark.parametrize("labels", [["yes", "no"], [3, -7], [True, False], [2.0, 1.0]])
def test_labels_are_what_they_were(labels: list[Any]) -> None:
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    y = np.array(labels)[(X.ravel() > 0.0).astype(int)]
    est = classifier().fit(X, y)
    assert est.classes_.tolist() == sorted(labels) and est.n_features_in_ == 1
    assert (est.predict(X) == y).mean() > 0.9 and est.predict(X).dtype == y.dtype
    likely = est.predict_proba(X)
    assert likely.shape == (40, 2) and np.allclose(likely.sum(axis=1), 1.0)
    assert est.score(X, y) == (est.predict(X) == y).mean()
    assert (likely == est.network_.predict_proba(X)).all()


def test_targets_keep_their_shape() -> None:
    X = np.linspace(-1.0, 1.0, 50)[:, None]
    for y in (X.ravel(), X, np.hstack([X, -X])):
        est = regressor().fit(X, y)
        assert est.predict(X).shape == y.shape
        assert est.score(X, y) > 0.95
        assert est.network_.outputs == (y.shape[1] if y.ndim == 2 else 1)


def test_a_fit_is_fresh_and_follows_from_its_seed() -> None:
    est = classifier(random_state=5).fit(X, y)
    first = est.network_.bank.value.copy()
    assert (est.fit(X, y).network_.bank.value == first).all()
    assert (clone(est).fit(X, y).network_.bank.value == first).all()
    assert (clone(est).set_params(random_state=6).fit(X, y).network_.bank.value != first).any()
    drawn = [classifier(random_state=np.random.RandomState(1)).fit(X, y) for _ in range(2)]
    assert (drawn[0].network_.bank.value == drawn[1].network_.bank.value).all()
    assert (est.session_.network.bank.value == first).all()
    assert est.session_.trainer.seed == est.network_.seed == 5


def test_parameters_reach_the_training() -> None:
    s = classifier(
        hidden=(5, 4), activation="tanh", optimizer="momentum", lr=0.2, l2=0.01, batch=None,
        epochs=3, engine="python", loss="sigmoid_cross_entropy",
    ).fit(X, y).session_  # fmt: skip
    assert [layer.outputs for layer in s.network.layers] == [5, 4, 3]
    assert s.network.activations == ("tanh", "tanh", "linear")
    assert repr(s.optimizer) == "Optimizer(lr=0.2, momentum=0.9, l2=0.01)"
    assert (s.batch, s.step_index, s.engine) == (None, 3, "python")
    assert s.loss_function.name == "sigmoid_cross_entropy"
    losses = [each.fit(X, y).session_.loss_function.name for each in (classifier(), regressor())]
    assert losses == ["softmax_cross_entropy", "mse"]
    assert classifier(hidden=7).fit(X, y).network_.layers[0].outputs == 7
    assert len(classifier(hidden=()).fit(X, y).network_.layers) == 1
    own = sv.Adam(0.03, beta1=0.5)
    assert repr(classifier(optimizer=own, lr=None).fit(X, y).session_.optimizer) == repr(own)
    assert classifier(batch=1000).fit(X[::10], y[::10]).session_.batch == 15


def test_the_session_has_the_whole_past_and_predictions_stay() -> None:
    est = classifier().fit(X, KINDS_OF_FLOWERS)
    s, before = est.session_, est.predict_proba(X)
    assert s.step_index == len(s.losses) == 150 and s.losses[-1] < s.losses[0] / 2
    s.seek(0)
    assert (s.network.bank.value == sv.Network([4, 8, 3], "relu", seed=0).bank.value).all()
    assert (est.predict_proba(X) == before).all()
    s.seek(150)
    assert (s.network.predict_proba(X) == before).all()


def test_names_of_columns_and_classes_are_those_of_neurons() -> None:
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    data = classifier().fit(Frame(X, names), KINDS_OF_FLOWERS).session_.data
    assert data.input_names == names
    assert data.output_names == ["setosa", "versicolor", "virginica"]
    two = Frame(X[:, :2], ["length", "width"])
    for targets, known in ((two, two.columns), (Column(X[:, 3], "width"), ["width"])):
        data = regressor().fit(X[:, 2:], targets).session_.data
        assert not data.input_names and data.output_names == known
    assert classifier().fit(X, y).session_.data.output_names == [*"012"]


def test_very_many_classes_have_no_names() -> None:
    est = classifier(epochs=1).fit(np.arange(258.0)[:, None], np.arange(258) % 129)
    assert not est.session_.data.output_names and len(est.classes_) == 129


def test_early_stopping_keeps_the_best_epoch() -> None:
    X, y = load_wine(return_X_y=True)
    est = classifier(early_stopping=True, validation_fraction=0.2, patience=4, epochs=500)
    s = est.fit(StandardScaler().fit_transform(X), y).session_
    assert len(s.data.held_out[0]) == 36 and s.step_index == s.best_step()
    end = s.current_branch.end.step
    assert end - s.step_index == 4 * 5 and end < 500 * 5
    assert (est.network_.bank.value == s.network.bank.value).all()
    s.seek(end)
    assert (est.network_.bank.value != s.network.bank.value).any()
    s.advance(epochs=20)  # by hand it goes on
    assert s.step_index == end + 100 and s.metrics["held_out_loss"][0][-1] == end + 100


@pytest.mark.parametrize("kind", KINDS)
def test_partial_fit_goes_on(kind: Any) -> None:
    X, y = StandardScaler().fit_transform(FLOWERS.data), FLOWERS.target
    est = kind(**QUICK, engine="cpu", random_state=0)
    est.partial_fit(X[:100:8], y[:100:8], *[[0, 1, 2]][: kind is KINDS[0]])
    assert est.session_.step_index == 1 and est.session_.batch == 13
    for _ in range(15):
        est.partial_fit(X[1::3], y[1::3]).partial_fit(X, y)
    s = est.session_
    assert s.step_index == 1 + 15 * 7 and s.batch == 32
    assert est.score(X, y) > 0.9
    s.seek(0)  # with the samples of that time
    assert s.data.samples == 13
    s.seek(1 + 15 * 7)
    assert (s.network.bank.value == est.network_.bank.value).all()


def test_an_epoch_of_partial_fit_has_each_sample_once() -> None:
    est = regressor(batch=4).partial_fit(np.arange(10.0)[:, None], np.arange(10.0))
    est.partial_fit(np.arange(14.0)[:, None], np.arange(14.0))
    s = est.session_
    seen = np.concatenate([s.trainer.batches.at(step)[0].ravel() for step in range(3, 7)])
    assert sorted(seen) == [*range(14)] and (np.diff(seen) == 1.0).sum() < 8


def test_a_pickle_predicts_and_goes_on_without_its_session() -> None:
    est = classifier(lr=0.01).fit(X, KINDS_OF_FLOWERS)
    other = pickle.loads(pickle.dumps(est))
    assert (other.predict_proba(X) == est.predict_proba(X)).all()
    assert not hasattr(other, "session_") and hasattr(est, "session_")
    with refused(NotFittedError, "Classifier"):
        _ = other.session_
    before = other.network_.bank.value.copy()
    other.partial_fit(X, KINDS_OF_FLOWERS)
    assert other.session_.step_index == 5
    assert 0.0 < np.abs(other.network_.bank.value - before).max() < 0.2
    assert (est.network_.bank.value == before).all()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_finds_settings_of_a_pipeline(jobs: int) -> None:
    pipe = make_pipeline(StandardScaler(), classifier())
    grid = {"classifier__hidden": [(), (8,)], "classifier__lr": [1e-6, 0.05]}
    search = GridSearchCV(pipe, grid, cv=3, n_jobs=jobs).fit(X, KINDS_OF_FLOWERS)
    assert search.best_params_["classifier__lr"] == 0.05 and search.best_score_ > 0.9
    s = search.best_estimator_[-1].session_
    assert s.step_index == 150 and Show.of(search).session is s
    assert Show.of(search.best_estimator_).session is s


def test_a_search_around_scaled_targets_and_a_pipeline_shows_its_session() -> None:
    pipe = make_pipeline(StandardScaler(), regressor(epochs=1))
    scaled = TransformedTargetRegressor(pipe, transformer=StandardScaler())
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(scaled, {"regressor__regressor__lr": [0.01]}, cv=2).fit(X, y)
    s = search.best_estimator_.regressor_[-1].session_
    assert Show.of(search).session is s and Show.of(search.best_estimator_).session is s
    refused(InputError, "TransformedTargetRe...").by(Show.of, scaled)


def test_it_stands_behind_and_inside_other_estimators() -> None:
    X = np.array([[0.1, "red"], [0.9, "blue"]] * 20, dtype=object)
    y = ["a", "b"] * 20
    columns = ColumnTransformer([("number", "passthrough", [0]), ("color", OneHotEncoder(), [1])])
    pipe = make_pipeline(columns, classifier()).fit(X, y)
    assert pipe.score(X, y) == 1.0 and pipe[-1].n_features_in_ == 3
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(FLOWERS.data, FLOWERS.target)
    assert calibrated.predict_proba(FLOWERS.data).shape == (150, 3)


@pytest.mark.slow  # kernels for the page are compiled
def test_it_has_a_page(tmp_path: Path) -> None:
    sv.page(classifier().fit(X, y), tmp_path / "flowers.html")
    assert (tmp_path / "flowers.html").stat().st_size > 100_000


def test_it_is_shown_by_its_session() -> None:
    both = [each.fit(X, y) for each in (classifier(), regressor())]
    assert Show.of(both[0]).session is both[0].session_
    several = Several.of({"kinds": both[0], "numbers": both[1]})
    assert several is not None
    assert [show.session for show in several.shows] == [each.session_ for each in both]
    refused(NotFittedError, "Classifier").by(Show.of, classifier())
    refused(NotFittedError, "Regressor").by(Several.of, [regressor()])
    refused(InputError, "GridSearchCV(cv=3").by(Show.of, GridSearchCV(classifier(), {}, cv=3))


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"hidden": (8, 2.5)}, "2.5"),
        ({"hidden": "8"}, "'8'"),
        ({"activation": "rleu"}, "'rleu'"),
        ({"optimizer": "adams"}, "'adams'"),
        ({"optimizer": sv.Adam(0.1)}, "Adam(lr=0.1"),
        ({"lr": -1.0}, "-1.0"),
        ({"batch": 0}, "0"),
        ({"batch": "all"}, "'all'"),
        ({"epochs": 1.5}, "1.5"),
        ({"random_state": -1}, "-1"),
        ({"loss": "cross"}, "'cross'"),
        ({"early_stopping": True, "validation_fraction": 1.0}, "1.0"),
        ({"early_stopping": True, "validation_fraction": 0.001}, "0.001"),
        ({"early_stopping": True, "patience": 0}, "0"),
        ({"epochs": 0}, "0"),
    ],
)
def test_an_unsuitable_parameter_is_refused(options: dict[str, Any], value: str) -> None:
    est = classifier(**options)  # which only keeps it
    refused(InputError, value).by(est.fit, X, y)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("hidden_layer_sizes", "hidden"),
        ("learning_rate_init", "lr"),
        ("batch_size", "batch"),
        ("max_iter", "epochs"),
        ("alpha", "l2"),
        ("n_iter_no_change", "patience"),
        ("seed", "random_state"),
    ],
)
def test_a_parameter_by_its_name_in_scikit_learn_is_told(theirs: str, ours: str) -> None:
    for kind in KINDS:
        refused(UnknownNameError, theirs, ours).by(kind, **{theirs: 1})


def test_after_an_error_it_is_what_it_was() -> None:
    x, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    est = sv.sklearn.Classifier(hidden=(8,), epochs=40, engine="python", random_state=0).fit(x, y)
    known = est.predict(x).tolist()
    est.set_params(hidden=(-1,))
    refused(InputError, "-1").by(est.fit, np.zeros((4, 2)), ["a", "b", "c", "d"])
    assert est.predict(x).tolist() == known


def test_what_cannot_be_learned_is_refused() -> None:
    refused(InputError, "'setosa'").by(classifier().fit, X[:9], KINDS_OF_FLOWERS[:9])
    refused(InputError, "classes=[").by(classifier().partial_fit, X, y)
    refused(InputError, "early_stopping=False").by(regressor(early_stopping=True).partial_fit, X, y)


def test_without_scikit_learn_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "scalarviz.training.sklearn.estimators")
    monkeypatch.delattr(sv.sklearn, "Classifier")
    assert "Classifier" in dir(sv.sklearn)
    with refused(InputError, pip_command("sklearn")):
        _ = sv.sklearn.Classifier
    with refused(AttributeError, "'Clasifier'"):
        _ = sv.sklearn.Clasifier


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_as_samples_repeated(kind: Any) -> None:
    times = np.random.default_rng(0).integers(0, 3, len(X))
    one, other = (kind(**QUICK, batch=None, random_state=0) for _ in range(2))
    one.fit(X, y, sample_weight=times), other.fit(X.repeat(times, axis=0), y.repeat(times))
    assert np.allclose(one.network_.bank.value, other.network_.bank.value, atol=1e-5)
    plain = kind(**QUICK, batch=None, random_state=0).fit(X, y)
    assert not np.allclose(one.network_.bank.value, plain.network_.bank.value, atol=1e-3)
    one = kind(**QUICK, random_state=0).partial_fit(X, y, sample_weight=times, **classes_of(kind))
    assert sorted(one.session_.data.weights) == sorted(times)


def classes_of(kind: Any) -> dict[str, Any]:
    return {"classes": [0, 1, 2]} if kind is sv.sklearn.Classifier else {}


def test_class_weights_are_by_labels() -> None:
    est = classifier(class_weight={"virginica": 5.0, "setosa": 0.0}).fit(X, KINDS_OF_FLOWERS)
    found = est.session_.data.weights
    assert set(zip(KINDS_OF_FLOWERS.tolist(), found.tolist(), strict=True)) == {
        ("setosa", 0.0),
        ("versicolor", 1.0),
        ("virginica", 5.0),
    }
    rare = np.append(np.arange(50), [60, 61, 62, 63, 64])
    even, plain = (
        classifier(class_weight=w).fit(X[rare], KINDS_OF_FLOWERS[rare]) for w in ("balanced", None)
    )
    assert est.get_params()["class_weight"] == {"virginica": 5.0, "setosa": 0.0}
    assert even.session_.data.weights.max() == pytest.approx(5.5)
    assert not np.allclose(even.predict_proba(X), plain.predict_proba(X))
    early = classifier(class_weight="balanced", early_stopping=True, epochs=3).fit(
        X[rare], KINDS_OF_FLOWERS[rare]
    )
    assert early.session_.data.held_out_weights is not None
    refused(InputError, "'rose'").by(
        classifier(class_weight={"rose": 2.0}).fit, X, KINDS_OF_FLOWERS
    )
