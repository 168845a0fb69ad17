"""Metrics of a training of any length: few bytes each, and read in no time."""

import threading
import tracemalloc

import numpy as np

from scalarviz.training.session.branches import MetricPoints

MANY = 200_000


def test_values_are_read_up_to_a_step_while_others_are_added() -> None:
    points = MetricPoints([10, 20], [0.5, 0.25])
    writer = threading.Thread(target=lambda: [points.add(30 + i, 2.0 * i) for i in range(MANY)])
    writer.start()
    while writer.is_alive():
        steps, values = points.until(29 + MANY // 2)
        assert len(steps) == len(values) <= 2 + MANY // 2
        assert steps[:2].tolist() == [10, 20] and values[:2].tolist() == [0.5, 0.25]
        assert (values[2:] == 2.0 * (steps[2:] - 30)).all()
    writer.join()
    steps, values = points.until()
    assert steps.dtype == np.int64 and values.dtype == np.float64 and len(steps) == 2 + MANY
    assert [len(each) for each in points.until(20)] == [2, 2]
    assert [len(each) for each in MetricPoints().until()] == [0, 0]


def test_a_value_takes_few_bytes() -> None:
    tracemalloc.start()
    points, before = MetricPoints(), tracemalloc.get_traced_memory()[0]
    for step in range(MANY):
        points.add(step, step / 3)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used < 20 * MANY  # a list of pairs takes 120
