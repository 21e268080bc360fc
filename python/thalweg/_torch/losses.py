"""Losses that modules compute themselves."""

import torch

from thalweg import ops
from thalweg._torch.registry import converts

_NONE, _MEAN, _SUM = range(3)


def _shares(converter, weight, target, counts):
    """By how much each target counts."""
    shares = ops.cast(counts, "float32")
    return shares if weight is None else shares * ops.gather(converter.value(weight), target, 0)


@converts("nll_loss_forward.default", "nll_loss2d_forward.default")
def nll_loss(converter, x, target, weight, reduction, ignore_index):
    """(loss, sum of the weights) of logarithms of probabilities [N, C, ...] and classes [N, ...]; without N for one."""
    x, target = converter.value(x, converter.dtype()), converter.value(target, torch.int64)
    classes = 1 if x.ndim > 1 else 0
    counts = ops.logical_not(ops.equal(target, ops.scalar_like(target, float(ignore_index))))
    target = ops.where(counts, target, ops.scalar_like(target, 0.0))
    shares = _shares(converter, weight, target, counts)
    chosen = ops.squeeze(ops.gather_elements(x, ops.unsqueeze(target, [classes]), classes), [classes])
    losses = ops.where(counts, ops.neg(chosen), ops.scalar_like(chosen, 0.0)) * shares
    total = ops.reduce_sum(shares, [])
    if reduction == _NONE:
        return losses, total
    summed = ops.reduce_sum(losses, [])
    return (summed / total if reduction == _MEAN else summed), total
