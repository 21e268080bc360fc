"""optimize and the search for a learning rate."""

import pickle

import numpy as np
import pytest

import thalweg
from thalweg import nn


@pytest.fixture
def network(rng):
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
    return thalweg.Model(net, [thalweg.Input((None, 3, 16, 16))])


def batches(rng, count=2):
    return [rng.random((4, 3, 16, 16)).astype("float32") for _ in range(count)]


def test_optimize_returns_a_callable_and_prints_a_table(network, rng, capsys, tmp_path):
    x = batches(rng)[0]
    fast = thalweg.optimize(network, calibration=batches(rng), seconds=0.02, output=str(tmp_path / "fast.onnx"))
    table = capsys.readouterr().out
    assert "latency ms" in table and "f32" in table and "int8" in table
    assert {form.form for form in fast.report.forms} >= {"f32", "int8"}
    assert fast.report.chosen.accepted and fast.report.chosen.agreement >= 0.99
    assert fast(x).shape == (4, 4) and fast.inputs[0].name == "input"
    np.testing.assert_array_equal(thalweg.Model.load(str(tmp_path / "fast.onnx"))(x), fast(x))
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again(x), fast(x))
    assert str(again.report) == str(fast.report) and again.report.chosen.form == fast.report.chosen.form


def test_optimize_for_one_form_from_a_file(network, rng, tmp_path, capsys):
    path = str(tmp_path / "model.onnx")
    network.save(path)
    fast = thalweg.optimize(path, precision="f32", seconds=0.02, show=False)
    assert capsys.readouterr().out == "" and [form.form for form in fast.report.forms] == ["f32"]
    x = batches(rng)[0]
    np.testing.assert_allclose(fast(x), network(x), rtol=1e-4, atol=1e-5)
    with pytest.raises(thalweg.Error, match="f31"):
        thalweg.optimize(path, precision="f31")


def test_learning_rate(rng):
    x = rng.normal(size=(256, 3))
    y = x @ [1.0, -2.0, 0.5]
    estimator = thalweg.Estimator(nn.Linear(3, 1), loss="mse", optimizer="sgd", progress="none", epochs=10)
    curve = estimator.find_learning_rate(x, y, highest=100.0)
    assert len(curve.rates) == len(curve.losses) and 1e-3 < curve.suggestion < 2
    fitted = estimator.set_params(learning_rate=curve.suggestion).fit(x, y)
    assert fitted.score(x, y) > -0.1
