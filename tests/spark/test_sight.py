"""What is seen of a fit while it runs: Spark's metrics, and the line of progress."""

import concurrent.futures
import pathlib
import subprocess
import sys

import disturbed
import pytest
from processes import LONG_PATIENCE, PATIENCE, wait_until

# More than there is time for: such a fit is looked at, and cancelled.
ENDLESS = 10**9


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


def seen_of(spark, estimators, frame, look):
    """What `look` gives once it gives something, while the estimators train on the frame; then they are cancelled."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        fits = [pool.submit(estimator.fit, frame) for estimator in estimators]

        def look_at_them():
            for fit in fits:
                if fit.done():
                    fit.result()  # throws what went wrong
            return look()

        try:
            seen = wait_until(look_at_them, "what a fit shows", LONG_PATIENCE)
        finally:
            spark.sparkContext.cancelAllJobs()
        for fit in fits:
            with pytest.raises(Exception, match="cancelled"):
                fit.result(PATIENCE)
    return seen


def test_metrics_tell_of_every_worker(spark, frame):
    def look():
        found = gauges(spark, "thalweg")
        complete = all(found.get(name) for name in ("worker.0.step", "worker.1.step", "worker.1.compute_seconds"))
        return complete and found

    seen = seen_of(spark, [disturbed.estimator(ENDLESS)], frame, look)
    assert seen["worker.0.step"] > 0 and seen["worker.1.compute_seconds"] > 0
    assert seen["workers"] == 2
    assert gauges(spark, "thalweg") == {}


def test_two_fits_at_the_same_time_have_metrics_of_their_own(spark, frame):
    def look():
        both = gauges(spark, "thalweg"), gauges(spark, "fit2.thalweg")
        return all(found.get("worker.0.step") for found in both) and both

    fitted = disturbed.estimator(ENDLESS)
    fitted.set(fitted.numWorkers, 1)
    both = seen_of(spark, [fitted, fitted.copy()], frame, look)
    assert all(seen["worker.0.step"] > 0 and seen["workers"] == 1 for seen in both)
    assert gauges(spark, "thalweg") == gauges(spark, "fit2.thalweg") == {}


def test_progress_is_shown_where_python_writes(spark, frame, capsys):
    shown = []  # pytest has put a stream of its own into the place of standard error, as notebooks do

    def look():
        shown.append(capsys.readouterr().err)
        return "2 workers  step" in "".join(shown) and "samples/s" in "".join(shown)

    seen_of(spark, [disturbed.estimator(ENDLESS)], frame, look)


def test_progress_of_the_last_fit_is_left(spark, frame):
    estimator = disturbed.estimator(50)
    estimator.fit(frame)
    assert "loss" in estimator._java_obj.progress()
    assert gauges(spark, "thalweg") == {}


def test_model_outlives_the_application(tmp_path):
    program = pathlib.Path(__file__).with_name("second_session.py")
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=LONG_PATIENCE)
    assert done.returncode == 0, done.stderr[-2000:]
