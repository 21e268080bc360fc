"""Models: calls in every form, weights, files, threads."""

import os
import pickle
import threading

import numpy as np
import pytest

import thalweg
from thalweg import nn


class TwoInTwoOut(nn.Module):
    def forward(self, a, b):
        return {"sum": a + b, "product": a * b}


@pytest.fixture
def two():
    return thalweg.Model(TwoInTwoOut(), [thalweg.Input((None, 2), name="a"), thalweg.Input((None, 2), name="b")])


@pytest.fixture
def arrays(rng):
    return rng.random((3, 2)).astype("float32"), rng.random((3, 2)).astype("float32")


def saved(model, tmp_path):
    path = str(tmp_path / "model.onnx")
    model.save(path)
    return thalweg.Model.load(path)


@pytest.mark.parametrize("loaded", [False, True])
def test_calls_in_every_form(two, arrays, loaded, tmp_path):
    model = saved(two, tmp_path) if loaded else two
    a, b = arrays
    by_order = model(a, b)
    assert isinstance(by_order, tuple)
    np.testing.assert_allclose(by_order[0], a + b, rtol=1e-6)
    np.testing.assert_allclose(by_order[1], a * b, rtol=1e-6)
    by_name = model({"b": b, "a": a})
    assert list(by_name) == ["sum", "product"]
    np.testing.assert_array_equal(by_name["product"], by_order[1])
    np.testing.assert_array_equal(model(b=b, a=a)[0], by_order[0])


@pytest.mark.parametrize("loaded", [False, True])
def test_wrong_inputs(two, arrays, loaded, tmp_path):
    model = saved(two, tmp_path) if loaded else two
    a, b = arrays
    with pytest.raises(thalweg.InputError, match="no input 'c'; it has: a, b"):
        model({"a": a, "c": b})
    with pytest.raises(thalweg.InputError, match="'b' is missing"):
        model({"a": a})
    with pytest.raises(thalweg.Error, match="2"):
        model(a)
    with pytest.raises(ValueError, match=r"f64.*: convert it with .astype\(\"float32\"\)"):
        model(a.astype("float64"), b)
    with pytest.raises(ValueError, match=r"\[3,1\]"):
        model(a[:, :1], b)
    with pytest.raises(TypeError, match="not both"):
        model(a, b=b)


def test_file_errors(tmp_path):
    with pytest.raises(thalweg.Error, match="missing.onnx"):
        thalweg.Model.load(str(tmp_path / "missing.onnx"))
    with pytest.raises(thalweg.Error, match="strange"):
        thalweg.Model.load(str(tmp_path / "missing.onnx"), precision="strange")


def test_descriptions(two, tmp_path):
    model = saved(two, tmp_path)
    assert [value.name for value in model.inputs] == ["a", "b"]
    assert model.inputs[0].shape == (None, 2) and model.inputs[0].dtype == "float32"
    assert "input  a f32" in model.summary()
    assert "parameters: 0" in two.summary()


def test_weights_by_name(perceptron, rng):
    x = rng.random((2, 4)).astype("float32")
    weights = perceptron.state_dict()
    assert list(weights) == sorted(perceptron.weight_names())
    expected = np.maximum(x @ weights["0.weight"].T + weights["0.bias"], 0) @ weights["2.weight"].T + weights["2.bias"]
    np.testing.assert_allclose(perceptron(x), expected, rtol=1e-5, atol=1e-6)
    weights["2.bias"] = weights["2.bias"] + 1
    perceptron.load_state_dict(weights)
    np.testing.assert_allclose(perceptron(x), expected + 1, rtol=1e-5, atol=1e-6)
    perceptron.set_weight("2.bias", np.zeros(3, "float32"))
    assert not perceptron.weight("2.bias").any()


def test_wrong_weights_change_nothing(perceptron):
    before = perceptron.state_dict()
    wrong = dict(before, extra=np.zeros(1, "float32"))
    wrong["0.bias"] = np.zeros(9, "float32")
    del wrong["2.bias"]
    with pytest.raises(thalweg.Error, match="1 missing, 1 unexpected, 1 of another type"):
        perceptron.load_state_dict(wrong)
    for name, value in perceptron.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_weight_files(perceptron, tmp_path):
    path = str(tmp_path / "weights.safetensors")
    perceptron.save_weights(path)
    before = perceptron.weight("0.weight")
    perceptron.set_weight("0.weight", np.zeros_like(before))
    perceptron.load_weights(path)
    np.testing.assert_array_equal(perceptron.weight("0.weight"), before)


def test_freezing(perceptron):
    assert perceptron.freeze("0.*") == 2
    assert "frozen" in perceptron.summary()
    with pytest.raises(thalweg.Error, match="no parameter matches"):
        perceptron.freeze("nothing*")


def test_other_threads_go_on_while_the_engine_works():
    graph = thalweg.zoo.build("lstm_text", vocab=1000, embed=64, hidden=128)
    model = thalweg.Model(graph, threads=1)
    tokens = np.zeros((16, 100), "int64")
    model(tokens)
    inside, done = threading.Event(), threading.Event()

    def compute():
        for _ in range(20):
            inside.set()
            model(tokens)
            inside.clear()
        done.set()

    worker = threading.Thread(target=compute)
    worker.start()
    turns = 0
    while not done.is_set():
        turns += inside.is_set()
    worker.join()
    # If calls kept the interpreter to themselves, this thread would get a turn or two between them.
    assert turns > 1000


def test_models_and_graphs_can_be_pickled(rng):
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 3))
    model = thalweg.Model(net, [thalweg.Input((None, 2, 6, 6), name="image")], threads=1)
    model.freeze("0.*")
    again = pickle.loads(pickle.dumps(model))
    x = rng.random((3, 2, 6, 6)).astype("float32")
    np.testing.assert_array_equal(again(x), model(x))
    assert str(again.graph) == str(model.graph)
    assert [value.trainable for value in again.graph.parameters] == [value.trainable for value in model.graph.parameters]
    assert again.weight_names() == model.weight_names()
    graph = thalweg.trace(net, [thalweg.Input((None, 2, 6, 6))])
    restored = pickle.loads(pickle.dumps(graph))
    assert [repr(node) for node in restored.nodes] == [repr(node) for node in graph.nodes]
    np.testing.assert_array_equal(thalweg.Model(restored)(x), thalweg.Model(graph)(x))


def test_loaded_models_can_be_pickled(two, arrays, tmp_path):
    path = str(tmp_path / "model.onnx")
    two.save(path)
    model = thalweg.Model.load(path, threads=1, max_seconds=5.0)
    pickled = pickle.dumps(model)
    os.remove(path)
    again = pickle.loads(pickled)
    for given, expected in zip(again(*arrays), model(*arrays)):
        np.testing.assert_array_equal(given, expected)
    assert again.options == model.options and again.options["max_seconds"] == 5.0
    assert [value.name for value in again.inputs] == ["a", "b"]
