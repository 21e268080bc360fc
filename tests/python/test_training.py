"""Trainer: losses, optimisers, callbacks, schedules, data, stops."""

import os
import pathlib
import pickle
import signal
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg
from thalweg import data, nn, ops


def points(count=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4)).astype("float32")
    return x, (x[:, 0] + x[:, 1] > 0).astype("int64")


@pytest.fixture
def train():
    x, y = points()
    return data.TensorDataset([x], [y])


@pytest.fixture
def validation():
    x, y = points(100, 1)
    return data.TensorDataset([x], [y])


def trainer_of(model, loss="cross_entropy", optimizer="adam", **options):
    options = {"progress": "none", "learning_rate": 0.01, "batch_size": 50, **options}
    return thalweg.Trainer(model, loss, optimizer, **options)


def test_learns(perceptron, train, validation):
    trainer = trainer_of(perceptron, epochs=8, metrics=["accuracy", thalweg.metrics.top_k_accuracy(k=2)])
    history = trainer.fit(train, validation)
    assert [record.epoch for record in history] == list(range(1, 9))
    assert history[-1].loss < history[0].loss / 2
    assert history[-1].validation["accuracy"] > 0.9
    assert set(trainer.evaluate(validation)) == {"loss", "accuracy", "top2_accuracy"}


@pytest.mark.filterwarnings("ignore:nanobind")
def test_a_loss_of_ones_own(perceptron, train):
    kept = []

    def loss(output, target):
        kept.append(output)
        chosen = ops.gather_elements(ops.log_softmax(output, 1), target.unsqueeze(1), 1)
        return -chosen.mean()

    own = trainer_of(perceptron, loss, epochs=2).fit(train)
    other = thalweg.Model(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), [thalweg.Input((None, 4))])
    named = trainer_of(other, epochs=2).fit(train)
    np.testing.assert_allclose(own[-1].loss, named[-1].loss, rtol=1e-6)
    # The engine's graph is gone, and what was kept of it says so rather than crash.
    with pytest.raises(TypeError):
        kept[0].shape


@pytest.mark.filterwarnings("error:nanobind")
def test_values_that_somebody_keeps_are_not_in_the_way_of_new_ones(perceptron, train):
    kept = []

    def loss(output, target):
        kept.extend([output, target, ops.log_softmax(output, 1)])
        kept.append(ops.gather_elements(kept[-1], target.unsqueeze(1), 1))
        return -kept[-1].mean()

    for _ in range(20):
        trainer_of(perceptron, loss, epochs=1).fit(data.Subset(train, range(50)))
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        assert thalweg.Model(net, [thalweg.Input((None, 4))]).graph.outputs[0].shape == (None, 3)


def test_metrics_of_one_score_decide_where_the_loss_does():
    x, y = points()
    model = thalweg.Model(nn.Linear(4, 1), [thalweg.Input((None, 4))])
    data_set = data.TensorDataset([x], [y.astype("float32").reshape(-1, 1)])
    trainer = trainer_of(model, "bce_with_logits", metrics=["accuracy", "recall"], epochs=3)
    trainer.fit(data_set)
    scores = trainer.evaluate(data_set)
    decided = model(x).reshape(-1) > 0
    assert scores["accuracy"] == np.mean(decided == (y == 1))
    assert scores["recall"] == np.mean(decided[y == 1])


def test_errors_of_a_loss_come_through(perceptron, train):
    def broken(output, target):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        trainer_of(perceptron, broken).fit(train)
    with pytest.raises(thalweg.InputError, match="must return a value"):
        trainer_of(perceptron, lambda output, target: None).fit(train)
    with pytest.raises(thalweg.Error, match="nearest: cross_entropy"):
        trainer_of(perceptron, "crossentropy")


def test_optimisers_and_schedules(perceptron, train):
    schedule = thalweg.schedules.sequential([(thalweg.schedules.warm_up(0.0, 0.1, 4), 4), (thalweg.schedules.cosine(0.1, 20), 0)])
    rates = []

    class Watch(thalweg.Callback):
        def on_step(self, state):
            rates.append(state.learning_rate)

    trainer_of(perceptron, optimizer=thalweg.optim.sgd(momentum=0.9, nesterov=True), schedule=schedule, callbacks=[Watch()]).fit(train)
    assert rates[0] < rates[3] and rates[-1] < max(rates)
    with pytest.raises(thalweg.Error, match="no option"):
        thalweg.optim.sgd(momentom=0.9)
    with pytest.raises(thalweg.Error, match="unknown optimizer"):
        trainer_of(perceptron, optimizer="adamm")


def test_callbacks(perceptron, train, validation, capfd):
    seen = []

    class Watch(thalweg.Callback):
        def on_start(self, state):
            seen.append("start")

        def on_epoch(self, state):
            seen.append((state.epoch, "loss" in state.validation, "epoch" in state.epoch_text()))

        def on_end(self, state):
            seen.append("end")

    trainer_of(perceptron, epochs=2, callbacks=[Watch()]).fit(train, validation)
    assert seen == ["start", (1, True, True), (2, True, True), "end"]

    class Fails(thalweg.Callback):
        def on_step(self, state):
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        trainer_of(perceptron, callbacks=[Fails()]).fit(train)
    trainer_of(perceptron, progress="lines").fit(train)
    assert "epoch 1/1" in capfd.readouterr().err


def test_unknown_options_are_named(perceptron):
    with pytest.raises(ValueError, match="batchsize"):
        trainer_of(perceptron, batchsize=3)
    with pytest.raises(ValueError, match="epochs cannot be 'many'"):
        trainer_of(perceptron, epochs="many")


def test_files_of_a_run(perceptron, train, validation, tmp_path):
    folder = tmp_path / "checkpoints"
    trainer = trainer_of(
        perceptron,
        epochs=3,
        checkpoints=str(folder),
        tensorboard=str(tmp_path / "events"),
        early_stopping={"patience": 2},
    )
    trainer.fit(train, validation)
    assert len(list(folder.iterdir())) == 3 and list(pathlib.Path(tmp_path / "events").iterdir())
    other = trainer_of(perceptron, epochs=4)
    other.resume(str(folder))
    assert [record.epoch for record in other.fit(train, validation)] == [1, 2, 3, 4]


def test_ctrl_c_stops_within_a_step(perceptron, train):
    steps = []

    class Watch(thalweg.Callback):
        def on_step(self, state):
            steps.append(state.iteration)
            if state.iteration == 5:
                os.kill(os.getpid(), signal.SIGINT)

    before = perceptron.weight("0.weight")
    trainer = trainer_of(perceptron, epochs=1000, callbacks=[Watch()])
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(train)
    assert steps[-1] <= 6
    assert np.isfinite(perceptron.weight("0.weight")).all() and (perceptron.weight("0.weight") != before).any()
    # It goes on afterwards.
    trainer.evaluate(train)


def test_ctrl_c_stops_a_validation(perceptron, train):
    x, y = points(1000)
    fetched = []

    def fetch(indices):
        fetched.append(indices)
        if len(fetched) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return [x[indices]], [y[indices]]

    trainer = trainer_of(perceptron, batch_size=1, epochs=1)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(data.Subset(train, [0]), data.FunctionDataset(fetch, 1000))
    assert len(fetched) < 20
    fetched.clear()
    with pytest.raises(KeyboardInterrupt):
        trainer.evaluate(data.FunctionDataset(fetch, 1000))
    assert len(fetched) < 20
    assert trainer.evaluate(train)["loss"] > 0


def test_stop_from_another_thread(perceptron, train):
    trainer = trainer_of(perceptron, epochs=10**6)
    timer = threading.Timer(0.3, trainer.request_stop)
    timer.start()
    trainer.fit(train)
    timer.join()


def test_function_dataset(perceptron):
    x, y = points()
    made = data.FunctionDataset(lambda indices: ([x[indices]], [y[indices]]), len(x))
    assert len(made) == 400 and made.input_types == [("float32", (None, 4))]
    same = trainer_of(perceptron, epochs=2).fit(made)
    assert same[-1].loss < same[0].loss

    def fails(indices):
        if indices[0] > 0 or len(indices) > 1:
            raise OSError("disk gone")
        return [x[indices]], [y[indices]]

    with pytest.raises(OSError, match="disk gone"):
        trainer_of(perceptron).fit(data.FunctionDataset(fails, 10))


def test_tables(tmp_path):
    x, y = points(100)
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "d": x[:, 3], "label": y})
    pq.write_table(table, str(tmp_path / "points.parquet"))
    made = data.Table(str(tmp_path / "points.parquet"), ["a", "b", "c", "d"], "label", target_dtype="int64")
    inputs, targets = made.fetch([5, 3])
    np.testing.assert_array_equal(inputs[0], x[[5, 3]])
    np.testing.assert_array_equal(targets[0], y[[5, 3]])
    assert data.table_columns(str(tmp_path / "points.parquet"))[-1] == ("label", "int64")
    with pytest.raises(thalweg.Error, match="wrong"):
        data.Table(str(tmp_path / "points.parquet"), ["wrong"])


def test_losses_with_names_of_pytorch(perceptron, train):
    smoothed = trainer_of(perceptron, nn.CrossEntropyLoss(label_smoothing=0.1), epochs=2).fit(train)
    assert smoothed[-1].loss < smoothed[0].loss
    assert pickle.loads(pickle.dumps(nn.HuberLoss(delta=2.0))).options == {"delta": 2.0}
    graph = thalweg.Graph()
    values = graph.input("a", (3,)), graph.input("b", (3,))
    for loss in (nn.MSELoss(), nn.L1Loss(reduction="sum"), nn.SmoothL1Loss(), nn.BCEWithLogitsLoss()):
        assert loss(*values).shape == ()
    assert nn.MSELoss(reduction="none")(*values).shape == (3,)


def test_views():
    x, y = points(10)
    whole = data.TensorDataset([x], [y])
    part = data.Subset(whole, [3, 1])
    np.testing.assert_array_equal(part.fetch([0, 1])[0][0], x[[3, 1]])
    assert len(data.Concat([whole, part])) == 12
