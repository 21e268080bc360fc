"""Operators that sum up along dimensions."""

import math

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _dims(dim):
    return [] if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _register(names, function):
    @converts(*names)
    def convert(converter, x, dim=None, keepdim=False, dtype=None):
        return function(converter.value(x, converter.dtype()), _dims(dim), keepdim)


_register(["mean.dim", "mean.default"], ops.reduce_mean)
_register(["amax.default"], ops.reduce_max)
_register(["amin.default"], ops.reduce_min)
_register(["logsumexp.default"], ops.reduce_log_sum_exp)


@converts("sum.dim_IntList", "sum.default")
def sum_(converter, x, dim=None, keepdim=False, dtype=None):
    # That of the result: sums of bools and of small integers are int64.
    return ops.reduce_sum(converter.value(x, converter.dtype()), _dims(dim), keepdim)


def _of_bools(reduction, converter, x, dim, keepdim):
    """Whether any or all are true: the largest or smallest of 0 and 1."""
    numbers = converter.value(converter.value(x, torch.bool), torch.float32)
    return ops.cast(reduction(numbers, _dims(dim), keepdim), "bool")


@converts("any.default", "any.dim", "any.dims")
def any_(converter, x, dim=None, keepdim=False):
    return _of_bools(ops.reduce_max, converter, x, dim, keepdim)


@converts("all.default", "all.dim", "all.dims")
def all_(converter, x, dim=None, keepdim=False):
    return _of_bools(ops.reduce_min, converter, x, dim, keepdim)


@converts("max.default")
def max_(converter, x):
    return ops.reduce_max(converter.value(x), [])


@converts("min.default")
def min_(converter, x):
    return ops.reduce_min(converter.value(x), [])


@converts("max.dim")
def max_dim(converter, x, dim, keepdim=False):
    x = converter.value(x)
    return (ops.reduce_max(x, [dim], keepdim), ops.arg_max(x, dim, keepdim))


@converts("min.dim")
def min_dim(converter, x, dim, keepdim=False):
    x = converter.value(x)
    return (ops.reduce_min(x, [dim], keepdim), ops.arg_min(x, dim, keepdim))


@converts("argmax.default")
def argmax(converter, x, dim=None, keepdim=False):
    x = converter.value(x)
    return ops.arg_max(ops.reshape(x, [-1]), 0) if dim is None else ops.arg_max(x, dim, keepdim)


@converts("argmin.default")
def argmin(converter, x, dim=None, keepdim=False):
    x = converter.value(x)
    return ops.arg_min(ops.reshape(x, [-1]), 0) if dim is None else ops.arg_min(x, dim, keepdim)


@converts("topk.default")
def topk(converter, x, k, dim=-1, largest=True, sorted=True):
    return ops.top_k(converter.value(x), k, dim, largest)


def _sorted(converter, x, dim, descending):
    """Values and places; top_k keeps the order of equal elements, so that every sort is stable."""
    x = converter.value(x)
    if x.ndim == 0:
        converter.fail("sorts a single number")
    if x.shape[dim] is None:
        converter.fail("sorts along the batch, which is free: convert with free_batch=False")
    return ops.top_k(x, x.shape[dim], dim, descending)


@converts("sort.default")
def sort(converter, x, dim=-1, descending=False):
    return _sorted(converter, x, dim, descending)


@converts("sort.stable")
def sort_stable(converter, x, *, stable=None, dim=-1, descending=False):
    return _sorted(converter, x, dim, descending)


@converts("argsort.default")
def argsort(converter, x, dim=-1, descending=False):
    return _sorted(converter, x, dim, descending)[1]


@converts("argsort.stable")
def argsort_stable(converter, x, *, stable, dim=-1, descending=False):
    return _sorted(converter, x, dim, descending)[1]


@converts("cumsum.default")
def cumsum(converter, x, dim, dtype=None):
    # Of bools and small integers it counts in int64.
    return ops.cumsum(converter.value(x, converter.dtype()), dim)


@converts("prod.dim_int", "prod.default")
def prod(converter, x, dim=None, keepdim=False, dtype=None):
    return ops.reduce_prod(converter.value(x, converter.dtype()), _dims(dim), keepdim)


@converts("var.correction", "var.dim")
def var(converter, x, dim=None, correction=1, keepdim=False):
    x = converter.value(x)
    correction = 1 if correction is None else correction
    dims = _dims(dim) or list(range(x.ndim))
    spread = ops.reduce_mean(ops.square(x - ops.reduce_mean(x, dims, True)), dims, keepdim)
    count = ops.element_count(x, [axis % x.ndim for axis in dims])
    return spread * (count / (count - float(correction))) if correction else spread


@converts("var_mean.correction", "var_mean.dim")
def var_mean(converter, x, dim=None, correction=1, keepdim=False):
    return (var(converter, x, dim, correction, keepdim), ops.reduce_mean(converter.value(x), _dims(dim), keepdim))


@converts("std.correction", "std.dim")
def std(converter, x, dim=None, correction=1, keepdim=False):
    return ops.sqrt(var(converter, x, dim, correction, keepdim))


@converts("linalg_vector_norm.default")
def vector_norm(converter, x, ord=2, dim=None, keepdim=False, dtype=None):
    x, dims = converter.value(x, dtype), _dims(dim)
    if abs(ord) == math.inf:
        return (ops.reduce_max if ord > 0 else ops.reduce_min)(ops.abs(x), dims, keepdim)
    if ord in (1, 2):
        return (ops.reduce_l1 if ord == 1 else ops.reduce_l2)(x, dims, keepdim)
    if ord == 0:
        converter.fail("counts what is not zero (a norm of order 0)")
    return ops.pow(ops.reduce_sum(ops.pow(ops.abs(x), float(ord)), dims, keepdim), 1.0 / ord)
