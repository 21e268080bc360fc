"""Modules in bfloat16 and float16: computed in float32, weights back in the module's type. Run by `make test-torch`."""

import copy

import numpy as np
import pytest
import thalweg
import torch
from test_from_torch import TOLERANCE, error
from test_training import BATCH, STEPS, trained_by_thalweg, trained_by_torch
from torch import nn

DTYPES = [torch.bfloat16, torch.float16]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU())
        self.head = nn.Linear(8, 3)
        self.register_buffer("scale", torch.full((3,), 0.5))

    def forward(self, x):
        return self.head(self.body(x)) * self.scale + torch.zeros(x.size(0), 3, dtype=x.dtype)


def in_float32(module):
    return copy.deepcopy(module).float()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_answers_are_those_of_the_module_in_float32(dtype):
    torch.manual_seed(0)
    module = Net().to(dtype)
    model = thalweg.from_torch(module, torch.randn(2, 4, dtype=dtype))
    x = torch.randn(5, 4)
    assert model.graph.inputs[0].dtype == "float32"
    assert error(model(x.numpy()), in_float32(module).eval()(x)) < TOLERANCE


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_weights_come_back_in_the_type_of_the_module(dtype):
    torch.manual_seed(0)
    module = Net().to(dtype)
    x, labels = torch.randn(STEPS * BATCH, 4), torch.randint(0, 3, (STEPS * BATCH,))
    expected = trained_by_torch(in_float32(module), x, labels)
    actual = trained_by_thalweg(module, x, labels, example=x[:BATCH].to(dtype))
    for name, value in actual.items():
        if name.endswith("num_batches_tracked"):
            continue
        assert value.dtype == dtype, name
        # The last bit may be rounded either way.
        torch.testing.assert_close(value.float(), expected[name], rtol=2 * torch.finfo(dtype).eps, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_weights_of_the_module_load(dtype):
    module = Net().to(dtype)
    model = thalweg.from_torch(module, torch.zeros(2, 4, dtype=dtype))
    nn.init.constant_(module.head.weight, 7.0)
    model.load_state_dict({name: value for name, value in module.state_dict().items() if name != "scale"})
    assert model.weight("head.weight").min() == 7


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_accelerate_takes_and_gives_what_the_module_does(dtype):
    torch.manual_seed(0)
    module = Net().to(dtype).eval()
    x = torch.randn(5, 4).to(dtype)
    y = thalweg.accelerate(module, tuning="fixed")(x)
    assert y.dtype == dtype
    torch.testing.assert_close(y.float(), in_float32(module)(x.float()), rtol=torch.finfo(dtype).eps, atol=1e-4)


def test_parts_in_other_types_are_computed_in_float32():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3, dtype=torch.bfloat16)

        def forward(self, x):
            return self.second(self.first(x).to(torch.bfloat16)).float()

    module = Mixed()
    x = torch.randn(5, 4)
    actual = thalweg.from_torch(module, x)(x.numpy())
    np.testing.assert_allclose(actual, in_float32(module).second.float()(module.first(x)).detach().numpy(), atol=1e-5)
