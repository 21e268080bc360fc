"""Systems of linear equations, inverses and determinants of square matrices."""

import math

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _swapped(x):
    """The matrices transposed."""
    return x.transpose(x.ndim - 2, x.ndim - 1)


def _solved(converter, a, b):
    (solution,) = converter.graph.add("solve", [a, b])
    return solution


def _size(converter, matrices):
    size = matrices.shape[-1]
    if size is None or matrices.shape[-2] != size:
        converter.fail("computes with matrices that are not square, or of a size that is free")
    return size


@converts("linalg_inv.default", "inverse.default")
def inverse(converter, x):
    x = converter.value(x)
    return _solved(converter, x, converter.value(torch.eye(_size(converter, x), dtype=converter.dtype())))


@converts("linalg_inv_ex.default")
def inverse_and_code(converter, x, check_errors=False):
    return (inverse(converter, x), None)


@converts("linalg_solve.default")
def solve(converter, a, b, *, left=True):
    a, b = converter.value(a), converter.value(b)
    _size(converter, a)
    is_vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    b = ops.unsqueeze(b, [b.ndim]) if is_vector else b
    x = _solved(converter, a, b) if left else _swapped(_solved(converter, _swapped(a), _swapped(b)))
    return ops.squeeze(x, [x.ndim - 1]) if is_vector else x


@converts("linalg_solve_ex.default", "_linalg_solve_ex.default")
def solve_and_code(converter, a, b, *, left=True, check_errors=False):
    return (solve(converter, a, b, left=left), None, None, None)


@converts("linalg_solve_triangular.default")
def solve_triangular(converter, a, b, *, upper, left=True, unitriangular=False):
    a, b = converter.value(a), converter.value(b)
    size = _size(converter, a)
    kept = torch.ones(size, size, dtype=converter.dtype())
    kept = kept.triu(int(unitriangular)) if upper else kept.tril(-int(unitriangular))
    a = ops.where(converter.value(kept.bool()), a, ops.scalar_like(a, 0.0))
    a = a + converter.value(torch.eye(size, dtype=converter.dtype())) if unitriangular else a
    return _solved(converter, a, b) if left else _swapped(_solved(converter, _swapped(a), _swapped(b)))


@converts("linalg_det.default", "det.default")
def det(converter, x):
    x = converter.value(x)
    _size(converter, x)
    (determinant,) = converter.graph.add("det", [x])
    return determinant


@converts("linalg_slogdet.default", "slogdet.default")
def slogdet(converter, x):
    x = converter.value(x)
    _size(converter, x)
    return tuple(converter.graph.add("slogdet", [x]))


@converts("logdet.default")
def logdet(converter, x):
    """No number for a negative determinant."""
    sign, logarithm = slogdet(converter, x)
    return ops.where(ops.less(sign, ops.scalar_like(sign, 0.0)), ops.scalar_like(sign, math.nan), logarithm)
