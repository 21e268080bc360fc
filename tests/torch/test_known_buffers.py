"""Modules that decide by what their buffers hold."""

import numpy as np
import pytest
import thalweg
import torch
from test_from_torch import error
from torch import nn


class Stepped(nn.Module):
    """Integrates along points in time that it looks at: they must rise, and their steps are numbers of Python's."""

    def __init__(self, shown=True):
        super().__init__()
        self.register_buffer("times", torch.tensor([0.0, 0.5, 0.75, 2.0]))
        self.register_buffer("ready", torch.tensor(shown))
        self.slope = nn.Linear(3, 3)

    def forward(self, x):
        assert (self.times[1:] > self.times[:-1]).all()
        if not self.ready:
            return x
        for first, last in zip(self.times[:-1].tolist(), self.times[1:].tolist()):
            x = x + (last - first) * self.slope(x).tanh()
        return x


class Counting(nn.Module):
    """Decides by a counter that it moves on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))
        self.body = nn.Linear(3, 3)

    def forward(self, x):
        self.calls += 1
        return self.body(x) if self.calls % 2 == 0 else x


@pytest.mark.parametrize("shown", [True, False])
def test_decisions_by_buffers_are_made_as_they_are(shown):
    torch.manual_seed(1)
    module, x = Stepped(shown), torch.randn(5, 3)
    model = thalweg.from_torch(module, x[:2])
    assert error(model(x.numpy()), module(x)) < 1e-5
    before = module.times.clone()
    thalweg.from_torch(module, x[:2], training=False)
    np.testing.assert_array_equal(module.times, before)


@pytest.mark.parametrize("module", [Counting(), nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3, momentum=None))])
def test_buffers_that_change_decide_nothing(module):
    with pytest.raises(thalweg.Error, match="of what a tensor holds"):
        thalweg.from_torch(module, torch.randn(4, 3))
