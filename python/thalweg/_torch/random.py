"""Operators that draw at random: in training only. At inference a model has the mean of what would be drawn."""

import math

import torch

import thalweg._torch.arithmetic  # noqa: F401 (registers what is known better here)
from thalweg import ops
from thalweg._torch.free import Deferred, filled
from thalweg._torch.registry import CONVERSIONS, converts


def _require_training(converter):
    if not converter.training:
        converter.fail(
            "draws at random at inference; a model does so in training only: convert with training=True, or give what is "
            "drawn as an input"
        )


def _seed(converter):
    """Draws of different nodes are independent."""
    converter.draws += 1
    return converter.draws


@converts("dropout.default")
def dropout(converter, x, p, train=True):
    x = converter.value(x)
    return ops.dropout(x, float(p), _seed(converter)) if train and p > 0 else x


@converts("native_dropout.default")
def native_dropout(converter, x, p, train=True):
    return (dropout(converter, x, p, bool(train)), None)


def _ones(converter, shape):
    return converter.value(filled(shape, 1, converter.dtype()))


@converts("feature_dropout.default")
def feature_dropout(converter, x, p, train=True):
    """Whole channels at once."""
    x = converter.value(x)
    if not train or p == 0:
        return x
    shape = converter.shape()
    channels = _ones(converter, shape[:2] + [1] * (len(shape) - 2))
    return x * ops.dropout(channels, float(p), _seed(converter))


@converts("bernoulli.p")
def bernoulli(converter, x, p=0.5, generator=None):
    """1 with probability p, else 0; at inference p, which is the mean: what follows divides by it."""
    _require_training(converter)
    return _bernoulli(converter, converter.shape(), p)


def _bernoulli(converter, shape, p, dtype=None, seed=None):
    dtype = dtype or converter.dtype()
    if p <= 0:
        return filled(shape, 0, dtype)
    ones = converter.value(filled(shape, 1, dtype))
    seed = _seed(converter) if seed is None else seed
    return ops.dropout(ones, 1.0 - p, seed) * float(p) if p < 1 else ones


class Drawn(Deferred):
    """Numbers drawn evenly from `low` to `low + 1`, of which usually only is asked whether they are above a bound."""

    def __init__(self, shape, dtype, low=0.0):
        self.shape = shape
        self.dtype = dtype
        self.low = low

    def value(self, converter, dtype=None):
        """The numbers themselves: the normal distribution's function makes even ones of normal ones."""
        normal = _normal(converter, self.shape, self.dtype)
        return ops.erf(normal * math.sqrt(0.5)) * 0.5 + (0.5 + self.low)


class DrawnMask(Deferred):
    """Bools, each true with probability `p`. As numbers they are 0 and 1, and at inference `p`."""

    def __init__(self, shape, p, seed):
        self.shape = shape
        self.p = p
        self.seed = seed

    def value(self, converter, dtype=None):
        if dtype is not None and dtype.is_floating_point:
            return converter.value(_bernoulli(converter, self.shape, self.p, dtype, self.seed))
        numbers = converter.value(_bernoulli(converter, self.shape, self.p, torch.float32, self.seed))
        return ops.greater(numbers, ops.scalar_like(numbers, 0.5))


def _normal(converter, shape, dtype):
    return ops.gaussian_noise(converter.value(filled(shape, 0, dtype)), 1.0, _seed(converter))


@converts("rand.default", "rand_like.default")
def rand(converter, *_, **__):
    _require_training(converter)
    drawn = Drawn(converter.shape(), converter.dtype())
    # Those who share them must see the same.
    return drawn if len(converter.node.users) == 1 else drawn.value(converter)


@converts("randn.default", "randn_like.default")
def randn(converter, *_, **__):
    _require_training(converter)
    return _normal(converter, converter.shape(), converter.dtype())


@converts("uniform.default")
def uniform(converter, x, low=0.0, high=1.0, generator=None):
    _require_training(converter)
    return Drawn(converter.shape(), converter.dtype()).value(converter) * float(high - low) + float(low)


@converts("normal_functional.default")
def normal(converter, x, mean=0.0, std=1.0, generator=None):
    _require_training(converter)
    return _normal(converter, converter.shape(), converter.dtype()) * float(std) + float(mean)


@converts("exponential.default")
def exponential(converter, x, lambd=1.0, generator=None):
    _require_training(converter)
    return ops.log(Drawn(converter.shape(), converter.dtype()).value(converter)) * (-1.0 / lambd)


def _knowing_drawn(name, special, kind=Drawn):
    """Has a conversion try `special` first for numbers of which only their distribution counts."""
    plain = CONVERSIONS["aten." + name]

    @converts(name)
    def convert(converter, x, *args, **named):
        result = special(converter, x, *args, **named) if isinstance(x, kind) else None
        if result is not None:
            return result
        return plain(converter, x, *args, **named)


def _shifted(converter, drawn, number, alpha=1):
    return Drawn(drawn.shape, drawn.dtype, drawn.low + number) if isinstance(number, (int, float)) and alpha == 1 else None


def _whole(converter, drawn):
    """The usual way to keep a sample with some probability: floor(probability + rand)."""
    return _bernoulli(converter, drawn.shape, drawn.low) if 0 <= drawn.low <= 1 else None


def _is_below(converter, drawn, bound):
    return DrawnMask(drawn.shape, bound - drawn.low, _seed(converter)) if isinstance(bound, (int, float)) else None


def _is_above(converter, drawn, bound):
    return DrawnMask(drawn.shape, 1 - bound + drawn.low, _seed(converter)) if isinstance(bound, (int, float)) else None


for _name in ("add.Tensor", "add.Scalar"):
    _knowing_drawn(_name, _shifted)
_knowing_drawn("floor.default", _whole)
for _name in ("lt.Scalar", "le.Scalar"):
    _knowing_drawn(_name, _is_below)
for _name in ("gt.Scalar", "ge.Scalar"):
    _knowing_drawn(_name, _is_above)


def _chosen(converter, mask, a, b):
    """Between two by 0 and 1, which at inference are the mean."""
    if any(isinstance(number, (int, float)) and not math.isfinite(number) for number in (a, b)):
        return None
    dtype = converter.dtype()
    if not dtype.is_floating_point:
        return None
    mask, a, b = converter.aligned([mask, a, b], dtype)
    return a * mask + b * (1.0 - mask)


for _name in ("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar"):
    _knowing_drawn(_name, _chosen, DrawnMask)
