"""Functions with gradients of their own (torch.autograd.Function). Run by `make test-torch`."""

import warnings

import numpy as np
import pytest
import thalweg
import torch
from test_operators import Trained
from test_training import BATCH, STEPS, assert_same_training


class Step(torch.autograd.Function):
    """A step that is taken for a slope, as of weights of one bit."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, incoming):
        (x,) = ctx.saved_tensors
        return incoming * (x.abs() <= 1)


class Reversed(torch.autograd.Function):
    """For what must not be told apart, as domains."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, incoming):
        return -incoming * ctx.factor, None


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return (x > 0).float()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, incoming):
        return incoming / (1 + 10 * ctx.saved_tensors[0].abs()) ** 2


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return torch.round(x * y)

    @staticmethod
    def backward(ctx, incoming):
        x, y = ctx.saved_tensors
        return incoming * y, incoming * x


class Swish(torch.autograd.Function):
    """What PyTorch would find by itself, with less to keep."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, incoming):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return incoming * s * (1 + x * (1 - s))


class Bounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, incoming):
        return incoming.clamp(-0.01, 0.01)


FUNCTIONS = {
    "a step": lambda y: Step.apply(y) + y,
    "reversed": lambda y: Reversed.apply(y, 0.5),
    "a spike": lambda y: Spike.apply(y - 0.2),
    "of two": lambda y: Rounded.apply(y, y + 1),
    "the usual one": lambda y: Swish.apply(y),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_training(name):
    torch.manual_seed(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert_same_training(Trained(FUNCTIONS[name]), torch.randn(STEPS * BATCH, 6))


def test_answers(tmp_path):
    torch.manual_seed(3)
    module, x = Trained(FUNCTIONS["a step"]), torch.randn(5, 6)
    model = thalweg.from_torch(module, x[:2])
    model.save(tmp_path / "model.onnx")
    for answering in (model, thalweg.load(str(tmp_path / "model.onnx"))):
        np.testing.assert_allclose(answering(x.numpy()), module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_an_own_loop():
    torch.manual_seed(4)
    module, x = Trained(FUNCTIONS["reversed"]), torch.randn(5, 6)
    module(x).sum().backward()
    expected = module.body.weight.grad.clone()
    module.zero_grad()
    thalweg.accelerate(module, gradients=True)(x).sum().backward()
    assert torch.allclose(module.body.weight.grad, expected, atol=1e-5)


def test_what_is_not_taken_over_is_told():
    module = Trained(lambda y: Bounded.apply(y))
    with pytest.warns(UserWarning, match="Bounded has a gradient of its own"):
        thalweg.from_torch(module, torch.randn(2, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        thalweg.from_torch(module, torch.randn(2, 6), training=False)
