"""Models and training in forked and spawned processes. Imports little, as spawned processes import it again."""

import multiprocessing
import pickle

import numpy as np

import thalweg
from thalweg import nn


def points(count=200):
    x = np.random.default_rng(0).normal(size=(count, 3)).astype("float32")
    return x, (x[:, 0] > x[:, 2]).astype("int64")


def estimator():
    net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    return thalweg.Estimator(net, epochs=2, progress="none")


def answer_of(start, target, *arguments):
    """What a function puts into the queue that it gets last, in a process that starts this way."""
    context = multiprocessing.get_context(start)
    queue = context.SimpleQueue()
    process = context.Process(target=target, args=(*arguments, queue))
    process.start()
    process.join(200)
    assert process.exitcode == 0
    return queue.get()


def predict(model, x, queue):
    queue.put(model(x))


def fit(pickled, x, y, queue):
    queue.put(pickle.loads(pickled).fit(x, y).predict(x))


def test_forked_processes_can_use_a_model():
    x, y = points()
    model = estimator().fit(x, y).model_
    np.testing.assert_array_equal(answer_of("fork", predict, model, x), model(x))


def test_spawned_processes_can_use_a_loaded_model(tmp_path):
    x, y = points()
    estimator().fit(x, y).save(str(tmp_path / "model.onnx"))
    model = thalweg.Model.load(str(tmp_path / "model.onnx"))
    np.testing.assert_array_equal(answer_of("spawn", predict, model, x), model(x))


def test_forked_and_spawned_processes_can_train():
    x, y = points()
    expected = estimator().fit(x, y).predict(x)
    for start in ("fork", "spawn"):
        np.testing.assert_array_equal(answer_of(start, fit, pickle.dumps(estimator()), x, y), expected)
