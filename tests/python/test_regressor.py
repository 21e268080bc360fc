"""Regression: numbers in their own unit, scaled targets inside the model, scikit-learn's calls."""

import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, cross_val_score

import thalweg
from thalweg import data, nn


def houses(rows=240, seed=0):
    """Prices far from 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return x, 250_000 + 60_000 * x[:, 0] - 20_000 * x[:, 1] + rng.normal(size=rows) * 500


def regressor(model=None, **options):
    return thalweg.Regressor(model or nn.Linear(3, 1), **{"epochs": 40, "learning_rate": 0.05, "progress": "none", **options})


def test_numbers_far_from_one_are_learnt():
    x, y = houses()
    fitted = regressor().fit(x, y)
    predicted = fitted.predict(x)
    assert predicted.shape == y.shape
    assert fitted.score(x, y) == pytest.approx(r2_score(y, predicted), abs=1e-5) and fitted.score(x, y) > 0.98
    found = regressor(metrics=["rmse", "mape", "r2"]).fit(x, y).evaluate(x, y)
    assert found["rmse"] == pytest.approx(root_mean_squared_error(y, fitted.predict(x)), rel=0.5)
    assert found["r2"] > 0.98 and found["mape"] < 0.05
    assert found["loss"] == pytest.approx(found["rmse"] ** 2, rel=1e-3), "evaluate speaks the target's unit"
    assert fitted.history_[-1].loss < 1, "and the history that of scaled targets"
    assert regressor(scale_target=False).fit(x, y).score(x, y) < 0, "which is why they are scaled"


def test_the_scale_is_in_the_file(tmp_path):
    x, y = houses()
    fitted = regressor().fit(x, y)
    fitted.save(tmp_path / "houses.onnx")
    expected = fitted.predict(x)
    np.testing.assert_allclose(thalweg.load(tmp_path / "houses.onnx")(x.astype("float32"))[:, 0], expected, rtol=1e-5)
    again = thalweg.Regressor.load(tmp_path / "houses.onnx")
    np.testing.assert_allclose(again.predict(x), expected, rtol=1e-5)
    assert again.score(x, y) == pytest.approx(fitted.score(x, y), abs=1e-5)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(tmp_path / "houses.onnx"))
    (answer,) = session.run(None, {session.get_inputs()[0].name: x.astype("float32")})
    np.testing.assert_allclose(answer[:, 0], expected, rtol=1e-5)


def test_as_scikit_learn_expects():
    x, y = houses()
    assert is_regressor(regressor())
    assert clone(regressor(scale_target=False)).scale_target is False
    assert cross_val_score(regressor(epochs=30), x, y, cv=3).min() > 0.9
    search = GridSearchCV(regressor(), {"learning_rate": [1e-6, 0.05]}, cv=2).fit(x, y)
    assert search.best_params_ == {"learning_rate": 0.05} and search.best_score_ > 0.9


@pytest.mark.parametrize("form", ["frame", "column", "dataset"])
def test_targets_of_every_form(form):
    x, y = houses()
    if form == "dataset":
        fitted = regressor().fit(data.TensorDataset([x.astype("float32")], [y.astype("float32")]))
    else:
        fitted = regressor().fit(pd.DataFrame(x, columns=list("abc")), pd.Series(y) if form == "frame" else y[:, None])
    names = pd.DataFrame(x, columns=list("abc")) if form != "dataset" else x
    assert r2_score(y, fitted.predict(names)) > 0.98


def test_weights_alone_bring_their_scale(tmp_path):
    x, y = houses()
    fitted = regressor().fit(x, y)
    fitted.save(tmp_path / "weights.safetensors")
    again = regressor().load(tmp_path / "weights.safetensors", x)
    np.testing.assert_allclose(again.predict(x), fitted.predict(x), rtol=1e-5)


def test_a_run_goes_on_with_the_scale_that_it_had(tmp_path):
    x, y = houses()
    options = {"checkpoints": str(tmp_path), "metrics": ["r2"]}
    expected = regressor(epochs=40, **options).fit(x, y).model_.state_dict()
    # The data are others meanwhile, of another mean.
    again = regressor(epochs=41, **options).fit(x, y + 300_000, resume=str(tmp_path)).model_.state_dict()
    for name in ("target.mean", "target.deviation"):
        np.testing.assert_array_equal(again[name], expected[name])


class Loader:
    """What estimators use of PyTorch's DataLoader."""

    def __init__(self, *arrays):
        self.dataset = list(zip(*arrays))

    def collate_fn(self, samples):
        return [np.stack(column) for column in zip(*samples)]


def test_targets_of_loaders_are_scaled(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.data", types.SimpleNamespace(DataLoader=Loader))
    x, y = houses()
    assert regressor().fit(Loader(x.astype("float32"), y.astype("float32"))).score(x, y) > 0.98


def test_several_columns_have_scales_of_their_own():
    x, y = houses()
    both = np.stack([y, x[:, 2] / 1000], axis=1)
    fitted = regressor(nn.Linear(3, 2)).fit(x, both)
    assert fitted.predict(x).shape == both.shape
    assert r2_score(both, fitted.predict(x), multioutput="raw_values").min() > 0.95
    assert fitted.score(x, both) == pytest.approx(r2_score(both, fitted.predict(x)), abs=1e-4)


@pytest.mark.parametrize("loss", ["l1", "smooth_l1", "huber", "log_cosh"])
def test_other_losses(loss):
    x, y = houses()
    assert regressor(loss=loss, epochs=80).fit(x, y).score(x, y) > 0.9


def test_a_column_that_is_always_the_same():
    x, _ = houses(40)
    np.testing.assert_allclose(regressor(epochs=5).fit(x, np.full(40, 7.0)).predict(x), 7, atol=2)


def test_a_model_is_trained_on_as_it_is():
    x, y = houses()
    model = thalweg.Model(nn.Linear(3, 1), [thalweg.Input((None, 3))])
    scaled = (y - y.mean()) / y.std()
    fitted = regressor(model).fit(x, scaled)
    assert fitted.model_ is model and fitted.score(x, scaled) > 0.98
    fitted = regressor(model, epochs=1).fit(x, scaled)
    assert fitted.score(x, scaled) > 0.98


MISTAKES = {
    "NaN in the target": (lambda x, y: (x, np.where(np.arange(len(y)) == 3, np.nan, y)), "the target holds NaN"),
    "a text target": (lambda x, y: (x, ["a"] * len(y)), "texts, not numbers|holds texts"),
    "rows that differ": (lambda x, y: (x, y[:-1]), "rows"),
    "no rows": (lambda x, y: (x[:0], y[:0]), "there are no samples to train on"),
    "no target": (lambda x, y: (x, None), "there are no targets"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_explained(mistake):
    spoil, message = MISTAKES[mistake]
    with pytest.raises((thalweg.Error, ValueError), match=message):
        regressor(epochs=1).fit(*spoil(*houses(40)))
