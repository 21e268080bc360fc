"""Run by test_sight.py in a process of its own: a model is used after the application that first used it has ended."""

from pyspark.sql import SparkSession

import thalweg
import thalweg.spark
from thalweg import nn


def session():
    return (SparkSession.builder.master("local[1]").config("spark.jars", thalweg.spark.jar()).config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())


def predict(spark, model):
    return model.transform(spark.createDataFrame([([1.0, 2.0],)], "x array<float>")).collect()[0].y


if __name__ == "__main__":
    thalweg.Model(nn.Sequential(nn.Linear(2, 1)), [thalweg.Input((None, 2))]).save("second_session.onnx")
    first = session()
    model = thalweg.spark.Model.load("second_session.onnx", input_cols=["x"], output_cols=["y"])
    before = predict(first, model)
    first.stop()
    assert predict(session(), model) == before
