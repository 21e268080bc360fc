"""Attention, with masks, heads that share keys, and dropout."""

import math

import torch

from thalweg import ops
from thalweg._torch.free import Repeated
from thalweg._torch.random import dropout
from thalweg._torch.registry import converts


def _additive(converter, mask, like):
    """A mask of bools as numbers to add: PyTorch's True means "takes part"."""
    if isinstance(mask, Repeated):
        # The scores have the batch.
        mask = mask.tensor
    if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    mask = converter.value(mask)
    if mask.dtype == "bool":
        return ops.where(mask, ops.scalar_like(like, 0.0), ops.scalar_like(like, -math.inf))
    return mask if mask.dtype == like.dtype else ops.cast(mask, like.dtype)


def _with_heads_of(q, k):
    """Keys or values of fewer heads, each of which serves several of the queries'."""
    heads, of_keys = q.shape[-3], k.shape[-3]
    if heads == of_keys:
        return k
    lead, (length, width) = [0] * (k.ndim - 3), k.shape[-2:]
    grouped = ops.unsqueeze(k, [k.ndim - 2])
    grouped = ops.expand(grouped, [*lead, of_keys, heads // of_keys, length, width])
    return ops.reshape(grouped, [*lead, heads, length, width])


def _causal(rows, columns):
    return torch.ones(rows, columns, dtype=torch.bool).tril()


def _is_bool(mask):
    return mask.dtype in ("bool", torch.bool)


def _in_parts(converter, q, k, v, mask, dropout_p, scale):
    """Where there is no whole op for it: with dropout, or without heads."""
    scores = ops.matmul(q, k, transpose_b=True) * (1.0 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is None:
        weights = ops.softmax(scores, -1)
    elif not _is_bool(mask):
        weights = ops.softmax(scores + _additive(converter, mask, q), -1)
    else:
        mask = converter.value(mask.tensor if isinstance(mask, Repeated) else mask)
        # A query that sees nothing has no answer, rather than one that is no number.
        weights = ops.softmax(ops.where(mask, scores, ops.scalar_like(scores, -1e30)), -1)
        weights = ops.where(mask, weights, ops.scalar_like(weights, 0.0))
    return ops.matmul(dropout(converter, weights, dropout_p), v)


@converts("scaled_dot_product_attention.default")
def attention(converter, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    q, k, v = converter.value(q), converter.value(k), converter.value(v)
    if enable_gqa or (q.ndim == 4 and 1 in (k.shape[1], v.shape[1])):
        # One head of keys for all queries needs no asking.
        k, v = _with_heads_of(q, k), _with_heads_of(q, v)
    rows, columns = q.shape[-2], k.shape[-2]
    whole = dropout_p == 0 and q.ndim == 4
    if is_causal and not (whole and rows == columns):
        if None in (rows, columns):
            converter.fail("is causal over sequences of which the length is free")
        attn_mask, is_causal = _causal(rows, columns), False
    if not whole:
        return _in_parts(converter, q, k, v, attn_mask, dropout_p, scale)
    mask = None if attn_mask is None else _additive(converter, attn_mask, q)
    return ops.attention(q, k, v, mask, scale, is_causal)
