"""Run by test_sight.py in a process of its own: a model is used after the application that first used it has ended."""

from conftest import session

import thalweg
import thalweg.spark
from thalweg import nn


def predict(spark, model):
    return model.transform(spark.createDataFrame([([1.0, 2.0],)], "x array<float>")).collect()[0].y


if __name__ == "__main__":
    thalweg.Model(nn.Sequential(nn.Linear(2, 1)), [thalweg.Input((None, 2))]).save("second_session.onnx")
    first = session("local[1]")
    model = thalweg.spark.Model.load("second_session.onnx", input_cols=["x"], output_cols=["y"])
    before = predict(first, model)
    first.stop()
    assert predict(session("local[1]"), model) == before
