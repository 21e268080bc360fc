"""What Spark ML promises of its stages: schemas, persistence, tuning; and models of several inputs, outputs, precisions."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from disturbed import largest_difference, weights
from processes import LONG_PATIENCE
from pyspark.ml import Pipeline
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorSlicer
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

import thalweg
import thalweg.spark
from thalweg import nn

ROWS = 300


@pytest.fixture(scope="module")
def numbers():
    x = np.random.default_rng(1).standard_normal((ROWS, 4)).astype("float32")
    return x, np.argmax(x[:, :3], axis=1)


@pytest.fixture(scope="module")
def frame(spark, numbers):
    rows = [(list(map(float, x)), float(y)) for x, y in zip(*numbers)]
    return spark.createDataFrame(rows, "x array<float>, y double").repartition(3).cache()


def estimator(net=None, inputs=None, **params):
    net = net or nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    given = dict(feature_cols=["x"], label_cols=["y"], optimizer="adam", learning_rate=0.02, epochs=20, batch_size=30,
                 num_workers=2, threads=1, seed=3, output_cols=["scores"]) | params
    return thalweg.spark.Estimator(net, inputs=inputs or [thalweg.Input((None, 4))], **given)


def right(model, frame, column="scores"):
    rows = model.transform(frame).select("y", column).collect()
    return np.mean([np.argmax(row[column]) == row.y for row in rows])


# ---- Persistence

def test_what_another_process_saved_can_be_trained(frame, tmp_path):
    script = pathlib.Path(__file__).with_name("save_estimator.py")
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=LONG_PATIENCE)
    path = str(tmp_path / "estimator")
    loaded = thalweg.spark.Estimator.load(path)
    assert right(loaded.fit(frame), frame) > 0.9
    assert right(Pipeline.load(str(tmp_path / "pipeline")).fit(frame), frame) > 0.9
    # In its own place, where Spark deletes first what the estimator was read from.
    loaded.write().overwrite().save(path)
    assert right(thalweg.spark.Estimator.load(path).fit(frame), frame) > 0.9


def test_known_models_are_saved_by_name(spark, tmp_path):
    thalweg.spark.Estimator("zoo:lenet", feature_cols=["x"], label_cols=["y"]).save(str(tmp_path / "estimator"))
    assert thalweg.spark.Estimator.load(str(tmp_path / "estimator")).getOrDefault("model") == "zoo:lenet"


# ---- Schemas and parameters

def java_schema(stage, frame):
    stage._transfer_params_to_java()
    return stage._java_obj.transformSchema(frame._jdf.schema()).json()


@pytest.mark.parametrize("params", [
    {}, {"output_cols": None}, {"output_kinds": ["struct"]},
    {"output_cols": ["r", "p", "c"], "output_kinds": ["raw", "probability", "class"]},
])
def test_the_schema_is_known_before_the_model_is_trained(frame, params):
    untrained = estimator(epochs=1, **params)
    assert java_schema(untrained, frame) == java_schema(untrained.fit(frame), frame)


def test_labels_that_are_texts_come_out_as_texts_in_the_schema_too(frame):
    named = frame.selectExpr("x", "concat('class ', cast(y as int)) as y")
    untrained = estimator(epochs=1)
    assert java_schema(untrained, named) == java_schema(untrained.fit(named), named)
    assert '"name":"scores","type":"string"' in java_schema(untrained, named)


def test_a_pipeline_of_java_has_stages_after_it(frame):
    later = VectorSlicer(inputCol="scores", outputCol="first", indices=[0])
    pipeline = Pipeline(stages=[estimator(epochs=1, output_kinds=["raw"]), later])._to_java()
    assert "first" in pipeline.fit(frame._jdf).transform(frame._jdf).columns()


def test_java_can_ask_for_parameters(frame):
    untrained = estimator(epochs=1, learning_rate=0.25, class_names=["a", "b", "c"])
    untrained._transfer_params_to_java()
    stage = untrained._java_obj
    assert (stage.getEpochs(), stage.getLearningRate(), stage.getOptimizer()) == (1, 0.25, "adam")
    assert list(stage.getClassNames()) == ["a", "b", "c"]
    model = untrained.fit(frame)._java_obj
    assert list(model.getLabelCols()) == ["y"] and model.getLoss() == "cross_entropy" and model.getBadRows() == "fail"


# ---- Tuning

@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_cross_validator_finds_the_better_rate(frame, parallelism):
    tuned = estimator(epochs=5, output_cols=["prediction"], output_kinds=["class"])
    grid = ParamGridBuilder().addGrid(tuned.learningRate, [0.02, 1e-6]).build()
    validator = CrossValidator(estimator=tuned, estimatorParamMaps=grid, numFolds=2, parallelism=parallelism, seed=1,
                               evaluator=MulticlassClassificationEvaluator(labelCol="y", metricName="accuracy"))
    found = validator.fit(frame)
    assert found.avgMetrics[0] > found.avgMetrics[1]
    assert isinstance(found.bestModel, thalweg.spark.Model)


# ---- Evaluation

def test_evaluation_needs_nothing_that_the_fit_was_told(frame, tmp_path):
    model = estimator().fit(frame)
    scores = model.evaluate(frame)
    assert scores == model.evaluate(frame, ["y"], metrics=["accuracy"], loss="cross_entropy")
    assert scores["accuracy"] == pytest.approx(right(model, frame)) and scores["loss"] > 0
    model.save(str(tmp_path / "model"))
    assert thalweg.spark.Model.load(str(tmp_path / "model")).evaluate(frame) == pytest.approx(scores)


@pytest.mark.parametrize("labels", ["array(x[0] + x[1], x[2])", "array(array(x[0] + x[1]), array(x[2]))"])
def test_evaluation_by_labels_that_are_arrays(frame, labels):
    targets = frame.selectExpr("x", f"{labels} as y")
    model = estimator(nn.Linear(4, 2), loss="mse", learning_rate=0.05).fit(targets)
    scores = model.evaluate(targets, metrics=["mae"])
    rows = model.transform(targets).select("y", "scores").collect()
    errors = np.array([np.ravel(row.y) for row in rows]) - np.array([row.scores for row in rows])
    assert scores["loss"] == pytest.approx(np.mean(errors**2), rel=1e-3)
    assert scores["mae"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-3)
    assert set(model.evaluate(targets)) == {"loss"}


def test_bad_labels_are_named_or_skipped_in_evaluation(frame):
    model = estimator(epochs=1).fit(frame)
    bad = frame.coalesce(1).selectExpr("x", "if(monotonically_increasing_id() = 7, null, y) as y")
    with pytest.raises(Exception, match="row 7 of partition 0: column 'y' is null; .*set the parameter badRows to skip"):
        model.copy().configure(spread=False).evaluate(bad)
    with pytest.raises(Exception, match="row [0-9]+ of partition [0-9]+: column 'y' holds class [34]; the model has the"):
        model.evaluate(frame.selectExpr("x", "y + 2 as y"))
    kept = model.copy().configure(bad_rows="skip").evaluate(bad)
    assert 0 < kept["accuracy"] <= 1


# ---- Validation while training

def test_marked_rows_are_measured_and_not_trained_on(frame):
    marked = frame.selectExpr("x", "y", "x[3] > 0.5 as held")
    held = marked.where("held").count()
    model = estimator(epochs=4, validation_indicator_col="held").fit(marked)
    assert model.training_report["rows"] == ROWS - held
    last = model.evaluate(marked.where("held"))
    assert [set(record) >= {"validation_loss", "validation_accuracy"} for record in model.history] == [True] * 4
    assert model.history[3]["validation_accuracy"] == pytest.approx(last["accuracy"])
    assert model.history[3]["validation_loss"] == pytest.approx(last["loss"], rel=1e-4)


def test_training_stops_when_the_marked_rows_get_no_better(frame):
    # Labels of the marked rows are those of others, so that learning makes them worse.
    marked = frame.selectExpr("x", "if(x[3] > 0, y, (y + 1) % 3) as y", "x[3] <= 0 as held")
    stopped = estimator(epochs=40, validation_indicator_col="held", learning_rate=0.05,
                        settings={"train.patience": 2, "train.score": "loss"}).fit(marked)
    assert len(stopped.history) < 20
    best = min(record["validation_loss"] for record in stopped.history)
    assert stopped.evaluate(marked.where("held"))["loss"] == pytest.approx(best, rel=1e-3)
    with pytest.raises(Exception, match="train.patience is set, but there is nothing to validate on"):
        estimator(settings={"train.patience": 2}).fit(frame)
    with pytest.raises(Exception, match="no row is marked for validation"):
        estimator(validation_indicator_col="held").fit(frame.selectExpr("x", "y", "false as held"))


def test_a_measure_of_numbers_is_their_loss(frame):
    model = estimator(nn.Linear(4, 1), loss="mse", epochs=2, validation_indicator_col="held").fit(
        frame.selectExpr("x", "x[0] as y", "x[3] > 0 as held"))
    assert model.history[1]["validation_loss"] > 0 and "validation_accuracy" not in model.history[1]


def test_settings_of_a_job_file(frame, tmp_path):
    scheduled = estimator(epochs=4, settings={"schedule.name": "cosine", "schedule.warm_up": 1, "train.freeze": ["0.*"]})
    rates = [record["learning_rate"] for record in scheduled.fit(frame).history]
    assert rates[0] == pytest.approx(0.02 * 0.91) and rates[1] > rates[2] > rates[3]
    with pytest.raises(Exception, match="train.freeze: no parameter matches 'conv"):
        estimator(settings={"train.freeze": "conv*"}).fit(frame)
    with pytest.raises(Exception, match="output.checkpoints is 'hdfs:///x': hdfs cannot be written to"):
        estimator(settings={"output.checkpoints": "hdfs:///x"}).fit(frame)
    estimator(epochs=1, checkpoints=(tmp_path / "checkpoints").as_uri()).fit(frame)
    assert list((tmp_path / "checkpoints").glob("step-*"))


def test_checkpoints_on_a_file_system_of_hadoops(spark, frame, tmp_path):
    (tmp_path / "shared").mkdir()
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("fs.viewfs.mounttable.default.link./shared", (tmp_path / "shared").as_uri())
    fitted = estimator(epochs=3, checkpoints="viewfs:///shared/run")
    assert [record["epoch"] for record in fitted.fit(frame).history] == [1, 2, 3]

    def found():
        return sorted(path.name for path in (tmp_path / "shared" / "run").glob("*"))

    assert found() == [f"step-{10 * epoch:08}" for epoch in (1, 2, 3)]
    # Another fit goes on from there, and keeps as many as the engine does.
    longer = fitted.copy({fitted.epochs: 5}).fit(frame)
    assert [record["epoch"] for record in longer.history] == [1, 2, 3, 4, 5] and longer.training_report["steps"] == 50
    assert found() == [f"step-{10 * epoch:08}" for epoch in (3, 4, 5)]
    whole = estimator(epochs=5).fit(frame)
    assert largest_difference(weights(longer, tmp_path / "longer"), weights(whole, tmp_path / "whole")) <= 1e-6


# ---- Several inputs, several outputs, and bf16

class Difference(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 3)

    def forward(self, a, b):
        return self.head(a - b)


class SumAndProduct(nn.Module):
    def forward(self, a, b):
        return {"sum": a + b, "product": a * b}


TWO = [thalweg.Input((None, 2), name="a"), thalweg.Input((None, 2), name="b")]


def test_several_inputs_are_trained(frame, numbers):
    pairs = frame.selectExpr("slice(x, 1, 2) as a", "x[2] as b0", "x[3] as b1", "if(x[0] > x[2], 0D, 1D) as y")
    model = estimator(Difference(), TWO, feature_cols=["a", "b0", "b1"]).fit(pairs)
    assert right(model, pairs) > 0.9
    assert model.evaluate(pairs)["accuracy"] > 0.9


def test_several_inputs_and_outputs_are_predicted(spark, tmp_path):
    thalweg.Model(SumAndProduct(), TWO).save(str(tmp_path / "two.onnx"))
    rows = spark.createDataFrame([([1.0, 2.0], 3.0, 4.0)], "a array<double>, b0 double, b1 double")
    stage = thalweg.spark.Model.load(tmp_path / "two.onnx", input_cols=["a", "b0", "b1"])
    answer = stage.transform(rows).collect()[0]
    assert answer["sum"] == [4.0, 6.0] and answer["product"] == [3.0, 8.0]
    answer = stage.copy().configure(output_cols=["p"], outputs=["product"], output_kinds=["raw"]).transform(rows).collect()[0]
    assert answer["p"].toArray().tolist() == [3.0, 8.0]


def test_bf16_trains_and_predicts(frame):
    model = estimator(settings={"train.precision": "bf16"}).fit(frame)
    assert right(model, frame) > 0.9
    assert right(model.copy().configure(precision="bf16"), frame) > 0.9
