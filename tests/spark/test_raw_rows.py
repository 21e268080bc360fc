"""Models whose file says how rows become their inputs, lines of text or tables with features, on rows as they are."""

import json

import numpy as np
import pytest

import thalweg
import thalweg.spark
from thalweg import data, nn
from thalweg._core import Predictor

CITIES = ["Oslo", "Rome", "Lima"]
FEATURES = [
    {"kind": "string_index", "column": "city"},
    {"kind": "one_hot", "column": "city"},
    {"kind": "standard_scale", "column": "fare"},
    {"kind": "min_max_scale", "column": "age"},
    {"kind": "hash_bucket", "column": "street", "buckets": 5},
    {"kind": "cross_hash", "columns": ["street", "note"], "name": "both", "buckets": 7},
]
INPUTS = ["city_0", "city_1", "city_2", "fare", "age", "street", "both"]


def table(rows=40):
    rng = np.random.default_rng(3)
    return {
        "note": [f"n{i % 4}" for i in range(rows)],
        "city": [CITIES[i] for i in rng.integers(0, 3, rows)],
        "street": [f"street {i % 9}" for i in range(rows)],
        "fare": rng.normal(20, 5, rows),
        "age": rng.integers(18, 80, rows),
    }


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """A model of tables with every kind of feature, and its file."""
    features = data.Features(FEATURES)
    features.fit(table())
    model = thalweg.Model(nn.Sequential(nn.Linear(len(INPUTS), 6), nn.Tanh(), nn.Linear(6, 1)), [thalweg.Input((None, len(INPUTS)))])
    path = str(tmp_path_factory.mktemp("trips") / "trips.onnx")
    model.save(path, features.metadata(INPUTS))
    return path


@pytest.fixture(scope="module")
def rows(spark):
    columns = table()
    listed = [tuple(str(v) if isinstance(v, str) else v.item() for v in row) for row in zip(*columns.values())]
    return spark.createDataFrame(listed, "note string, city string, street string, fare double, age int").repartition(3).cache()


def by_hand(path, frame):
    """What Python makes of the rows of a DataFrame."""
    found = frame.collect()
    columns = {name: [row[name] for row in found] for name in frame.columns}
    columns = {name: values if isinstance(values[0], str) else np.array(values) for name, values in columns.items()}
    return np.ravel(thalweg.load(path).predict(columns))


def test_every_kind_of_feature_gives_pythons_answers(trips, rows):
    model = thalweg.spark.Model.load(trips, output_cols=["tip"], output_kinds=["value"])
    predicted = model.transform(rows)
    assert predicted.columns == [*rows.columns, "tip"]
    np.testing.assert_allclose([row.tip for row in predicted.collect()], by_hand(trips, rows), rtol=1e-5)
    # Columns may be named as well, in any order, if they are those that the file needs.
    needed = thalweg.spark.Model.load(trips, input_cols=["age", "FARE", "city", "street", "note"], output_cols=["tip"],
                                      output_kinds=["value"], batch_size=7)
    np.testing.assert_allclose([row.tip for row in needed.transform(rows).collect()], by_hand(trips, rows), rtol=1e-5)


def test_a_saved_stage_still_prepares_rows(trips, rows, tmp_path):
    thalweg.spark.Model.load(trips, output_cols=["tip"], output_kinds=["value"]).save(str(tmp_path / "stage"))
    again = thalweg.spark.Model.load(str(tmp_path / "stage"))
    np.testing.assert_allclose([row.tip for row in again.transform(rows).collect()], by_hand(trips, rows), rtol=1e-5)


def test_what_was_not_seen_is_answered_as_in_python(trips, spark):
    new = spark.createDataFrame([("n", "Bonn", "nowhere", 1e9, 200)], "note string, city string, street string, fare float, age long")
    tip = thalweg.spark.Model.load(trips, output_cols=["tip"], output_kinds=["value"]).transform(new).first().tip
    assert tip == pytest.approx(by_hand(trips, new)[0], rel=1e-5)


def test_columns_that_do_not_fit_are_told_before_anything_runs(trips, rows):
    model = thalweg.spark.Model.load(trips, output_cols=["tip"])
    with pytest.raises(thalweg.Error, match="fare"):
        model.transform(rows.drop("fare"))
    with pytest.raises(thalweg.Error, match="inputCols has 'other', but the model's file says that its inputs are made of .*city"):
        model.copy().configure(input_cols=["other"]).transform(rows.withColumn("other", rows.note))
    with pytest.raises(thalweg.Error, match="column 'fare' is of type array<int>"):
        model.transform(rows.drop("fare").selectExpr("*", "array(1) as fare"))
    with pytest.raises(thalweg.Error, match="fare"):
        model.transform(rows.drop("fare").selectExpr("*", "'much' as fare"))


def test_rows_without_a_value_are_bad_ones(trips, rows):
    holes = rows.selectExpr("note", "if(age < 40, null, city) as city", "street", "if(note = 'n1', double('NaN'), fare) as fare", "age")
    model = thalweg.spark.Model.load(trips, output_cols=["tip"])
    with pytest.raises(Exception, match="column 'city' is null|column 'fare' holds NaN"):
        model.transform(holes).collect()
    kept = model.copy().configure(bad_rows="skip").transform(holes)
    assert kept.count() == rows.where("age >= 40 and note != 'n1'").count()


def test_missing_values_are_imputed_as_in_python(trips, rows, tmp_path):
    features = data.Features([{"kind": "impute", "column": "city", "with": "most_frequent", "indicator": True},
                              {"kind": "impute", "column": "fare", "with": "mean"}, {"kind": "impute", "column": "age", "with": "median"},
                              *FEATURES])
    features.fit(table())
    inputs = [*INPUTS, "city_missing"]
    model = thalweg.Model(nn.Linear(len(inputs), 1), [thalweg.Input((None, len(inputs)))])
    model.save(str(tmp_path / "gaps.onnx"), features.metadata(inputs))
    holes = rows.selectExpr("note", "if(age < 40, null, city) as city", "street",
                            "if(note = 'n1', double('NaN'), if(note = 'n2', null, fare)) as fare", "if(note = 'n3', null, age) as age")
    predicted = thalweg.spark.Model.load(tmp_path / "gaps.onnx", output_cols=["tip"], output_kinds=["value"]).transform(holes).collect()
    columns = {name: [row[name] for row in predicted] for name in holes.columns}
    expected = np.ravel(thalweg.load(str(tmp_path / "gaps.onnx")).predict(columns))
    np.testing.assert_allclose([row.tip for row in predicted], expected, rtol=1e-5)
    # What the features do not fill stays a bad row.
    with pytest.raises(Exception, match="column 'street' is null"):
        thalweg.spark.Model.load(tmp_path / "gaps.onnx").transform(holes.withColumn("street", holes.street.substr(99, 1)).selectExpr(
            "note", "city", "nullif(street, '') as street", "fare", "age")).collect()


def test_dates_and_times_have_parts(spark, tmp_path):
    features = data.Features([{"kind": "date_parts", "column": name, "parts": ["year", "day_of_year", "hour"]} for name in ("day", "time", "text")])
    inputs = [f"{name}_{part}" for name in ("day", "time", "text") for part in ("year", "day_of_year", "hour")]
    model = thalweg.Model(nn.Linear(9, 1), [thalweg.Input((None, 9))])
    model.save(str(tmp_path / "when.onnx"), features.metadata(inputs))
    for zone in ("UTC", "Asia/Tokyo"):
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        rows = session.sql("SELECT date'2024-02-29' day, timestamp'2026-11-19T12:30:00Z' time, '1969-12-31 23:59' text")
        found = thalweg.spark.Model.load(tmp_path / "when.onnx", output_cols=["y"], output_kinds=["value"]).transform(rows).first().y
        expected = model(np.array([[2024, 60, 0, 2026, 323, 12, 1969, 365, 23]], "float32"))
        assert found == pytest.approx(expected.item(), rel=1e-4), zone


# ---- Lines of text

LINES = [("good film", 1), ("bad film", 0), ("a good day", 1), ("a bad day", 0), ("", 0), ("Good, good!", 1)] * 20


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "lines.txt").write_text("".join(f"{label}\t{text}\n" for text, label in LINES if text))
    lines = data.TextLines(str(folder / "lines.txt"), data.Vocabulary.from_file(str(folder / "lines.txt")), 5)
    model = thalweg.Model(nn.Sequential(nn.Embedding(20, 8), nn.Flatten(), nn.Linear(40, 2)), [thalweg.Input((None, 5), "i64")])
    path = str(folder / "reviews.onnx")
    model.save(path, lines.metadata)
    return path


@pytest.fixture(scope="module")
def lines(spark):
    return spark.createDataFrame(LINES, "review string, label int").repartition(2).cache()


def test_lines_of_text_by_the_vocabulary_of_the_file(reviews, lines):
    model = thalweg.spark.Model.load(reviews, input_cols=["review"], output_cols=["scores"], output_kinds=["array"])
    found = model.transform(lines).collect()
    model = thalweg.load(reviews)
    expected = model(Predictor(model).from_texts([row.review for row in found])[0])
    np.testing.assert_allclose([row.scores for row in found], expected, rtol=1e-5)
    with pytest.raises(thalweg.Error, match="inputCols is not set: the column of the texts that the model takes"):
        thalweg.spark.Model.load(reviews).transform(lines)


def test_a_model_of_texts_is_trained_further_on_texts(reviews, lines):
    estimator = thalweg.spark.Estimator(reviews, feature_cols=["review"], label_cols=["label"], loss="cross_entropy",
                                        optimizer="adam", learning_rate=0.05, epochs=15, batch_size=20, num_workers=2, threads=1,
                                        output_cols=["class"], output_kinds=["class"])
    trained = estimator.fit(lines)
    assert trained.transform(lines).where("class = label").count() == len(LINES)
    # The vocabulary stays with the model.
    some = trained.transform(lines.selectExpr("concat('  ', upper(review)) as review", "label"))
    assert some.where("class = label").count() == len(LINES)


def test_a_model_of_tables_is_trained_further_on_tables(trips, rows):
    target = rows.selectExpr("*", "if(city = 'Rome', 3.0D, -1.0D) as tip")
    estimator = thalweg.spark.Estimator(trips, feature_cols=["city", "fare", "age", "street", "note"], label_cols=["tip"], loss="mse",
                                        optimizer="adam", learning_rate=0.05, epochs=60, batch_size=20, num_workers=2, threads=1,
                                        output_cols=["p"], output_kinds=["value"])
    predicted = estimator.fit(target).transform(target).collect()
    assert np.mean([(row.p - row.tip) ** 2 for row in predicted]) < 0.2


# ---- Features that are fitted here

GAPS = [{"kind": "impute", "column": "fare", "with": "median", "indicator": True}, {"kind": "standard_scale", "column": "fare"},
        {"kind": "min_max_scale", "column": "age"}, {"kind": "string_index", "column": "city"}, {"kind": "one_hot", "column": "city"}]
MADE = ["fare", "fare_missing", "age", "city_0", "city_1", "city_2"]


@pytest.fixture(scope="module")
def with_gaps(rows):
    return rows.selectExpr("note", "city", "age", "if(note = 'n1', double('NaN'), if(note = 'n2', null, fare)) as fare",
                           "if(city = 'Rome', 3.0D, -1.0D) as tip", "note = 'n3' as held").cache()


def listed(frame):
    found = frame.collect()
    return {name: [row[name] for row in found] for name in frame.columns}


def same_features(found, expected):
    left, right = (features.apply(table()) for features in (found, expected))
    assert list(left) == list(right)
    for name, values in right.items():
        if not isinstance(values, list):
            np.testing.assert_allclose(left[name], values, rtol=1e-5, atol=1e-9)


def test_features_learn_of_all_partitions_what_they_learn_of_one_table(with_gaps):
    expected = data.Features(GAPS)
    expected.fit({name: values for name, values in listed(with_gaps).items() if name in ("city", "age", "fare")})
    same_features(thalweg.spark.fit_features(with_gaps, GAPS), expected)
    same_features(thalweg.spark.fit_features(with_gaps.coalesce(1), data.Features(GAPS)), expected)
    # Names in another case are the same columns, here as everywhere on Spark.
    upper = with_gaps.withColumnRenamed("fare", "FARE")
    same_features(thalweg.spark.fit_features(upper, json.dumps(GAPS)), expected)


def test_features_that_cannot_be_fitted_are_told(with_gaps, spark):
    with pytest.raises(thalweg.Error, match="row [0-9]+ of partition [0-9]+: column 'fare' is null|holds NaN"):
        thalweg.spark.fit_features(with_gaps, GAPS[1:])
    skipped = thalweg.spark.fit_features(with_gaps, GAPS[1:], bad_rows="skip")
    full = with_gaps.where("fare is not null and not isnan(fare)")
    same_features(skipped, thalweg.spark.fit_features(full, GAPS[1:]))
    with pytest.raises(thalweg.Error, match="there is no column 'fare'"):
        thalweg.spark.fit_features(with_gaps.drop("fare"), GAPS)
    with pytest.raises(thalweg.Error, match="column 'age' holds text: index or hash it first"):
        thalweg.spark.fit_features(with_gaps.selectExpr("fare", "city", "'x' as age"), GAPS)
    with pytest.raises(thalweg.Error, match="there is no feature 'one_hat'"):
        thalweg.spark.fit_features(with_gaps, [{"kind": "one_hat"}])
    with pytest.raises(thalweg.Error, match="column 'age' has no rows to fit to"):
        thalweg.spark.fit_features(with_gaps.where("false"), [{"kind": "min_max_scale", "column": "age"}])
    with pytest.raises(TypeError, match="features=3 is neither"):
        thalweg.spark.fit_features(with_gaps, 3)
    with pytest.raises(ValueError, match="bad_rows is 'drop'"):
        thalweg.spark.fit_features(with_gaps, GAPS, bad_rows="drop")


def test_an_estimator_fits_features_and_its_model_takes_raw_rows(with_gaps, spark, tmp_path):
    net = nn.Sequential(nn.Linear(len(MADE), 8), nn.Tanh(), nn.Linear(8, 1))
    estimator = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, len(MADE)))], features=GAPS, feature_cols=MADE,
                                        label_cols=["tip"], loss="mse", optimizer="adam", learning_rate=0.05, epochs=60,
                                        batch_size=10, num_workers=2, threads=1, output_cols=["p"], output_kinds=["value"],
                                        validation_indicator_col="held")
    estimator.save(str(tmp_path / "estimator"))
    model = thalweg.spark.Estimator.load(str(tmp_path / "estimator")).fit(with_gaps)
    predicted = model.transform(with_gaps).collect()
    assert np.mean([(row.p - row.tip) ** 2 for row in predicted]) < 0.3
    # The file takes raw columns everywhere, with what the rows to train on have taught.
    model.save_onnx((tmp_path / "tips.onnx").as_uri())
    loaded = thalweg.load(str(tmp_path / "tips.onnx"))
    raw = listed(with_gaps.drop("tip", "held"))
    np.testing.assert_allclose(np.ravel(loaded.predict(raw)), [row.p for row in predicted], rtol=1e-4, atol=1e-5)
    trained = thalweg.spark.fit_features(with_gaps.where("not held"), GAPS)
    same_features(data.Features.from_json(loaded.metadata["thalweg.features"]), trained)


def test_columns_that_the_features_need_are_asked_for_at_once(with_gaps):
    net = nn.Linear(len(MADE), 1)
    estimator = thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, len(MADE)))], features=GAPS, feature_cols=MADE,
                                        label_cols=["tip"], loss="mse")
    with pytest.raises(thalweg.Error, match="there is no column 'age'"):
        estimator.fit(with_gaps.drop("age"))
    narrow = thalweg.spark.Estimator(nn.Linear(2, 1), inputs=[thalweg.Input((None, 2))], features=GAPS, feature_cols=MADE,
                                     label_cols=["tip"], loss="mse", num_workers=1)
    with pytest.raises(thalweg.Error, match="takes 2 columns, there are 6 for it"):
        narrow.fit(with_gaps)
