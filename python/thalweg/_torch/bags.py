"""Embedding bags: sums, means and maxima over the rows of a table that bags of indices name."""

import torch

from thalweg import ops
from thalweg._core import Value
from thalweg._torch.free import Counted
from thalweg._torch.registry import converts

_SUM, _MEAN, _MAX = range(3)


@converts("embedding_bag.default", "embedding_bag.padding_idx")
def embedding_bag(
    converter,
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=_SUM,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    if scale_grad_by_freq:
        converter.fail("divides gradients by how often an index occurs (scale_grad_by_freq)")
    if mode == _MAX and padding_idx is not None:
        converter.fail("takes maxima beside padding (padding_idx)")
    size = None if include_last_offset else _common_size(converter, offsets)
    indices = converter.value(indices, torch.int64)
    shares = _shares(converter, indices, per_sample_weights, padding_idx)
    rows = ops.embedding(converter.value(weight), indices)
    if size is not None:
        bags = _of_common_size(rows, shares, size, mode)
    elif mode == _MAX:
        converter.fail("takes maxima over bags of different sizes: give bags of one size, as a matrix without offsets")
    else:
        bags = _of_any_size(rows, shares, indices, converter.value(offsets, torch.int64), include_last_offset, mode)
    # The rest is for gradients, which the graph's ops bring themselves.
    return (bags, None, None, None)


def _common_size(converter, offsets):
    """How many indices each bag has, if all have as many: so it is where a matrix of indices was given."""
    if isinstance(offsets, Counted):
        return offsets.step
    (total,) = converter.shape_of_argument(1)
    if isinstance(offsets, Value) or not isinstance(total, int) or len(offsets) == 0 or total % len(offsets):
        return None
    size = total // len(offsets)
    return size if offsets.tolist() == list(range(0, total, size or 1)) else None


def _shares(converter, indices, per_sample_weights, padding):
    """By how much each row counts; None if every one counts once."""
    shares = None if per_sample_weights is None else converter.value(per_sample_weights)
    if padding is None:
        return shares
    counts = ops.cast(ops.logical_not(ops.equal(indices, ops.scalar_like(indices, float(padding)))), "float32")
    return counts if shares is None else shares * counts


def _of_common_size(rows, shares, size, mode):
    bags = ops.reshape(rows, [-1, size, rows.shape[1]])
    if shares is None:
        return {_SUM: ops.reduce_sum, _MEAN: ops.reduce_mean, _MAX: ops.reduce_max}[mode](bags, [1])
    shares = ops.reshape(shares, [-1, size, 1])
    sums = ops.reduce_sum(bags * shares, [1])
    # Weights of samples go with sums only, so that these are counts.
    return sums / ops.maximum(ops.reduce_sum(shares, [1]), 1.0) if mode == _MEAN else sums


def _of_any_size(rows, shares, indices, offsets, include_last_offset, mode):
    """A matrix says which row is in which bag: not before where the bag begins, but before where the next one does."""
    places = ops.cumsum(indices * 0 + 1, 0, exclusive=True)
    begun = ops.cast(ops.less_equal(ops.unsqueeze(offsets, [1]), ops.unsqueeze(places, [0])), "float32")
    later = ops.slice(begun, [1], [2**63 - 1], [0])
    if include_last_offset:
        begun = ops.slice(begun, [0], [-1], [0])
    else:
        later = ops.concat([later, ops.slice(begun, [0], [1], [0]) * 0.0], 0)
    members = begun - later
    members = members if shares is None else members * ops.unsqueeze(shares, [0])
    sums = ops.matmul(members, rows)
    return sums / ops.maximum(ops.reduce_sum(members, [1], True), 1.0) if mode == _MEAN else sums
