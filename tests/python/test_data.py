"""thalweg.data: folders of images and tables, and what they say of bad files."""

import datetime
import json
import multiprocessing
import os
import pathlib
import pickle
import struct
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg
from thalweg import data, nn

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "images"
SMALL = {"transforms": [{"name": "resize", "height": 8, "width": 8}]}
ODD = {"mislabelled.jpg": "photo.png", "cmyk.jpg": "photo_cmyk.jpg", "deep.png": "photo_16bit.png", "moving.gif": "photo.gif"}


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def bomb(side=30000):
    """A PNG file of some kilobytes that is an image of 900 million pixels."""
    row = b"\0" * (1 + side // 8)
    packer = zlib.compressobj(9)
    pixels = b"".join([*(packer.compress(row * 100) for _ in range(side // 100)), packer.flush()])
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.fixture
def photos(tmp_path):
    for folder in ("cat", "dog"):
        (tmp_path / folder).mkdir()
        for name, source in ODD.items():
            (tmp_path / folder / name).write_bytes((GOLDEN / source).read_bytes())
    return tmp_path


def test_odd_images_are_read(photos):
    folder = data.ImageFolder(str(photos), SMALL)
    assert len(folder) == 8 and folder.classes == ["cat", "dog"]
    inputs, targets = folder.fetch(list(range(8)))
    assert inputs[0].shape == (8, 3, 8, 8) and np.isfinite(inputs[0]).all()
    np.testing.assert_array_equal(targets[0], [0] * 4 + [1] * 4)


def test_images_at_an_address(photos):
    files = data.remote_files(f"file://{photos}")
    assert len(files.list()) == 8 and files.name == f"file://{photos}"
    here, there = data.ImageFolder(str(photos), SMALL), data.ImageFolder(files, SMALL)
    assert there.classes == here.classes
    np.testing.assert_array_equal(there.fetch([7])[0][0], here.fetch([7])[0][0])
    with pytest.raises(thalweg.Error, match="nowhere: no such directory"):
        data.remote_files(f"file://{photos}/nowhere")


BAD = {
    "cut.jpg": ((GOLDEN / "photo.jpg").read_bytes()[:700], "cut.jpg: "),
    "empty.png": (b"", "empty.png: the file is empty"),
    "text.gif": (b"no image", "text.gif: is no JPEG, PNG, GIF or BMP image"),
    "bomb.png": (bomb(), "bomb.png: 30000 x 30000 pixels are more than the limit"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_images_are_named(photos, name):
    content, message = BAD[name]
    (photos / "dog" / name).write_bytes(content)
    folder = data.ImageFolder(str(photos), SMALL)
    (number,) = [i for i in range(len(folder)) if folder.path(i).endswith(name)]
    with pytest.raises(thalweg.Error, match=f"{photos}/dog/{message}"):
        folder.fetch([number])


def test_a_run_leaves_bad_images_out_and_tells(photos, capfd):
    for name, (content, _) in BAD.items():
        (photos / "dog" / name).write_bytes(content)
    folder = data.ImageFolder(str(photos), SMALL)
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    failing = thalweg.Estimator(net, epochs=1, progress="none")
    with pytest.raises(thalweg.Error, match=f"{photos}/dog/"):
        failing.fit(folder)
    options = {"bad_samples": "skip", "readers": 3, "shuffle_window": 5, "last_batch": "keep"}
    fitted = thalweg.Estimator(net, batch_size=2, epochs=2, progress="lines", options=options)
    fitted.fit(folder, validation=folder)
    # In two epochs and two validations.
    assert fitted.skipped_.count == 16 and f"{photos}/dog/" in fitted.skipped_.reasons[0]
    assert "16 samples that could not be read were left out: " in capfd.readouterr().err
    assert str(pickle.loads(pickle.dumps(fitted)).skipped_) == str(fitted.skipped_)
    fitted.save(photos / "model.onnx", folder.metadata)
    metadata = thalweg.Model.load(str(photos / "model.onnx")).metadata
    assert metadata["thalweg.class_names"] == '["cat","dog"]' and '"resize"' in metadata["thalweg.preprocessing"]


def test_options_of_image_folders(photos, tmp_path):
    manifest = tmp_path / "list.csv"
    manifest.write_text("cat/cmyk.jpg,3\ndog/moving.gif,1\n")
    gray = SMALL | {"output": {"mean": [0.5], "deviation": [0.5]}}
    listed = data.ImageFolder(str(photos), gray, manifest=str(manifest), color="gray", memory_bytes=10**6)
    inputs, targets = listed.fetch([0, 1])
    assert inputs[0].shape == (2, 1, 8, 8) and list(targets[0]) == [3, 1]
    plain = data.ImageFolder(str(photos), '{"transforms": [{"name": "resize", "height": 4, "width": 4}]}', labels=False)
    assert plain.target_types == [] and plain.fetch([0])[0][0].shape == (1, 3, 4, 4)
    small = data.ImageFolder(str(photos), SMALL, max_pixels=100)
    with pytest.raises(thalweg.Error, match="61 x 47 pixels are more than the limit of 100"):
        small.fetch([0])
    with pytest.raises(ValueError, match="color is 'cmyk', not rgb or gray"):
        data.ImageFolder(str(photos), SMALL, color="cmyk")
    with pytest.raises(thalweg.Error, match="resise"):
        data.ImageFolder(str(photos), {"transforms": [{"name": "resise"}]})
    with pytest.raises(thalweg.Error, match=f"{photos}/nowhere: cannot list"):
        data.ImageFolder(str(photos / "nowhere"), SMALL)


def test_a_folder_that_cannot_be_listed_is_named(photos):
    (photos / "cat").chmod(0)
    if os.access(photos / "cat", os.R_OK):
        pytest.skip("nothing is unreadable to this user")
    with pytest.raises(thalweg.Error, match=f"{photos}/cat: cannot list: Permission denied"):
        data.ImageFolder(str(photos), SMALL)
    (photos / "cat").chmod(0o700)


def test_bad_tables_are_named(tmp_path):
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("x,y\n1,2\n3\n5,6,7\n8,9\n")
    with pytest.raises(thalweg.Error, match=f"{ragged}.*Expected 2 columns, got 1"):
        data.Table(str(ragged), ["x", "y"])
    left = data.Table(str(ragged), ["x", "y"], bad_rows="skip")
    assert left.skipped_rows >= 2
    np.testing.assert_array_equal(left.fetch([0, 1])[0][0], [[1, 2], [8, 9]])
    nulls = tmp_path / "nulls.parquet"
    pq.write_table(pa.table({"x": [1.0, None, 3.0], "y": [1, 2, 3]}), nulls)
    with pytest.raises(thalweg.Error, match=f"{nulls}: column 'x' is null in row 1"):
        data.Table(str(nulls), ["x"], "y").fetch([0, 1])
    filled = data.Table(str(nulls), ["x"], "y", fill=-1.0)
    np.testing.assert_array_equal(filled.fetch([1])[0][0], [[-1]])
    (tmp_path / "cut.parquet").write_bytes(nulls.read_bytes()[:100])
    with pytest.raises(thalweg.Error, match="cut.parquet"):
        data.Table(str(tmp_path / "cut.parquet"), ["x"])


def test_tables_are_filtered(tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text("city;fare;tip\nrome;3;1\noslo;-1;0\nrome;9;2\n")
    rome = data.Table(str(path), ["fare"], "tip", filter=[("city", "==", "rome"), ("fare", ">", 3)], separator=";")
    assert len(rome) == 1 and rome.fetch([0])[1][0][0] == 2
    with pytest.raises(ValueError, match="filter: '=' of column 'fare' is not one of =="):
        data.Table(str(path), ["fare"], filter=[("fare", "=", 3)], separator=";")
    with pytest.raises(ValueError, match="bad_rows is 'drop'"):
        data.Table(str(path), ["fare"], bad_rows="drop")


FEATURES = [
    {"kind": "string_index", "column": "city"},
    {"kind": "one_hot", "column": "city"},
    {"kind": "standard_scale", "column": "fare"},
]
MADE = ["fare", "city_0", "city_1"]


def trips():
    return {"city": ["Oslo", "Rome", "Oslo"], "fare": np.array([2.0, 4.0, 6.0]), "tip": np.array([1, 2, 3])}


def test_features_are_fitted_and_applied_to_any_table(tmp_path):
    features = data.Features(FEATURES)
    columns = features.fit(trips())
    assert list(columns) == ["fare", "tip", "city_0", "city_1"]
    np.testing.assert_array_equal(columns["city_0"], [1, 0, 1])
    X = data.stack_columns(columns, MADE)
    assert X.dtype == np.float32 and X.shape == (3, 3)
    pq.write_table(pa.table(trips()), tmp_path / "trips.parquet")
    read = data.read_columns(str(tmp_path / "trips.parquet"), ["city", "fare"])
    assert read["city"] == ["Oslo", "Rome", "Oslo"]
    encoded = pa.table(trips() | {"city": pa.array(trips()["city"]).dictionary_encode()})
    tables = [trips(), read, encoded, encoded.to_pandas(), pa.table(trips()), pa.RecordBatch.from_pydict(trips()), pa.table(trips()).to_pandas()]
    for same in [features, data.Features.from_json(features.to_json()), pickle.loads(pickle.dumps(features))]:
        for table in tables:
            np.testing.assert_array_equal(data.stack_columns(same.apply(table), MADE), X)


def test_bad_features_are_named():
    with pytest.raises(thalweg.Error, match="column 'fare' holds nan in row 1"):
        data.Features(FEATURES).fit(trips() | {"fare": np.array([1, np.nan, 3])})
    with pytest.raises(thalweg.Error, match="there is no feature 'one_hat'"):
        data.Features([{"kind": "one_hat"}])
    with pytest.raises(thalweg.Error, match="unknown key 'colum'"):
        data.Features([{"kind": "one_hot", "colum": "x"}])
    with pytest.raises(thalweg.InputError, match="column 'city' holds None in row 1, which is neither number nor text"):
        data.Features(FEATURES).fit(trips() | {"city": ["Oslo", None, "Rome"]})
    with pytest.raises(thalweg.InputError, match="column 'city' has 1 nulls"):
        data.Features(FEATURES).fit(pa.table(trips() | {"city": ["Oslo", None, "Rome"]}))


def test_a_model_with_features_takes_tables(tmp_path):
    features = data.Features([*FEATURES, {"kind": "min_max_scale", "column": "tip"}])
    X = data.stack_columns(features.fit(trips()), MADE)
    trained = thalweg.Model(nn.Linear(3, 2), [thalweg.Input((None, 3))])
    path = str(tmp_path / "tips.onnx")
    trained.save(path, features.metadata(MADE, class_names=["low", "high"]))
    model = thalweg.Model.load(path)
    assert model.metadata["thalweg.columns"] == '[["fare","city_0","city_1"]]'
    table = pa.table({name: values for name, values in trips().items() if name != "tip"} | {"note": ["", "", ""]})
    for given in (table, table.to_pandas()):
        np.testing.assert_array_equal(data.model_inputs(model, given)[0], X)
        np.testing.assert_allclose(model(given), trained(X), rtol=1e-5)
    with pytest.raises(thalweg.InputError, match="there is no column 'city'"):
        model(table.drop_columns(["city"]))


GAPS = [
    {"kind": "impute", "column": "city", "with": "most_frequent", "indicator": True},
    {"kind": "impute", "column": "floor", "with": "most_frequent"},
    {"kind": "impute", "column": "fare", "with": "median"},
    {"kind": "string_index", "column": "city"},
    {"kind": "string_index", "column": "floor"},
]
FILLED = ["city", "city_missing", "floor", "fare"]


def test_missing_values_are_filled_whatever_stands_for_them(tmp_path):
    rows = {"city": ["Rome", None, "Oslo", "Rome"], "floor": [3, 1, None, 3], "fare": [1.0, 2.0, None, 9.0]}
    expected = [[1, 0, 1, 1], [1, 1, 0, 2], [0, 0, 1, 2], [1, 0, 1, 9]]
    table = pa.table(rows)
    frame = table.to_pandas().astype({"floor": "Int64"})
    with_nan = rows | {"fare": np.array([1, 2, np.nan, 9]), "city": ["Rome", float("nan"), "Oslo", "Rome"]}
    for given in (rows, with_nan, table, frame, frame.convert_dtypes()):
        features = data.Features(GAPS)
        np.testing.assert_array_equal(data.stack_columns(features.fit(given), FILLED), expected)
        np.testing.assert_array_equal(data.stack_columns(features.apply(given), FILLED), expected)
    # The same in a model, and from a file.
    model = thalweg.Model(nn.Linear(4, 1), [thalweg.Input((None, 4))])
    model.save(str(tmp_path / "filled.onnx"), features.metadata(FILLED))
    loaded = thalweg.load(str(tmp_path / "filled.onnx"))
    answers = model(np.array(expected, "float32"))
    pq.write_table(table, tmp_path / "rows.parquet")
    for given in (frame, table, rows, str(tmp_path / "rows.parquet"), table.to_pylist()):
        np.testing.assert_allclose(np.ravel(loaded.predict(given)), np.ravel(answers), rtol=1e-5)


def test_dates_of_every_kind_of_table(tmp_path):
    features = data.Features([{"kind": "date_parts", "column": "when", "parts": ["year", "weekday", "hour"]}])
    texts = ["2026-03-01 14:05:00", "1999-12-31 23:59:59"]
    times = np.array(texts, "datetime64[ns]")
    table = pa.table({"when": times})
    frame = table.to_pandas()
    zoned = frame.assign(when=frame.when.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    pq.write_table(table, tmp_path / "when.parquet")
    read = data.read_columns(str(tmp_path / "when.parquet"), ["when"])
    python = [time.replace(tzinfo=datetime.timezone.utc) for time in frame.when.dt.to_pydatetime()]
    for given in ({"when": texts}, {"when": times}, {"when": python}, table, frame, zoned, pa.Table.from_pandas(zoned), read):
        found = data.stack_columns(features.apply(given), ["when_year", "when_weekday", "when_hour"])
        np.testing.assert_array_equal(found, [[2026, 6, 14], [1999, 4, 23]])
    dates = pa.table({"when": pa.array([datetime.date(2026, 3, 1)])})
    for given in (dates, dates.to_pandas(), {"when": [datetime.date(2026, 3, 1)]}):
        found = data.stack_columns(features.apply(given), ["when_year", "when_weekday", "when_hour"])
        np.testing.assert_array_equal(found, [[2026, 6, 0]])
    # One that is missing can be filled.
    filled = data.Features([{"kind": "impute", "column": "when", "with": "constant", "value": 0}, *json.loads(features.to_json())])
    for given in ({"when": np.array(["2026-03-01", "NaT"], "datetime64[s]")}, pa.table({"when": pa.array([times[0], None])}),
                  frame.assign(when=[frame.when[0], None])):  # fmt: skip
        np.testing.assert_array_equal(data.stack_columns(filled.apply(given), ["when_year"]), [[2026], [1970]])


def test_what_nothing_fills_is_still_an_error():
    with pytest.raises(thalweg.InputError, match="column 'city' has 1 nulls: leave such rows out, or fill them .a feature of kind impute"):
        data.Features(GAPS[1:]).fit(pa.table({"city": ["Oslo", None], "floor": [1, 2], "fare": [1.0, 2.0]}))
    with pytest.raises(thalweg.InputError, match="column 'city' holds numbers and texts|column 'city' holds 1 in row 1"):
        data.Features(GAPS).fit({"city": ["Oslo", 1, None], "floor": [1, 2, 3], "fare": [1.0, 2.0, 3.0]})
    with pytest.raises(thalweg.Error, match="column 'city' has no rows to fit to"):
        data.Features(GAPS[:1]).fit({"city": [None, None]})


def test_files_of_tables_without_an_ending(tmp_path):
    path = tmp_path / "part-0"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(thalweg.Error, match="say what format it is"):
        data.Table(str(path), ["x", "y"])
    np.testing.assert_array_equal(data.Table(str(path), ["x", "y"], format="csv").fetch([0])[0][0], [[1, 2]])
    assert [name for name, _ in data.table_columns(str(path), format="csv")] == ["x", "y"]
    with pytest.raises(ValueError, match="format is 'xls', not auto, parquet, arrow or csv"):
        data.Table(str(path), ["x", "y"], format="xls")


def test_options_of_texts(tmp_path):
    path = tmp_path / "reviews.txt"
    path.write_text("good\tFine film\nbad\tno\n")
    vocabulary = data.Vocabulary.from_file(str(path), lower_case=False)
    assert "Fine" in vocabulary.tokens and vocabulary.encode("fine") == [1]
    assert data.Vocabulary(["a", "b"]).encode("B a", lower_case=True) == [3, 2]
    lines = data.TextLines(str(path), vocabulary, 4, pad="back", truncate="back", lower_case=False)
    number = dict(zip(vocabulary.tokens, range(2, 10)))
    np.testing.assert_array_equal(lines.fetch([0])[0][0], [[number["Fine"], number["film"], 0, 0]])
    assert lines.metadata["thalweg.class_names"] == '["bad","good"]'
    assert '"lower_case":false' in lines.metadata["thalweg.text"] and '"pad":"back"' in lines.metadata["thalweg.text"]
    plain = data.TextLines(str(path), vocabulary, 4, labels=False)
    assert plain.target_types == [] and "good" in data.Vocabulary.from_file(str(path), labels=False).tokens
    files = data.remote_files(f"file://{tmp_path}")
    there = data.TextLines("reviews.txt", vocabulary, 4, files=files, lower_case=False, pad="back")
    np.testing.assert_array_equal(there.fetch([0])[0][0], lines.fetch([0])[0][0])
    assert data.Vocabulary.from_file("reviews.txt", files=files).tokens
    with pytest.raises(ValueError, match="pad is 'left', not front or back"):
        data.TextLines(str(path), vocabulary, pad="left")


def test_random_transforms_do_not_travel(photos):
    random = {"transforms": [{"name": "random_resized_crop", "height": 8, "width": 8}, {"name": "horizontal_flip"}]}
    written = data.ImageFolder(str(photos), random).metadata["thalweg.preprocessing"]
    assert "center_crop" in written and "random" not in written and "flip" not in written


def test_views_of_datasets(tmp_path):
    x = np.arange(10, dtype="float32").reshape(10, 1)
    whole = data.TensorDataset([x], [np.arange(10)])
    np.testing.assert_array_equal(data.Shard(whole, 1, 3).fetch([0, 1, 2])[1][0], [1, 4, 7])
    for uneven, sizes in {"keep": [4, 3, 3], "drop": [3, 3, 3], "pad": [4, 4, 4]}.items():
        assert [len(data.Shard(whole, rank, 3, uneven)) for rank in range(3)] == sizes
    with pytest.raises(ValueError, match="uneven is 'cut', not keep, drop or pad"):
        data.Shard(whole, 0, 3, uneven="cut")
    mixed = data.Mix([whole, data.Subset(whole, [3])], [1.0, 1.0], 20, seed=1)
    assert len(mixed) == 20 and 3 in mixed.fetch(list(range(20)))[1][0]
    cached = data.Cached(whole, memory_bytes=40, disk_bytes=1000, directory=str(tmp_path))
    for _ in range(2):
        np.testing.assert_array_equal(cached.fetch([9, 0])[0][0], [[9], [0]])


def test_fractions_do_not_become_whole_numbers(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "fare": [3.0, 4.25]}), tmp_path / "t.parquet")
    table = data.Table(str(tmp_path / "t.parquet"), ["x"], "fare")
    fares = table.fetch([0, 1])[1][0]
    assert fares.dtype == "float32", "as the engine has it"
    np.testing.assert_array_equal(fares, [3, 4.25])
    with pytest.raises(thalweg.Error, match="column 'fare' holds 4.25 in row 1, which i64 cannot hold"):
        data.Table(str(tmp_path / "t.parquet"), ["x"], "fare", target_dtype="int64").fetch([0, 1])


def test_forked_workers_keep_caches_of_their_own(tmp_path):
    """Each sample's input says its target; a worker that reads what the other has written sees another."""
    rows = np.arange(64, dtype="int64")
    source = data.TensorDataset([np.repeat(rows[:, None], 100, 1).astype("float32")], [rows])
    cached = data.Cached(source, memory_bytes=0, disk_bytes=1 << 20, directory=str(tmp_path))

    def wrong(order):
        wrongs = 0
        for _ in range(2):
            for i in order:
                inputs, targets = cached.fetch([int(i)])
                wrongs += not (inputs[0] == i).all() or targets[0][0] != i
        return wrongs

    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    processes = [context.Process(target=lambda order: answers.put(wrong(order)), args=(order,)) for order in (rows, rows[::-1])]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert [answers.get(), answers.get()] == [0, 0]


def test_nan_in_a_dataset_is_said_before_training():
    x = np.zeros((20, 3), "float32")
    x[7, 2] = np.nan
    seen = []

    class Watch(thalweg.Callback):
        def on_step(self, state):
            seen.append(state.iteration)

    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    estimator = thalweg.Estimator(net, progress="none", callbacks=[Watch()])
    targets = np.zeros(20, "int64")
    with pytest.raises(thalweg.InputError, match="input 'input' holds NaN in column 2, row 7: leave"):
        estimator.fit(data.TensorDataset([x], [targets]))
    assert not seen
    lazily = data.FunctionDataset(lambda indices: ([x[indices]], [targets[indices]]), 20)
    with pytest.raises(thalweg.InputError, match=r"step 1 \(epoch 1, .*input 'input' holds NaN in column 2, row \d+ of the batch"):
        estimator.fit(lazily)
    skipping = thalweg.Estimator(nn.Linear(3, 2), batch_size=4, progress="none", options={"non_finite": "skip"})
    skipping.fit(lazily)
