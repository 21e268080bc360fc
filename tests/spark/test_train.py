"""thalweg.spark.Estimator on a cluster: any partitions, bad rows, lost executors."""

import numpy as np
import pytest
from disturbed import check_lost_executors, largest_difference, weights
from pyspark.ml import Pipeline
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import array_to_vector
from pyspark.sql.functions import expr

import thalweg
import thalweg.spark
from thalweg import nn

ROWS = 400


def network():
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    return thalweg.Model(net, [thalweg.Input((None, 4))])


def estimator(**params):
    given = dict(feature_cols=["x"], label_cols=["y"], loss="cross_entropy", optimizer="adam", learning_rate=0.02,
                 epochs=4, batch_size=40, num_workers=2, threads=1, seed=3, output_cols=["scores"])
    given.update(params)
    return thalweg.spark.Estimator(network(), **given)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((ROWS, 4)).astype("float32")
    return x, np.argmax(x[:, :3], axis=1)


@pytest.fixture(scope="module")
def frame(spark, numbers):
    """Labels as doubles, as Spark ML has them."""
    rows = [(list(map(float, x)), float(y)) for x, y in zip(*numbers)]
    return spark.createDataFrame(rows, ["x", "y"]).repartition(3).cache()


def accuracy(model, frame):
    rows = model.transform(frame).select("y", "scores").collect()
    return np.mean([np.argmax(row.scores) == row.y for row in rows])


def saved(model, folder):
    """The weights that the model has, as plain Python reads them."""
    model.write().overwrite().save(str(folder))
    return thalweg.Model.load(str(folder / "model.onnx"))


@pytest.mark.parametrize("scheme", ["allreduce", "sharded", "localsgd", "ssp"])
def test_learns_with_every_scheme(frame, scheme):
    assert accuracy(estimator(epochs=20, scheme=scheme).fit(frame), frame) > 0.9


def test_a_scheme_that_is_chosen_says_which_and_why(frame):
    model = estimator(epochs=20, scheme="auto", settings={"scheme.steps": 5}).fit(frame)
    assert accuracy(model, frame) > 0.9
    chosen = model.training_report["scheme"]
    assert chosen["name"] in thalweg.groups.schemes() and chosen["name"] != "auto"
    assert "of gradients takes" in chosen["why"]


def test_the_saved_model_answers_alike_elsewhere(frame, numbers, tmp_path):
    model = estimator().fit(frame)
    plain = saved(model, tmp_path / "model")
    rows = model.transform(frame).select("x", "scores").collect()
    np.testing.assert_allclose([row.scores for row in rows], plain(np.array([row.x for row in rows], "float32")),
                               rtol=1e-5, atol=1e-6)


def test_the_history_tells_of_every_epoch(frame, tmp_path):
    model = estimator(epochs=3).fit(frame)
    assert [record["epoch"] for record in model.history] == [1, 2, 3]
    losses = [record["loss"] for record in model.history]
    assert losses[2] < losses[0]
    model.write().overwrite().save(str(tmp_path / "model"))
    assert thalweg.spark.Model.load(str(tmp_path / "model")).history == []


def test_evaluation_is_that_of_the_answers(frame):
    model = estimator(epochs=20).fit(frame)
    scores = model.evaluate(frame, ["y"], metrics=["accuracy", "top_k_accuracy"], loss="cross_entropy")
    assert scores["accuracy"] == pytest.approx(accuracy(model, frame))
    rows = model.transform(frame).select("y", "scores").collect()
    logits = np.array([row.scores for row in rows], "float64")
    chosen = logits[np.arange(ROWS), [int(row.y) for row in rows]]
    assert scores["loss"] == pytest.approx(np.mean(np.log(np.exp(logits).sum(axis=1)) - chosen), rel=1e-4)
    with pytest.raises(Exception, match="acuracy"):
        model.evaluate(frame, ["y"], metrics=["acuracy"])


def test_in_a_pipeline(spark, numbers):
    rows = [(*map(float, x), int(y)) for x, y in zip(*numbers)]
    columns = spark.createDataFrame(rows, ["a", "b", "c", "d", "y"])
    stages = [VectorAssembler(inputCols=["a", "b", "c", "d"], outputCol="x"), estimator(epochs=20)]
    assert accuracy(Pipeline(stages=stages).fit(columns), columns) > 0.9


WHOLE = "transform(x, e -> round(e * 10))"
KINDS = {
    "floats": [f"cast({WHOLE} as array<float>) as x"],
    "ints": [f"cast({WHOLE} as array<int>) as x"],
    "longs": [f"cast({WHOLE} as array<bigint>) as x"],
    "shorts": [f"cast({WHOLE} as array<smallint>) as x"],
    "decimals": [f"cast({WHOLE} as array<decimal(6, 1)>) as x"],
    "arrays of arrays": [f"array(slice({WHOLE}, 1, 2), slice({WHOLE}, 3, 2)) as x"],
    "arrays of long arrays": [f"cast(array(slice({WHOLE}, 1, 3), slice({WHOLE}, 4, 1)) as array<array<bigint>>) as x"],
    "single numbers": [f"{WHOLE}[{i}] as x{i}" for i in range(4)],
}


def test_columns_of_every_kind_train_alike(frame, tmp_path):
    def trained(columns, names=("x",)):
        others = ["uuid() as x_of_no_concern", "array('a') as `dotted.name`", "y"]
        return weights(estimator(feature_cols=list(names)).fit(frame.selectExpr(*columns, *others)), tmp_path / "model")

    expected = trained([f"{WHOLE} as x"])
    found = {kind: trained(columns, [column.split()[-1] for column in columns]) for kind, columns in KINDS.items()}
    vectors = frame.select(array_to_vector(expr(WHOLE)).alias("x"), "y")
    found["vectors"] = weights(estimator().fit(vectors), tmp_path / "model")
    for kind, state in found.items():
        assert largest_difference(state, expected) == 0, kind


@pytest.mark.parametrize("partitions", [1, 2, 7, 100])
def test_any_number_of_partitions(frame, partitions, tmp_path):
    assert accuracy(estimator(epochs=20).fit(frame.repartition(partitions)), frame) > 0.9


def test_skewed_and_empty_partitions_and_few_rows(spark, frame, numbers):
    rows = [(list(map(float, x)), float(y)) for x, y in zip(*numbers)]
    skewed = spark.createDataFrame(spark.sparkContext.parallelize([rows, [], [], []], 4).flatMap(lambda part: part),
                                   ["x", "y"])
    assert accuracy(estimator(epochs=20).fit(skewed), frame) > 0.9
    assert estimator(epochs=1).fit(spark.createDataFrame(rows[:1], ["x", "y"])).transform(frame).count() == ROWS


def test_from_an_onnx_file_and_the_zoo(frame, tmp_path):
    network().save(str(tmp_path / "start.onnx"))
    trained = thalweg.spark.Estimator(str(tmp_path / "start.onnx"), feature_cols=["x"], label_cols=["y"],
                                      optimizer="adam", learning_rate=0.02, epochs=20, num_workers=2,
                                      output_cols=["scores"]).fit(frame)
    assert accuracy(trained, frame) > 0.9


def test_estimators_are_saved_with_their_parameters(frame, tmp_path):
    estimator(epochs=7, settings={"optimizer.weight_decay": 0.01}).save(str(tmp_path / "estimator"))
    loaded = thalweg.spark.Estimator.load(str(tmp_path / "estimator"))
    assert loaded.getOrDefault("epochs") == 7
    assert loaded.getOrDefault("settings") == ["optimizer.weight_decay=0.01"]


WRONG = {
    "a missing column": ("there is no column 'z'; the columns are x, y", {"feature_cols": ["z"]}, ["x", "y"]),
    "a missing label column": ("there is no column 'label'", {"label_cols": ["label"]}, ["x", "y"]),
    "an unknown setting": ("train.epocs means nothing here", {"settings": {"train.epocs": 3}}, ["x", "y"]),
    "an unknown loss": ("unknown loss 'crossentropy'", {"loss": "crossentropy"}, ["x", "y"]),
    "too many workers": ("room for 2 tasks", {"num_workers": 3}, ["x", "y"]),
    "a column of texts": ("column 'x' is of type string", {}, ["cast(y as string) as x", "y"]),
    "a column of dates": ("column 'x' is of type date", {}, ["date '2026-01-01' as x", "y"]),
    "too few numbers": ("column 'x' holds 2 numbers, where the model takes 4", {}, ["array(1.0, 2.0) as x", "y"]),
    "a giant row": ("holds 1000000 numbers, where the model takes 4", {}, ["if(y = 0, array_repeat(0.5f, 1000000), x) as x", "y"]),
    "a null": ("row [0-9]+ of partition [0-9]+: column 'x' is null; to leave out such rows set the parameter badRows to skip", {}, ["if(y = 0, null, x) as x", "y"]),
    "a null in an array": ("holds an array with a null in it", {}, ["array(1.0, null, 2.0, 3.0) as x", "y"]),
    "a null among arrays": ("row [0-9]+ of partition [0-9]+: column 'x' holds an array with a null in it", {},
                            ["array(null, slice(x, 1, 2)) as x", "y"]),
    "a null among later arrays": ("row [0-9]+ of partition [0-9]+: column 'x' holds an array with a null in it", {},
                                  ["array(slice(x, 1, 2), null) as x", "y"]),
    "NaN": ("row [0-9]+ of partition [0-9]+: column 'x' holds NaN, as its number 3", {},
            ["array(x[0], x[1], if(y = 0, float('nan'), x[2]), x[3]) as x", "y"]),
    "NaN in one of several columns": ("row [0-9]+ of partition [0-9]+: column 'b' holds NaN", {"feature_cols": ["a", "b"]},
                                      ["slice(x, 1, 3) as a", "float('nan') as b", "y"]),
    "NaN in a label": ("row [0-9]+ of partition [0-9]+: column 'y' holds NaN", {"loss": "mse", "label_cols": ["y", "z", "z"]},
                       ["x", "float('nan') as y", "1.5 as z"]),
    "a null label": ("column 'y' is null", {}, ["x", "if(y = 0, null, y) as y"]),
    "a label out of range": ("row [0-9]+ of partition [0-9]+: column .y. holds class 3; the model has the classes 0 to 2", {}, ["x", "y + 1 as y"]),
    "a negative label": ("row [0-9]+ of partition [0-9]+: column .y. holds class -1", {}, ["x", "y - 1 as y"]),
    "a fraction for a label": ("column 'y' holds 0.5, where the model takes whole numbers", {}, ["x", "0.5 as y"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(frame, case):
    text, params, columns = WRONG[case]
    with pytest.raises(Exception, match=text):
        estimator(**params).fit(frame.selectExpr(*columns))


def test_an_empty_frame_is_refused(frame):
    with pytest.raises(Exception, match="no rows to train on"):
        estimator().fit(frame.limit(0))


def test_rows_that_cannot_be_used_may_be_left_out(frame):
    holes = frame.selectExpr("if(y = 0, null, x) as x", "y")
    model = estimator(bad_rows="skip").fit(holes)
    assert model.transform(frame).count() == ROWS
    bad = frame.where("y = 0").count()
    assert model.training_report["skipped_rows"] == bad and model.training_report["rows"] == ROWS - bad


def test_rows_with_nan_may_be_left_out_or_taken(frame):
    holes = frame.selectExpr("if(y = 0, array(x[0], float('nan'), x[2], x[3]), x) as x", "y")
    bad = frame.where("y = 0").count()
    report = estimator(bad_rows="skip").fit(holes).training_report
    assert report["skipped_rows"] == bad and report["rows"] == ROWS - bad
    # The engine's own setting keeps such rows, and leaves out batches whose loss is none.
    few = frame.selectExpr("if(x[0] > 2, array(x[0], float('nan'), x[2], x[3]), x) as x", "y")
    assert estimator(epochs=1, settings={"train.non_finite": "skip"}).fit(few).training_report["rows"] == ROWS


def test_a_lost_executor_changes_nothing(spark, frame, tmp_path):
    check_lost_executors(spark, frame, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("scheme, kills, epochs", [("allreduce", 3, 900), ("sharded", 2, 600)])
def test_executors_lost_again_and_again(spark, frame, tmp_path, scheme, kills, epochs):
    check_lost_executors(spark, frame, tmp_path, scheme, kills, epochs)
