"""What the jar has to do with the rest of the world: its size, and models that go from Spark to the program `thalweg`."""

import subprocess

import numpy as np
import pytest
from conftest import JAR
from processes import PATIENCE

import thalweg
import thalweg.spark
from thalweg import nn

PROGRAM = JAR.parents[1] / "bin" / "thalweg"
MOST_BYTES = 60 * 10**6


def test_the_jar_is_small_enough_to_travel_with_every_application():
    assert JAR.stat().st_size <= MOST_BYTES


@pytest.mark.skipif(not PROGRAM.exists(), reason=f"there is no {PROGRAM}")
def test_a_saved_model_answers_alike_in_the_program(spark, tmp_path):
    numbers = np.random.default_rng(4).standard_normal((40, 4)).astype("float32")
    rows = [(i, row.tolist(), int(row[:3].argmax())) for i, row in enumerate(numbers)]
    frame = spark.createDataFrame(rows, "id long, x array<float>, y int").repartition(2)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    model = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], feature_cols=["x"], label_cols=["y"], epochs=2,
                                    batch_size=20, output_cols=["scores"]).fit(frame)
    model.save(str(tmp_path / "model"))
    np.save(tmp_path / "numbers.npy", numbers)
    subprocess.run([str(PROGRAM), "predict", str(tmp_path / "model" / "model.onnx"), str(tmp_path / "numbers.npy"), "-o",
                    str(tmp_path / "scores.npy")], check=True, timeout=PATIENCE)
    scores = [row.scores for row in model.transform(frame).orderBy("id").collect()]
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), scores, rtol=1e-5, atol=1e-6)
