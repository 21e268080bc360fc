"""What of a program PyTorch itself can compute, before anything is known of the inputs."""

import torch
import torch.utils._pytree as pytree

from thalweg._core import Value
from thalweg._torch.complex_numbers import Complex
from thalweg._torch.free import Deferred, FreeSize, Repeated, size_from
from thalweg._torch.problems import Missing

# Operators that give for every sample what they give for one, along the dimensions that stay free.
_SAMPLE_BY_SAMPLE = {
    "aten._to_copy.default",
    "aten.alias.default",
    "aten.broadcast_to.default",
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.detach.default",
    "aten.expand.default",
    "aten.lift_fresh_copy.default",
    "aten.permute.default",
    "aten.reshape.default",
    "aten.slice.Tensor",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.transpose.int",
    "aten.unsqueeze.default",
    "aten.view.default",
}


# The same, of the last two dimensions.
_OF_MATRICES = {"aten.tril.default", "aten.triu.default"}


def is_random(target):
    """Whether an operator draws numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def fold(node, arguments, named):
    """The result of an operator whose arguments are all known; None if they are not, or cannot be used for this."""
    leaves = pytree.tree_leaves((arguments, named))
    if is_random(node.target) or any(isinstance(leaf, (Value, Complex, Deferred, Missing)) for leaf in leaves):
        return None
    if not any(isinstance(leaf, (Repeated, FreeSize)) for leaf in leaves):
        return node.target(*arguments, **named)
    if any(isinstance(leaf, Repeated) for leaf in leaves) and _is_sample_by_sample(node.target, leaves):
        return _fold_repeated(node, arguments, named)
    return None


def _is_sample_by_sample(target, leaves):
    if str(target) in _SAMPLE_BY_SAMPLE:
        return True
    if str(target) in _OF_MATRICES:
        return not any(isinstance(size, FreeSize) for size in leaves[0].shape[-2:])
    # To these a free size would be a number to compute with.
    return torch.Tag.pointwise in getattr(target, "tags", ()) and not any(isinstance(leaf, FreeSize) for leaf in leaves)


def _for_one_sample(leaf):
    if isinstance(leaf, Repeated):
        return leaf.tensor
    return leaf.value_for_one() if isinstance(leaf, FreeSize) else leaf


def _fold_repeated(node, arguments, named):
    """What a batch of one would give stands for all, as long as it is one along what is free."""
    arguments, named = pytree.tree_map(_for_one_sample, (arguments, named))
    result = node.target(*arguments, **named)
    shape = [size_from(size) for size in node.meta["val"].shape]
    fits = all(size == (1 if isinstance(expected, FreeSize) else expected) for size, expected in zip(result.shape, shape))
    if not fits:
        return None
    return Repeated(result, shape) if any(isinstance(size, FreeSize) for size in shape) else result
