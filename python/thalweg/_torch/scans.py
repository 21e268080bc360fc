"""Running products, extrema and sums of exponentials: what each element comes to together with all before it.

Each step joins elements that lie twice as far apart as in the one before, so that few suffice.
"""

import math

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _scan(converter, x, dim, join, neutral):
    size = x.shape[dim]
    if size is None:
        converter.fail("runs along a free dimension: convert with free_batch=False")
    distance = 1
    while distance < size:
        pads = [0] * (2 * x.ndim)
        pads[dim % x.ndim], pads[x.ndim + dim % x.ndim] = distance, -distance
        x = join(x, ops.pad(x, pads, "constant", neutral))
        distance *= 2
    return x


@converts("cumprod.default")
def cumprod(converter, x, dim, dtype=None):
    return _scan(converter, converter.value(x, converter.dtype()), dim, ops.mul, 1.0)


def _log_of_sum(a, b):
    return ops.maximum(a, b) + ops.log1p(ops.exp(ops.neg(ops.abs(a - b))))


@converts("logcumsumexp.default")
def logcumsumexp(converter, x, dim):
    # Not infinity, whose difference to itself is no number.
    return _scan(converter, converter.value(x, converter.dtype()), dim, _log_of_sum, -1e30)


def _register_extremum(name, join, worst, is_reached):
    @converts(name)
    def convert(converter, x, dim):
        dtype = converter.dtype()
        x = converter.value(x, dtype)
        neutral = worst * math.inf if dtype.is_floating_point else worst * float(torch.iinfo(torch.int32).max)
        extremum = _scan(converter, x, dim, join, neutral)
        places = torch.arange(x.shape[dim], dtype=torch.int32).reshape([-1 if axis == dim % x.ndim else 1 for axis in range(x.ndim)])
        # The last of equals.
        reached = ops.where(is_reached(x, extremum), converter.value(places), ops.scalar_like(converter.value(places), 0.0))
        return extremum, ops.cast(_scan(converter, reached, dim, ops.maximum, 0.0), "int64")


_register_extremum("cummax.default", ops.maximum, -1, ops.greater_equal)
_register_extremum("cummin.default", ops.minimum, 1, ops.less_equal)
