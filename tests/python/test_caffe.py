"""Caffe networks through the package."""

import pathlib
import shutil

import numpy as np
import pytest

import thalweg

FOLDER = pathlib.Path(__file__).parents[1] / "golden" / "caffe"


def test_a_network_is_loaded_with_the_weights_beside_it_or_those_given(tmp_path):
    x = np.random.default_rng(0).normal(size=(2, 3, 15, 15)).astype("float32")
    beside = thalweg.load(FOLDER / "old.prototxt")
    shutil.copy(FOLDER / "old.prototxt", tmp_path)
    given = thalweg.load(tmp_path / "old.prototxt", FOLDER / "old.caffemodel")
    np.testing.assert_array_equal(beside(x), given(x))
    with pytest.raises(thalweg.Error, match="no file with its weights"):
        thalweg.load(tmp_path / "old.prototxt")


def test_a_network_without_weights_is_trained_and_saved(tmp_path):
    # Without fillers weights are zeros, as Caffe has it.
    filler = 'weight_filler { type: "xavier" }'
    text = (FOLDER / "old.prototxt").read_text()
    for count in ("num_output: 4", "num_output: 6"):
        text = text.replace(count, f"{count} {filler}")
    (tmp_path / "net.prototxt").write_text(text)
    model = thalweg.load(tmp_path / "net.prototxt", "")
    before = model.weight("conv1.weight").copy()
    x = np.random.default_rng(0).normal(size=(4, 3, 15, 15)).astype("float32")
    data = thalweg.data.TensorDataset([x], [np.array([0, 1, 2, 3])])
    thalweg.Trainer(model, loss="nll", epochs=1, batch_size=2, progress="none").fit(data)
    assert not np.array_equal(before, model.weight("conv1.weight"))
    model.save(tmp_path / "net.onnx")
    np.testing.assert_allclose(thalweg.load(tmp_path / "net.onnx")(x), model(x), rtol=1e-5, atol=1e-6)
