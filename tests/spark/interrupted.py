"""Begins what takes for ever, waits for SIGINT, and prints in which state that leaves Spark.

interrupted.py fit|evaluate script|notebook: in notebooks there is not the handler that pyspark sets, which tries to cancel jobs.
"""

import os
import signal
import sys
import threading
import time

from conftest import session
from processes import LONG_PATIENCE, PATIENCE, wait_until
from pyspark.sql import functions

import thalweg
import thalweg.spark
from thalweg import nn

# Of each of 200 rows: longer in all than anybody waits.
ROW_SECONDS = PATIENCE / 10


def active_tasks(spark):
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numActiveTasks for stage in stages if stage)


def estimator(**params):
    return thalweg.spark.Estimator(nn.Linear(4, 3), inputs=[thalweg.Input((None, 4))], feature_cols=["x"], label_cols=["y"],
                                   loss="cross_entropy", batch_size=20, **params)


def endless(what, rows):
    """A call, and whether it is under way."""
    if what == "fit":
        fitted = estimator(epochs=10**9)
        return lambda: fitted.fit(rows), fitted._java_obj.progress
    model = estimator(epochs=1).fit(rows)
    wait_until(lambda: not active_tasks(rows.sparkSession), "the end of the tasks that trained")
    slow = functions.udf(lambda y: time.sleep(ROW_SECONDS) or y, "int")
    return lambda: model.evaluate(rows.withColumn("y", slow("y"))), lambda: active_tasks(rows.sparkSession)


def say_when(begun):
    wait_until(begun, "the beginning of the call", LONG_PATIENCE)
    print("begun", flush=True)


def main():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = session("local[1]")
    if sys.argv[2] == "notebook":
        signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = spark.range(200).selectExpr("array(float(id), 1f, 2f, 3f) as x", "int(id % 3) as y").coalesce(1).cache()
    rows.count()
    call, begun = endless(sys.argv[1], rows)
    try:
        threading.Thread(target=say_when, args=(begun,), daemon=True).start()
        call()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    wait_until(lambda: not active_tasks(spark), "the end of all tasks")
    print("idle", flush=True)
    # The connection to Java still gives the answer to what was asked.
    print(rows.count(), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
