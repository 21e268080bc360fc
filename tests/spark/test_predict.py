"""thalweg.spark.Model on a cluster: answers equal those of the engine in this process, and errors name row and column."""

import numpy as np
import pytest
from processes import PATIENCE
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import IndexToString, StringIndexer, VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions

import thalweg
import thalweg.spark
from thalweg import nn
from two_heads import TwoHeads


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).standard_normal((100, 4)).astype("float32")


@pytest.fixture(scope="module")
def frame(spark, numbers):
    """The numbers as columns, as an array, and as vectors."""
    rows = [(i, *map(float, row), list(map(float, row)), Vectors.dense(row.astype("float64")))
            for i, row in enumerate(numbers)]
    columns = spark.createDataFrame(rows, ["id", "a", "b", "c", "d", "array", "vector"])
    return columns.repartition(3).cache()


def answers(predicted, column):
    return np.array([row[0] for row in predicted.orderBy("id").select(column).collect()])


@pytest.mark.parametrize("columns", [["a", "b", "c", "d"], ["array"], ["vector"]])
def test_columns_become_inputs(frame, perceptron, numbers, columns):
    path, model = perceptron
    predicted = thalweg.spark.Model.load(path, input_cols=columns, output_cols=["scores"]).transform(frame)
    assert predicted.schema["scores"].dataType.simpleString() == "array<float>"
    np.testing.assert_allclose(answers(predicted, "scores"), model(numbers), rtol=1e-5, atol=1e-6)


def test_kinds_of_outputs(frame, perceptron, numbers):
    path, model = perceptron
    stage = thalweg.spark.Model.load(path, input_cols=["array"], output_cols=["raw", "p", "class", "all"],
                                     output_kinds=["raw", "probability", "class", "struct"])
    predicted = stage.transform(frame)
    scores = model(numbers)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    rows = predicted.orderBy("id").collect()
    np.testing.assert_allclose([row["raw"].toArray() for row in rows], scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose([row["p"].toArray() for row in rows], probabilities, rtol=1e-5)
    assert [row["class"] for row in rows] == scores.argmax(axis=1).tolist()
    assert rows[0]["all"]["shape"] == [3]
    np.testing.assert_allclose([row["all"]["values"] for row in rows], scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("partitions", [1, 7, 100])
def test_any_number_of_partitions(frame, perceptron, numbers, partitions):
    path, model = perceptron
    stage = thalweg.spark.Model.load(path, input_cols=["array"], output_cols=["scores"], batch_size=8)
    predicted = stage.transform(frame.repartition(partitions))
    np.testing.assert_allclose(answers(predicted, "scores"), model(numbers), rtol=1e-5, atol=1e-6)


def test_rows_are_spread_where_that_is_worthwhile(spark, perceptron):
    frame = spark.sparkContext.parallelize([(i, [0.5, 1.0, 1.5, 2.0]) for i in range(10)], 1).toDF(["id", "x"])
    stage = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["scores"])
    assert stage.transform(frame).rdd.getNumPartitions() == 2
    assert stage.copy().configure(spread=False).transform(frame).rdd.getNumPartitions() == 1
    few = spark.range(10, numPartitions=1).selectExpr("id", "array(1.0f, 2.0f, 3.0f, 4.0f) x")
    assert stage.transform(few).rdd.getNumPartitions() == 1


def test_an_empty_frame_gives_an_empty_one(frame, perceptron):
    stage = thalweg.spark.Model.load(perceptron[0], input_cols=["array"], output_cols=["scores"])
    assert stage.transform(frame.limit(0)).collect() == []


def test_saved_pipelines_come_back(frame, perceptron, numbers, tmp_path):
    path, model = perceptron
    stage = thalweg.spark.Model.load(path, input_cols=["v"], output_cols=["scores"], batch_size=16)
    assembler = VectorAssembler(inputCols=["a", "b", "c", "d"], outputCol="v")
    Pipeline(stages=[assembler, stage]).fit(frame).write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert isinstance(loaded.stages[1], thalweg.spark.Model)
    assert loaded.stages[1].getOrDefault("batchSize") == 16
    np.testing.assert_allclose(answers(loaded.transform(frame), "scores"), model(numbers), rtol=1e-5, atol=1e-6)
    files = list((tmp_path / "pipeline").rglob("model.onnx"))
    np.testing.assert_array_equal(thalweg.Model.load(str(files[0]))(numbers), model(numbers))
    alone = thalweg.spark.Model.load(str(files[0].parent))
    assert alone.getOrDefault("inputCols") == ["v"]


def failure(stage, frame):
    with pytest.raises(Exception) as caught:
        stage.transform(frame).collect()
    return str(caught.value)


def test_bad_rows_are_named_or_skipped(spark, perceptron):
    rows = [(i, [1.0, 2.0, 3.0, 4.0]) for i in range(5)] + [(5, None), (6, [1.0]), (7, [1.0, None, 3.0, 4.0])]
    frame = spark.createDataFrame(rows, "id long, x array<double>").coalesce(1)
    stage = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["scores"], spread=False)
    assert "row 5 of partition 0: column 'x' is null; to leave out such rows set the parameter badRows to skip" in failure(stage, frame)
    assert "row 0 of partition 0: column 'x' holds 1 numbers" in failure(stage, frame.where("id = 6"))
    assert "holds an array with a null in it" in failure(stage, frame.where("id = 7"))
    skipping = stage.copy().configure(bad_rows="skip")
    assert [row.id for row in skipping.transform(frame).collect()] == [0, 1, 2, 3, 4]


def test_wrong_columns_are_refused_before_anything_runs(frame, perceptron):
    path, _ = perceptron
    with pytest.raises(Exception, match="there is no column 'nothing'; the columns are id, a"):
        thalweg.spark.Model.load(path, input_cols=["nothing"]).transform(frame)
    with pytest.raises(Exception, match="column 'text' is of type string"):
        stage = thalweg.spark.Model.load(path, input_cols=["text"])
        stage.transform(frame.withColumn("text", functions.lit("x")))
    with pytest.raises(Exception, match="the output column 'a' exists already"):
        thalweg.spark.Model.load(path, input_cols=["array"], output_cols=["a"]).transform(frame)
    with pytest.raises(Exception, match="there is no kind of output 'scores'"):
        thalweg.spark.Model.load(path, input_cols=["array"], output_kinds=["scores"]).transform(frame)
    with pytest.raises(TypeError, match=r"there is no parameter input_columns \(did you mean input_cols\?\); the parameters are bad_rows, batch_size,"):
        thalweg.spark.Model.load(path, input_columns=["array"])


def test_a_stream(spark, perceptron, tmp_path, numbers):
    path, model = perceptron
    rows = [(i, list(map(float, row))) for i, row in enumerate(numbers)]
    spark.createDataFrame(rows, "id long, x array<float>").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id long, x array<float>").parquet(str(tmp_path / "in"))
    stage = thalweg.spark.Model.load(path, input_cols=["x"], output_cols=["scores"])
    query = stage.transform(stream).writeStream.format("memory").queryName("predicted").trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    np.testing.assert_allclose(answers(spark.table("predicted"), "scores"), model(numbers), rtol=1e-5, atol=1e-6)


def test_a_watermark_reaches_aggregations_behind_the_model(spark, perceptron, tmp_path):
    spark.sql("SELECT array(1.0f, 2.0f, 3.0f, 4.0f) x, timestamp'2026-01-01T00:00:00Z' + make_interval(0, 0, 0, 0, 0, id) at"
              " FROM range(10)").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("x array<float>, at timestamp").parquet(str(tmp_path / "in"))
    stage = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["class"], output_kinds=["class"])
    marked = stage.transform(stream.withWatermark("at", "1 minute"))
    counted = marked.groupBy(functions.window("at", "1 minute"), "class").count()
    # Of what is append mode, Spark refuses all that has no watermark.
    writer = counted.writeStream.format("memory").queryName("counted").outputMode("append")
    query = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    event_times = [progress.eventTime.get("max", "") for progress in query.recentProgress]
    assert "2026-01-01T00:09:00.000Z" in event_times
    # Windows that end before the last minute are closed.
    assert [row["count"] for row in spark.table("counted").orderBy("window").collect()] == [1] * 8


def test_the_metadata_of_columns_outlives_the_stage(frame, perceptron):
    named = frame.selectExpr("id", "a", "b", "c", "d", "if(id % 2 = 0, 'even', 'odd') parity")
    indexed = StringIndexer(inputCol="parity", outputCol="index").fit(named).transform(named)
    gathered = VectorAssembler(inputCols=["a", "b", "c", "d"], outputCol="v").transform(indexed)
    predicted = thalweg.spark.Model.load(perceptron[0], input_cols=["v"], output_cols=["scores"]).transform(gathered)
    for column in gathered.columns:
        assert predicted.schema[column].metadata == gathered.schema[column].metadata
    assert predicted.schema["v"].metadata
    back = IndexToString(inputCol="index", outputCol="back").transform(predicted)
    assert back.where("back <> parity").count() == 0


def test_columns_of_the_same_name_stay(frame, perceptron):
    twice = frame.select("id", "array", functions.col("a").alias("n"), functions.col("b").alias("n"))
    predicted = thalweg.spark.Model.load(perceptron[0], input_cols=["array"], output_cols=["sc.ores"]).transform(twice)
    assert predicted.columns == ["id", "array", "n", "n", "sc.ores"]
    row = predicted.orderBy("id").first()
    assert (row[2], row[3]) == tuple(frame.orderBy("id").select("a", "b").first())


def test_outputs_that_are_chosen_give_their_names_to_the_columns(frame, numbers, tmp_path):
    model = thalweg.Model(TwoHeads(), [thalweg.Input((None, 4))])
    model.save(str(tmp_path / "heads.onnx"))
    for chosen in (["second"], ["second", "first"]):
        stage = thalweg.spark.Model.load(tmp_path / "heads.onnx", input_cols=["array"], outputs=chosen)
        predicted = stage.transform(frame)
        assert predicted.columns == [*frame.columns, *chosen]
        np.testing.assert_allclose(answers(predicted, "second"), model(numbers)[1], rtol=1e-5, atol=1e-6)
