"""Diagonals, and products of three."""

import torch

from thalweg import ops
from thalweg._torch.registry import converts


@converts("diagonal.default")
def diagonal(converter, x, offset=0, dim1=0, dim2=1):
    x = converter.value(x)
    dim1, dim2 = dim1 % x.ndim, dim2 % x.ndim
    rows, columns = x.shape[dim1], x.shape[dim2]
    if None in (rows, columns):
        converter.fail("takes a diagonal along a free dimension")
    others = [dim for dim in range(x.ndim) if dim not in (dim1, dim2)]
    joined = ops.reshape(ops.transpose(x, [*others, dim1, dim2]), [0] * len(others) + [rows * columns])
    places = torch.arange(rows * columns).reshape(rows, columns).diagonal(offset)
    return ops.gather(joined, converter.value(places.contiguous()), len(others))


@converts("diagonal_scatter.default")
def diagonal_scatter(converter, x, source, offset=0, dim1=0, dim2=1):
    x, source = converter.value(x, converter.dtype()), converter.value(source, converter.dtype())
    dim1, dim2 = dim1 % x.ndim, dim2 % x.ndim
    rows, columns = x.shape[dim1], x.shape[dim2]
    if None in (rows, columns):
        converter.fail("replaces a diagonal along a free dimension")
    mask = torch.zeros(rows, columns, dtype=torch.bool)
    mask.diagonal(offset).fill_(True)
    # In each place off the diagonal any element will do.
    number = (mask.cumsum(0).cumsum(1) - 1).clamp(0, max(int(mask.sum()) - 1, 0))
    spread = ops.gather(source, converter.value(number), source.ndim - 1)
    others = [dim for dim in range(x.ndim) if dim not in (dim1, dim2)]
    order = [*others, dim1, dim2]
    spread = ops.transpose(spread, [order.index(dim) for dim in range(x.ndim)])
    places = mask if dim1 < dim2 else mask.T
    places = places.reshape([x.shape[dim] if dim in (dim1, dim2) else 1 for dim in range(x.ndim)])
    return ops.where(converter.value(places.contiguous()), spread, x)


@converts("_trilinear.default")
def trilinear(converter, a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    factors = [converter.value(given, converter.dtype()) for given in (a, b, c)]
    a, b, c = (ops.unsqueeze(one, list(dims)) if dims else one for one, dims in zip(factors, (expand1, expand2, expand3)))
    return ops.reduce_sum(a * b * c, list(sumdim)) if sumdim else a * b * c
