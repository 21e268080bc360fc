"""Classifier: labels of any kind, and scikit-learn around it."""

import pathlib
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thalweg
from thalweg import data, nn

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "images"

def points(count=300):
    x = np.random.default_rng(0).normal(size=(count, 3))
    return x, np.digitize(x[:, 0] - x[:, 2], [-0.7, 0.7])


def network(outputs=3):
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, outputs))


def classifier(outputs=3, **options):
    given = {"epochs": 15, "learning_rate": 0.02, "batch_size": 32, "progress": "none"}
    return thalweg.Classifier(network(outputs), **{**given, **options})


NAMES = np.array(["low", "middle", "high"])


@pytest.mark.parametrize(
    "label",
    [
        lambda y: y,
        lambda y: y + 5,
        lambda y: y.astype("float64"),
        lambda y: NAMES[y],
        lambda y: NAMES[y].astype(object),
        lambda y: NAMES[y].tolist(),
        lambda y: pd.Series(NAMES[y]),
        lambda y: pa.array(NAMES[y].tolist()),
        lambda y: pd.DataFrame({"label": y}),
    ],
)
def test_labels_of_any_kind(label):
    x, y = points()
    given = label(y)
    fitted = classifier().fit(x, given, validation=(x[:50], given[:50]))
    labels = np.asarray(given).reshape(-1)
    np.testing.assert_array_equal(fitted.classes_, np.unique(labels))
    assert accuracy_score(labels, fitted.predict(x)) == fitted.score(x, given) > 0.9
    likely = fitted.predict_proba(x)
    np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(fitted.classes_[likely.argmax(axis=1)], fitted.predict(x))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))


def test_class_numbers_stay_the_columns_of_the_model():
    x, y = points()
    y = np.where(y == 2, 3, y)
    fitted = classifier(outputs=5).fit(x, y)
    assert fitted.classes_.tolist() == [0, 1, 3] and fitted.predict_proba(x).shape == (300, 3)
    np.testing.assert_array_equal(fitted.model_(x.astype("float32"))[:, [0, 1, 3]].argmax(axis=1), np.searchsorted([0, 1, 3], fitted.predict(x)))
    assert fitted.score(x, np.full(300, 4)) == 0.0


@pytest.mark.parametrize("loss", ["bce_with_logits", nn.BCEWithLogitsLoss(pos_weight=[2.0])])
def test_two_classes_in_one_column(loss):
    x, y = points()
    names = np.where(y > 0, "yes", "no")
    fitted = classifier(outputs=1, loss=loss).fit(x, names)
    assert fitted.score(x, names) == accuracy_score(names, fitted.predict(x)) > 0.85
    assert fitted.predict_proba(x).shape == (300, 2)


def test_scikit_learn_around_it():
    x, y = points()
    order = np.argsort(y)
    x, names = x[order], NAMES[y[order]]
    assert is_classifier(classifier())
    assert min(cross_val_score(classifier(), x, names, cv=3)) > 0.85
    assert min(cross_val_score(make_pipeline(StandardScaler(), classifier()), x, names, cv=3, scoring="accuracy")) > 0.85
    assert min(cross_val_score(classifier(), x, names, cv=2, scoring="roc_auc_ovr")) > 0.9
    assert cross_val_predict(classifier(epochs=2), x, names, cv=2, method="predict_proba").shape == (300, 3)
    search = GridSearchCV(classifier(), {"epochs": [1, 15]}, cv=2).fit(x, names)
    assert search.best_params_ == {"epochs": 15} and search.classes_.tolist() == sorted(NAMES)
    assert not hasattr(clone(search.best_estimator_), "classes_")


def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    x, y = points()
    x[np.abs(x) < 0.3] = 0
    fitted = classifier().fit(sparse.csr_matrix(x), y)
    assert fitted.score(sparse.csc_matrix(x), y) == fitted.score(x, y) > 0.8
    with pytest.raises(thalweg.InputError, match="sparse matrix of complex128"):
        fitted.predict(sparse.csr_matrix(x * 1j))


def test_what_was_not_fitted_says_so():
    for ask in (classifier().predict, classifier().predict_proba):
        with pytest.raises(thalweg.InputError, match="not been fitted"):
            ask(points()[0])


def test_data_that_hold_their_targets():
    x, y = points()
    fitted = classifier().fit(data.TensorDataset([x.astype("float32")], [y]))
    assert fitted.classes_.tolist() == [0, 1, 2] and fitted.score(x, y) > 0.9


def test_misuse():
    x, y = points()
    fitted = classifier(epochs=1).fit(x, y)
    before = fitted.predict(x)
    for change, message in [
        (lambda: (x, NAMES[y[:-1]]), "299 rows"),
        (lambda: (x, np.arange(300)), "y holds 300 classes; the model has columns for 3"),
        (lambda: (x, np.stack([y, y], axis=1)), "one label for each row"),
        (lambda: (x, np.where(y > 0, np.nan, 0)), "NaN"),
        (lambda: (x, np.array([1, "a"] * 150, dtype=object)), "cannot be sorted"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted.fit(*change())
        assert fitted.classes_.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(fitted.predict(x), before)
    with pytest.raises(ValueError, match="'b', which is no class of the training data"):
        classifier(epochs=1).fit(x, NAMES[y]).score(x[:2], ["low", "b"])
    with pytest.raises(ValueError, match="column.* of scores and the loss is"):
        classifier(outputs=1).fit(x, y)


def test_a_file_keeps_the_labels(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    fitted = thalweg.Classifier(nn.Linear(2, 3), epochs=1, progress="none").fit(x, y)
    fitted.save(tmp_path / "model.onnx")
    assert data.class_names_from_metadata(thalweg.Model.load(str(tmp_path / "model.onnx")).metadata) == ["a", "b", "c"]
    again = thalweg.Classifier(nn.Linear(2, 3)).load(tmp_path / "model.onnx")
    assert again.classes_.tolist() == ["a", "b", "c"]
    assert again.predict(x).tolist() == fitted.predict(x).tolist()


@pytest.mark.parametrize("labels, names", [([5, 7], ["5", "7", "2"]), ([True, False], ["False", "True", "2"]), ([0, 2], [])])
def test_other_programs_find_names_for_labels_that_are_no_columns(tmp_path, labels, names):
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.array(labels)[np.arange(40) % 2]
    fitted = thalweg.Classifier(nn.Linear(2, 3), epochs=1, progress="none").fit(x, y)
    fitted.save(tmp_path / "model.onnx")
    assert data.class_names_from_metadata(thalweg.Model.load(str(tmp_path / "model.onnx")).metadata) == names
    again = thalweg.Classifier(nn.Linear(2, 3)).load(tmp_path / "model.onnx")
    assert again.classes_.tolist() == sorted(labels) and again.classes_.dtype.kind == y.dtype.kind


def test_probabilities_of_a_model_that_gives_them_stay_what_they_are():
    x, y = points(60)
    net = nn.Sequential(nn.Linear(3, 3), nn.Softmax(1))
    fitted = thalweg.Classifier(net, epochs=1, progress="none").fit(x, y)
    np.testing.assert_allclose(fitted.predict_proba(x), fitted.model_(x.astype("float32")), rtol=1e-5)
    net = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
    binary = thalweg.Classifier(net, loss="bce", epochs=1, progress="none").fit(x, y > 0)
    np.testing.assert_allclose(binary.predict_proba(x)[:, 1:], binary.model_(x.astype("float32")), rtol=1e-5)


def test_classes_that_the_data_name(tmp_path):
    for name, source in {"cat": "photo.jpg", "dog": "photo.png"}.items():
        (tmp_path / name).mkdir()
        for copy in range(3):
            (tmp_path / name / f"{copy}_{source}").write_bytes((GOLDEN / source).read_bytes())
    photos = data.ImageFolder(str(tmp_path), {"transforms": [{"name": "resize", "height": 8, "width": 8}]})
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    fitted = thalweg.Classifier(net, epochs=1, progress="none").fit(data.Subset(photos, range(1, 6)))
    assert fitted.classes_.tolist() == ["cat", "dog"] and set(fitted.predict(photos)) <= {"cat", "dog"}
    fitted.save(tmp_path / "model.onnx")
    metadata = thalweg.Model.load(str(tmp_path / "model.onnx")).metadata
    assert metadata["thalweg.preprocessing"] == photos.metadata["thalweg.preprocessing"]
    assert thalweg.Classifier(net).load(tmp_path / "model.onnx").classes_.tolist() == ["cat", "dog"]
    # What a fit to other data knows is not that of this one.
    fitted.fit(np.zeros((4, 3, 8, 8)), [0, 1, 0, 1]).save(tmp_path / "other.onnx")
    assert "thalweg.preprocessing" not in thalweg.Model.load(str(tmp_path / "other.onnx")).metadata


def test_columns_are_found_by_name():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    fitted = thalweg.Classifier(nn.Linear(3, 2), epochs=1, progress="none").fit(frame, frame["a"] > 0)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    for other in (frame[["c", "a", "b"]], pa.Table.from_pandas(frame[["b", "a", "c"]])):
        np.testing.assert_array_equal(fitted.predict_proba(other), fitted.predict_proba(frame))
    with pytest.raises(ValueError, match="missing: c; not known: d"):
        fitted.predict(frame.rename(columns={"c": "d"}))
    fitted.fit(frame.to_numpy(), frame["a"] > 0)
    assert not hasattr(fitted, "feature_names_in_")
