"""Single operators, as text models and others use them: masks, places, random numbers. Run by `make test-torch`."""

import dataclasses
import typing

import numpy as np
import pytest
import thalweg
import torch
from test_from_torch import TOLERANCE, Function, assert_same, error
from test_training import BATCH, STEPS, assert_same_training
from torch import nn
from torch.nn import functional


def of_ids(function):
    """For a function of whole numbers, of which the batch is free."""
    return function, torch.randint(0, 7, (3, 5), generator=torch.Generator().manual_seed(0))


def _put(x, places, values, accumulate=False):
    return x.clone().index_put(places, values, accumulate)


def _with(x, mask, value):
    x = x.clone()
    x[mask] = value
    return x


WHOLE = {
    "sums of bools": of_ids(lambda x: ((x > 2) + (x < 1)) * (x != 4)),
    "bools and numbers": of_ids(lambda x: (x > 2) * 3 + (x == 1) * 0.5 + (x > 1.5)),
    "logic": of_ids(lambda x: (x > 2) & (x < 5) | (x == 0) ^ ~(x > 3)),
    "logic of numbers": of_ids(lambda x: torch.logical_and(x, x - 1).long() + torch.logical_not(x)),
    "bits": of_ids(lambda x: ((x & 3) | 8) ^ ~x),
    "any and all": of_ids(lambda x: (x > 5).any(1, keepdim=True) + 2 * (x >= 0).all(-1, keepdim=True) + x),
    "counts": of_ids(lambda x: (x != 0).cumsum(1) + (x != 0).sum(1, keepdim=True) + (x > 1).long().cumsum(1)),
    "positions behind padding": of_ids(lambda x: (x.ne(0).int().cumsum(1).type_as(x) * x.ne(0)).long() + 1),
    "extrema of bools": of_ids(lambda x: torch.maximum(x > 3, x < 1) & ~torch.minimum(x > 4, x > 2)),
    "what is no number": of_ids(lambda x: torch.isnan((x - 2.0).log()) & ~torch.isnan(x)),
    "expm1": of_ids(lambda x: torch.expm1(x / 1e6)),
    "whole quotients": of_ids(lambda x: x // 2 + torch.div(x - 4, 3, rounding_mode="trunc") + (x - 4) // 3 + x % 4),
    "quotients": of_ids(lambda x: x / 2 + x.sqrt() + x.float().clamp(1, 3) + x.clamp(2, 4) + torch.sin(x)),
    "a mask for each sample": of_ids(
        lambda x: torch.ones(x.shape[0], 1, 5, 5, dtype=torch.bool).tril() & (x != 0)[:, None, None, :]
    ),
    "a mask that no input tells": of_ids(
        lambda x: torch.where(torch.ones(x.shape[0], 5, 5, dtype=torch.bool).triu(-1), 1.5, -1e9) + x[:, None]
    ),
    "masks by places": of_ids(
        lambda x: x.bool()[torch.arange(x.shape[0])[:, None, None, None], torch.arange(5)[None, None, None, :]]
        & (torch.arange(5)[:, None] >= torch.arange(5))
    ),
    "repeated bools": of_ids(lambda x: (torch.arange(5) > 2).expand(x.shape[0], -1) == (x > 2)),
    "chosen by constants": of_ids(lambda x: x[:, torch.tensor([True, False, True, True, False])]),
    "windows": of_ids(lambda x: x.unfold(1, 3, 2)),
    "several places": of_ids(lambda x: x[:, torch.tensor([0, 2])][:, :, None][:, torch.tensor([0, 1, 1]), 0]),
}

NUMBERS = {
    "put by mask": (lambda x: _with(x, x > 0, 0.25), (3, 4)),
    "put rows by mask": (lambda x: _with(x, x[:, :, 0] > 0, 0.5), (3, 4, 2)),
    "put a row by mask": (lambda x: _with(x, x[:, :, 0] > 0, torch.tensor([1.0, 2.0])), (3, 4, 2)),
    "put at places": (
        lambda x: _put(x, (torch.arange(x.shape[0])[:, None], torch.tensor([[0, 2]])), x[:, :2] * 2),
        (3, 4),
    ),
    "put columns": (lambda x: _with(x, (slice(None), torch.tensor([0, 3])), 7.0), (3, 4)),
    "add at places": (
        lambda x: _put(x, (torch.arange(x.shape[0]), x.argmax(1)), torch.ones(1), accumulate=True),
        (3, 4),
    ),
    "scatter": (lambda x: torch.zeros_like(x).scatter(1, x.argsort(1)[:, :2], x[:, :2]), (3, 4)),
    "scatter a number": (lambda x: x.scatter(1, x.argmax(1, keepdim=True), 9.0), (3, 4)),
    "add by index": (lambda x: x.index_add(1, torch.tensor([0, 2, 0]), x[:, :3], alpha=2), (3, 4)),
    "triangles": (lambda x: x.tril() + x.triu(1) * 2, (3, 4, 4)),
    "places apart": (lambda x: x[:, torch.tensor([0, 1]), :, torch.tensor([1, 0])].transpose(0, 1), (3, 4, 2, 5)),
    "not numbers": (lambda x: torch.nan_to_num(torch.where(x > 0, torch.nan, x), 3.0) + (x / 0).isinf(), (3, 4)),
    "bounds": (lambda x: x.clamp(min=x.mean(1, keepdim=True)) + torch.trunc(3 * x) + torch.fmod(x, 0.3), (3, 4)),
    "nothing added": (lambda x: torch.cat([torch.zeros(x.shape[0], 0, 2), x, torch.zeros(0)], 1), (3, 4, 2)),
    "norms": (lambda x: x.norm(3, dim=1) + x.norm(float("inf"), dim=1) + x.norm(1, dim=1) + torch.var_mean(x, 1)[0], (3, 4)),
    "weights of no batch": (lambda x: functional.batch_norm(x, None, None, training=True, eps=1e-3), (3, 4, 5)),
    "largest of all": (lambda x: x - x[:1].max() * 0 + x[:1].min() * 0 + torch.finfo(x.dtype).eps, (3, 4)),
    "attention with fewer keys": (
        lambda x: functional.scaled_dot_product_attention(x, x[:, :2], x[:, 1:3], enable_gqa=True, scale=0.3),
        (3, 4, 5, 6),
    ),
    "attention with one head of keys": (
        lambda x: functional.scaled_dot_product_attention(x, x[:, :1], x[:, 1:2]),
        (3, 4, 5, 6),
    ),
    "attention with a mask": (
        lambda x: functional.scaled_dot_product_attention(x, x, x, x.sum(-1)[:, :1, None] > 0),
        (3, 2, 5, 6),
    ),
    "attention to fewer keys": (
        lambda x: functional.scaled_dot_product_attention(x, x[:, :, :3], x[:, :, :3], is_causal=True),
        (3, 2, 5, 6),
    ),
    "attention without heads": (
        lambda x: functional.scaled_dot_product_attention(x, x, x, torch.ones(5, 5, dtype=torch.bool).tril(-1)),
        (3, 5, 6),
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_and_bools(name):
    function, ids = WHOLE[name]
    model = thalweg.from_torch(Function(function), ids)
    expected = function(torch.cat([ids, ids.flip(0)]))
    actual = model(torch.cat([ids, ids.flip(0)]).numpy())
    assert actual.dtype == expected.numpy().dtype
    np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    function, shape = NUMBERS[name]
    torch.manual_seed(1)
    example = torch.randn(shape)
    model = thalweg.from_torch(Function(function), example)
    x = torch.randn(2 * shape[0], *shape[1:])
    if name == "weights of no batch":
        x = x[: shape[0]]
    assert error(model(x.numpy()), function(x)) < TOLERANCE


class Trained(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.function = function
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.function(self.body(x)))


TRAINED = {
    "put by mask": lambda y: _with(y, y > 0.5, 0.25),
    "put at places": lambda y: _put(y, (torch.arange(y.shape[0])[:, None], torch.tensor([[0, 2]])), y[:, 3:5] * 2),
    "add at places": lambda y: _put(y, (slice_of_batch(y), y.argmax(1)), y[:, 0], accumulate=True),
    "scatter": lambda y: y.scatter(1, y.argsort(1)[:, :2], y[:, :2] ** 2),
    "places": lambda y: y[torch.arange(y.shape[0])[:, None], y.argsort(1)],
    "triangles": lambda y: y.view(-1, 2, 2, 2).tril().flatten(1),
    "statistics of the batch": lambda y: functional.batch_norm(y, None, None, training=True),
    "attention with fewer keys": lambda y: functional.scaled_dot_product_attention(
        y.view(-1, 2, 2, 2), y[:, :4].view(-1, 1, 2, 2), y[:, 4:].view(-1, 1, 2, 2), is_causal=True, enable_gqa=True
    ).flatten(1),
    "attention with a mask that is learned": lambda y: functional.scaled_dot_product_attention(
        y.view(-1, 2, 2, 2), y.view(-1, 2, 2, 2), y.view(-1, 2, 2, 2), y.view(-1, 2, 2, 2)
    ).flatten(1),
    "attention in which some see nothing": lambda y: functional.scaled_dot_product_attention(
        y.view(-1, 4, 2), y.view(-1, 4, 2), y.view(-1, 4, 2), torch.ones(4, 4, dtype=torch.bool).tril(-1)
    ).flatten(1),
}


def slice_of_batch(y):
    return torch.arange(y.shape[0])


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name):
    torch.manual_seed(2)
    assert_same_training(Trained(TRAINED[name]), torch.randn(STEPS * BATCH, 6))


class Standardised(nn.Conv2d):
    """A convolution with weights of mean 0 and variance 1, as timm has them."""

    def forward(self, x):
        weight = functional.batch_norm(
            self.weight.reshape(1, self.out_channels, -1), None, None, training=True, momentum=0.0, eps=1e-6
        )
        return functional.conv2d(x, weight.reshape_as(self.weight), self.bias)


def test_standardised_weights():
    module = nn.Sequential(Standardised(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, 3))
    assert_same(module, torch.randn(2, 3, 6, 6))
    assert_same_training(module, torch.randn(STEPS * BATCH, 3, 6, 6))


@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize("norm", [nn.utils.parametrizations.weight_norm, nn.utils.weight_norm])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm(norm, dim):
    module = nn.Sequential(norm(nn.Conv1d(3, 4, 3), dim=dim), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3))
    model = assert_same(module, torch.randn(2, 3, 6))
    assert set(model.weight_names()) == set(module.state_dict())
    assert_same_training(module, torch.randn(STEPS * BATCH, 3, 6))


def depth(x, keep, draw):
    """Stochastic depth in the forms that packages have it."""
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    return x / keep * draw(x, shape, keep)


DEPTHS = {
    "floor": lambda x, shape, keep: (keep + torch.rand(shape, dtype=x.dtype)).floor_(),
    "bernoulli": lambda x, shape, keep: x.new_empty(shape).bernoulli_(keep),
    "below": lambda x, shape, keep: (torch.rand(shape) < keep).float(),
    "above": lambda x, shape, keep: (torch.rand(shape) >= 1 - keep).float(),
}


@pytest.mark.parametrize("keep", [0.75, 1.0])
@pytest.mark.parametrize("way", DEPTHS)
def test_stochastic_depth_is_for_training_only(way, keep):
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            y = self.layer(x)
            return depth(y, keep, DEPTHS[way]) if self.training else y

    module = Deep()
    model = thalweg.from_torch(module, torch.randn(2, 4))
    x = torch.randn(5, 4)
    assert error(model(x.numpy()), module.eval()(x)) < TOLERANCE


def drawn(function, shape=(4000, 3)):
    """What a module draws in training: the new content of a buffer that it adds to."""

    class Drawing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(shape[1], 1)
            self.register_buffer("seen", torch.zeros(shape))

        def forward(self, x):
            self.seen.copy_(function(x))
            return self.layer(x)

    module = Drawing()
    model = thalweg.from_torch(module, torch.zeros(shape), free_batch=False)
    samples = thalweg.data.TensorDataset([np.zeros(shape, "float32")], [np.zeros((shape[0], 1), "float32")])
    options = {"batch_size": shape[0], "epochs": 1, "progress": "none"}
    thalweg.Trainer(model, "mse", "sgd", **options).fit(samples)
    return model.weight("seen")


def test_random_numbers():
    even = drawn(torch.rand_like)
    assert 0 <= even.min() < 0.01 and 0.99 < even.max() <= 1
    np.testing.assert_allclose([even.mean(), even.var()], [0.5, 1 / 12], rtol=0.05)
    normal = drawn(lambda x: 2 * torch.randn(x.shape) + 1)
    np.testing.assert_allclose([normal.mean(), normal.std()], [1, 2], rtol=0.05)
    for kept in (drawn(lambda x: (0.7 + torch.rand_like(x)).floor()), drawn(lambda x: (torch.rand_like(x) < 0.7).float())):
        assert set(np.unique(kept)) <= {0.0, np.float32(0.7) / np.float32(0.7), 1.0} and abs(kept.mean() - 0.7) < 0.03
    with pytest.raises(thalweg.Error, match="draws at random at inference"):
        thalweg.from_torch(Function(torch.rand_like), torch.zeros(2, 3), training=False)


@dataclasses.dataclass
class Answer:
    scores: torch.Tensor
    parts: typing.Any = None


class Structured(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, features, *, scale=None, more=None):
        y = self.layer(features)
        y = y if scale is None else y * scale
        y = y if more is None else y + more["shift"]
        return Answer(scores=y, parts={"first": y[:, 0], "all": (y * 2, y)})


def test_inputs_by_name_and_outputs_with_fields():
    module = Structured()
    inputs = {"features": torch.randn(2, 4), "scale": torch.randn(2, 1), "more": {"shift": torch.randn(2, 3)}}
    model = thalweg.from_torch(module, inputs)
    assert [value.name for value in model.graph.inputs] == ["features", "scale", "more_shift"]
    assert [value.name for value in model.graph.outputs] == ["scores", "parts.first", "parts.all.0", "parts.all.1"]
    x, scale, shift = torch.randn(5, 4), torch.randn(5, 1), torch.randn(5, 3)
    result = model({"features": x.numpy(), "scale": scale.numpy(), "more_shift": shift.numpy()})
    expected = module(x, scale=scale, more={"shift": shift})
    assert error(result["scores"], expected.scores) < TOLERANCE
    assert error(result["parts.all.0"], expected.parts["all"][0]) < TOLERANCE
    fast = thalweg.accelerate(module, tuning="fixed")(x, scale=scale, more={"shift": shift})
    assert isinstance(fast, Answer)
    torch.testing.assert_close(fast.parts["first"], expected.parts["first"].detach())


def test_errors_tell_operator_module_and_line():
    class Block(nn.Module):
        def forward(self, x):
            return torch.special.airy_ai(x)  # this line

    module = nn.Sequential(nn.Linear(3, 3), nn.Sequential(Block()))
    with pytest.raises(thalweg.Error) as caught:
        thalweg.from_torch(module, torch.zeros(2, 3))
    (line,) = str(caught.value).splitlines()[1:]
    assert "special_airy_ai.default in 1.0 (Block), " in line
    assert "test_operators.py:" in line and line.endswith("return torch.special.airy_ai(x)  # this line")

    class Choosing(nn.Module):
        def forward(self, x):
            return x[x > 0].sum()

    with pytest.raises(thalweg.Error, match=r"index\.Tensor in .*test_operators.py:\d+: .*mask that depends on the inputs"):
        thalweg.from_torch(Choosing(), torch.zeros(2, 3))
