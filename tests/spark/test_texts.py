"""Columns of texts: labels that are names, and categories as features, whose numbers travel in the model's file."""

import numpy as np
import pytest
from pyspark.ml.evaluation import MulticlassClassificationEvaluator

import thalweg
import thalweg.spark
from thalweg import nn

NAMES = ["ant", "bee", "cicada"]


@pytest.fixture(scope="module")
def frame(spark):
    x = np.random.default_rng(1).standard_normal((300, 4)).astype("float32")
    rows = [(list(map(float, row)), NAMES[int(row[:3].argmax())]) for row in x]
    return spark.createDataFrame(rows, "x array<float>, animal string").repartition(3).cache()


def estimator(**params):
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    given = dict(feature_cols=["x"], label_cols=["animal"], optimizer="adam", learning_rate=0.02, epochs=20, batch_size=30,
                 num_workers=2, threads=1, output_cols=["predicted"]) | params
    return thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], **given)


def test_labels_that_are_names_come_back_as_names(frame, tmp_path):
    model = estimator().fit(frame)
    model.save(str(tmp_path / "model"))
    predicted = thalweg.spark.Model.load(str(tmp_path / "model")).transform(frame)
    assert predicted.schema["predicted"].dataType.simpleString() == "string"
    right = predicted.where("predicted = animal").count()
    assert right > 270
    assert model.evaluate(frame, ["animal"])["accuracy"] == pytest.approx(right / 300)


def test_a_classifier_has_the_columns_of_sparks_own(frame, tmp_path):
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    untrained = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], feature_cols=["x"], label_cols=["animal"],
                                        optimizer="adam", learning_rate=0.02, epochs=20, batch_size=30, num_workers=1, threads=1)
    model = untrained.fit(frame)
    model.save(str(tmp_path / "model"))
    predicted = thalweg.spark.Model.load(str(tmp_path / "model")).transform(frame)
    kinds = {"rawPrediction": "vector", "probability": "vector", "prediction": "double", "predictedLabel": "string"}
    assert {field.name: field.dataType.simpleString() for field in predicted.schema[len(frame.columns):]} == kinds
    rows = predicted.collect()
    for row in rows:
        assert row.probability.toArray().sum() == pytest.approx(1, abs=1e-5)
        assert row.prediction == row.probability.toArray().argmax() == row.rawPrediction.toArray().argmax()
        assert row.predictedLabel == NAMES[int(row.prediction)]
    found = MulticlassClassificationEvaluator(labelCol="number", metricName="accuracy").evaluate(
        predicted.selectExpr("prediction", f"double(array_position(array{tuple(NAMES)}, animal) - 1) as number"))
    assert found == pytest.approx(np.mean([row.predictedLabel == row.animal for row in rows])) and found > 0.9
    # What is asked for by name or kind is all that comes.
    model.save_onnx((tmp_path / "model.onnx").as_uri())
    plain = thalweg.spark.Model.load(tmp_path / "model.onnx", input_cols=["x"], output_kinds=["array"])
    assert len(plain.transform(frame).columns) == len(frame.columns) + 1


def test_class_names_say_which_labels_there_are(frame):
    model = estimator(class_names=list(reversed(NAMES)), output_kinds=["class"]).fit(frame)
    rows = model.transform(frame).select("predicted", "animal").collect()
    assert np.mean([NAMES[2 - int(row.predicted)] == row.animal for row in rows]) > 0.9
    with pytest.raises(Exception, match="column 'animal' holds 'cicada', which is none of the 3 classes: ant, bee, wasp"):
        estimator(class_names=["ant", "bee", "wasp"]).fit(frame)
    with pytest.raises(Exception, match="have to be the only label column"):
        estimator(label_cols=["animal", "animal"]).fit(frame)


def test_more_names_than_classes_of_the_model(frame):
    more = frame.selectExpr("x", "if(x[0] > 1, 'wasp', animal) as animal")
    with pytest.raises(Exception, match="row [0-9]+ of partition [0-9]+: column .animal. holds class 3; the model has the classes 0 to 2"):
        estimator().fit(more)


def one_score(loss, **params):
    net = nn.Linear(4, 1) if loss == "bce_with_logits" else nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    given = dict(feature_cols=["x"], label_cols=["animal"], loss=loss, epochs=1, batch_size=30, num_workers=1, threads=1,
                 output_cols=["predicted"]) | params
    return thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], **given)


@pytest.mark.parametrize("loss", ["bce_with_logits", "bce"])
def test_one_score_has_two_names(frame, loss):
    for count, rows in [(3, frame), (1, frame.where("animal = 'ant'"))]:
        with pytest.raises(thalweg.Error, match=f"the label column animal holds {count} different texts, but one score, trained by"
                           f" {loss}, tells two classes apart; .*take cross_entropy"):
            one_score(loss).fit(rows)
    for names in (NAMES, ["ant"]):
        with pytest.raises(thalweg.Error, match=f"classNames has {len(names)} entries, but one score"):
            one_score(loss, class_names=names).fit(frame)
    two = frame.where("animal != 'cicada'")
    predicted = one_score(loss).fit(two).transform(two)
    assert {row.predicted for row in predicted.collect()} <= {"ant", "bee"}


def test_categories_are_numbered_alike_in_training_and_prediction(spark, tmp_path):
    colours = ["blue", "green", "red"]
    rng = np.random.default_rng(2)
    rows = [(colours[i], float(i == 2)) for i in rng.integers(0, 3, 200)]
    frame = spark.createDataFrame(rows, "colour string, hot double").repartition(3)
    # One place more than there are colours: for those that were not seen.
    net = nn.Sequential(nn.Embedding(4, 8), nn.Flatten(), nn.Linear(8, 1))
    fitted = thalweg.spark.Estimator(
        net, inputs=[thalweg.Input((None, 1), "i64")], feature_cols=["colour"], label_cols=["hot"], loss="mse",
        optimizer="adam", learning_rate=0.05, epochs=30, batch_size=20, num_workers=2, threads=1, output_cols=["p"],
        output_kinds=["value"]).fit(frame)
    fitted.save(str(tmp_path / "model"))
    model = thalweg.spark.Model.load(str(tmp_path / "model"))
    asked = spark.createDataFrame([(colour,) for colour in [*colours, "mauve"]], "colour string")
    answers = {row.colour: row.p for row in model.transform(asked).collect()}
    assert answers["red"] > 0.8 and answers["blue"] < 0.2 and answers["green"] < 0.2 and "mauve" in answers
    plain = thalweg.Model.load(str(tmp_path / "model" / "model.onnx"))
    np.testing.assert_allclose(plain(np.array([[2]]))[0, 0], answers["red"], rtol=1e-5)
    with pytest.raises(Exception, match="column 'other' is of type string, and the model carries no numbers"):
        model.copy().configure(input_cols=["other"]).transform(asked.withColumnRenamed("colour", "other"))


def test_texts_for_an_input_of_fractions_are_told_with_what_to_do(spark, tmp_path):
    features = thalweg.data.Features([{"kind": "string_index", "column": "city"}])
    features.fit({"city": ["Oslo", "Rome"]})
    thalweg.Model(nn.Linear(2, 1), [thalweg.Input((None, 2))]).save(
        str(tmp_path / "features.onnx"), {"thalweg.features": features.to_json()})
    rows = spark.createDataFrame([("Oslo", 1.0)], "city string, fare double")
    with pytest.raises(thalweg.Error, match="column 'city' is of type string; .* into a column of their own, and give that"):
        thalweg.spark.Model.load(tmp_path / "features.onnx", input_cols=["city", "fare"]).transform(rows)
