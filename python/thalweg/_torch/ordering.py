"""Elements by their order: medians, the k-th smallest, places among sorted numbers."""

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _nth_smallest(converter, x, dim, place, keepdim):
    """(value, number along the dimension)."""
    x = converter.value(x)
    if x.shape[dim] is None:
        converter.fail("orders what lies along a free dimension: convert with free_batch=False")
    values, numbers = ops.top_k(x, place + 1, dim, False)
    results = [ops.slice(part, [place], [place + 1], [dim]) for part in (values, numbers)]
    return tuple(part if keepdim else ops.squeeze(part, [dim]) for part in results)


def _size(converter, x, dim):
    size = converter.value(x).shape[dim]
    return 1 if size is None else size


@converts("median.dim")
def median_dim(converter, x, dim, keepdim=False):
    # Of two in the middle the lower one.
    return _nth_smallest(converter, x, dim, (_size(converter, x, dim) - 1) // 2, keepdim)


@converts("median.default")
def median(converter, x):
    return median_dim(converter, ops.reshape(converter.value(x), [-1]), 0)[0]


@converts("kthvalue.default")
def kthvalue(converter, x, k, dim=-1, keepdim=False):
    return _nth_smallest(converter, x, dim, k - 1, keepdim)


def _places(converter, bounds, x, right):
    """How many bounds, along the last dimension, are below each number, or not above it if `right`."""
    given = [argument for argument in (bounds, x) if not isinstance(argument, (int, float))]
    dtype = torch.promote_types(*(_dtype_of(one) for one in given)) if len(given) > 1 else _dtype_of(given[0])
    bounds, x = converter.value(bounds, dtype), converter.value(x, dtype)
    if bounds.ndim > 1:
        bounds = ops.unsqueeze(bounds, [bounds.ndim - 1])
    passed = (ops.less_equal if right else ops.less)(bounds, ops.unsqueeze(x, [x.ndim]))
    # Counted in f32, which holds so few exactly, for the sake of its kernel.
    return ops.cast(ops.reduce_sum(ops.cast(passed, "float32"), [-1]), str(converter.dtype()).removeprefix("torch."))


def _dtype_of(given):
    return given.dtype if isinstance(given.dtype, torch.dtype) else getattr(torch, given.dtype)


@converts("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(converter, bounds, x, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        converter.fail("has a sorter")
    return _places(converter, bounds, x, right or side == "right")


@converts("bucketize.Tensor", "bucketize.Scalar")
def bucketize(converter, x, bounds, *, out_int32=False, right=False):
    return _places(converter, bounds, x, right)
