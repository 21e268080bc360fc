"""Operators that the engine has no op of its own for: scans, orders, distances, special functions. Run by `make test-torch`."""

import math

import numpy as np
import pytest
import thalweg
import torch
from test_from_torch import Function, error
from test_operators import Trained
from test_training import BATCH, STEPS, assert_same_training
from torch import nn
from torch.nn import functional


def _numbered(x):
    """Indices of the data, several of each."""
    return x.argsort(1) // 2


FUNCTIONS = {
    "running products": lambda x: x.cumprod(1) + x.cumprod(-1),
    "running extrema": lambda x: x.cummax(1)[0] + x.cummin(2)[0] * 2,
    "places of running extrema": lambda x: torch.stack([x.round().cummax(1)[1], x.round().cummin(2)[1]]),
    "running sums of exponentials": lambda x: (20 * x).logcumsumexp(1),
    "medians": lambda x: x.median(1)[0] + x[:, :, :4].median(2)[0][:, :1] + x.median(1, keepdim=True)[1][:, 0],
    "a small one": lambda x: x.kthvalue(2, 1)[0] + x.kthvalue(5, -1)[1][:, :1],
    "places among bounds": lambda x: torch.bucketize(x, torch.linspace(-2, 2, 9)) + torch.searchsorted(torch.arange(-2.0, 2.0), x.round(), right=True),
    "places among sorted rows": lambda x: torch.searchsorted(x.sort(-1)[0], x.flip(-1)),
    "distances": lambda x: torch.cdist(x, x[:, :2]) + torch.cdist(x, x[:, 1:3], p=1.0) + torch.cdist(x, x[:, 1:3], p=math.inf) * 2,
    "logarithms": lambda x: x.abs().log2() + x.abs().log10() * 2 + x.exp2() + x.erfc() + x.frac(),
    "logarithms of gamma": lambda x: (3 * x).lgamma(),
    "their slopes": lambda x: (x.abs() + 0.3).digamma() + (x.abs() * -0.2 - 0.1).digamma(),
    "angles": lambda x: torch.atan2(x, x.flip(1)) + torch.atan2(x.relu(), x.flip(1).relu()) + torch.hypot(x, x + 1) + torch.copysign(x, x - 0.5),
    "what is known of two": lambda x: torch.fmax(torch.where(x > 0, torch.nan, x), -x) + torch.fmin(torch.where(x < 0, torch.nan, x), x * 2),
    "decimals": lambda x: x.round(decimals=1),
    "shifts": lambda x: ((x * 10).int().abs() << 2) + ((x * 100).int() >> 1),
    "diagonals": lambda x: torch.diagonal(x, 1, 1, 2)[:, :3] + torch.einsum("bii->bi", x[:, :4, :4])[:, :3] + torch.diagonal(x, -1, 2, 1)[:, :3],
    "put on diagonals": lambda x: x.diagonal_scatter(x[:, 0, :4], 1, 1, 2) + x.diagonal_scatter(x[:, 0, :3], 1, 2, 1),
    "filled with a number": lambda x: x.new_full((x.shape[0], 2), 3.0) + x[:, 0, :2],
    "by the size of the batch": lambda x: x.sum(0, keepdim=True) / x.shape[0] + x * (2 * x.shape[0] + 1),
    "every second element": lambda x: _with_every_second(x),
    "wrapped around": lambda x: functional.pad(x, (2, 1), mode="circular"),
    "pools of one sample": lambda x: functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True) + functional.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "pools with a divisor": lambda x: functional.avg_pool2d(x[:, None], 2, padding=1, divisor_override=3),
    "enlarged by a factor that does not fit": lambda x: functional.interpolate(x[:, None], scale_factor=(1.7, 2.3), mode="bilinear"),
    "the same by neighbours": lambda x: functional.interpolate(x, scale_factor=1.7) + functional.interpolate(x, size=8, mode="linear"),
    "enlarged by cubes": lambda x: functional.interpolate(x[:, None], size=(7, 9), mode="bicubic", align_corners=True),
    "enlarged by cubes and a factor": lambda x: functional.interpolate(x[:, None], scale_factor=1.3, mode="bicubic"),
    "unfolded": lambda x: functional.unfold(x[:, None], (2, 3), padding=1, stride=2),
    "reduced": lambda x: torch.ones_like(x).scatter_reduce(1, _numbered(x), x, "prod") + torch.zeros_like(x).scatter_reduce(1, _numbered(x), x, "sum"),
    "extrema by index": lambda x: x.index_reduce(1, torch.tensor([0, 1, 0, 1]), x * 2, "amax", include_self=False),
    "added where an index says": lambda x: x.scatter(1, _numbered(x), x, reduce="add"),
    "losses of classes": lambda x: functional.cross_entropy(x, x.argmin(1), weight=torch.arange(1.0, 5), ignore_index=0, reduction="none"),
    "losses of images": lambda x: functional.nll_loss(x[:, :, None].log_softmax(1), x[:, :, None].argmax(1), reduction="none"),
    "losses of shares": lambda x: functional.binary_cross_entropy(x.sigmoid(), (x > 0).float(), reduction="none"),
}


def _with_every_second(x):
    y = torch.zeros(x.shape[0], 6, 5)
    y[:, 1:5] = x
    y[:, 0, 1::2] = 7
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_answers(name, tmp_path):
    function = FUNCTIONS[name]
    torch.manual_seed(1)
    model = thalweg.from_torch(Function(function), torch.randn(3, 4, 5))
    x = torch.randn(7, 4, 5)
    expected = function(x)
    assert error(model(x.numpy()), expected) < 2e-5
    if name == "shifts":
        return
    model.save(tmp_path / "model.onnx")
    assert error(thalweg.load(str(tmp_path / "model.onnx"))(x.numpy()), expected) < 2e-5


def matrix(y):
    return y.view(-1, 2, 4)


TRAINED = {
    "running products": lambda y: y.cumprod(1),
    "running extrema": lambda y: y.cummax(1)[0],
    "running sums of exponentials": lambda y: y.logcumsumexp(1),
    "medians": lambda y: y + y.median(1, keepdim=True)[0],
    "distances": lambda y: torch.cdist(matrix(y), matrix(y).flip(-1) * 2).flatten(1).repeat(1, 2),
    "logarithms of gamma": lambda y: y.abs().add(0.1).lgamma() + y.abs().add(0.5).digamma(),
    "angles": lambda y: torch.atan2(y, y.flip(1) + 0.1),
    "remainders": lambda y: torch.remainder(y, 0.7) + torch.fmod(y, y.flip(1).exp()),
    "the largest by index": lambda y: torch.zeros_like(y).scatter_reduce(1, y.argsort(1) // 2, y, "amax", include_self=False),
    "the smallest by index": lambda y: torch.ones_like(y).scatter_reduce(1, y.argsort(1) // 2, y, "amin"),
    "means by index": lambda y: y.scatter_reduce(1, y.argsort(1) // 2, y * 2, "mean"),
    "enlarged by a factor that does not fit": lambda y: functional.interpolate(matrix(y), scale_factor=1.3, mode="linear")[..., :4].flatten(1),
    "enlarged by cubes": lambda y: functional.interpolate(matrix(y)[:, None], size=(2, 4), mode="bicubic").flatten(1),
    "by the size of the batch": lambda y: y - y.sum(0, keepdim=True) / y.shape[0],
    "losses of classes": lambda y: y + functional.cross_entropy(y, y.argmin(1), label_smoothing=0.1),
    "distributions": lambda y: torch.distributions.kl_divergence(
        torch.distributions.Normal(y, y.exp()), torch.distributions.Normal(torch.zeros_like(y), torch.ones_like(y))
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name):
    torch.manual_seed(2)
    assert_same_training(Trained(TRAINED[name]), torch.randn(STEPS * BATCH, 6), tolerance=1e-4)


class TwoForms(nn.Module):
    def __init__(self):
        super().__init__()
        self.product = nn.Bilinear(4, 5, 3)
        self.one = nn.Conv2d(4, 2, 3)

    def forward(self, x):
        return self.product(x[..., 0], x[:, 0]) + self.one(x)[..., 0].sum()


def test_layers_of_two_inputs_and_of_one_sample():
    torch.manual_seed(3)
    module, x = TwoForms(), torch.randn(4, 4, 5)
    model = thalweg.from_torch(module, x, free_batch=False)
    np.testing.assert_allclose(model(x.numpy()), module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


RANDOM = {
    "elements": nn.AlphaDropout(0.3),
    "channels": nn.FeatureAlphaDropout(0.3),
    "slopes": nn.RReLU(),
}


@pytest.mark.parametrize("name", RANDOM)
def test_what_is_drawn_in_training_only(name):
    torch.manual_seed(4)
    module, x = nn.Sequential(nn.Conv2d(3, 8, 1), RANDOM[name]), torch.randn(64, 3, 16, 4)
    model = thalweg.from_torch(module, x[:2])
    assert error(model(x.numpy()), module.eval()(x)) < 2e-6
    trained, expected = thalweg.accelerate(module.train(), gradients=True)(x), module(x)
    assert not torch.allclose(trained, expected)
    assert abs(trained.mean() - expected.mean()) < 0.02 and abs(trained.std() - expected.std()) < 0.02


def test_masks_of_a_transformer_are_not_looked_at():
    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

        def forward(self, source, target):
            return self.body(source, target, tgt_mask=nn.Transformer.generate_square_subsequent_mask(4))

    torch.manual_seed(5)
    module, inputs = Translator(), (torch.randn(3, 5, 16), torch.randn(3, 4, 16))
    model = thalweg.from_torch(module, inputs)
    assert error(model(*[given.numpy() for given in inputs]), module.eval()(*inputs)) < 1e-5


class Unpooled(nn.Module):
    """Puts the largest elements back to where they were."""

    def __init__(self):
        super().__init__()
        self.pool, self.back = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
        self.body, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 3)

    def forward(self, x):
        y = self.back(*self.pool(self.body(x)))
        return self.head((y * torch.arange(64.0).view(8, 8)).mean((2, 3)))


class OfSamples(nn.Module):
    """Convolutions whose weights are computed of each sample, as one with a group for each."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, 2, 6, 4, 3, 3) * 0.2)
        self.share, self.head = nn.Linear(8, 3), nn.Linear(6, 3)

    def forward(self, x):
        batch, groups = x.shape[0], 2
        weights = torch.einsum("bk,kgoihw->bgoihw", self.share(x.mean((2, 3))).softmax(-1), self.weights[:, :, :3])
        y = functional.conv2d(
            x.reshape(1, -1, *x.shape[2:]), weights.reshape(-1, 4, 3, 3), stride=(1, 2), padding=(1, 0), groups=batch * groups
        )
        return self.head(y.view(batch, 6, *y.shape[2:]).mean((2, 3)))


@pytest.mark.parametrize("kind, channels", [(Unpooled, 3), (OfSamples, 8)])
def test_places_of_pools_and_weights_of_samples(kind, channels):
    torch.manual_seed(6)
    module, x = kind(), torch.randn(STEPS * BATCH, channels, 8, 8)
    assert error(thalweg.from_torch(module, x[:2])(x.numpy()), module.eval()(x)) < 1e-5
    assert_same_training(module, x)


@pytest.mark.parametrize("options", [{"stride": 2, "padding": 1, "ceil_mode": True}, {"stride": 1, "dilation": 2}])
def test_places_in_pools(options):
    torch.manual_seed(7)
    pool, x = nn.MaxPool2d(3, return_indices=True, **options), torch.randn(5, 3, 8, 9)
    y, places = thalweg.from_torch(pool, x[:2])(x.numpy())
    expected, expected_places = pool(x)
    np.testing.assert_array_equal(y, expected.numpy())
    np.testing.assert_array_equal(places, expected_places.numpy())
