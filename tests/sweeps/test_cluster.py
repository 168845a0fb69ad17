"""Dask: the same bits from a cluster of processes, and what goes wrong there is said."""

import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.sessions import advanced
from tests.sweeps.making import GRID, always_killing, digests, digests_here, raising, xor
from tests.wording import refused

distributed = pytest.importorskip("distributed", reason="Dask is the extra 'cluster'")

# Dask's own loops and sockets are closed after its processes, with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "default::DeprecationWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SWEEP_PARENT", str(os.getpid()))  # for `always_killing` in its workers
        yield from started()


def started() -> Iterator[Any]:
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as made,
    ):
        yield made


@pytest.mark.slow  # starts two processes that import everything
def test_a_client_and_an_address_give_the_same_bits(cluster: Any) -> None:
    by_address = sv.sweep(xor, GRID, seeds=range(4), executor=cluster.scheduler_address)
    by_address.advance(30)
    assert digests(by_address) == digests_here()
    with distributed.Client(cluster) as client:
        runs = advanced(sv.sweep(xor, GRID, seeds=range(4), executor=client), 30)
        assert client.status == "running"  # the user's own stays open
    assert digests(runs) == digests_here()


@pytest.mark.slow  # the same
def test_a_setting_that_raises_is_named_and_the_others_go_on(cluster: Any) -> None:
    runs = sv.sweep(
        raising, {"hidden": [4, 5, 6]}, seeds=range(2), executor=cluster.scheduler_address
    )
    runs.advance(20)
    assert list(runs.errors) == [1] and len(runs.runs()) == 4


@pytest.mark.slow  # workers are started again
def test_a_task_that_kills_its_workers_is_named_and_the_others_go_on(
    cluster: Any,
) -> None:
    with distributed.Client(cluster) as client:
        deadly = sv.sweep(xor, {"hidden": [2]}, executor=client, metrics=always_killing)
        deadly.advance(5)
        assert "without an answer" in deadly.table().columns["error"][0]
        well = advanced(sv.sweep(xor, GRID, seeds=range(4), executor=client), 30)
    assert digests(well) == digests_here()


def test_an_address_where_no_scheduler_is_is_refused() -> None:
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), refused(InputError):
        sv.sweep(xor, {}, seeds=[0], executor="tcp://127.0.0.1:9").advance(5)
