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
# Until steps go on after a kill: on a machine that does nothing else, and on a busy one.
RECOVERY_SECONDS = 15
PATIENT_SECONDS = 120


def _state(spark):
    """Step and membership of the fit under way, from the driver's metrics; None if there is no fit."""
    sources = spark._jvm.org.apache.spark.SparkEnv.get().metricsSystem().getSourcesByName("thalweg")
    if sources.isEmpty():
        return None
    gauges = sources.head().metricRegistry().getGauges()
    return gauges.get("epoch_of_group").getValue(), gauges.get("step").getValue()


def _wait_for(spark, over, reached):
    """The first state for which `reached(epoch, step)` holds; None once the fit is over."""
    while not over.wait(0.05):
        state = _state(spark)
        if state is not None and reached(*state):
            return state
    return None


def _kill_executors(spark, steps, over):
    """Kills an executor after each number of steps; gives the seconds until the group made steps again."""
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


def check_lost_executors(spark, frame, folder, scheme="allreduce", kills=1, epochs=600,
                         most_seconds=RECOVERY_SECONDS):
    """Fits twice, killing executors the second time: the weights are the same, and every recovery is short."""
    fitted = estimator(epochs, scheme)
    undisturbed = weights(fitted.fit(frame), folder / "undisturbed")
    total = epochs * frame.count() // BATCH
    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        killer = pool.submit(_kill_executors, spark, [total * (i + 1) // (kills + 2) for i in range(kills)], over)
        try:
            disturbed = weights(fitted.fit(frame), folder / "disturbed")
        finally:
            over.set()
    seconds = killer.result()
    assert len(seconds) == kills, f"the fit ended after {len(seconds)} of {kills} recoveries"
    difference = largest_difference(disturbed, undisturbed)
    print(f"{scheme}: {kills} executors killed, training went on after {', '.join(f'{s:.1f}' for s in seconds)} s;"
          f" weights differ by {difference:.1e} at most")
    assert max(seconds) < most_seconds
    assert difference <= 1e-6
