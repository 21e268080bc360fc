"""Operators that sum up along dimensions."""

from thalweg import ops
from thalweg._torch.registry import converts


def _dims(dim):
    return [] if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _register(names, function):
    @converts(*names)
    def convert(converter, x, dim=None, keepdim=False, dtype=None):
        return function(converter.value(x, dtype), _dims(dim), keepdim)


_register(["mean.dim", "mean.default"], ops.reduce_mean)
_register(["amax.default"], ops.reduce_max)
_register(["amin.default"], ops.reduce_min)
_register(["logsumexp.default"], ops.reduce_log_sum_exp)


@converts("sum.dim_IntList", "sum.default")
def sum_(converter, x, dim=None, keepdim=False, dtype=None):
    # That of the result: sums of bools and of small integers are int64.
    return ops.reduce_sum(converter.value(x, converter.dtype()), _dims(dim), keepdim)


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
    return ops.cumsum(converter.value(x, dtype), dim)


@converts("prod.dim_int")
def prod(converter, x, dim, keepdim=False, dtype=None):
    return ops.reduce_prod(converter.value(x, dtype), [dim], keepdim)


@converts("var.correction", "var.dim")
def var(converter, x, dim=None, correction=1, keepdim=False):
    x = converter.value(x)
    dims = _dims(dim) or list(range(x.ndim))
    spread = ops.reduce_mean(ops.square(x - ops.reduce_mean(x, dims, True)), dims, keepdim)
    count = ops.element_count(x, [axis % x.ndim for axis in dims])
    return spread * (count / (count - float(correction))) if correction else spread


@converts("std.correction", "std.dim")
def std(converter, x, dim=None, correction=1, keepdim=False):
    return ops.sqrt(var(converter, x, dim, correction, keepdim))


@converts("linalg_vector_norm.default")
def vector_norm(converter, x, ord=2, dim=None, keepdim=False, dtype=None):
    norms = {1: ops.reduce_l1, 2: ops.reduce_l2}
    if ord not in norms:
        converter.fail(f"is a norm of order {ord}")
    return norms[ord](converter.value(x, dtype), _dims(dim), keepdim)
