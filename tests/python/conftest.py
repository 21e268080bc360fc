"""What the tests share."""

import pathlib
import sys

import numpy as np
import pytest

import thalweg
from thalweg import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def perceptron():
    """A model of 4 numbers in, 3 out."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    return thalweg.Model(net, [thalweg.Input((None, 4))])
