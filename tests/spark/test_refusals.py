"""What cannot come to a good end is refused by name before the first task runs."""

import pytest

import thalweg
import thalweg.spark
from thalweg import nn
from two_heads import TwoHeads


@pytest.fixture(scope="module")
def frame(spark):
    frame = spark.sql("SELECT array(float(id % 7), float(id % 5), float(id % 3), 1.0f) x, int(id % 3) y, id % 4 = 0 held"
                      " FROM range(60)").coalesce(2).cache()
    frame.count()
    return frame


def estimator(net=None, **params):
    net = net or nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    given = dict(feature_cols=["x"], label_cols=["y"], epochs=1, batch_size=30, num_workers=2, threads=1,
                 output_cols=["scores"]) | params
    return thalweg.spark.Estimator(net, inputs=[thalweg.Input((None, 4))], **given)


def refusal(spark, call):
    """What the call throws, which must have run nothing."""
    spark.sparkContext.setJobGroup("refused", "what is refused")
    try:
        with pytest.raises(Exception) as caught:
            call()
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("refused")
    return str(caught.value)


OUTPUTS = {
    "an unknown kind": ("there is no kind of output 'foo'; the kinds are array, raw,", {"output_kinds": ["foo"]}),
    "a column that is there": ("the output column 'y' exists already", {"output_cols": ["y"]}),
    "a column that differs by case": ("the output column 'Y' exists already", {"output_cols": ["Y"]}),
    "a column twice": ("there are two output columns 'a'", {"output_cols": ["a", "a"]}),
    "twice but for the case": ("there are two output columns 'A'", {"output_cols": ["a", "A"]}),
    "too many kinds": ("outputKinds has 2 entries (raw, class) for 1 output columns",
                       {"output_cols": ["a"], "output_kinds": ["raw", "class"]}),
    "too few kinds": ("outputKinds has 2 entries (raw, class) for 3 output columns",
                      {"output_cols": ["a", "b", "c"], "output_kinds": ["raw", "class"]}),
    "one number of three": ("has 3 elements in a row, not the one of a column of kind value", {"output_kinds": ["value"]}),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_wrong_outputs_are_refused_by_fit_and_transform(spark, frame, perceptron, case):
    text, params = OUTPUTS[case]
    assert text in refusal(spark, lambda: estimator(**params).fit(frame))
    given = {"output_cols": ["scores"]} | params
    model = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], **given)
    assert text in refusal(spark, lambda: model.transform(frame))


def test_names_may_differ_by_case_where_spark_tells_them_apart(spark, frame, perceptron):
    model = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["X", "Y"])
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert model.transform(frame).columns == ["x", "y", "held", "X", "Y"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_the_case_of_names_counts_as_in_the_session_of_the_rows(spark, perceptron):
    exact = spark.newSession()
    exact.conf.set("spark.sql.caseSensitive", "true")
    query = "SELECT array(float(id), 2.0f, 3.0f, 4.0f) x, int(id % 3) y FROM range(60)"
    model = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["X"])
    assert model.transform(exact.sql(query)).columns == ["x", "y", "X"]
    assert estimator(output_cols=["X"]).fit(exact.sql(query)).getOrDefault("outputCols") == ["X"]
    # The session that is active counts no more than the other.
    exact.createDataFrame([(1,)], "a int")
    try:
        for call in (lambda: model.transform(spark.sql(query)), lambda: estimator(output_cols=["X"]).fit(spark.sql(query))):
            assert "the output column 'X' exists already" in refusal(spark, call)
    finally:
        spark.createDataFrame([(1,)], "a int")


FITS = {
    "too few names of classes": ("classNames has 2 entries, but the model has 3 classes", {"class_names": ["a", "b"]}),
    "too many names of classes": ("classNames has 4 entries", {"class_names": ["a", "b", "c", "d"]}),
    "labels that mark": ("validationIndicatorCol is 'y', which is a column of features or labels as well",
                         {"validation_indicator_col": "y"}),
    "negative threads": ("the parameter threads is -1, must be at least 1", {"threads": -1}),
    "negative seconds": ("the parameter formSeconds is -1.0, must be at least 0", {"form_seconds": -1.0}),
    "negative memory": ("the parameter memoryBytes is -1, must be at least 0", {"memory_bytes": -1}),
    "bad rows": ("the parameter badRows is 'drop', must be one of fail, skip", {"bad_rows": "drop"}),
}


@pytest.mark.parametrize("case", FITS)
def test_wrong_parameters_are_refused_by_fit(spark, frame, case):
    text, params = FITS[case]
    assert text in refusal(spark, lambda: estimator(**params).fit(frame))


COLUMNS = {
    "too few": ("the model's input {} takes 4 numbers of a row, but the 3 input column(s) given hold one each: a, b, c", ["a", "b", "c"]),
    "too many": ("takes 4 numbers of a row, but the 5 input column(s) given hold one each: a, b, c, d, e", ["a", "b", "c", "d", "e"]),
    "one": ("takes 4 numbers of a row, but the 1 input column(s) given hold one each: a", ["a"]),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_that_cannot_fill_the_input_are_refused(spark, perceptron, case):
    text, columns = COLUMNS[case]
    frame = spark.sql("SELECT 1.0 a, 2.0 b, 3.0 c, 4.0 d, 5.0 e, 1 y FROM range(60)")
    fitted = estimator(feature_cols=columns)
    fitted._transfer_params_to_java()
    loaded = thalweg.spark.Model.load(perceptron[0], input_cols=columns, output_cols=["scores"])
    loaded._transfer_params_to_java()
    for call in (lambda: fitted.fit(frame), lambda: fitted._java_obj.transformSchema(frame._jdf.schema()),
                 lambda: loaded.transform(frame), lambda: loaded._java_obj.transformSchema(frame._jdf.schema())):
        assert text.format("input f32[-1, 4]") in refusal(spark, call)


VALUES = {
    "precision": ("the parameter precision is 'fp16', must be one of declared, f32, bf16", {"precision": "fp16"}),
    "bad rows": ("the parameter badRows is 'drop', must be one of fail, skip", {"bad_rows": "drop"}),
    "batch size": ("the parameter batchSize is -1, must be at least 0", {"batch_size": -1}),
    "threads": ("the parameter threads is -2, must be at least 0", {"threads": -2}),
}


@pytest.mark.parametrize("case", VALUES)
def test_wrong_values_are_refused_by_transform(spark, frame, perceptron, case):
    text, params = VALUES[case]
    model = thalweg.spark.Model.load(perceptron[0], input_cols=["x"], output_cols=["scores"], **params)
    assert text in refusal(spark, lambda: model.transform(frame))


def test_a_model_with_two_outputs_is_not_trained(spark, frame):
    text = refusal(spark, lambda: estimator(TwoHeads()).fit(frame))
    assert "training takes models with one output; this one has 2: first f32[-1, 3], second f32[-1, 2]" in text


# ---- Files

def field(number, content):
    """Bytes in a protocol buffer."""
    return bytes([number << 3 | 2, len(content)]) + content


def test_weights_in_a_second_file_are_refused_wherever_they_come_in(spark, frame, tmp_path):
    location = field(13, field(1, b"location") + field(2, b"weights.bin"))
    path = tmp_path / "net.onnx"
    path.write_bytes(field(7, field(5, field(8, b"weight") + location + b"\x70\x01")))
    from_file = estimator(str(path))
    for call in [lambda: thalweg.spark.Model.load(path), lambda: from_file.fit(frame),
                 lambda: from_file.save(str(tmp_path / "saved"))]:
        text = refusal(spark, call)
        assert f"the model {path} has weights in a second file, weights.bin" in text
    assert not (tmp_path / "saved").exists()


def test_a_file_that_is_no_model_is_called_as_the_user_calls_it(spark, frame, tmp_path):
    path = tmp_path / "notes.onnx"
    path.write_text("not a model at all")
    for call in [lambda: thalweg.spark.Model.load(path), lambda: estimator(str(path)).fit(frame)]:
        text = refusal(spark, call)
        assert str(path) in text and "model-" not in text
