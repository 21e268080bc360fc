"""Images in DataFrames: files spread by bytes, preprocessing that the model carries, bad files."""

import json
import pathlib
import shutil

import numpy as np
import pytest

import thalweg
import thalweg.spark
from thalweg import nn

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "images"
PREPROCESSING = {"transforms": [{"name": "center_crop", "height": 8, "width": 8}],
                 "output": {"mean": [0.5], "deviation": [0.25]}}


def pixels(name):
    """What a golden image was decoded to elsewhere, [height, width, 3]."""
    data = (IMAGES / f"{name}.idx").read_bytes()
    shape = np.frombuffer(data, ">i4", 3, offset=4)
    return np.frombuffer(data, "u1", offset=16).reshape(shape)


def model_input(image):
    top, left = (round((side - 8) / 2) for side in image.shape[:2])
    part = image[top:top + 8, left:left + 8].astype("float32") / 255
    return ((part - 0.5) / 0.25).transpose(2, 0, 1)[None]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A model of images of 8 x 8 that says how they become its input, and what its classes are called."""
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    path = tmp_path_factory.mktemp("models") / "images.onnx"
    thalweg.Model(net, [thalweg.Input((None, 3, 8, 8))]).save(
        str(path), {"thalweg.preprocessing": json.dumps(PREPROCESSING), "thalweg.class_names": '["dog", "cat"]'})
    return path, thalweg.Model.load(str(path))


@pytest.fixture
def folder(tmp_path):
    for i in range(12):
        (tmp_path / f"class{i % 2}").mkdir(exist_ok=True)
        shutil.copy(IMAGES / "photo.png", tmp_path / f"class{i % 2}" / f"{i}.png")
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


def test_files_become_predictions(spark, classifier, folder):
    path, model = classifier
    frame = thalweg.spark.read_images(spark, folder)
    assert frame.columns == spark.read.format("binaryFile").load(str(folder / "class0")).columns
    stage = thalweg.spark.Model.load(path, input_cols=["content"], output_cols=["scores", "name"],
                                     output_kinds=["array", "label"])
    rows = stage.transform(frame).select("path", "scores", "name").collect()
    assert len({row.path for row in rows}) == 12
    expected = model(model_input(pixels("photo.png")))[0]
    np.testing.assert_allclose([row.scores for row in rows], np.tile(expected, (12, 1)), rtol=1e-4, atol=1e-5)
    assert {row.name for row in rows} == {["dog", "cat"][expected.argmax()]}


def test_sparks_image_schema(spark, classifier, folder):
    path, model = classifier
    frame = spark.read.format("image").load(str(folder / "class0"))
    rows = thalweg.spark.Model.load(path, input_cols=["image"], output_cols=["scores"]).transform(frame).collect()
    expected = model(model_input(pixels("photo.png")))[0]
    np.testing.assert_allclose([row.scores for row in rows], np.tile(expected, (6, 1)), rtol=1e-4, atol=1e-5)


def test_files_are_spread_by_bytes(spark, folder):
    (folder / "class0" / "large.png").write_bytes(b"x" * 3_000_000)
    for count, largest in ((2, 3_000_000), (4, 3_000_000)):
        parts = thalweg.spark.read_images(spark, folder, partitions=count).select("length").rdd.glom().collect()
        sizes = sorted(sum(row.length for row in part) for part in parts)
        assert len(sizes) == count
        assert sizes[-1] == largest  # alone in its partition
    with pytest.raises(Exception, match="holds no images"):
        thalweg.spark.read_images(spark, folder / "notes.txt")
    with pytest.raises(Exception, match="there is no .*nowhere"):
        thalweg.spark.read_images(spark, folder / "nowhere")


def test_a_corrupt_file_is_named_or_skipped(spark, classifier, folder):
    (folder / "class1" / "bad.jpg").write_bytes((IMAGES / "photo.jpg").read_bytes()[:200])
    frame = thalweg.spark.read_images(spark, folder, partitions=1)
    stage = thalweg.spark.Model.load(classifier[0], input_cols=["content"], output_cols=["scores"], spread=False)
    with pytest.raises(Exception) as caught:
        stage.transform(frame).collect()
    assert "of partition 0: column 'content' (file:" in str(caught.value) and "class1/bad.jpg" in str(caught.value)
    skipping = stage.copy().configure(bad_rows="skip", batch_size=4)
    assert len(skipping.transform(frame).collect()) == 12


def test_preprocessing_has_to_fit(spark, classifier, perceptron, folder):
    frame = thalweg.spark.read_images(spark, folder)
    with pytest.raises(Exception, match="does not say how they become its input"):
        thalweg.spark.Model.load(perceptron[0], input_cols=["content"]).transform(frame)
    larger = json.dumps({"transforms": [{"name": "center_crop", "height": 9, "width": 9}]})
    with pytest.raises(Exception, match=r"makes F32\[3, 9, 9\] of an image, which is not what the model's input"):
        thalweg.spark.Model.load(classifier[0], input_cols=["content"], preprocessing=larger).transform(frame)
