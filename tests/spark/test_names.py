"""Columns are found by their names as Spark finds them: by spark.sql.caseSensitive of the session that the rows belong to."""

import numpy as np
import pytest

import thalweg
import thalweg.spark
from thalweg import nn

QUERY = "SELECT float(id % 7) a, float(id % 5) b, id % 2 label, id % 4 = 0 held, if(id % 2 = 0, 'Rome', 'Oslo') city FROM range(60)"


@pytest.fixture(scope="module")
def frame(spark):
    return spark.sql(QUERY).coalesce(2).cache()


@pytest.fixture(scope="module")
def exact(spark):
    """Another session, which tells names apart by case."""
    other = spark.newSession()
    other.conf.set("spark.sql.caseSensitive", "true")
    return other


def estimator(**params):
    given = dict(feature_cols=["A", "b"], label_cols=["Label"], epochs=1, batch_size=30, num_workers=1, threads=1, seed=1,
                 output_cols=["scores"]) | params
    return thalweg.spark.Estimator(nn.Linear(2, 2), inputs=[thalweg.Input((None, 2))], **given)


def answers(frame):
    return np.array([row.scores for row in frame.orderBy("a", "b").collect()])


def test_names_in_another_case_are_those_of_the_columns(frame):
    model = estimator(validation_indicator_col="HELD").fit(frame)
    assert "validation_loss" in model.history[0]
    plain = estimator(feature_cols=["a", "b"], label_cols=["label"], validation_indicator_col="held").fit(frame)
    np.testing.assert_array_equal(answers(model.transform(frame)), answers(plain.transform(frame)))
    assert model.transform(frame).columns == [*frame.columns, "scores"]
    assert model.evaluate(frame, "LABEL") == model.evaluate(frame) == plain.evaluate(frame)
    stage = estimator()
    stage._transfer_params_to_java()
    assert stage._java_obj.transformSchema(frame._jdf.schema()).length() == len(frame.columns) + 1


def test_texts_in_another_case_are_known(frame):
    net = nn.Sequential(nn.Embedding(3, 4), nn.Flatten(), nn.Linear(4, 2))
    model = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 1), "i64")], feature_cols=["CITY"], label_cols=["label"],
                                    epochs=1, batch_size=30, num_workers=1, threads=1, output_cols=["scores"]).fit(frame)
    renamed = frame.withColumnRenamed("city", "City")
    np.testing.assert_array_equal(answers(model.transform(renamed)), answers(model.transform(frame)))
    named = estimator(label_cols=["CITY"]).fit(frame)
    assert named.transform(frame).schema["scores"].dataType.simpleString() == "string"
    assert named.evaluate(renamed) == named.evaluate(frame)


def test_a_session_that_tells_names_apart_finds_no_other(spark, exact, frame):
    rows = exact.sql(QUERY)
    model = estimator().fit(frame)
    for call, name in [(lambda: estimator().fit(rows), "A"), (lambda: model.transform(rows), "A"),
                       (lambda: estimator(feature_cols=["a", "b"]).fit(rows), "Label"),
                       (lambda: estimator(feature_cols=["a", "b"], label_cols=["label"], validation_indicator_col="Held").fit(rows),
                        "Held"),
                       (lambda: model.copy().configure(input_cols=["a", "b"]).evaluate(rows, "Label"), "Label")]:
        with pytest.raises(thalweg.Error, match=f"there is no column '{name}'; the columns are a, b,"):
            call()


def test_names_that_could_be_several_columns_are_refused(spark, exact, frame):
    query = "SELECT float(id) a, float(id) A, 1.0f b, id % 2 label FROM range(60)"
    for call in [lambda: estimator().fit(spark.sql(query)), lambda: estimator().fit(frame).transform(spark.sql(query))]:
        with pytest.raises(thalweg.Error, match="column 'A' is ambiguous, it could be any of a, A: .*caseSensitive is false"):
            call()
    assert "scores" in estimator(label_cols=["label"]).fit(exact.sql(query)).transform(exact.sql(query)).columns
