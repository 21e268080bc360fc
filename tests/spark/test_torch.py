"""A PyTorch module through thalweg.spark.Estimator; `make test-torch` runs it where there is PyTorch."""

import numpy as np
import pytest

import thalweg
import thalweg.spark

torch = pytest.importorskip("torch")


def test_a_pytorch_module_is_trained(spark, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 4)).astype("float32")
    rows = [(list(map(float, row)), int(row[:3].argmax())) for row in x]
    frame = spark.createDataFrame(rows, "x array<float>, y int").repartition(3)
    module = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    before = module(torch.from_numpy(x)).argmax(dim=1).numpy()
    model = thalweg.spark.Estimator(
        module, example_inputs=[torch.zeros(2, 4)], feature_cols=["x"], label_cols=["y"], optimizer="adam",
        learning_rate=0.02, epochs=20, batch_size=30, num_workers=2, threads=1, output_cols=["class"],
        output_kinds=["class"]).fit(frame)
    predicted = model.transform(frame).select("y", "class").collect()
    right = np.mean([row.y == row["class"] for row in predicted])
    assert right > 0.9 and right > np.mean(before == x[:, :3].argmax(axis=1))
    model.write().overwrite().save(str(tmp_path / "model"))
    trained = thalweg.Model.load(str(tmp_path / "model" / "model.onnx"))
    assert (trained(x).argmax(axis=1) == x[:, :3].argmax(axis=1)).mean() == pytest.approx(right)
