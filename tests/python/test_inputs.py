"""What people hand to estimators: whole numbers, loaders, paths, and settings that make no sense."""

import os
import pathlib
import signal
import sys
import threading
import types

import numpy as np
import pytest

import thalweg
from thalweg import _inputs, data, nn
from thalweg.progress import NotebookProgress

X = np.random.default_rng(0).integers(0, 9, (60, 4))
Y = (X[:, 0] > X[:, 1]).astype("int64")


def estimator(net=None, **options):
    return thalweg.Estimator(net or nn.Linear(4, 2), **{"epochs": 2, "progress": "none", **options})


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float64", "bool"])
def test_numbers_of_every_type_are_the_same_numbers(dtype):
    x = X % 2 if dtype == "bool" else X
    expected = estimator().fit(x.astype("float32"), Y).predict(x.astype("float32"))
    given = x.astype(dtype)
    np.testing.assert_array_equal(estimator().fit(given, Y).predict(given), expected)


def test_whole_numbers_remain_what_an_embedding_looks_up():
    net = nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(12, 2))
    assert estimator(net).fit(X, Y).model_.graph.inputs[0].dtype == "int64"


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_a_wrong_number_of_columns_is_a_value_error(dtype):
    with pytest.raises(thalweg.InputError, match="does not fit X"):
        estimator(nn.Linear(5, 2)).fit(X.astype(dtype), Y)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_datasets_of_another_type_are_a_value_error(dtype):
    with pytest.raises(thalweg.InputError, match=r"takes f32\[\?,4\], got"):
        estimator().fit(data.TensorDataset([X.astype(dtype)], [Y]))


class Loader:
    """What estimators use of PyTorch's DataLoader."""

    def __init__(self, *arrays):
        self.dataset = list(zip(*arrays))

    def collate_fn(self, samples):
        return [np.stack(column) for column in zip(*samples)]


@pytest.fixture
def loaders(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.data", types.SimpleNamespace(DataLoader=Loader))
    assert _inputs.is_loader(Loader(X, Y))


@pytest.mark.parametrize("y", [Y, Y.astype("float32"), Y.astype("int32"), Y > 0], ids=["i64", "f32", "i32", "bool"])
def test_loaders_are_fitted_like_arrays(loaders, y):
    wide = X.astype("float64")
    expected = estimator().fit(wide, Y).predict(wide)
    fitted = estimator().fit(Loader(wide, y))
    np.testing.assert_array_equal(fitted.predict(Loader(wide, y)), expected)


def test_loaders_may_have_one_number_for_each_row(loaders):
    wide = X.astype("float64")
    fitted = estimator(nn.Linear(4, 1), loss="mse").fit(Loader(wide, wide[:, 0]))
    expected = estimator(nn.Linear(4, 1), loss="mse").fit(wide, wide[:, 0])
    np.testing.assert_array_equal(fitted.predict(wide), expected.predict(wide))


def test_paths_may_be_objects(tmp_path):
    x = X.astype("float32")
    fitted = estimator(checkpoints=tmp_path / "kept", tensorboard=tmp_path / "events").fit(x, Y)
    estimator().fit(x, Y, resume=tmp_path / "kept")
    fitted.model_.save(tmp_path / "model.onnx")
    fitted.model_.save_weights(tmp_path / "model.safetensors")
    fitted.model_.load_weights(tmp_path / "model.safetensors")
    loaded = thalweg.Model.load(tmp_path / "model.onnx")
    loaded.save(tmp_path / "again.onnx")
    thalweg.Model.load(tmp_path / "again.onnx")
    np.testing.assert_allclose(loaded(x), fitted.predict(x), rtol=1e-4, atol=1e-5)
    (tmp_path / "table.csv").write_text("a,y\n1,0\n2,1\n")
    assert len(data.Table(tmp_path / "table.csv", ["a"], "y")) == 2
    with pytest.raises(thalweg.Error, match="absent"):
        data.ImageFolder(pathlib.Path(tmp_path / "absent"))


def test_arrays_need_no_list_around_them():
    assert data.TensorDataset(X, Y).target_types == data.TensorDataset([X], [Y]).target_types


class TorchModule:
    pass


TorchModule.__module__ = "torch.nn.modules.module"


@pytest.mark.parametrize(
    "make, error, told",
    [
        (lambda: estimator(TorchModule()).fit(X, Y), TypeError, "thalweg.from_torch"),
        (lambda: estimator(seed=-1).fit(X, Y), ValueError, "seed is -1"),
        (lambda: estimator(workers="two").fit(X, Y), ValueError, "workers is 'two'"),
        (lambda: thalweg.Model(nn.Linear(4, 2)), TypeError, "for certain inputs"),
        (lambda: thalweg.Input((-5, 4)), ValueError, "holds -5"),
        (lambda: nn.BatchNorm2d(4, track_running_stats=False), ValueError, "running statistics"),
    ],
)
def test_settings_that_make_no_sense_are_told(make, error, told):
    with pytest.raises(error, match=told):
        make()


def test_threads_are_not_negative(tmp_path):
    thalweg.Model(nn.Linear(4, 2), [thalweg.Input((None, 4))]).save(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="threads is -1"):
        thalweg.Model.load(tmp_path / "model.onnx", threads=-1)


def test_layers_take_what_those_of_pytorch_do():
    for layer in (nn.LeakyReLU(0.1, inplace=True), nn.ELU(inplace=True), nn.CELU(1.0, True)):
        thalweg.Model(layer, [thalweg.Input((None, 4))])
    nn.BatchNorm2d(4, track_running_stats=True)


def test_a_shorter_line_covers_a_longer_one(capsys):
    class State:
        def progress_text(self):
            return "a long line"

        def epoch_text(self):
            return "short"

    progress = NotebookProgress()
    progress.on_step(State())
    progress.on_epoch(State())
    progress.on_message("told")
    assert capsys.readouterr().out == "\ra long line\rshort      \n\rtold\n"


def test_ctrl_c_ends_the_search_for_a_learning_rate():
    x = np.zeros((64, 4), "float32")
    model = thalweg.Model(nn.Linear(4, 2), [thalweg.Input((None, 4))])
    before = model.state_dict()
    calls = []

    def fetch(indices):
        calls.append(indices)
        if len(calls) == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return [x[indices]], [np.zeros(len(indices), "int64")]

    with pytest.raises(KeyboardInterrupt):
        thalweg.find_learning_rate(model, None, None, data.FunctionDataset(fetch, 64), batch_size=8, steps=10**6)
    assert threading.current_thread() is threading.main_thread()
    for name, weight in model.state_dict().items():
        np.testing.assert_array_equal(weight, before[name])
