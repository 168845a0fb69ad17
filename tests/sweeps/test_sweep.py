"""Sweeps.

Every run has the numbers of a session of its own, whatever executes it, and tables say what came of
it.
"""

import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import EngineError, InputError, OrderError, UnknownNameError
from scalarviz.files.runs import bits_of
from scalarviz.sweeps import executors
from scalarviz.sweeps import tasks as task
from scalarviz.sweeps.results import interquartile_mean, mean_with_interval, rate
from scalarviz.sweeps.tasks import NEVER, versions_here
from scalarviz.training.session.replicas import Replicas
from tests.machine import ROOT, until
from tests.sessions import advanced, session_on
from tests.sweeps.making import (
    GRID,
    PLACES,
    always_killing,
    classes,
    digests,
    digests_here,
    diverging,
    folds,
    furthest,
    killing,
    own_data,
    raising,
    xor,
)
from tests.wording import refused

GRID_OF_RATES = {"hidden": [2, 3], "lr": [0.5, 2.0]}


def test_each_run_is_a_session_of_its_own_bit_for_bit() -> None:
    runs = advanced(sv.sweep(xor, GRID_OF_RATES, seeds=[5, 0, 2**40]), 60, every=20)
    for number, setting in enumerate(runs.settings):
        outcome = runs.outcome(number)
        for i, seed in enumerate([5, 0, 2**40]):
            alone = advanced(xor(**setting, seed=seed), 60)
            assert outcome.digests[i] == bits_of(alone.network.bank)
            means = alone.losses.reshape(3, 20).mean(axis=1)
            np.testing.assert_allclose(runs.losses(number)[i], means, rtol=1e-12)
    opened = runs[3, 2**40]
    assert opened.step_index == 60 and opened.network.layers[0].outputs == 3
    opened.back(10)
    assert opened.step_index == 50


def test_a_network_succeeds_at_the_first_check_at_which_its_loss_is_below_the_bound() -> None:
    runs = advanced(sv.sweep(xor, {}, seeds=range(6), success=0.05), 200, every=25)
    below = runs.losses(0) < 0.05
    first = np.where(below.any(axis=1), 25 * (below.argmax(axis=1) + 1), NEVER)
    assert (runs.outcome(0).succeeded == first).all() and 0 < below.any(axis=1).sum() < 6
    assert "success: loss below 0.05" in repr(runs.table())
    assert runs.table().columns["success"][0] == pytest.approx(below.any(axis=1).mean())


def test_networks_that_fail_are_counted_and_rank_last() -> None:
    runs = sv.sweep(diverging, {"lr": [1e-3, 10.0]}, seeds=range(5))
    runs.advance(100, every=10)
    table = runs.table()
    assert table.columns["failed"] == [0, 5]
    assert table.columns["loss"][1] == np.inf and np.isfinite(table.columns["loss"][0])
    failed = runs.outcome(1).failed
    for i in range(5):
        alone = diverging(10.0, i)
        with pytest.raises(sv.ScalarvizError):
            alone.advance(100)
        assert alone.step_index == failed[i]
    assert runs[1, 3].step_index == failed[3]  # as far as it went


def test_a_sweep_that_measures_only_losses_trains_each_setting_in_one_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    advance = Replicas.advance
    monkeypatch.setattr(
        Replicas, "advance", lambda all, n, **more: asked.append(n) or advance(all, n, **more)
    )
    more = {}, {"metrics": ["mae"]}
    runs = [sv.sweep(diverging, {"lr": [1e-3, 10.0]}, range(5), **each) for each in more]
    runs[0].advance(100, every=10)
    assert asked == [100, 100]
    runs[1].advance(100, every=10)
    assert set(asked[2:]) == {10}
    for number in range(2):
        found, wanted = [vars(each.outcome(number)) for each in runs]
        assert (found["failed"] == NEVER).all() == (number == 0)
        for name in ("losses", "failed", "digests"):
            count = wanted[name].shape[1] if name == "losses" else None
            whole = found[name][:, :count] if name == "losses" else found[name]
            np.testing.assert_array_equal(whole, wanted[name])


def test_a_setting_that_raises_is_named_and_the_others_go_on() -> None:
    runs = advanced(sv.sweep(raising, {"hidden": [4, 5, 6]}, seeds=range(2)), 20)
    assert list(runs.errors) == [1] and runs.table().columns["runs"] == [2, 0, 2]
    assert runs.table().columns["error"] == [None, "ValueError: five is not for me", None]
    assert "five is not for me" in repr(runs.table())  # longer than other cells may be
    assert len(runs.runs()) == 4
    with pytest.raises(ValueError, match="five"):
        runs.outcome(1)


def test_metrics_are_measured_at_the_checks() -> None:
    runs = advanced(sv.sweep(xor, {}, seeds=[0, 1], metrics=["accuracy", "mae"]), 40, every=20)
    alone = advanced(xor(seed=1), 40)
    outputs = np.array(alone.network(np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])))
    mae = np.abs(outputs - [[0], [1], [1], [0]]).mean()
    assert runs.outcome(0).metrics["mae"][1, 1] == pytest.approx(mae, rel=1e-6)
    assert {"accuracy", "mae"} <= set(runs.table().columns)


def test_held_out_samples_rank_where_there_are_some_and_any_metric_can_be_the_goal() -> None:
    runs = advanced(sv.sweep(classes, {"lr": [0.001, 0.3]}, seeds=[3, 4]), 40, every=10)
    alone = advanced(classes(0.3, 4, metrics="accuracy", every=40), 40).metrics
    table, found = runs.table(), runs.outcome(1).last("held_out_loss")
    assert found[1] == pytest.approx(alone["held_out_loss"][1][-1], rel=1e-5)
    assert table.columns["rank"] == [2, 1] and "rank: by held_out_loss, the smallest" in repr(table)
    assert (
        np.isfinite(runs.outcome(0).metrics["held_out_loss"]).tolist() == [[False] * 3 + [True]] * 2
    )
    best = sv.sweep(classes, {"lr": [0.001, 0.3]}, seeds=[3, 4], goal="held_out_accuracy")
    shown = repr(advanced(best, 40).table())
    assert "rank: by held_out_accuracy, the largest first" in shown
    assert best.table().columns["rank"] == [2, 1]
    assert best.outcome(1).last("held_out_accuracy")[1] == alone["held_out_accuracy"][1][-1]
    assert "held_out_accuracy" in best.runs().csv().splitlines()[0]
    near = sv.sweep(xor, {"lr": [0.01, 2.0]}, range(3), goal="furthest", metrics=[furthest])
    assert advanced(near, 300).table().columns["rank"] == [2, 1]
    assert advanced(sv.sweep(xor, {"lr": [1.0]}, [0]), 2).ranking.name == "loss"


def test_samples_of_a_seed_are_those_that_its_run_is_judged_by() -> None:
    runs = advanced(sv.sweep(folds, {}, seeds=range(2), metrics=["mae"]), 20)
    for row, seed in enumerate(range(2)):
        net, data = runs[0, seed].network, runs[0, seed].data
        mae = np.abs(net(data.training[0]) - data.training[1]).mean()
        assert runs.outcome(0).last("mae")[row] == pytest.approx(mae, rel=1e-6)


def test_an_interrupted_sweep_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = sv.sweep(xor, GRID_OF_RATES, seeds=range(3))
    done = [each.train() for each in runs._tasks(30, 10)[:2]]
    monkeypatch.setattr(task.SweepTask, "train", Mock(side_effect=[*done, KeyboardInterrupt]))
    with pytest.raises(KeyboardInterrupt):
        runs.advance(30, every=10)
    monkeypatch.undo()
    assert len(runs.runs()) == 6
    runs.advance(30, every=10)
    assert len(runs.runs()) == 12


def test_tables_are_saved_and_sorted(tmp_path: Path) -> None:
    runs = advanced(sv.sweep(xor, GRID_OF_RATES, seeds=range(3), success=0.1), 20)
    runs.save(tmp_path / "runs.csv")
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert len(lines) == 13
    assert lines[0] == "setting,hidden,lr,seed,steps,loss,success,steps to success,failed,digest"
    losses = runs.table().sorted_by("loss", falling=True).columns["loss"]
    assert losses == sorted(losses, reverse=True)
    shown = repr(runs.table())
    assert re.search(r"hidden +lr +runs", shown) and "loss below 0.1" in shown
    assert "<table>" in runs.table()._repr_html_()
    frame = pytest.importorskip("pandas", reason="pandas is an extra") and runs.to_pandas()
    assert list(frame.columns) == lines[0].split(",") and len(frame) == 12


NO_SWEEPS: list[tuple[type[Exception], tuple[Any, ...], dict[str, Any]]] = [
    (InputError, (3, {}), {}),  # no function
    (UnknownNameError, (raising, {"hiden": [3]}), {}),
    (InputError, (lambda hidden: None, {"hidden": [3]}), {}),  # takes no seed
    (InputError, (xor, {"seed": [1]}), {}),
    (InputError, (xor, {"hidden": 3}), {}),  # no list
    (InputError, (xor, {"hidden": []}), {}),
    (InputError, (xor, {"hidden": [3, 3]}), {}),
    (InputError, (xor, [{"hidden": 3}, {"lr": 1.0}]), {}),
    (InputError, (xor, "hidden"), {}),  # no grid
    (InputError, (xor, {"hidden": range(1000), "lr": range(1000)}), {}),
    (InputError, (xor, {}), {"seeds": []}),
    (InputError, (xor, {}), {"seeds": [1, 1]}),
    (InputError, (xor, {}), {"seeds": [-1]}),
    (InputError, (xor, {}), {"success": "great"}),
    (InputError, (xor, {}), {"success": 0.0}),
    (UnknownNameError, (xor, {}), {"goal": "acuracy"}),
    (UnknownNameError, (xor, {}), {"folder": "results"}),
    (UnknownNameError, (xor, {}), {"stop": "success"}),
    (InputError, (xor, {}), {"goal": "held_out_loss"}),  # nothing is held out
]


def test_what_is_no_sweep_is_refused_in_a_sentence() -> None:
    for error, given, named in NO_SWEEPS:
        refused(error).by(sv.sweep, *given, **named)
    refused(InputError).by(sv.sweep(xor, {}, executor="threads").advance, 1)
    runs = sv.sweep(xor, {}, seeds=[0])
    refused(OrderError).by(runs.outcome, 0)
    with refused(InputError):
        runs[3, 0]
    with refused(InputError):
        runs[0, 1]
    with refused(InputError):
        runs[0]  # type: ignore[index]  # no seed
    refused(InputError).by(runs.advance, 0)
    runs.advance(2)
    refused(InputError).by(runs.save, "table.xlsx")
    refused(InputError).by(runs.table().sorted_by, "speed")


def test_each_seed_of_a_cross_validation_is_trained_on_its_own_fold() -> None:
    together = sv.sweep(folds, {}, seeds=range(4))  # the first and the last have the same fold
    together.advance(20)
    for seed in range(4):
        alone = advanced(folds(seed=seed), 20)
        row = together.outcome(0).row_of(seed)
        assert together.outcome(0).digests[row] == bits_of(alone.network.bank)


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (sv.Session.freeze, [0]),
        (setattr, ["optimizer", sv.SGD(0.1)]),
        (sv.Session.set_activation, [0, "relu"]),
        (sv.Session.edit, [0, 0.25]),
        (setattr, ["data", (PLACES, [[1], [0], [0], [0]])]),
    ],
    ids=["frozen", "slower", "swapped", "edited", "other data"],
)
def test_a_run_that_differs_by_more_than_its_seed_is_trained_as_it_is(
    change: Any, given: list[Any]
) -> None:
    def make(seed: int = 0) -> sv.Session:
        session = xor(seed=seed)
        if seed == 1:
            change(session, *given)
        return session

    runs = advanced(sv.sweep(make, {}, seeds=range(3)), 20)
    alone = tuple(bits_of(advanced(make(seed), 20).network.bank) for seed in range(3))
    assert runs.outcome(0).digests == alone and not runs._tasks(20, 5)[0].together
    assert sv.sweep(xor, {}, seeds=range(3))._tasks(20, 5)[0].together


def read(seed: Any) -> float:
    return seed % 3 / 4


def compared(seed: Any) -> float:
    return 0.5 if seed == 1 else 0.25


def tried(seed: Any) -> float:
    try:
        return int(seed) % 3 / 4
    except TypeError:
        return 0.0


def spelled(seed: Any) -> float:
    return len(f"{seed}") / 4


def drawn(seed: Any) -> float:
    return float(np.random.default_rng(seed).random())


@pytest.mark.parametrize("use", [read, compared, tried, spelled, drawn, None])
def test_a_seed_that_is_only_passed_on_need_not_be_tried_in_every_session(use: Any) -> None:
    made = []

    def make(seed: int = 0) -> sv.Session:
        made.append(seed)
        data = PLACES, [[0.0], [1.0], [1.0], [use(seed) if use else 0.0]]
        return session_on(
            data, [2, 3, 1], "tanh", first=seed, optimizer=sv.SGD(0.5), engine="cpu", seed=seed
        )

    seeds = [0, *range(100, 104), 12]  # the first and the last have the same data in most cases
    runs = advanced(sv.sweep(make, {}, seeds=seeds), 20)
    assert any(each is seeds[2] for each in made) == (use is not None)
    for row, seed in enumerate(seeds):
        alone = advanced(make(seed), 20).network.bank
        assert runs.outcome(0).digests[row] == bits_of(alone)


@pytest.mark.parametrize("of_layer", [False, True])
def test_initial_numbers_by_a_function_are_those_of_a_sweep(of_layer: bool) -> None:
    def wide(rng: Any, shape: tuple[int, ...]) -> Any:
        return rng.uniform(2.0, 3.0, shape)

    def make(seed: int = 0) -> sv.Session:
        net = sv.Network([2, 3, 1], seed=seed, init=wide)
        if of_layer:
            net = sv.Network([sv.Dense(2, 3, "tanh", init=wide), 1], seed=seed)
        return sv.Session(net, (PLACES, [[0], [1], [1], [0]]), engine="cpu", seed=seed)

    runs = advanced(sv.sweep(make, {}, range(3)), 5)
    for row in range(3):
        alone = advanced(make(row), 5).network.bank
        assert runs.outcome(0).digests[row] == bits_of(alone)


def test_a_share_drawn_by_the_seed_is_no_passing_on() -> None:
    def make(seed: int = 0) -> sv.Session:
        data = sv.data.Arrays([[0.0], [1.0]], [[1.0], [0.0]], share=0.5, seed=seed)
        return session_on(data, [1, 1], first=seed, engine="cpu", seed=seed)

    assert not sv.sweep(make, {}, seeds=range(40))._tasks(20, 5)[0].together


def test_many_values_and_seeds_are_refused_at_once() -> None:
    refused(InputError).by(sv.sweep, xor, {"hidden": range(10**9)}, [0])
    refused(InputError).by(sv.sweep, xor, {"hidden": [2, 3]}, range(10**9))
    refused(InputError).by(sv.sweep, xor, {"lr": [math.nan, math.nan]}, [0])
    assert len(sv.sweep(xor, {"options": [np.zeros(2), np.ones(2)]}, [0])) == 2


def test_names_and_values_are_shown_with_all_letters_visible() -> None:
    runs = sv.sweep(lambda seed, **more: xor(seed=seed), {"a\x1b[31m": ["b\u202e", math.nan]}, [0])
    runs.advance(2)
    assert "\x1b" not in repr(runs) and "a\\x1b[31m" in repr(runs)
    assert "\u202e" not in repr(runs.table()) and "nan" in repr(runs.table())


def test_runs_that_do_not_depend_on_their_seed_warn() -> None:
    runs = sv.sweep(
        lambda lr=1.0, seed=0: xor(lr=lr, seed=seed if lr > 1.0 else 0),
        {"lr": [0.5, 1.0, 2.0]},
        seeds=[4, 5],
    )
    with pytest.warns(UserWarning, match=r"\[0, 1\] .*seed=seed") as caught:
        runs.advance(20)
    assert [each.filename for each in caught] == [__file__]
    assert len({*runs.outcome(0).digests}) == 1 < len({*runs.outcome(2).digests})


def test_wilson_interval_of_a_share() -> None:
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    assert rate(81, 263) == pytest.approx((81 / 263, 0.2553, 0.3662), abs=5e-5)
    assert rate(15, 148) == pytest.approx((15 / 148, 0.0624, 0.1605), abs=5e-5)
    assert rate(0, 20) == pytest.approx((0.0, 0.0, 0.1611), abs=5e-5)
    assert rate(1, 29) == pytest.approx((1 / 29, 0.0061, 0.1718), abs=5e-5)
    assert rate(20, 20).high == 1.0


def test_interquartile_mean_leaves_out_the_outer_quarters() -> None:
    assert interquartile_mean(np.array([1.0, 2.0, 3.0, 100.0])) == 2.5
    assert interquartile_mean(np.array([np.inf, 1.0, 2.0, 3.0])) == 2.5
    assert interquartile_mean(np.array([np.inf, np.inf, 2.0, 3.0])) == np.inf
    assert interquartile_mean(np.array([7.0])) == 7.0
    # Five values: the second and the fourth count by .75 of 1, the third by 1, out of 2.5.
    assert interquartile_mean(np.array([0.0, 1.0, 2.0, 4.0, 9.0])) == pytest.approx(5.75 / 2.5)


def test_the_bootstrap_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    hits = 0
    for _ in range(60):
        found = mean_with_interval(random.normal(size=60))
        hits += found.low <= 0.0 <= found.high  # the interquartile mean of the distribution
        assert found.low <= found.value <= found.high
    assert hits >= 50  # 57 are expected
    assert mean_with_interval(np.arange(9.0)) == mean_with_interval(np.arange(9.0))


@pytest.fixture(scope="module")
def here() -> list[tuple[str, ...]]:
    return digests_here()


@pytest.mark.slow
def test_processes_give_the_same_bits(here: list[tuple[str, ...]]) -> None:
    runs = advanced(sv.sweep(xor, GRID, seeds=range(4), executor="processes"), 30)
    assert digests(runs) == here


def test_sessions_with_data_of_their_own_can_be_sent() -> None:
    alone = advanced(sv.sweep(own_data, {"noise": [0.1]}, seeds=[1, 4]), 20)
    with ThreadPoolExecutor(1) as pool:
        runs = advanced(sv.sweep(own_data, {"noise": [0.1]}, seeds=[1, 4], executor=pool), 20)
    assert digests(runs) == digests(alone)


def test_a_function_that_cannot_be_pickled_makes_sessions_that_are_sent_as_files(
    here: list[tuple[str, ...]],
) -> None:
    def make(hidden: int, seed: int) -> sv.Session:
        return xor(hidden, seed=seed)

    tasks = sv.sweep(make, GRID, range(4), executor="processes")._tasks(30, 1)
    executors.check_sendable(tasks)
    assert [len(each.files) for each in tasks] == [1, 1, 1]


def test_a_metric_that_cannot_be_pickled_is_refused_before_anything_is_trained() -> None:
    def nothing(outputs: Any, targets: Any) -> float:
        return 0.0

    runs = sv.sweep(xor, GRID, executor="processes", metrics=nothing)
    refused(InputError).by(runs.advance, 5)


def test_a_pool_that_forks_is_refused() -> None:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool, refused(InputError):
        sv.sweep(xor, GRID, executor=pool).advance(5)


def test_a_worker_of_other_versions_is_refused() -> None:
    (sent, *_) = sv.sweep(xor, GRID)._tasks(5, 1)
    sent.versions["numba"] = "0.1"
    refused(EngineError).by(task.perform, sent)
    assert versions_here()["numba"] != "0.1"


@pytest.mark.slow  # three pools are started
def test_a_killed_worker_costs_only_what_it_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("SWEEP_MARKS", str(tmp_path))
    monkeypatch.setenv("SWEEP_PARENT", str(os.getpid()))
    runs = advanced(sv.sweep(xor, GRID, seeds=range(4), executor="processes", metrics=killing), 30)
    assert (tmp_path / "killed").exists() and not runs.errors
    assert digests(runs) == here


@pytest.mark.slow  # several pools are started
def test_a_task_that_ends_its_worker_each_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_PARENT", str(os.getpid()))
    runs = advanced(sv.sweep(xor, {"hidden": [2]}, executor="processes", metrics=always_killing), 5)
    assert "ended 3 times without an answer" in runs.table().columns["error"][0]


def test_tasks_of_a_pool_whose_workers_have_ended_are_named() -> None:
    class Ended(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Any:
            raise BrokenProcessPool("a worker was killed")

    with Ended(1) as pool:
        runs = sv.sweep(xor, {"hidden": [2, 3]}, executor=pool)
        runs.advance(5)
    assert all("ended once" in error for error in runs.table().columns["error"])


JOB = """
import signal
import scalarviz as sv
from tests.faces.controller.fake_stage import HANG
from tests.sweeps.making import xor

if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run below nohup, which ignores it
    runs = sv.sweep(xor, {"hidden": list(range(2, 30))}, seeds=range(200), executor="processes")
    runs.advance(3_000_000, progress=False)
"""


def workers_of(parent: int) -> set[int]:
    """Return the processes that a pool in a process has started, by Linux's tables."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
            begun_by = (path.parent / "cmdline").read_text()
            if int(owner) == parent and "spawn_main" in begun_by and state not in "ZX":
                found.add(int(path.parent.name))
    return found


def lives(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads Linux's tables")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_workers_end_with_the_sweep_however_it_ends(name: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    words = [sys.executable, str(tmp_path / "job.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, env=env, stdout=quiet, stderr=quiet) as job:
        until(lambda: workers_of(job.pid))
        time.sleep(2.0)
        workers = workers_of(job.pid)
        job.send_signal(getattr(signal, name))
    until(lambda: not any(map(lives, workers)))


def test_weights_of_samples_count_in_what_a_sweep_measures(rng: np.random.Generator) -> None:
    x, kinds, weights = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.random(60)
    table = sv.data.Arrays(x, kinds, classes=2, share=0.7, sample_weight=weights)

    def make(rate: float = 0.1, seed: int = 0) -> sv.Session:
        net = sv.Network([2, 3, 2], "tanh", seed=seed)
        return sv.Session(net, table, "softmax_cross_entropy", sv.SGD(rate), 8, "cpu", seed)

    runs = advanced(sv.sweep(make, {"rate": [0.1]}, range(3), metrics=["accuracy"]), 40)
    session, pair = runs[0, 1], table.held_out
    assert pair is not None
    row, outputs = runs.runs().columns, session.network(pair[0])
    loss = session.loss_function(outputs, pair[1], table.held_out_weights)
    assert row["held_out_loss"][1] == pytest.approx(loss, rel=1e-6)
    accuracy = sv.metrics.accuracy(outputs, pair[1], table.held_out_weights)
    assert row["held_out_accuracy"][1] == pytest.approx(accuracy)
    assert advanced(make(seed=1), 40).losses[-1] == advanced(session, 0).losses[-1]
