"""What is seen of a fit while it runs: Spark's metrics, and the line of progress."""

import concurrent.futures
import pathlib
import subprocess
import sys
import time

import disturbed
import pytest

DEADLINE_SECONDS = 60


@pytest.fixture(scope="module")
def frame(spark):
    """Kept nowhere, so that fits at the same time do not wait for the same executor."""
    rows = [([float(i % 7), float(i % 5), float(i % 3), 1.0], i % 3) for i in range(400)]
    return spark.createDataFrame(rows, "x array<float>, y int")


def gauges(spark, source):
    """The metrics of a fit under way by name; empty if there is none."""
    sources = spark._jvm.org.apache.spark.SparkEnv.get().metricsSystem().getSourcesByName(source)
    found = {} if sources.isEmpty() else sources.head().metricRegistry().getGauges()
    return {name: found[name].getValue() for name in found}


def wait_for(condition):
    limit = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_metrics_tell_of_every_worker(spark, frame):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        fit = pool.submit(disturbed.estimator(300).fit, frame)
        wait_for(lambda: fit.done() or {"worker.0.step", "worker.1.step"} <= set(gauges(spark, "thalweg")))
        seen = gauges(spark, "thalweg")
        fit.result()
    assert seen["worker.0.step"] > 0 and seen["worker.1.compute_seconds"] > 0
    assert seen["workers"] == 2
    assert gauges(spark, "thalweg") == {}


def test_two_fits_at_the_same_time_have_metrics_of_their_own(spark, frame):
    fitted = disturbed.estimator(1000)
    fitted.set(fitted.numWorkers, 1)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        fits = [pool.submit(fitted.copy().fit, frame) for _ in range(2)]
        wait_for(lambda: any(fit.done() for fit in fits)
                 or all(gauges(spark, source).get("worker.0.step") for source in ("thalweg", "fit2.thalweg")))
        both = gauges(spark, "thalweg"), gauges(spark, "fit2.thalweg")
        for fit in fits:
            fit.result()
    assert all(seen["worker.0.step"] > 0 for seen in both)
    assert gauges(spark, "thalweg") == gauges(spark, "fit2.thalweg") == {}


def test_progress_is_shown_where_python_writes(frame, capsys):
    disturbed.estimator(300).fit(frame)  # pytest has put a stream of its own into the place of standard error, as notebooks do
    shown = capsys.readouterr().err
    assert "2 workers  step" in shown and "samples/s" in shown


def test_progress_of_the_last_fit_is_left(frame):
    estimator = disturbed.estimator(50)
    estimator.fit(frame)
    assert "loss" in estimator._java_obj.progress()


def test_model_outlives_the_application(tmp_path):
    program = pathlib.Path(__file__).with_name("second_session.py")
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
