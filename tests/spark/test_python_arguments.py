"""The API as it is written in Python: types of arguments, errors, Ctrl-C, and which parameters a trained model has."""

import _thread
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from processes import LONG_PATIENCE, PATIENCE, first_line
from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.ml.tuning import ParamGridBuilder

import thalweg
import thalweg.spark
from thalweg import nn
from thalweg.spark.interrupts import cancellable


@pytest.fixture(scope="module")
def frame(spark):
    x = np.random.default_rng(1).standard_normal((120, 4))
    rows = [(list(map(float, row)), int(np.argmax(row[:3]))) for row in x]
    return spark.createDataFrame(rows, "x array<float>, y int").coalesce(1).cache()


def estimator(net=None, **params):
    given = dict(feature_cols=["x"], label_cols=["y"], optimizer="adam", learning_rate=0.02, epochs=1, batch_size=30,
                 num_workers=1, output_cols=["scores"]) | params
    return thalweg.spark.Estimator(net or nn.Linear(4, 3), inputs=[thalweg.Input((None, 4))], **given)


# ---- What a trained model has of its estimator

def test_how_it_was_trained_is_not_how_it_predicts(frame, tmp_path):
    model = estimator(batch_size=7, threads=1, output_kinds=["class"], bad_rows="skip").fit(frame)
    model.save(str(tmp_path / "model"))
    for one in (model, model.copy(), thalweg.spark.Model.load(tmp_path / "model")):
        assert (one.getOrDefault("batchSize"), one.getOrDefault("threads")) == (0, 0)
        one._transfer_params_to_java()
        assert (one._java_obj.getBatchSize(), one._java_obj.getThreads()) == (0, 0)
        assert (one.getOrDefault("outputCols"), one.getOrDefault("outputKinds")) == (["scores"], ["class"])
        assert (one.getOrDefault("labelCols"), one.getOrDefault("badRows")) == (["y"], "skip")


# ---- Types of arguments

@pytest.mark.parametrize(("name", "given", "held"), [
    ("learning_rate", 1, 1.0), ("learning_rate", np.float32(0.5), 0.5), ("form_seconds", 5, 5.0),
    ("epochs", 3.0, 3), ("epochs", np.int64(2), 2), ("seed", np.uint8(7), 7), ("memory_bytes", 2**40, 2**40),
    ("tls", np.bool_(False), False), ("feature_cols", "x", ["x"]), ("feature_cols", ("x",), ["x"]),
    ("label_cols", np.array(["y"]), ["y"]), ("output_kinds", "class", ["class"]),
    ("checkpoints", pathlib.Path("/tmp/run"), "/tmp/run"),
    ("settings", {"optimizer.momentum": np.float64(0.5)}, ["optimizer.momentum=0.5"]),
    ("settings", {"output.checkpoints": pathlib.Path("/tmp/run")}, ['output.checkpoints="/tmp/run"']),
    ("settings", ["optimizer.momentum=0.5"], ["optimizer.momentum=0.5"]),
])
def test_values_become_those_of_java(spark, name, given, held):
    stage = estimator(**{name: given})
    java_name = {"learning_rate": "learningRate", "form_seconds": "formSeconds", "memory_bytes": "memoryBytes",
                 "feature_cols": "inputCols", "label_cols": "labelCols", "output_kinds": "outputKinds"}.get(name, name)
    assert stage.getOrDefault(java_name) == held and type(stage.getOrDefault(java_name)) is type(held)
    stage._transfer_params_to_java()
    java_value = getattr(stage._java_obj, "get" + java_name[0].upper() + java_name[1:])()
    assert (list(java_value) if isinstance(held, list) else java_value) == held


@pytest.mark.parametrize(("name", "given", "said"), [
    ("epochs", 3.5, 'param "epochs".*a whole number, not 3.5'), ("epochs", "3", 'param "epochs".*a whole number, not \'3\''),
    ("epochs", True, 'param "epochs"'), ("batch_size", 2**40, 'param "batchSize".*less than 32 bits'),
    ("learning_rate", "fast", 'param "learningRate".*a number'), ("tls", 1, 'param "tls".*True or False, not 1'),
    ("loss", 3, 'param "loss".*a text'), ("feature_cols", 3, 'param "inputCols".*list of texts'),
    ("settings", 3, 'param "settings".*list of texts'),
    ("settings", {"train.patience": object()}, "settings, train.patience.*a text, a number"),
    ("feature_cols", [3], 'param "inputCols".*list of texts'), ("label_cols", {"y"}, 'param "labelCols".*list of texts'),
])
def test_values_that_are_of_another_kind_are_named(spark, name, given, said):
    with pytest.raises(TypeError, match=said):
        estimator(**{name: given})


def test_unknown_arguments_are_told_by_the_names_of_python(spark):
    with pytest.raises(TypeError, match=r"no parameter learn_rate \(did you mean learning_rate\?\).* feature_cols,.* num_workers,") as caught:
        estimator(learn_rate=1)
    assert "learningRate" not in str(caught.value)
    with pytest.raises(TypeError, match=r"no parameter feature_columns \(did you mean feature_cols\?\)"):
        estimator(feature_columns=["x"])


def test_columns_are_no_features(spark):
    with pytest.raises(TypeError, match=r"features=\['x'\] is neither .*; the columns to train on are feature_cols"):
        estimator(features=["x"])


def test_feature_cols_and_input_cols_are_the_same(spark):
    assert estimator(feature_cols=None, input_cols=["x"]).getOrDefault("inputCols") == ["x"]
    assert estimator(feature_cols=None, inputCols=["x"]).getOrDefault("inputCols") == ["x"]


def test_values_of_a_model_and_of_a_grid(spark, frame, perceptron):
    with pytest.raises(TypeError, match='param "spread".*True or False'):
        thalweg.spark.Model.load(perceptron[0], spread="no")
    model = thalweg.spark.Model.load(perceptron[0], input_cols="x", output_cols="s", output_kinds="class", batch_size=8.0)
    assert model.transform(frame).first().s in (0.0, 1.0, 2.0)
    assert not model.configure(output_cols=None).isSet("outputCols")
    tuned = estimator()
    grid = ParamGridBuilder().addGrid(tuned.learningRate, [1, 0.1]).build()
    assert [fitted.history[0]["learning_rate"] for fitted in tuned.fit(frame, grid)] == pytest.approx([1, 0.1])


def test_arguments_of_an_evaluation(frame):
    model = estimator().fit(frame)
    assert model.evaluate(frame, "y", metrics="accuracy") == model.evaluate(frame, ["y"], metrics=("accuracy",))
    with pytest.raises(TypeError, match="metrics.*list of texts, not 3"):
        model.evaluate(frame, metrics=3)
    with pytest.raises(TypeError, match="loss.*a text, not 3"):
        model.evaluate(frame, loss=3)


# ---- Models, sessions and files

def test_what_a_model_needs_is_said(spark, perceptron):
    with pytest.raises(TypeError, match=r"needs inputs=.*inputs=\[thalweg.Input\(\(None, 4\)\)\]"):
        thalweg.spark.Estimator(nn.Linear(4, 3), feature_cols=["x"], label_cols=["y"])
    with pytest.raises(TypeError, match="a model is a module of thalweg.nn,.*not a dict"):
        thalweg.spark.Estimator({"a": 1}, feature_cols=["x"], label_cols=["y"])
    with pytest.raises(TypeError, match=r'read by thalweg.spark.Model.load\("m.onnx"\)'):
        thalweg.spark.Model("m.onnx")


def test_images_of_the_active_session(spark, tmp_path):
    (tmp_path / "a.png").write_bytes(b"no image, but nobody looks")
    for read in (thalweg.spark.read_images(tmp_path), thalweg.spark.read_images(str(tmp_path), np.int64(1)),
                 thalweg.spark.read_images(spark, tmp_path, partitions=1), thalweg.spark.read_images(spark, path=str(tmp_path))):
        assert [row.length for row in read.collect()] == [26]
    with pytest.raises(TypeError, match="the path of images is None"):
        thalweg.spark.read_images(spark)
    with pytest.raises(TypeError, match="partitions.*a whole number, not 'many'"):
        thalweg.spark.read_images(tmp_path, "many")


def test_a_stage_of_another_class_says_what_it_is(frame, perceptron, tmp_path):
    thalweg.spark.Model.load(perceptron[0]).save(tmp_path / "model")
    estimator().save(str(tmp_path / "estimator"))
    with pytest.raises(thalweg.Error, match="holds a io.thalweg.spark.ThalwegModel: thalweg.spark.Model.load reads it"):
        thalweg.spark.Estimator.load(str(tmp_path / "model"))
    with pytest.raises(thalweg.Error, match="ThalwegEstimator: thalweg.spark.Estimator.load reads it"):
        thalweg.spark.Model.load(tmp_path / "estimator")


# ---- Errors

def test_errors_of_the_engine_are_those_of_the_package(frame, perceptron, tmp_path):
    model = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["s"])
    estimated = estimator().fit(frame)
    wrong = frame.selectExpr("x", "y + 2 as y")
    for call, said in [
        (lambda: estimator(loss="ce").fit(frame), "^the parameter loss: unknown loss 'ce'; nearest: "),
        (lambda: estimator(optimizer="adm").fit(frame), '^the parameter optimizer: unknown optimizer "adm"; there are '),
        (lambda: estimator(scheme="all").fit(frame), "^the parameter scheme is 'all', must be one of: "),
        (lambda: estimator(batch_size=-1).fit(frame), "^the parameter batchSize is -1, must be at least 1"),
        (lambda: estimator(settings={"train.metric": "acc"}).fit(frame),
         '^the parameter settings: train.metric: unknown metric "acc"; there are accuracy, '),
        (lambda: estimator(settings={"train.loss": "ce"}, loss=None).fit(frame),
         "^the parameter settings: train.loss: unknown loss 'ce'"),
        (lambda: estimator(settings={"train.lr": 1}).fit(frame), "^the parameter settings: train.lr means nothing here"),
        (lambda: estimator().fit(wrong), "column 'y' holds class [34]; the model has the classes 0 to 2"),
        (lambda: model.copy().configure(output_kinds="foo").transform(frame), "there is no kind of output 'foo'"),
        (lambda: estimated.evaluate(wrong), "row [0-9]+ of partition [0-9]+: column 'y' holds class [34]"),
        (lambda: thalweg.spark.Model.load(tmp_path / "none.onnx"), "none.onnx does not exist"),
        (lambda: model.save_onnx("/proc/none/model.onnx"), "cannot be written to /proc/none/model.onnx"),
    ]:
        with pytest.raises(thalweg.Error, match=said) as caught:
            call()
        assert len(str(caught.value).splitlines()) == 1
        assert isinstance(caught.value.__cause__, Py4JJavaError)


# ---- Ctrl-C

@pytest.mark.parametrize(("what", "where"), [("fit", "script"), ("evaluate", "notebook")])
def test_an_interrupt_ends_the_jobs(what, where):
    script = pathlib.Path(__file__).with_name("interrupted.py")
    process = subprocess.Popen([sys.executable, str(script), what, where], stdout=subprocess.PIPE, text=True)
    try:
        said = [first_line(process)]
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=LONG_PATIENCE)[0].split()
    finally:
        process.kill()
        process.wait()
    assert said == ["begun", "interrupted", "idle", "200"]


def test_a_thread_that_fails_before_the_call_is_not_waited_for(spark, monkeypatch):
    # So that pyspark's own part of the thread fails, as it does if the JVM does not answer.
    monkeypatch.setattr(InheritableThread, "start", threading.Thread.start)
    guard = threading.Timer(PATIENCE, _thread.interrupt_main)
    guard.start()
    try:
        with pytest.raises(AssertionError):
            cancellable(spark, lambda: "never called")
    finally:
        guard.cancel()


# ---- Evaluation of two classes in one score

@pytest.mark.parametrize("loss", ["bce_with_logits", "bce"])
def test_an_evaluation_decides_as_the_column_of_classes_does(frame, loss):
    # Labels that are mostly 0, so that many scores are between 0 and a half.
    rare = frame.selectExpr("x", "cast(x[0] + 0.5 * x[1] > 0.8 as int) as y", "x[3] > 1.5 as held")
    net = nn.Linear(4, 1) if loss == "bce_with_logits" else nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    model = estimator(net, loss=loss, epochs=4, seed=1, output_cols=["class", "value"], output_kinds=["class", "value"],
                      validation_indicator_col="held").fit(rare)
    assert 0 <= model.history[0]["validation_accuracy"] <= 1
    rows = model.transform(rare).collect()
    if loss == "bce_with_logits":
        assert any(0 < row.value <= 0.5 for row in rows)  # where a threshold of a half is wrong
    right = np.mean([row["class"] == row.y for row in rows])
    found = model.evaluate(rare, metrics=["accuracy", "binary_accuracy", "recall", "mae"])
    assert set(found) == {"loss", "accuracy", "binary_accuracy", "recall", "mae"}
    assert found["accuracy"] == found["binary_accuracy"] == pytest.approx(right)
    assert found["recall"] == pytest.approx(np.mean([row["class"] == 1 for row in rows if row.y == 1]))
    assert found["mae"] == pytest.approx(np.mean([abs(row.value - row.y) for row in rows]), rel=1e-4)
    usual = model.evaluate(rare)
    assert usual == {"loss": found["loss"], "accuracy": found["accuracy"]}
    assert model.evaluate(rare, metrics="accuracy")["accuracy"] == found["accuracy"]
    with pytest.raises(thalweg.Error, match="there is no column 'z'"):
        model.evaluate(rare, "z")
