"""Functions of torch.nn.functional that an export cannot follow, in forms that it can."""

import contextlib
import functools
import math
import warnings

import torch
from torch.nn import functional

# The logarithm of a probability of 0: unlike -inf, it has differences and gradients.
_NEVER = -1e30


def _embedding(
    original, training, input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """Rows that are too long are shortened where they are read; PyTorch does so in the table, which a graph cannot."""
    rows = original(input, weight, padding_idx, None, norm_type, scale_grad_by_freq, sparse)
    if max_norm is None:
        return rows
    if training:
        warnings.warn(
            "an embedding shortens rows that are too long (max_norm): its answers are those of PyTorch, but training differs, as "
            "the rows stay in the table as long as they are",
            stacklevel=3,
        )
    norms = torch.linalg.vector_norm(rows, norm_type, -1, keepdim=True)
    return rows * torch.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)


def _as_lengths(lengths):
    return lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)


def _with_blanks(targets, blank):
    """Blanks before, between and after the labels."""
    blanks = torch.full_like(targets, blank)
    return torch.cat([torch.stack([blanks, targets], -1).flatten(1), blanks[:, :1]], 1)


def _later_by(alpha, steps):
    return functional.pad(alpha[:, :-steps], (steps, 0), value=_NEVER)


def _log_likelihood(log_probs, labels, input_lengths, target_lengths, blank):
    """Of all ways in which frames [T, N, C] can say the labels with blanks [N, L], summed up frame by frame."""
    said = log_probs.gather(2, labels.expand(log_probs.shape[0], *labels.shape))
    may_skip = (labels[:, 2:] != labels[:, :-2]) & (labels[:, 2:] != blank)
    skipped = functional.pad(torch.where(may_skip, 0.0, _NEVER), (2, 0), value=_NEVER)
    begins = torch.arange(labels.shape[1]) < 2
    alpha = torch.where(begins, said[0], _NEVER)
    for frame in range(1, log_probs.shape[0]):
        ways = torch.stack([alpha, _later_by(alpha, 1), _later_by(alpha, 2) + skipped])
        alpha = torch.where((input_lengths > frame)[:, None], torch.logsumexp(ways, 0) + said[frame], alpha)
    last = (2 * target_lengths)[:, None]
    ends = alpha.gather(1, torch.cat([last, (last - 1).clamp(min=0)], 1))
    return torch.logsumexp(torch.where((last > 0) | (torch.arange(2) == 0), ends, _NEVER), 1)


def _ctc_loss(
    original, training, log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    if log_probs.dim() != 3 or targets.dim() != 2 or targets.shape[1] == 0:
        return original(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
    input_lengths, target_lengths = _as_lengths(input_lengths), _as_lengths(target_lengths)
    labels = _with_blanks(targets.long(), blank)
    likelihood = _log_likelihood(log_probs, labels, input_lengths, target_lengths, blank)
    losses = torch.where(likelihood > _NEVER / 2, -likelihood, 0.0 if zero_infinity else torch.inf)
    if reduction == "mean":
        return (losses / target_lengths.clamp(min=1)).mean()
    return losses.sum() if reduction == "sum" else losses


def _gaussian_nll_loss(original, training, input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Without the look at whether a variance is negative, which only the data tells."""
    var = var if isinstance(var, torch.Tensor) else torch.full_like(input, var)
    if var.dim() == input.dim() - 1:
        var = var.unsqueeze(-1)
    # No gradient goes through the bound.
    var = var + (var.clamp(min=eps) - var).detach()
    losses = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    losses = losses + 0.5 * math.log(2 * math.pi) if full else losses
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


_FORMS = {"ctc_loss": _ctc_loss, "embedding": _embedding, "gaussian_nll_loss": _gaussian_nll_loss}


def _in_place_of(original, form, training):
    # With the name of the original, which PyTorch asks for.
    @functools.wraps(original)
    def function(*arguments, **named):
        return form(original, training, *arguments, **named)

    return function


@contextlib.contextmanager
def replaced(training):
    """Within, these stand in the place of PyTorch's own."""
    originals = {name: getattr(functional, name) for name in _FORMS}
    for name, form in _FORMS.items():
        setattr(functional, name, _in_place_of(originals[name], form, training))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(functional, name, original)
