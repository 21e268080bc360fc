"""The life of a fit: inputs that take long, clusters without room, an executor lost at the very end, cancelling."""

import concurrent.futures
import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from disturbed import BATCH, largest_difference, weights
from executors import executor_process, executor_processes
from processes import LONG_PATIENCE, PATIENCE, wait_until
from pyspark.sql import functions

import thalweg
import thalweg.spark
from thalweg import nn

ROWS = 400
ENDLESS = 10**9
# How long workers may be missing where all come, which executors that have trained before do at once.
FORM_SECONDS = PATIENCE / 6
READING = r"worker [01] \(executor .*\) reads, [0-9]+ rows"


@pytest.fixture(scope="module")
def frame(spark):
    """In four partitions, of which each worker gets two."""
    x = np.random.default_rng(1).standard_normal((ROWS, 4)).astype("float32")
    rows = [(i, row.tolist(), int(row[:3].argmax())) for i, row in enumerate(x)]
    return spark.createDataFrame(rows, "id int, x array<float>, y int").repartition(4, "id").cache()


@pytest.fixture
def loaded(frame):
    """Both executors have the engine in memory, and begin to train as soon as they are told."""
    estimator().fit(frame)


def estimator(width=16, **params):
    net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))
    given = dict(feature_cols=["x"], label_cols=["y"], epochs=2, batch_size=BATCH, num_workers=2, threads=1, seed=3)
    given.update(params)
    return thalweg.spark.Estimator(thalweg.Model(net, [thalweg.Input((None, 4))]), **given)


def sleeping(frame, condition, seconds):
    """The frame, but each row of the condition takes so long to be read."""
    sleep = f"java_method('java.lang.Thread', 'sleep', {int(seconds * 1000)}L)"
    return frame.selectExpr("id", f"if({condition}, if({sleep} = '', null, x), x) as x", "y")


def gated(frame, gate):
    """The frame, of which row 7 is read only once there is a file of the name `gate`."""
    path, longest = str(gate), 10 * LONG_PATIENCE

    def pass_gate(number):
        end = time.monotonic() + longest
        while number == 7 and not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.05)
        return True

    return frame.where(functions.udf(pass_gate, "boolean")("id"))


def in_background(function):
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pending = pool.submit(function)
    pool.shutdown(wait=False)
    return pending


def wait_while_running(fit, condition, what):
    """Until the condition holds, which must be before the fit has ended."""
    def found():
        if fit.done():
            raise AssertionError(f"the fit ended before {what}: {fit.exception() or 'without an error'}")
        return condition()

    wait_until(found, what, LONG_PATIENCE)


def wait_for_tasks(spark, count):
    """Until so many run at the same time."""
    tracker = spark.sparkContext.statusTracker()

    def running():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return sum(stage.numActiveTasks for stage in stages if stage is not None) == count

    wait_until(running, f"{count} tasks")


@pytest.mark.parametrize("shuffled", [False, True])
def test_reading_may_take_longer_than_workers_may_be_missing(spark, frame, loaded, shuffled, tmp_path, capsys):
    rows = gated(frame, tmp_path / "gate")
    shown = []

    def reading():
        shown.append(capsys.readouterr().err)
        return re.search(READING, "".join(shown))

    fit = in_background(lambda: estimator(form_seconds=FORM_SECONDS).fit(rows.repartition(3) if shuffled else rows))
    try:
        if shuffled:
            wait_for_tasks(spark, 1)  # which alone reads still; the workers come when it has
        else:
            wait_while_running(fit, reading, "it shows who reads")
        time.sleep(FORM_SECONDS + 1)
        assert not fit.done()
    finally:
        (tmp_path / "gate").touch()
    assert fit.result(LONG_PATIENCE).training_report["rows"] == ROWS


def stacks(spark):
    """What the threads of the driver are doing."""
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    return "".join(thread.toString() for thread in threads.dumpAllThreads(False, False) if thread is not None)


def test_a_fit_may_wait_for_another(spark, frame, loaded, tmp_path):
    reading = estimator()
    first = in_background(lambda: reading.fit(gated(frame, tmp_path / "gate")))
    try:
        wait_while_running(first, lambda: re.search(READING, reading._java_obj.progress()), "it reads")
        second = in_background(lambda: estimator(form_seconds=FORM_SECONDS).fit(frame))
        wait_while_running(second, lambda: "FitTurn.take" in stacks(spark), "it waits for its turn")
        time.sleep(FORM_SECONDS + 1)
        assert not second.done(), "it did not have to wait"
    finally:
        (tmp_path / "gate").touch()
    assert first.result(LONG_PATIENCE).training_report["rows"] == ROWS
    assert second.result(LONG_PATIENCE).training_report["rows"] == ROWS


def test_a_cluster_without_room_for_all_workers_is_an_error(spark, frame):
    def occupy():
        spark.sparkContext.setJobGroup("occupant", "takes one of two slots", interruptOnCancel=True)
        spark.sparkContext.parallelize([0], 1).foreach(lambda _: time.sleep(10 * LONG_PATIENCE))

    occupant = in_background(occupy)
    try:
        wait_for_tasks(spark, 1)
        with pytest.raises(Exception, match=r"1 of at least 2 members came \(worker ([01]) .*, nobody for seat [01]") as failure:
            estimator(form_seconds=3.0).fit(frame)
        assert "For 3 s there were too few" in str(failure.value)
    finally:
        spark.sparkContext.cancelJobGroup("occupant")
        concurrent.futures.wait([occupant], PATIENCE)


def kill_the_giver(spark, fitted, over):
    """Kills the executor whose worker hands the trained model over. True if there was one."""
    while not over.wait(0.005):
        giver = re.search(r"\(executor (\d+), .* hands the model over", fitted._java_obj.progress())
        if giver:
            os.kill(executor_process(spark, giver[1]), signal.SIGKILL)
            return True
    return False


def failures(spark):
    """Tasks that failed in the last attempt at every stage, and attempts before it."""
    tracker = spark.sparkContext.statusTracker()
    stages = {stage for job in tracker.getJobIdsForGroup(None) for stage in tracker.getJobInfo(job).stageIds}
    return sum(info.numFailedTasks + info.currentAttemptId for info in map(tracker.getStageInfo, stages) if info)


@pytest.mark.parametrize("workers", [2, 1])
def test_an_executor_lost_at_the_very_end_changes_nothing(spark, frame, tmp_path, workers):
    # Large enough for the model to take a while to be sent.
    fitted = estimator(width=5120, epochs=1, num_workers=workers, optimizer="sgd", learning_rate=0.01)
    undisturbed = weights(fitted.fit(frame), tmp_path / "undisturbed")
    end = time.monotonic() + LONG_PATIENCE
    while time.monotonic() < end:
        before, failures_before = executor_processes(spark), failures(spark)
        over = threading.Event()
        killer = in_background(lambda event=over: kill_the_giver(spark, fitted, event))
        try:
            model = fitted.fit(frame)
        finally:
            over.set()
        failed = failures(spark) - failures_before
        disturbed = weights(model, tmp_path / "disturbed")
        assert largest_difference(disturbed, undisturbed) <= 1e-6
        if not killer.result(PATIENCE):
            continue  # it was too quick to be seen
        assert len(set(before) - set(executor_processes(spark))) == 1
        # Otherwise the task had ended before its executor was killed.
        if failed > 0:
            return
    pytest.fail("the executor was never killed while the model was on its way")


def test_bad_rows_are_read_once_and_named(spark, frame, tmp_path):
    reads = tmp_path / "reads"

    def note(rows):
        with open(reads, "a") as file:
            file.write("read\n")
        return rows

    noted = spark.createDataFrame(frame.rdd.mapPartitions(note), frame.schema).selectExpr(
        "concat('/photos/', id, '.png') as path", "x", "if(id = 7, 9, y) as y")
    with pytest.raises(Exception, match=r"row [0-9]+ of partition [0-3] \(/photos/7.png\): column 'y' holds class 9"):
        estimator().fit(noted)
    assert len(reads.read_text().splitlines()) <= 4, "partitions were read again"


def use_all_slots(spark):
    """Ends once every slot of the cluster was free at the same time."""
    assert spark.sparkContext.parallelize(range(2), 2).barrier().mapPartitions(lambda rows: rows).count() == 2


@pytest.mark.parametrize("while_reading", [False, True])
def test_a_cancelled_fit_leaves_its_slots_long_before_it_would_end(spark, frame, while_reading):
    # By itself it would read for 200 times as long as one row takes, or train without end.
    rows = sleeping(frame, "true", PATIENCE / 60) if while_reading else frame
    fitted = estimator(epochs=ENDLESS)
    fit = in_background(lambda: fitted.fit(rows))
    sign = READING if while_reading else "2 workers  step"
    wait_while_running(fit, lambda: re.search(sign, fitted._java_obj.progress()), f"'{sign}'")
    spark.sparkContext.cancelAllJobs()
    in_background(lambda: use_all_slots(spark)).result(PATIENCE)
    with pytest.raises(Exception, match="cancelled"):
        fit.result(PATIENCE)
