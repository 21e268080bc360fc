#!/usr/bin/env python3
"""Predicts on the cluster at an address (first argument) with a model in a folder (second), which the executors must be
able to read, and compares with the engine in this process. Further arguments are settings of Spark, as name=value."""

import sys

import numpy as np

import thalweg
import thalweg.spark
from conftest import session


def main(master, folder, *settings):
    spark = session(master, **dict(setting.split("=", 1) for setting in settings))
    try:
        numbers = np.random.default_rng(0).standard_normal((50, 4)).astype("float32")
        frame = spark.createDataFrame([(i, row.tolist()) for i, row in enumerate(numbers)], "id long, x array<float>")
        stage = thalweg.spark.Model.load(f"{folder}/perceptron.onnx", input_cols=["x"], output_cols=["scores"])
        stage.write().overwrite().save(f"{folder}/saved")
        rows = thalweg.spark.Model.load(f"{folder}/saved").transform(frame.repartition(7)).orderBy("id").collect()
        expected = thalweg.Model.load(f"{folder}/perceptron.onnx")(numbers)
        np.testing.assert_allclose([row.scores for row in rows], expected, rtol=1e-5, atol=1e-6)
        reports = thalweg.spark.doctor(spark)
        assert len(reports) == 2, f"{len(reports)} executors answered, not 2"
        assert not [report for report in reports.values() if "problem" in report]
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
