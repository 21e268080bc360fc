"""Elements that are combined with others at numbers along a dimension."""

import math

import torch

from thalweg import ops
from thalweg._torch.registry import converts

_NAMES = {"sum": "sum", "add": "sum", "mean": "mean", "amax": "max", "amin": "min", "prod": "mul", "multiply": "mul"}
# What changes nothing.
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "mul": 1.0}


def _combined(converter, x, dim, index, source, reduction):
    (result,) = converter.graph.add("scatter_elements", [x, index, source], {"axis": dim % x.ndim, "reduction": reduction})
    return result


def _like(converter, number, other, dtype):
    (value,) = converter.graph.add("expand_like", [converter.value(torch.tensor(number, dtype=dtype)), other])
    return value


def _counts(converter, x, dim, index, dtype):
    return ops.scatter_elements(x * 0.0, index, _like(converter, 1.0, index, dtype), dim, True)


def _mean(converter, x, dim, index, source, dtype, include_self):
    sums = ops.scatter_elements(x, index, source, dim, True)
    counts = _counts(converter, x, dim, index, dtype)
    return sums / (counts + 1.0 if include_self else ops.maximum(counts, 1.0))


def _extremum(converter, x, dim, index, source, reduction):
    """The gradient is shared by those that are as large as the largest: they are what it is made of."""
    found = ops.stop_gradient(_combined(converter, x, dim, index, source, reduction))
    zero = ops.scalar_like(x, 0.0)
    stays = ops.equal(x, found)
    wins = ops.equal(source, ops.gather_elements(found, index, dim))
    sums = ops.scatter_elements(ops.where(stays, x, zero), index, ops.where(wins, source, zero), dim, True)
    count = ops.scatter_elements(ops.cast(stays, x.dtype), index, ops.cast(wins, x.dtype), dim, True)
    return sums / ops.maximum(count, 1.0)


def _reduced(converter, x, dim, index, source, reduce, include_self):
    dtype = converter.dtype()
    reduction = _NAMES[reduce]
    x, index, source = converter.value(x, dtype), converter.value(index, torch.int64), converter.value(source, dtype)
    longer = [axis for axis in range(source.ndim) if source.shape[axis] != index.shape[axis]]
    if longer:
        source = ops.slice(source, [0] * len(longer), [index.shape[axis] for axis in longer], longer)
    if not include_self:
        # What no index names stays as it is.
        x = ops.scatter_elements(x, index, _like(converter, _NEUTRAL[reduction], index, dtype), dim, False)
    if reduction == "sum":
        return ops.scatter_elements(x, index, source, dim, True)
    if not dtype.is_floating_point:
        if reduction == "mean":
            converter.fail("takes means of whole numbers")
        return _combined(converter, x, dim, index, source, reduction)
    if reduction == "mean":
        return _mean(converter, x, dim, index, source, dtype, include_self)
    if reduction == "mul":
        return _combined(converter, x, dim, index, source, reduction)
    return _extremum(converter, x, dim, index, source, reduction)


@converts("scatter_reduce.two")
def scatter_reduce(converter, x, dim, index, source, reduce, include_self=True):
    return _reduced(converter, x, dim, index, source, reduce, include_self)


@converts("scatter.reduce", "scatter.value_reduce")
def scatter_with_reduction(converter, x, dim, index, source, reduce):
    if isinstance(source, (bool, int, float)):
        source = _like(converter, source, converter.value(index), converter.dtype())
    return _reduced(converter, x, dim, index, source, reduce, True)


@converts("index_reduce.default")
def index_reduce(converter, x, dim, index, source, reduce, include_self=True):
    source = converter.value(source, converter.dtype())
    index = ops.reshape(converter.value(index, torch.int64), [-1 if axis == dim % source.ndim else 1 for axis in range(source.ndim)])
    (index,) = converter.graph.add("expand_like", [index, source])
    return _reduced(converter, x, dim, index, source, reduce, include_self)
