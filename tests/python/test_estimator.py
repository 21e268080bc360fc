"""Estimator: what it takes, what it refuses, scikit-learn around it, workers."""

import multiprocessing
import os
import pathlib
import pickle
import shutil
import signal
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thalweg
from thalweg import _workers, data, nn
from thalweg.progress import NotebookProgress


ROOT = pathlib.Path(__file__).parents[2]


def points(count=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3))
    return x, (x[:, 0] - x[:, 2] > 0).astype("int64")


def network(outputs=2):
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, outputs))


def estimator(**options):
    given = {"metrics": ["accuracy"], "epochs": 12, "learning_rate": 0.02, "batch_size": 32, "progress": "none"}
    return thalweg.Estimator(network(), **{**given, **options})


class Loader:
    """What thalweg.data.from_loader uses of PyTorch's DataLoader."""

    def __init__(self, dataset):
        self.dataset = dataset

    def collate_fn(self, samples):
        return [np.stack(column) for column in zip(*samples)]


def test_arrays_tables_and_datasets_give_the_same():
    x, y = points()
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    expected = estimator().fit(x, y).predict(x)
    single = x.astype("float32")
    for given, target in (
        (frame, pd.Series(y)),
        (pa.Table.from_pandas(frame), pa.array(y)),
        (pa.Table.from_pandas(frame), pa.chunked_array([y[:100], y[100:]])),
        (pa.RecordBatch.from_pandas(frame), pa.array(y)),
        (frame.convert_dtypes(), pd.DataFrame({"label": y.astype(float)})),
        (x.tolist(), y.tolist()),
        (data.TensorDataset([single], [y]), None),
        (data.from_loader(Loader(list(zip(single, y)))), None),
    ):
        fitted = estimator().fit(given, target)
        np.testing.assert_array_equal(fitted.predict(x), expected)
        np.testing.assert_array_equal(fitted.predict(given), expected)
    assert estimator().fit(x, y).score(x, y) > 0.95


def test_regression_takes_targets_of_any_shape():
    x, _ = points()
    for y in (x[:, 0] * 2, (x[:, :1] * 2), np.round(x[:, 0] * 2).astype("int32")):
        fitted = thalweg.Estimator(network(1), loss="mse", epochs=20, learning_rate=0.02, progress="none").fit(x, y)
        assert fitted.predict(x).shape == (300, 1)
        assert fitted.score(x, y) > -0.5


@pytest.mark.parametrize("loss", [nn.MSELoss(), lambda output, target: thalweg.losses.mse(output, target)])
def test_targets_become_what_a_loss_of_python_takes(loss):
    x, _ = points()
    fitted = thalweg.Estimator(network(1), loss=loss, epochs=1, progress="none").fit(x, x[:, 0])
    assert fitted.score(x, x[:, 0]) == fitted.score(x, x[:, :1])
    with pytest.raises(ValueError, match="does not take a target of f64.* differ in shape"):
        fitted.fit(x, x)

    def broken(output, target):
        return output @ output

    with pytest.raises(thalweg.Error) as failure:
        thalweg.Trainer(fitted.model_, broken, progress="none").fit(data.TensorDataset([x.astype("float32")], [x[:, 0]]))
    assert failure.traceback[-1].name == "broken"


def table_of_points(folder):
    """A CSV file of points: x0, x1, x2, label, and whole, which is -1 to 1 more than 3."""
    x, y = points()
    frame = pd.DataFrame(x.astype("float32"), columns=["x0", "x1", "x2"])
    frame["label"], frame["whole"] = y, np.clip(np.round(x[:, 0]), -1, 1).astype("int64") + 3
    frame.to_csv(folder / "points.csv", index=False)
    return frame, lambda target, **options: data.Table(folder / "points.csv", ["x0", "x1", "x2"], target, **options)


def test_targets_of_datasets_become_what_the_loss_takes(tmp_path):
    frame, table = table_of_points(tmp_path)
    x = frame[["x0", "x1", "x2"]].to_numpy()

    def fitted(outputs, loss, given, target=None, **options):
        made = thalweg.Estimator(network(outputs), loss=loss, epochs=1, seed=3, progress="none", **options)
        made.fit(given, target, validation=given if target is None else (given, target))
        assert made.evaluate(given, target)["loss"] == pytest.approx(made.history_[-1].validation["loss"])
        return made.predict(x)

    for outputs, loss, column in ((1, "mse", "x0"), (1, "mse", "whole"), (1, "bce_with_logits", "label"), (2, None, "label")):
        expected = fitted(outputs, loss, x, frame[column])
        np.testing.assert_array_equal(fitted(outputs, loss, table(column)), expected)
        np.testing.assert_array_equal(fitted(outputs, loss, table([column])), expected)
        if column != "x0":
            np.testing.assert_array_equal(fitted(outputs, loss, table(column, target_dtype="int64")), expected)
        held = data.TensorDataset([x], [frame[column].to_numpy().astype("float32")])
        np.testing.assert_array_equal(fitted(outputs, loss, data.Subset(held, range(len(frame)))), expected)
    learnt = thalweg.Classifier(network(), epochs=20, learning_rate=0.01, progress="none").fit(table("label"))
    assert learnt.score(table("label")) > 0.9
    assert len(thalweg.Estimator(network(1), loss="mse").find_learning_rate(table("x0"), steps=5).rates) > 0
    with pytest.raises(ValueError, match="the target of sample [0-9]+ is .*, but the loss takes numbers of classes"):
        estimator().fit(table("x0"))


def test_history_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="need pandas: pip install pandas"):
        thalweg.History().to_frame()


def test_validation_and_history():
    x, y = points()
    fitted = estimator(epochs=3).fit(x, y, validation=points(50, 1))
    frame = fitted.history_.to_frame()
    assert list(frame.index) == [1, 2, 3] and {"loss", "validation_loss", "validation_accuracy"} <= set(frame.columns)
    import matplotlib

    matplotlib.use("Agg")
    assert len(fitted.history_.plot().get_lines()) == 3


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x, y: (x[:, :2], y), "takes f32\\[\\?,3\\], got f64\\[300,2\\]"),
        (lambda x, y: (x, y[:-1]), "the target has 299 rows, input 'input' has 300"),
        (lambda x, y: (x, None), "give y"),
        (lambda x, y: (np.where(x > 2.5, np.nan, x), y), "holds NaN in column"),
        (lambda x, y: (x, np.where(y > 0, np.nan, 0.0)), "the target holds NaN"),
        (lambda x, y: (x, x[:, 0]), "the loss does not take a target of f64"),
        (lambda x, y: ((x, x), y), "1 inputs, got 2"),
        (lambda x, y: (x.astype(object), y), "X: .* element type object"),
        (lambda x, y: (x.astype(complex), y), "X: .* element type complex128"),
        (lambda x, y: (x, np.array(["a", "b"] * 150)), "y holds texts, not numbers"),
        (lambda x, y: (x, np.array([None, 1] * 150)), "y: .* must be an array of numbers"),
        (lambda x, y: (x, y + 1), "class 2 in row .*classes 0 to 1"),
        (lambda x, y: (x, y - 1), "class -1 in row"),
        (lambda x, y: (data.TensorDataset([x.astype("float32")], [y]), y), "leave y out"),
        (lambda x, y: (pa.table({"a": ["x"] * 300}), y), "column 'a' holds string"),
        (lambda x, y: (pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": ["x"] * 300}), y), "column 'c' holds"),
        (lambda x, y: (pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": [None, *x[1:, 2]]}), y), "column 'c', row 0"),
        (lambda x, y: (pa.table({"a": x[:, 0], "b": x[:, 1], "c": [None, *x[1:, 2]]}), y), "column 'c' has 1 nulls"),
    ],
)
def test_what_does_not_fit_is_said_before_training(change, message):
    x, y = points()
    fitted = estimator(epochs=1).fit(x, y)
    graph_of_three = thalweg.Estimator(fitted.model_, metrics=["accuracy"], progress="none")
    with pytest.raises(ValueError, match=message):
        graph_of_three.fit(*change(x, y))


def test_other_misuse():
    with pytest.raises(ValueError, match="not been fitted"):
        estimator().predict(points()[0])
    with pytest.raises(TypeError, match="not a str"):
        thalweg.Estimator("resnet").fit(*points())
    with pytest.raises(TypeError, match="a callback is"):
        estimator(callbacks=[print]).fit(*points())
    with pytest.raises(ValueError, match="no parameter 'epoch'"):
        estimator().set_params(epoch=3)
    with pytest.raises(ValueError, match="no train option 'clipnorm'; there are .*clip_norm"):
        estimator(options={"clipnorm": 1}).fit(*points())
    with pytest.raises(ValueError, match="early_stopping cannot be 3: it is a dict such as .*patience"):
        estimator(early_stopping=3).fit(*points())
    with pytest.raises(ValueError, match="workers is 0"):
        estimator(workers=0).fit(*points())
    with pytest.raises(ValueError, match="no scheme 'allredcue'; there are .*allreduce"):
        estimator(scheme="allredcue").fit(*points())
    x, y = points()
    with pytest.raises(ValueError, match="the data hold no targets.*target='name'"):
        estimator().fit(data.TensorDataset([x.astype("float32")]), y)
    with pytest.raises(ValueError, match="already: leave y out"):
        estimator().fit(data.TensorDataset([x.astype("float32")], [y]), y)
    names = np.where(y == 1, "good", "bad")
    for texts in (names, names.tolist(), pd.Series(names), pa.array(names), pd.DataFrame({"label": names})):
        with pytest.raises(ValueError, match="y holds texts, not numbers: take thalweg.Classifier"):
            estimator().fit(x, texts)
    with pytest.raises(ValueError, match="class 1 in row [0-9]+; the model has one output.* bce_with_logits, for numbers .*mse"):
        thalweg.Estimator(network(1), progress="none").fit(x, y)
    with pytest.raises(ValueError, match="'model.pt' is the name of a format that is not written: take .onnx"):
        estimator(epochs=1).fit(x, y).save("model.pt")
    with pytest.raises(ValueError, match="'epochs' is an argument of the estimator itself"):
        estimator(options={"epochs": 1}).fit(*points())
    with pytest.raises(ValueError, match="validation is a pair"):
        estimator().fit(*points(), validation=points()[0])
    with pytest.raises(TypeError, match="an optimiser is a name .* not a int"):
        estimator(optimizer=3).fit(*points())


def test_a_fit_that_fails_early_leaves_the_estimator_as_it_was():
    x, y = points()
    fitted = estimator(epochs=1).fit(x, y)
    expected = fitted.predict(x)
    with pytest.raises(ValueError):
        fitted.fit(x, y[:-1])
    np.testing.assert_array_equal(fitted.predict(x), expected)
    fresh = estimator(loss="crossentropy")
    with pytest.raises(thalweg.Error, match="nearest: cross_entropy"):
        fresh.fit(x, y)
    assert not hasattr(fresh, "model_")


def wrong_datasets():
    """Data, and data to validate on, of which one does not fit."""
    x, y = points()
    x = x.astype("float32")
    train = data.TensorDataset([x], [y])
    return {
        "class 5 in row 7": (data.TensorDataset([x], [np.where(np.arange(300) == 7, 5, y)]), None),
        "class -1 in row 0": (data.TensorDataset([x], [np.full(300, -1)]), None),
        "sample 0 is 0.125, but the loss takes numbers of classes": (data.TensorDataset([x], [x[:, 0] * 0 + 0.125]), None),
        "labels are class numbers .* got f32": (data.TensorDataset([x], [x]), None),
        "data to validate on do not fit": (train, data.TensorDataset([x[:, :2]], [y])),
        "data to validate on do not fit: .*labels": (train, data.TensorDataset([x], [x])),
        "sample 0 is 0.375, but the loss": (train, data.TensorDataset([x], [x[:, 0] * 0 + 0.375])),
        "data to validate on do not fit: metric accuracy": (train, data.TensorDataset([x])),
        "class 9 in row 0": (train, data.TensorDataset([x], [np.full(300, 9)])),
        "NaN": (train, data.TensorDataset([np.full((3, 3), np.nan, "float32")], [y[:3]])),
    }


@pytest.mark.parametrize("message", wrong_datasets())
def test_datasets_that_do_not_fit_are_refused_before_training(message):
    steps = []

    class Watch(thalweg.Callback):
        def on_step(self, state):
            steps.append(state.iteration)

    x, y = points()
    fitted = estimator(epochs=1).fit(x, y)
    expected, history = fitted.predict(x), fitted.history_
    train, validation = wrong_datasets()[message]
    with pytest.raises(thalweg.Error, match=message):
        fitted.set_params(callbacks=[Watch()]).fit(train, validation=validation)
    assert steps == []
    np.testing.assert_array_equal(fitted.predict(x), expected)
    assert fitted.history_ is history


def test_files_with_more_classes_than_the_model_are_refused_before_training(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{name}\tsome words\n" for name in "abc"))
    text = data.TextLines(str(lines), data.Vocabulary.from_file(str(lines)), 4)
    net = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(16, 2))
    with pytest.raises(ValueError, match="the data have the classes 0 to 2; the model has the classes 0 to 1"):
        thalweg.Estimator(net, progress="none").fit(text)
    for name in "abc":
        (tmp_path / "photos" / name).mkdir(parents=True)
        shutil.copy(ROOT / "tests/golden/images/photo.jpg", tmp_path / "photos" / name)
    photos = data.ImageFolder(str(tmp_path / "photos"), {"transforms": [{"name": "resize", "height": 8, "width": 8}]})
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 2))
    with pytest.raises(ValueError, match="the data have the classes 0 to 2; the model has the classes 0 to 1"):
        thalweg.Estimator(net, progress="none").fit(photos)


def test_inputs_by_name():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(1, 2)

        def forward(self, a, b):
            return self.head(a - b)

    x, y = points()
    left, right = x[:, :1], x[:, 2:]
    fitted = thalweg.Estimator(Sum(), epochs=20, learning_rate=0.05, metrics="accuracy", progress="none")
    fitted.fit({"left": left, "right": right}, y)
    assert [value.name for value in fitted.model_.graph.inputs] == ["left", "right"]
    assert fitted.score({"right": right, "left": left}, y) > 0.9


def test_scikit_learn_around_it():
    x, y = points()
    pipeline = make_pipeline(StandardScaler(), estimator())
    assert pipeline.fit(x * 100, y).score(x * 100, y) > 0.95
    scores = cross_val_score(estimator(), x, y, cv=3)
    assert len(scores) == 3 and min(scores) > 0.9
    copy = clone(estimator(epochs=7).set_params(batch_size=11))
    assert copy.get_params()["epochs"] == 7 and copy.batch_size == 11 and not hasattr(copy, "model_")
    # In order of their labels, plain folds would hold classes that the other folds lack.
    order = np.argsort(y)
    assert min(cross_val_score(estimator(), x[order], y[order], cv=2)) > 0.9
    parallel = cross_val_score(estimator(epochs=2), x, y, cv=2, n_jobs=2)
    np.testing.assert_allclose(parallel, cross_val_score(estimator(epochs=2), x, y, cv=2), atol=0.02)


def test_score_is_the_first_metric_and_higher_is_better():
    x, y = points()
    fitted = estimator(epochs=1, metrics=["accuracy", thalweg.metrics.top_k_accuracy(k=1)]).fit(x, y)
    assert fitted.score(x, y) == fitted.evaluate(x, y)["accuracy"]
    target = x[:, 0]
    regression = thalweg.Estimator(network(1), loss="mse", metrics=["mae"], progress="none").fit(x, target)
    assert regression.score(x, target) == -regression.evaluate(x, target)["mae"]


def test_saving(tmp_path):
    x, y = points()
    fitted = estimator(epochs=2).fit(x, y)
    fitted.save(str(tmp_path / "model.onnx"))
    single = x.astype("float32")
    np.testing.assert_allclose(thalweg.Model.load(str(tmp_path / "model.onnx"))(single), fitted.predict(x), rtol=1e-4, atol=1e-5)
    loaded = estimator().load(tmp_path / "model.onnx")
    np.testing.assert_allclose(loaded.predict(x), fitted.predict(x), rtol=1e-4, atol=1e-5)
    assert loaded.score(x, y) == fitted.score(x, y)
    fitted.save(tmp_path / "weights.safetensors")
    other = estimator().load(tmp_path / "weights.safetensors", x)
    np.testing.assert_array_equal(other.predict(x), fitted.predict(x))


def test_files_keep_the_columns_of_the_training_data(tmp_path):
    x, y = points()
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    other_order = frame[["c", "a", "b"]]
    fitted = estimator(epochs=2).fit(frame, y)
    expected = fitted.predict(frame)
    path = tmp_path / "model.onnx"
    fitted.save(path)
    loaded = estimator().load(path)
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(loaded.predict(other_order), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(thalweg.Model.load(path)(other_order), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(thalweg.Model.load(path)(x.astype("float32")), expected, rtol=1e-4, atol=1e-5)
    # What is given to save goes before; names that come twice and data without names leave none.
    fitted.save(path, data.columns_metadata(["u", "v", "w"]))
    assert data.columns_from_metadata(thalweg.Model.load(path).metadata) == ["u", "v", "w"]
    for unnamed in (pd.DataFrame(x, columns=["a", "b", "b"]), x):
        estimator(epochs=1).fit(unnamed, y).save(path)
        assert data.columns_from_metadata(thalweg.Model.load(path).metadata) is None
    assert not hasattr(fitted.load(path), "feature_names_in_")


def test_files_keep_the_columns_of_tables_in_files(tmp_path):
    frame, table = table_of_points(tmp_path)
    fitted = thalweg.Estimator(network(1), loss="mse", epochs=1, progress="none").fit(table("whole"))
    fitted.save(tmp_path / "model.onnx")
    expected = fitted.predict(frame[["x0", "x1", "x2"]].to_numpy())
    # All columns, in another order.
    given = thalweg.Model.load(tmp_path / "model.onnx")(frame[frame.columns[::-1]])
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(fitted.predict(frame[["x2", "x1", "x0"]]), expected)
    # A column of lists is none of numbers.
    lists = pa.table({"x": pa.array([[1.0, 2.0, 3.0]] * 9, pa.list_(pa.float32(), 3)), "y": [1.0] * 9})
    pq.write_table(lists, tmp_path / "lists.parquet")
    fitted.fit(data.Table(tmp_path / "lists.parquet", ["x"], "y"))
    assert not hasattr(fitted, "feature_names_in_")


def graph_of_three():
    graph = thalweg.Graph()
    x = graph.input("x", (None, 3))
    graph.mark_output(network()(nn.BatchNorm1d(3)(x)), "scores")
    return graph


@pytest.mark.parametrize("make", [network, graph_of_three, lambda: thalweg.Model(graph_of_three())])
def test_fitted_estimators_can_be_pickled_and_train_on(make):
    x, y = points()
    fitted = thalweg.Estimator(make(), epochs=2, metrics=["accuracy"], progress="none").fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))
    assert again.score(x, y) == fitted.score(x, y)
    assert again.history_.to_frame().equals(fitted.history_.to_frame())
    np.testing.assert_array_equal(again.fit(x, y).predict(x), fitted.fit(x, y).predict(x))
    assert len(cross_val_score(again, x, y, cv=2)) == 2


@pytest.mark.parametrize("workers", [None, 2])
def test_ctrl_c_leaves_a_usable_estimator(workers):
    class Interrupt(thalweg.Callback):
        def on_step(self, state):
            if state.iteration == 35:
                os.kill(os.getpid(), signal.SIGINT)

    x, y = points()
    before = set(multiprocessing.active_children())
    stopped = estimator(epochs=10**6, workers=workers, callbacks=[Interrupt()])
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(x, y)
    assert len(stopped.history_) == 3 and stopped.score(x, y) > 0.8
    assert set(multiprocessing.active_children()) <= before


def test_checkpoints_early_stopping_and_events(tmp_path):
    x, y = points()
    folder = str(tmp_path / "checkpoints")
    first = estimator(epochs=2, checkpoints=folder, tensorboard=str(tmp_path / "events"), early_stopping={"patience": 5})
    first.fit(x, y, validation=(x, y))
    resumed = estimator(epochs=3).fit(x, y, validation=(x, y), resume=folder)
    straight = estimator(epochs=3).fit(x, y, validation=(x, y))
    np.testing.assert_array_equal(resumed.predict(x), straight.predict(x))
    assert any((tmp_path / "events").iterdir())


def test_notebooks_get_a_line_that_changes(capsys):
    x, y = points()
    estimator(epochs=2, callbacks=[NotebookProgress()]).fit(x, y, validation=(x, y))
    shown = capsys.readouterr().out
    assert shown.startswith("\repoch 1/2  step 1") and "epoch 2/2" in shown and "validation accuracy" in shown


def test_workers_train_one_model():
    x, y = points()
    alone = estimator(epochs=3).fit(x, y)
    together = estimator(epochs=3, workers=3, scheme="allreduce").fit(x, y)
    np.testing.assert_allclose(together.predict(x), alone.predict(x), rtol=1e-3, atol=1e-4)
    assert len(together.history_) == 3


def test_the_reason_of_another_worker_is_told():
    def work(scheme):
        raise OSError("the disk of that worker is gone")

    with pytest.raises(thalweg.InputError, match="this one fails too; worker 1 failed: OSError: the disk of that worker"):
        with _workers.group(2, None, work):
            raise thalweg.InputError("this one fails too")
    with pytest.raises(thalweg.Error, match="worker 1 failed: OSError: the disk"):
        with _workers.group(2, None, work):
            pass


class OnlyElsewhere(thalweg.Callback):
    """Does something after the first step of the other workers."""

    def __init__(self, act):
        super().__init__()
        self.here = os.getpid()
        self.act = act

    def on_step(self, state):
        if os.getpid() != self.here:
            self.act()


def fail():
    raise OSError("the disk of that worker is gone")


@pytest.mark.parametrize(
    "act, told",
    [
        (lambda: os._exit(9), "worker 1 ended with status 9"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "worker 1 was killed by signal 9"),
        (fail, "worker 1 failed: OSError: the disk of that worker is gone"),
    ],
)
def test_fit_ends_soon_after_another_worker_is_gone(act, told):
    before = set(multiprocessing.active_children())
    start = time.monotonic()
    with pytest.raises(thalweg.Error, match=told):
        estimator(workers=np.int64(2), callbacks=[OnlyElsewhere(act)]).fit(*points())
    # Without a watch it takes the two minutes in which a group may form again.
    assert time.monotonic() - start < 60
    assert set(multiprocessing.active_children()) <= before
