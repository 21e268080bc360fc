"""Training on images in a DataFrame: files, Spark's image schema, bad files."""

import numpy as np
import pytest
from test_images import IMAGES, PREPROCESSING, folder  # noqa: F401: a fixture

import thalweg
import thalweg.spark
from thalweg import nn


def estimator(column, **params):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    return thalweg.spark.Estimator(
        net, inputs=[thalweg.Input((None, 3, 8, 8))], feature_cols=[column], label_cols=["label"], loss="cross_entropy",
        optimizer="adam", epochs=2, batch_size=4, num_workers=2, threads=1, preprocessing=PREPROCESSING,
        class_names=["dog", "cat"], output_cols=["name"], output_kinds=["label"], **params)


def labelled(frame, path):
    return frame.selectExpr("*", f"if({path} like '%class1%', 1, 0) as label")


def test_files_of_images(spark, folder, tmp_path_factory):  # noqa: F811
    frame = labelled(thalweg.spark.read_images(spark, folder), "path")
    model = estimator("content").fit(frame)
    assert {row.name for row in model.transform(frame).collect()} <= {"dog", "cat"}
    path = tmp_path_factory.mktemp("trained") / "model.onnx"
    model.save_onnx(path.as_uri())
    assert thalweg.Model.load(str(path))(np.zeros((1, 3, 8, 8), "float32")).shape == (1, 2)


def test_sparks_image_schema(spark, folder):  # noqa: F811
    frame = labelled(spark.read.format("image").load(str(folder / "class0")), "image.origin")
    by_schema = estimator("image").fit(frame)
    files = labelled(thalweg.spark.read_images(spark, folder / "class0"), "path")
    assert by_schema.transform(files.withColumnRenamed("content", "image")).count() == 6


def test_augmentation_is_for_training_only(spark, folder):  # noqa: F811
    frame = labelled(thalweg.spark.read_images(spark, folder), "path")
    transforms = [{"name": "random_crop", "height": 8, "width": 8}, {"name": "horizontal_flip"}]
    augmented = estimator("content", augmentation=dict(PREPROCESSING, transforms=transforms)).fit(frame)
    first, second = (augmented.transform(frame).orderBy("path").select("name").collect() for _ in range(2))
    assert first == second and len(first) == 12


def test_a_corrupt_file_is_named_or_skipped(spark, folder):  # noqa: F811
    (folder / "class1" / "bad.jpg").write_bytes((IMAGES / "photo.jpg").read_bytes()[:200])
    frame = labelled(thalweg.spark.read_images(spark, folder), "path")
    with pytest.raises(Exception, match="class1/bad.jpg"):
        estimator("content").fit(frame)
    model = estimator("content", bad_rows="skip").fit(frame)
    assert model.transform(frame.where("path like '%png'")).count() == 12
    report = model.training_report
    assert (report["rows"], report["skipped_rows"], report["skipped_samples"]) == (13, 0, 2)  # in 2 epochs


def test_one_giant_file(spark, folder):  # noqa: F811
    """Whatever follows the image in the file is ignored, but it is kept like the rest, on disk here."""
    image = folder / "class1" / "giant.png"
    image.write_bytes((IMAGES / "photo.png").read_bytes() + bytes(48 << 20))
    frame = labelled(thalweg.spark.read_images(spark, folder), "path")
    model = estimator("content", memory_bytes=1 << 20).fit(frame)
    assert model.training_report["rows"] == 13
    assert model.transform(frame).count() == 13


def test_the_file_of_the_model_says_how_images_are_read(spark, folder, tmp_path_factory):  # noqa: F811
    """No preprocessing is given here; what the file says serves, and stays with the trained model."""
    frame = labelled(thalweg.spark.read_images(spark, folder), "path")
    path = tmp_path_factory.mktemp("start") / "start.onnx"
    estimator("content").fit(frame).save_onnx(path.as_uri())
    start = thalweg.Model.load(str(path)).metadata
    again = thalweg.spark.Estimator(
        str(path), feature_cols=["content"], label_cols=["label"], epochs=1, batch_size=4, num_workers=1, threads=1,
        output_cols=["name"], output_kinds=["label"]).fit(frame)
    assert {row.name for row in again.transform(frame).collect()} <= {"dog", "cat"}
    again.save_onnx((path.parent / "again.onnx").as_uri())
    metadata = thalweg.Model.load(str(path.parent / "again.onnx")).metadata
    for key in ("thalweg.preprocessing", "thalweg.class_names"):
        assert metadata[key] == start[key]
    # Labels that are those names are its classes, by the numbers that they had.
    named = frame.selectExpr("content", "path", "if(label = 1, 'cat', 'dog') as label")
    by_name = thalweg.spark.Estimator(str(path), feature_cols=["content"], label_cols=["label"], epochs=1, batch_size=4,
                                      num_workers=1, threads=1).fit(named)
    by_name.save_onnx((path.parent / "named.onnx").as_uri())
    assert thalweg.Model.load(str(path.parent / "named.onnx")).metadata["thalweg.class_names"] == start["thalweg.class_names"]
