"""The examples in docstrings, the example program, and what else of the package takes PyTorch's objects."""

import doctest
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import thalweg
import torch
from thalweg._torch import accelerate, convert
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "torch_to_int8.py"


@pytest.mark.parametrize("module", [convert, sys.modules[accelerate.__module__]], ids=lambda module: module.__name__)
def test_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert failed == 0 and tried > 0


def test_example_program(tmp_path):
    dependencies = os.environ.get("THALWEG_DEPS", os.path.expanduser("~/.cache/thalweg"))
    arguments = (EXAMPLE.parent / f"{EXAMPLE.name}.args").read_text().replace("@THALWEG_DEPS@", dependencies).split()
    done = subprocess.run(
        [sys.executable, EXAMPLE, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    if done.returncode == 77:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "latency ms" in done.stdout and (tmp_path / "digits_int8.onnx").stat().st_size > 0


def points(count=256):
    torch.manual_seed(0)
    x = torch.randn(count, 3)
    return x, (x[:, 0] > x[:, 2]).long()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))


def test_a_data_loader_trains_and_evaluates_and_predicts():
    x, y = points()
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, num_workers=2)
    net = thalweg.nn.Sequential(thalweg.nn.Linear(3, 16), thalweg.nn.ReLU(), thalweg.nn.Linear(16, 2))
    estimator = thalweg.Estimator(net, metrics=["accuracy"], epochs=10, learning_rate=0.02, progress="none")
    estimator.fit(loader, validation=loader)
    assert estimator.score(loader) > 0.9
    np.testing.assert_allclose(estimator.predict(loader), estimator.predict(x), rtol=1e-5, atol=1e-6)

    class Stream(IterableDataset):
        def __iter__(self):
            return iter(zip(x, y))

    with pytest.raises(TypeError, match="__getitem__"):
        estimator.fit(DataLoader(Stream()))


def test_a_converted_module_in_an_estimator_and_back():
    x, y = points()
    module = network()
    model = thalweg.from_torch(module, x[:1])
    thalweg.Estimator(model, epochs=10, learning_rate=0.02, progress="none").fit(x, y)
    thalweg.load_into_torch(model, module)
    assert (module(x).argmax(1) == y).float().mean() > 0.9


def test_optimize_takes_a_module(capsys):
    x, _ = points()
    module = network()
    fast = thalweg.optimize(module, precision=["f32", "int8"], calibration=[x[:64], x[64:128]], seconds=0.01)
    assert "latency ms" in capsys.readouterr().out
    # Where int8 is the fastest, values beyond those it was calibrated for are cut off.
    assert np.abs(fast(x.numpy()) - module(x).detach().numpy()).mean() < 0.02
    with pytest.raises(ValueError, match="give calibration"):
        thalweg.optimize(module)
    with pytest.raises(TypeError, match="not a int"):
        thalweg.optimize(3)
