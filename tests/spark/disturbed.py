"""A fit whose executors are killed in the middle, beside one that nobody disturbs."""

import concurrent.futures
import os
import signal
import threading
import time

import numpy as np
from executors import executor_processes

import thalweg
import thalweg.spark
from thalweg import nn

BATCH = 40
MOST_FITS = 5


def state(spark):
    """Step and membership of the fit under way, from the driver's metrics; None if there is no fit."""
    sources = spark._jvm.org.apache.spark.SparkEnv.get().metricsSystem().getSourcesByName("thalweg")
    if sources.isEmpty():
        return None
    gauges = sources.head().metricRegistry().getGauges()
    return gauges.get("epoch_of_group").getValue(), gauges.get("step").getValue()


def _wait_for(spark, over, reached):
    """The first state for which `reached(epoch, step)` holds; None once the fit is over."""
    while not over.wait(0.05):
        found = state(spark)
        if found is not None and reached(*found):
            return found
    return None


def _kill_executors(spark, steps, over):
    """Kills an executor after each number of steps; gives the seconds until the group made steps again, for each kill after
    which it was seen to. The fit may be over before."""
    seconds = []
    for number, least in enumerate(steps):
        before = _wait_for(spark, over, lambda _, step, least=least: step >= least)
        if before is None:
            break
        executors = executor_processes(spark)
        os.kill(executors[number % len(executors)], signal.SIGKILL)
        begin = time.monotonic()
        formed = _wait_for(spark, over, lambda epoch, _, old=before[0]: epoch > old)
        if formed is None or _wait_for(spark, over, lambda _, step, old=formed[1]: step > old) is None:
            break
        seconds.append(time.monotonic() - begin)
    return seconds


def estimator(epochs, scheme="allreduce"):
    """Of two workers, on the columns x (4 numbers) and y (a class of 3); large enough for a fit to take a while."""
    net = nn.Sequential(nn.Linear(4, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 3))
    return thalweg.spark.Estimator(
        thalweg.Model(net, [thalweg.Input((None, 4))]), feature_cols=["x"], label_cols=["y"], epochs=epochs, batch_size=BATCH,
        num_workers=2, threads=1, optimizer="sgd", learning_rate=0.01, settings={"optimizer.momentum": 0.9}, scheme=scheme)


def weights(model, folder):
    """As plain Python reads them from the model's file."""
    model.write().overwrite().save(folder.as_uri())  # paths alone may mean those of HDFS
    return thalweg.Model.load(str(folder / "model.onnx")).state_dict()


def largest_difference(first, second):
    return max(float(np.abs(first[name] - weight).max()) for name, weight in second.items())


def _disturbed_weights(spark, fitted, frame, folder, steps):
    """Of a fit in which executors are killed after these numbers of steps, and the seconds of every recovery that was seen."""
    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        killer = pool.submit(_kill_executors, spark, steps, over)
        try:
            found = weights(fitted.fit(frame), folder)
        finally:
            over.set()
        return found, killer.result()


def check_lost_executors(spark, frame, folder, scheme="allreduce", kills=1, epochs=300):
    """Fits twice, killing executors the second time: the weights are the same. A fit that was over before it had lost so many
    says nothing of that; then one of twice as many epochs follows."""
    rows = frame.count()
    for _ in range(MOST_FITS):
        fitted = estimator(epochs, scheme)
        undisturbed = weights(fitted.fit(frame), folder / "undisturbed")
        total = epochs * rows // BATCH
        steps = [total * (i + 1) // (2 * kills + 2) for i in range(kills)]
        disturbed, seconds = _disturbed_weights(spark, fitted, frame, folder / "disturbed", steps)
        difference = largest_difference(disturbed, undisturbed)
        print(f"{scheme}: {len(seconds)} of {kills} executors killed, training went on after"
              f" {', '.join(f'{s:.1f}' for s in seconds)} s; weights differ by {difference:.1e} at most")
        assert difference <= 1e-6
        if len(seconds) == kills:
            return
        epochs *= 2
    raise AssertionError(f"{MOST_FITS} fits were over before they had lost {kills} executors")
