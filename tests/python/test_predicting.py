"""Model.predict: raw data of every kind in, answers with names out; estimators from files alone."""

import gc
import pathlib
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import thalweg
from thalweg import data, nn

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "images"
PHOTOS = ("photo.jpg", "photo.png", "photo.bmp")
SIZE = {"transforms": [{"name": "resize", "height": 8, "width": 8}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of pictures, without classes."""
    path = tmp_path_factory.mktemp("photos")
    for name in PHOTOS:
        (path / name).write_bytes((GOLDEN / name).read_bytes())
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The file of a model of three kinds of pictures."""
    path = tmp_path_factory.mktemp("pictures")
    for name in ("ant", "bee", "fly"):
        (path / "train" / name).mkdir(parents=True)
        (path / "train" / name / "photo.jpg").write_bytes((GOLDEN / "photo.jpg").read_bytes())
    photos = data.ImageFolder(str(path / "train"), SIZE)
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 3))
    thalweg.Classifier(net, epochs=1, progress="none").fit(photos).save(path / "model.onnx")
    return path / "model.onnx"


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts")
    (path / "lines.txt").write_text("good\ta fine day\nbad\ta sad day\n" * 8)
    lines = data.TextLines(str(path / "lines.txt"), data.Vocabulary.from_file(str(path / "lines.txt")), 4)
    net = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(16, 2))
    fitted = thalweg.Classifier(net, epochs=40, learning_rate=0.05, progress="none").fit(lines)
    fitted.save(path / "model.onnx")
    return path / "model.onnx"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"city": ["Ulm", "Jena", "Bonn"] * 10, "size": rng.normal(size=30), "age": rng.integers(1, 9, 30)})


@pytest.fixture(scope="module")
def table(tmp_path_factory, frame):
    """The file of a model of a number, of a table with features."""
    features = data.Features([{"kind": "string_index", "column": "city"}, {"kind": "standard_scale", "column": "size"}])
    columns = features.fit(frame)
    x = data.stack_columns(columns, ["city", "size", "age"])
    fitted = thalweg.Estimator(nn.Linear(3, 1), loss="mse", epochs=1, progress="none").fit(x, x.sum(1, keepdims=True))
    path = tmp_path_factory.mktemp("table") / "model.onnx"
    fitted.save(path, features.metadata(["city", "size", "age"]))
    return path


def names(answer):
    return [name for name, _ in answer]


def assert_same_answer(a, b):
    assert names(a) == names(b)
    np.testing.assert_allclose([score for _, score in a], [score for _, score in b], rtol=1e-5)


def test_a_picture_in_every_form(pictures, folder):
    image = pytest.importorskip("PIL.Image")
    model = thalweg.load(pictures)
    path = folder / "photo.png"
    answer = model.predict(path)
    assert sorted(names(answer)) == ["ant", "bee", "fly"]
    scores = [score for _, score in answer]
    assert scores == sorted(scores, reverse=True) and sum(scores) == pytest.approx(1, abs=1e-5)
    with image.open(path) as opened:
        pixels = np.asarray(opened.convert("RGB"))
        for form in (str(path), path.read_bytes(), bytearray(path.read_bytes()), opened, pixels):
            assert_same_answer(model.predict(form), answer)
        both = model.predict([opened, path])
    assert len(both) == 2 and both[0] == both[1]
    assert_same_answer(both[0], answer)
    assert_same_answer(model.predict(np.stack([pixels, pixels]))[1], answer)
    assert_same_answer(model.predict(np.dstack([pixels, np.full(pixels.shape[:2], 7, "uint8")])), answer)
    grey = model.predict(pixels[:, :, 0])
    assert_same_answer(grey, model.predict(np.repeat(pixels[:, :, :1], 3, axis=2)))


def test_pictures_are_read_as_red_green_blue(pictures):
    """As the files of the folder that it was trained with are."""
    model = thalweg.load(pictures)
    red = np.zeros((8, 8, 3), "uint8")
    red[:, :, 0] = 255
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    given = ((red / 255 - mean) / deviation).transpose(2, 0, 1)[None].astype("float32")
    assert_same_answer(model.predict(red), model.predict(given)[0])


def test_a_folder_in_parts(pictures, folder):
    model = thalweg.load(pictures)
    together = model.predict(folder)
    assert len(together) == 3
    for answer, path in zip(model.predict(folder, batch_size=2), sorted(folder.iterdir())):
        assert_same_answer(answer, model.predict(path))
    assert names(model.predict(folder, top=1)[0]) == names(together[0])[:1]


def test_texts_in_every_form(texts, tmp_path):
    model = thalweg.load(texts)
    answer = model.predict("a fine day")
    assert names(answer)[0] == "good" and names(model.predict("a sad day"))[0] == "bad"
    lines = ["a sad day", "a fine day"]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    forms = (lines, tuple(lines), np.array(lines), np.array(lines, dtype=object), pd.Series(lines), pa.array(lines), tmp_path / "lines.txt")
    for form in forms:
        bad, good = model.predict(form)
        assert names(bad)[0] == "bad"
        assert_same_answer(good, answer)
    assert model.predict([]) == []


def test_rows_of_tables_in_every_form(table, frame, tmp_path):
    model = thalweg.load(table)
    expected = model(frame)[:, 0]
    answer = model.predict(frame)
    assert answer.shape == (30,)
    np.testing.assert_allclose(answer, expected, rtol=1e-6)
    arrow = pa.Table.from_pandas(frame)
    pyarrow.csv.write_csv(arrow, str(tmp_path / "rows.csv"))
    columns = {name: frame[name].tolist() for name in frame}
    for form in (arrow, columns, frame.to_dict("records"), tmp_path / "rows.csv", frame[["age", "city", "size"]]):
        np.testing.assert_allclose(model.predict(form), expected, rtol=1e-5)
    assert model.predict(frame.to_dict("records")[4]) == pytest.approx(expected[4], rel=1e-5)


def test_arrays_as_the_model_takes_them(perceptron):
    x = np.arange(8.0).reshape(2, 4)
    answer = perceptron.predict(x)
    np.testing.assert_array_equal(answer, perceptron(x.astype("float32")))
    np.testing.assert_array_equal(perceptron.predict(x.tolist()), answer)
    ranked = perceptron.predict(x, top=2)
    best = answer.argmax(1)
    assert [row[0][0] for row in ranked] == [str(number) for number in best] and len(ranked[0]) == 2


def test_one_sample_needs_no_batch(perceptron):
    rows = np.random.default_rng(0).normal(size=(3, *perceptron.inputs[0].shape[1:])).astype("float32")
    np.testing.assert_array_equal(perceptron.predict(rows[1]), perceptron.predict(rows[1:2])[0])


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 1000])
def test_many_rows_go_in_parts(perceptron, rows):
    x = np.random.default_rng(0).normal(size=(rows, 4)).astype("float32")
    answer = perceptron.predict(x)
    assert len(answer) == rows
    np.testing.assert_allclose(np.ravel(answer), np.ravel(perceptron(x)), rtol=1e-5, atol=1e-6)


def test_models_are_let_go_of(texts):
    model = thalweg.load(texts)
    model.predict("a fine day")
    known = weakref.ref(model)
    del model
    gc.collect()
    assert known() is None


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_what_has_no_rows_is_found_one_by_one(rows):
    """As what is found in each picture: also where the answer is by chance as long as there are rows."""
    graph = thalweg.Graph()
    (columns,) = graph.add("transpose", [graph.input("x", (None, 3))], {"permutation": [1, 0]})
    graph.mark_output(columns, "columns")
    x = np.arange(12, dtype="float32").reshape(4, 3)[:rows]
    answer = thalweg.Model(graph).predict(x)
    assert len(answer) == rows
    for found, row in zip(answer, x):
        np.testing.assert_array_equal(np.ravel(found), row)


def test_several_outputs_have_their_names():
    class Both(nn.Module):
        def forward(self, x):
            return {"sum": x.sum([1]), "double": x + x}

    model = thalweg.Model(Both(), [thalweg.Input((None, 3))])
    answer = model.predict(np.ones((2, 3)))
    assert answer["sum"].tolist() == [3, 3] and answer["double"].shape == (2, 3)


def test_models_of_a_fixed_batch():
    model = thalweg.Model(nn.Linear(3, 2), [thalweg.Input((2, 3))])
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    expected = np.concatenate([model(x[:2]), model(x[2:4]), model(x[[4, 4]])[:1]])
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-6)


MISTAKES = {
    "a picture for texts": ("texts", GOLDEN / "photo.png", "photo.png: is no text in UTF-8"),
    "a file of texts that is missing": ("texts", pathlib.Path("no/such.txt"), "no/such.txt: No such file"),
    "a number among texts": ("texts", ["fine", 3], "row 1 holds 3, which is no text"),
    "pictures for texts": ("texts", [b"abc"], "row 0 holds b'abc', which is no text"),
    "a frame for texts": ("texts", pd.DataFrame({"a": [1]}), "the model's file says that it takes texts; give the column"),
    "a missing file": ("pictures", "no/such.jpg", "no/such.jpg: No such file"),
    "no picture": ("pictures", b"abc", "picture 0: "),
    "pixels of numbers": ("pictures", [np.zeros((2, 2, 2, 2), "uint8")], "takes f32"),
    "a frame for pictures": ("pictures", pd.DataFrame({"a": [1]}), "it takes pictures"),
    "a text for a table": ("table", "Ulm", "'Ulm': the model's file says that it takes columns"),
    "a column is missing": ("table", {"city": "Ulm", "age": 3}, "size"),
    "a row lacks a column": ("table", [{"city": "Ulm", "age": 3, "size": 1.0}, {"city": "Ulm"}], "row 1 has no 'age'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_explained(mistake, request):
    model, given, message = MISTAKES[mistake]
    with pytest.raises((thalweg.Error, ValueError), match=message):
        thalweg.load(request.getfixturevalue(model)).predict(given)


def test_a_file_that_says_nothing_of_pictures(folder):
    model = thalweg.Model(nn.Sequential(nn.Flatten(), nn.Linear(192, 3)), [thalweg.Input((None, 3, 8, 8))])
    with pytest.warns(RuntimeWarning, match="does not say how images become its input"):
        assert model.predict(folder / "photo.jpg").shape == (3,)
    free = thalweg.Model(nn.Conv2d(3, 1, 1), [thalweg.Input((None, 3, None, None))])
    with pytest.raises(ValueError, match="takes images of any size"):
        free.predict(folder / "photo.jpg")


@pytest.mark.parametrize("top", [0, -1])
def test_top_must_be_positive(pictures, top):
    with pytest.raises(ValueError, match=f"top is {top}"):
        thalweg.load(pictures).predict(np.zeros((8, 8, 3), "uint8"), top=top)


def test_estimators_from_files_alone(pictures, table, frame):
    classifier = thalweg.Classifier.load(pictures)
    assert classifier.classes_.tolist() == ["ant", "bee", "fly"]
    x = np.random.default_rng(0).normal(size=(4, 3, 8, 8))
    assert set(classifier.predict(x)) <= {"ant", "bee", "fly"} and classifier.predict_proba(x).shape == (4, 3)
    estimator = thalweg.Estimator.load(table, loss="mse", epochs=1, progress="none")
    assert estimator.loss == "mse" and estimator.feature_names_in_.tolist() == ["city", "size", "age"]
    before = estimator.model_.state_dict()
    rows = np.random.default_rng(1).normal(size=(8, 3))
    estimator.fit(rows, rows.sum(1, keepdims=True))
    assert any((estimator.model_.state_dict()[name] != value).any() for name, value in before.items())
    with pytest.raises(ValueError, match="holds weights only: make the Classifier with its module"):
        thalweg.Classifier.load("weights.safetensors")
