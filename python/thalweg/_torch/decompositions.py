"""Operators that PyTorch would express by simpler ones which lose what a model needs to know of them."""

import torch

from thalweg._torch.places import deform_conv2d, grid_sampler
from thalweg._torch.projected import lstm

_aten = torch.ops.aten
# The value that SELU comes to far below 0.
_SELU_LOWEST = -1.7580993408473766


def _alpha_dropout_by(x, mask, p):
    """Where the mask, 0 or 1 / (1 - p) in training, is 1, as it is at inference, the result is x itself: a parabola through
    what the three are to give."""
    kept = 1.0 - p
    scale = ((_SELU_LOWEST**2 * p + 1) * kept) ** -0.5
    shift = -scale * _SELU_LOWEST * p
    high = 1.0 / kept
    dropped = scale * _SELU_LOWEST + shift
    of_dropped = (mask - 1.0) * (mask - high) * kept
    of_kept = mask * (mask - 1.0) * (1.0 / (high * (high - 1.0)))
    of_all = mask * (mask - high) * (1.0 / (1.0 - high))
    return of_dropped * dropped + of_kept * (x * scale + shift) + of_all * x


def _alpha_dropout(x, p, train):
    if not train or p == 0 or p >= 1:
        return x if not train or p == 0 else torch.zeros_like(x)
    return _alpha_dropout_by(x, _aten.dropout.default(torch.ones_like(x), p, True), p)


def _feature_alpha_dropout(x, p, train):
    if not train or p == 0 or p >= 1:
        return x if not train or p == 0 else torch.zeros_like(x)
    channels = x.new_ones([*x.shape[:2], *[1] * (x.dim() - 2)])
    return _alpha_dropout_by(x, _aten.dropout.default(channels, p, True), p)


def _rrelu(x, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    slope = torch.rand_like(x) * (upper - lower) + lower if training else (lower + upper) / 2
    return torch.where(x >= 0, x, x * slope)


def _reduced(losses, reduction):
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


def _hinge_embedding_loss(x, target, margin=1.0, reduction=1):
    apart = torch.where(target != 1, (margin - x).clamp(min=0), torch.zeros_like(x))
    return _reduced(apart + torch.where(target != -1, x, torch.zeros_like(x)), reduction)


def _margin_ranking_loss(x1, x2, target, margin=0.0, reduction=1):
    return _reduced((margin - target * (x1 - x2)).clamp(min=0), reduction)


# By names, since the packages that have some of them may not be there.
DECOMPOSITIONS = {
    "aten.alpha_dropout.default": _alpha_dropout,
    "aten.feature_alpha_dropout.default": _feature_alpha_dropout,
    "aten.rrelu.default": _rrelu,
    "aten.grid_sampler.default": grid_sampler,
    "aten.hinge_embedding_loss.default": _hinge_embedding_loss,
    "aten.lstm.input": lstm,
    "aten.margin_ranking_loss.default": _margin_ranking_loss,
    "torchvision.deform_conv2d.default": deform_conv2d,
}
