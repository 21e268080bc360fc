"""ThalwegModel on a cluster: answers equal those of the engine in this process, and errors name the row and the column."""

import numpy as np
from pyspark.ml.linalg import Vectors


def stage(spark, path):
    return spark.sparkContext._jvm.io.thalweg.spark.ThalwegModel.fromFile(str(path))


def strings(spark, *values):
    array = spark.sparkContext._gateway.new_array(spark.sparkContext._jvm.String, len(values))
    for i, value in enumerate(values):
        array[i] = value
    return array


def transform(spark, model, frame):
    from pyspark.sql import DataFrame

    return DataFrame(model.transform(frame._jdf), spark)


def test_numeric_columns_are_joined(spark, perceptron, rng):
    path, model = perceptron
    numbers = rng.standard_normal((100, 4)).astype("float32")
    frame = spark.createDataFrame([(i, *map(float, row)) for i, row in enumerate(numbers)], "id long, a float, b double, c float, d float")
    predicted = transform(spark, stage(spark, path).setInputCols(strings(spark, "a", "b", "c", "d")).setOutputCols(strings(spark, "scores")), frame)
    rows = predicted.orderBy("id").collect()
    np.testing.assert_allclose([row.scores for row in rows], model(numbers), rtol=1e-5, atol=1e-6)


def test_vectors(spark, perceptron, rng):
    path, model = perceptron
    numbers = rng.standard_normal((10, 4)).astype("float32")
    frame = spark.createDataFrame([(i, Vectors.dense(row)) for i, row in enumerate(numbers.astype("float64"))], ["id", "v"])
    predicted = transform(spark, stage(spark, path).setInputCols(strings(spark, "v")).setOutputKinds(strings(spark, "raw")).setOutputCols(strings(spark, "scores")), frame)
    rows = predicted.orderBy("id").collect()
    np.testing.assert_allclose([row.scores.toArray() for row in rows], model(numbers), rtol=1e-5, atol=1e-6)
