#!/usr/bin/env python3
"""A check on a cluster that is there already, in a session of its own.

  cluster_check.py CHECK MASTER FOLDER [SETTING=VALUE ...]   CHECK: a function of this file

FOLDER is one that the executors can read: for `predict` a local one with a model in it, perceptron.onnx; for `train` one on
any file system. Dots in the names of Spark's settings are written as __ (see conftest.session).
"""

import concurrent.futures
import os
import pathlib
import re
import sys

import numpy as np

import thalweg
import thalweg.spark
from conftest import session
from disturbed import check_lost_executors, estimator, largest_difference, state, weights
from executors import executor_processes, resident_bytes
from processes import PATIENCE, wait_until
from test_images import IMAGES, PREPROCESSING
from thalweg import nn


def predict(spark, folder):
    """Answers equal those of the engine in this process, and the doctor finds both executors."""
    numbers = np.random.default_rng(0).standard_normal((50, 4)).astype("float32")
    frame = spark.createDataFrame([(i, row.tolist()) for i, row in enumerate(numbers)], "id long, x array<float>")
    stage = thalweg.spark.Model.load(f"{folder}/perceptron.onnx", input_cols=["x"], output_cols=["scores"])
    stage.write().overwrite().save(f"{folder}/saved")
    rows = thalweg.spark.Model.load(f"{folder}/saved").transform(frame.repartition(7)).orderBy("id").collect()
    expected = thalweg.Model.load(f"{folder}/perceptron.onnx")(numbers)
    np.testing.assert_allclose([row.scores for row in rows], expected, rtol=1e-5, atol=1e-6)
    reports = thalweg.spark.doctor(spark)
    assert "problem" not in reports.pop("group")
    assert len(reports) == 2, f"{len(reports)} executors answered, not 2"
    assert not [report for report in reports.values() if "problem" in report]


def doctor_of_two(spark, _folder):
    """The first that happens in the session: no executor may have come yet."""
    examined(spark, 2)


def doctor_of_one(spark, _folder):
    """The same where an executor comes only when there are tasks."""
    examined(spark, 1)


def examined(spark, executors):
    reports = thalweg.spark.doctor(spark)
    group = reports.pop("group")
    assert "problem" not in group, group["problem"]
    assert group["workers"] == executors
    assert len(reports) == executors and "driver" not in reports, f"{sorted(reports)} have answered"


def labelled_rows(spark):
    numbers = np.random.default_rng(1).standard_normal((400, 4)).astype("float32")
    rows = [(row.tolist(), int(row[:3].argmax())) for row in numbers]
    return spark.createDataFrame(rows, "x array<float>, y int").repartition(3)


def executors_of(places):
    """Those in which the workers of a fit were."""
    return {re.search(r"executor (\w+)", place["worker"]).group(1) for place in places}


def lost_executor(spark, folder):
    """A fit gives the same weights whether or not an executor is killed during it."""
    check_lost_executors(spark, labelled_rows(spark), pathlib.Path(folder))


def speculation(spark, folder):
    """Spark starts second copies of tasks that take long, here of all; the weights are those of another such fit."""
    frame, folder = labelled_rows(spark), pathlib.Path(folder)
    tracker = spark.sparkContext.statusTracker()

    def copied():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage.numActiveTasks > stage.numTasks - stage.numCompletedTasks for stage in stages if stage is not None)

    # One that lasts until the copies are there, whatever that takes.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        fit = pool.submit(estimator(10**9).fit, frame)
        try:
            wait_until(copied, "copies of tasks")
            steps = state(spark)[1]
            wait_until(lambda: state(spark)[1] > steps, "steps of training beside them")
            assert not fit.done()
        finally:
            spark.sparkContext.cancelAllJobs()
        concurrent.futures.wait([fit], PATIENCE)
    first, second = (weights(estimator(600).fit(frame), folder / name) for name in ("first", "second"))
    assert largest_difference(first, second) <= 1e-6


def dynamic_allocation(spark, folder):
    """Executors come when a fit needs them, and go when it is over."""
    frame, folder = labelled_rows(spark), pathlib.Path(folder)
    model = estimator(100).fit(frame)
    assert len(executors_of(model.training_report["places"])) == 2
    first = weights(model, folder / "first")
    wait_until(lambda: not executor_processes(spark), "the end of executors that nobody needs")
    assert largest_difference(weights(estimator(100).fit(frame), folder / "second"), first) <= 1e-6


def placement(spark, folder):
    """Workers take an executor each, with all of its cores, though all rows lie in one of them."""
    cached = labelled_rows(spark).coalesce(1).cache()
    cached.count()
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    fitted = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], feature_cols=["x"], label_cols=["y"])
    places = fitted.fit(cached.union(cached)).training_report["places"]
    print(*places, sep="\n", flush=True)
    threads = min(2, len(os.sched_getaffinity(0)))
    assert [place["threads"] for place in places] == [threads] * 2
    executors = executors_of(places)
    assert len(executors) == 2, f"both workers are in executor {executors}"
    # As many workers as there are cores share executors, and threads.
    places = fitted.copy({fitted.numWorkers: 4}).fit(cached).training_report["places"]
    assert [place["threads"] for place in places] == [1] * 4


def train(spark, folder):
    """Rows, images and models all come from the folder's file system and go there."""
    labelled_rows(spark).write.parquet(f"{folder}/rows")
    rows = spark.read.parquet(f"{folder}/rows")
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    fitted = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], feature_cols=["x"], label_cols=["y"],
                                     optimizer="adam", learning_rate=0.02, epochs=20, output_cols=["class"],
                                     output_kinds=["class"]).fit(rows)
    fitted.save(f"{folder}/trained")
    model = thalweg.spark.Model.load(f"{folder}/trained")
    right = model.transform(rows).where("class = y").count()
    assert right > 360, f"{right} of 400 rows are classified rightly"
    assert fitted.transform(rows).where("class = y").count() == right
    train_on_images(spark, folder)


def train_on_images(spark, folder):
    path = spark._jvm.org.apache.hadoop.fs.Path
    system = path(folder).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    for i in range(12):
        system.copyFromLocalFile(path(str(IMAGES / "photo.png")), path(f"{folder}/images/class{i % 2}/{i}.png"))
    images = thalweg.spark.read_images(spark, f"{folder}/images")
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    model = thalweg.spark.Estimator(
        net, inputs=[thalweg.Input((None, 3, 8, 8))], feature_cols=["content"], label_cols=["label"], batch_size=4, epochs=2,
        preprocessing=PREPROCESSING, class_names=["dog", "cat"], output_cols=["name"], output_kinds=["label"],
    ).fit(images.selectExpr("*", "if(path like '%class1%', 1, 0) as label"))
    named = model.transform(images).select("path", "name").collect()
    assert len({row.path for row in named}) == 12 and {row.name for row in named} <= {"dog", "cat"}


def ten_fits(spark, folder):
    """The executors take as much memory after ten fits as after two."""
    numbers = np.random.default_rng(3).standard_normal((4000, 256)).astype("float32")
    rows = [(row.tolist(), int(row[:3].argmax())) for row in numbers]
    frame = spark.createDataFrame(rows, "x array<float>, y int").repartition(4).cache()
    net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 3))
    fitted = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 256))], feature_cols=["x"], label_cols=["y"], epochs=3,
                                     batch_size=100, num_workers=2, threads=1)
    after = []
    for _ in range(10):
        fitted.fit(frame)
        after.append([resident_bytes(process) for process in executor_processes(spark)])
        print("MiB of the executors after a fit:", *(f"{count / 2**20:.0f}" for count in after[-1]), flush=True)
    assert np.all(np.array(after[9]) <= np.array(after[1]) * 1.05)


CHECKS = {check.__name__: check
          for check in (predict, train, doctor_of_two, doctor_of_one, placement, lost_executor, speculation,
                        dynamic_allocation, ten_fits)}


def main(check, master, folder, *settings):
    spark = session(master, **dict(setting.split("=", 1) for setting in settings))
    try:
        CHECKS[check](spark, folder)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
