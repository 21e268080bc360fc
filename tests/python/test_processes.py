"""Models and training in forked and spawned processes. Imports little, as spawned processes import it again."""

import multiprocessing
import os
import pickle
import signal

import numpy as np
from processes import LONG_PATIENCE

import thalweg
from thalweg import nn


def points(count=200):
    x = np.random.default_rng(0).normal(size=(count, 3)).astype("float32")
    return x, (x[:, 0] > x[:, 2]).astype("int64")


def estimator():
    net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    return thalweg.Estimator(net, epochs=2, progress="none")


def answer_of(start, target, *arguments):
    """What a function sends through the pipe that it gets last, in a process that starts this way."""
    context = multiprocessing.get_context(start)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, sender))
    process.start()
    sender.close()
    try:
        assert receiver.poll(LONG_PATIENCE), f"{target.__name__} hangs in a process made by {start}"
        answer = receiver.recv()
        process.join(LONG_PATIENCE)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == 0
    return answer


def predict(model, x, answer):
    answer.send(model(x))


def fit(pickled, x, y, answer):
    answer.send(pickle.loads(pickled).fit(x, y).predict(x))


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


def images(count=16):
    rng = np.random.default_rng(0)
    return rng.random((count, 1, 12, 12)).astype("float32"), rng.integers(0, 2, count)


def conv_estimator():
    """Its weights are many enough for several threads, and lie in blocks once it has run."""
    layers = nn.Conv2d(1, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 64, 32), nn.Linear(32, 2)
    return thalweg.Estimator(nn.Sequential(*layers), epochs=1, progress="none", options={"threads": 2})


def use_everything(fitted, folder, answer):
    """All that reads or writes weights, or computes with them, on the thread that the fork has copied."""
    x, y = images()
    model = fitted.model_
    weights = model.state_dict()
    model.set_weight("0.weight", model.weight("0.weight"))
    model.load_state_dict(weights)
    model.save_weights(f"{folder}/weights.safetensors")
    model.load_weights(f"{folder}/weights.safetensors")
    model.save_for_training(f"{folder}/graph.onnx")
    model.explain([x])
    model.save(f"{folder}/model.onnx")
    loaded = thalweg.Model.load(f"{folder}/model.onnx")
    loaded.explain([x])
    loaded.save(f"{folder}/again.onnx")
    thalweg.Model.load(f"{folder}/model.onnx")
    trainer = thalweg.Trainer(model, epochs=1, progress="none")
    trainer.fit(thalweg.data.TensorDataset([x], [y]))
    trainer.resume(trainer.save_checkpoint(f"{folder}/checkpoints"))
    answer.send(pickle.dumps(fitted))


def fit_anew(answer):
    """What a worker of a Pool does that fits and returns the estimator."""
    answer.send(pickle.dumps(conv_estimator().fit(*images())))


def test_everything_works_in_a_forked_process(tmp_path):
    fitted = conv_estimator().fit(*images())
    fitted.predict(images()[0])
    again = pickle.loads(answer_of("fork", use_everything, fitted, tmp_path))
    assert again.predict(images()[0]).shape == (16, 2)


def test_a_forked_process_can_return_what_it_has_fitted():
    expected = conv_estimator().fit(*images())
    again = pickle.loads(answer_of("fork", fit_anew))
    for name, weight in expected.model_.state_dict().items():
        np.testing.assert_array_equal(again.model_.weight(name), weight)


def build_and_fork(answer):
    model = thalweg.Model(nn.Sequential(nn.Linear(512, 512)), [thalweg.Input((None, 512))])
    answer.send(answer_of("fork", predict, model, np.ones((64, 512), "float32")).shape)


def test_a_process_that_has_only_built_a_model_may_fork():
    assert answer_of("spawn", build_and_fork) == (64, 512)


class Interrupt(thalweg.Callback):
    def on_step(self, state):
        if state.iteration == 5:
            os.kill(os.getpid(), signal.SIGINT)


def interrupted_fit(answer):
    x, y = points()
    stopped = estimator().set_params(epochs=10**6, callbacks=[Interrupt()])
    try:
        stopped.fit(x, y)
    except KeyboardInterrupt:
        answer.send(stopped.predict(x).shape)


def test_ctrl_c_ends_a_fit_in_a_forked_process():
    estimator().fit(*points())
    assert answer_of("fork", interrupted_fit) == (200, 2)
