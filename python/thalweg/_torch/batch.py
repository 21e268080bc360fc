"""Which dimension of each example input may be the batch."""

import torch
from torch.export.graph_signature import InputKind

from thalweg._torch.free import FreeSize, size_from


def batch_choices(leaves, batch_dim):
    """For each leaf the dimension to leave free, or None; the likeliest choice first.

    That is `batch_dim` of every tensor. Others than the first may have it elsewhere, as the state of recurrent layers,
    [layers, batch, features], so that those tensors follow whose size is that of the first tensor's there; those with
    neither stay fixed.
    """
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim() > batch_dim]
    if not tensors:
        return [(None,) * len(leaves)]
    size = tensors[0].shape[batch_dim]

    def sharing(leaf, order):
        dims = [dim for dim in order if dim < leaf.dim() and leaf.shape[dim] == size]
        return dims[0] if dims else None

    def choice(pick):
        dims = []
        for leaf in leaves:
            of_batch = isinstance(leaf, torch.Tensor) and leaf.dim() > 0
            dims.append(None if not of_batch else batch_dim if leaf is tensors[0] else pick(leaf))
        return tuple(dims)

    of_all = choice(lambda leaf: batch_dim if leaf.dim() > batch_dim else None)
    orders = [(0, 1), (1, 0)] if batch_dim == 0 else [(batch_dim, 0), (0, batch_dim)]
    return list(dict.fromkeys([of_all, *(choice(lambda leaf: sharing(leaf, order)) for order in orders)]))


def repeated_once(leaf, dim):
    """torch.export takes a size of 1 for a constant, so an example of one sample is given twice."""
    return torch.cat([leaf, leaf], dim) if dim is not None and leaf.shape[dim] == 1 else leaf


def is_free(program, batch_dim):
    """Whether the batch of the first input that has one has stayed free."""
    inputs = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT}
    for node in program.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if node.name in inputs and isinstance(value, torch.Tensor) and value.dim() > batch_dim:
            return isinstance(size_from(value.shape[batch_dim]), FreeSize)
    return False
