"""Drives torch.export: a module and example inputs become a functional graph of operators."""

import contextlib
import inspect
import warnings

import torch
import torch.utils._pytree as pytree

from thalweg._core import InputError


@contextlib.contextmanager
def _form(module, training):
    """The module in training or inference mode. If it is in training mode already, parts that are not stay as they are."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        if module.training != training:
            module.train(training)
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _batch_of_two(example):
    """torch.export takes a size of 1 for a constant, so an example of one sample is given twice."""
    if isinstance(example, torch.Tensor) and example.dim() > 0 and example.shape[0] == 1:
        return torch.cat([example, example])
    return example


def _free_batch(example):
    return {0: torch.export.Dim.AUTO} if isinstance(example, torch.Tensor) and example.dim() > 0 else None


def export_module(module, args, kwargs, free_batch, training):
    """The exported program, with changes in place made functional."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch takes a torch.nn.Module, not a {type(module).__name__}")
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise InputError("no example input is a torch.Tensor")
    shapes = None
    if free_batch:
        args, kwargs = pytree.tree_unflatten([_batch_of_two(leaf) for leaf in leaves], structure)
        free_args, free_kwargs = pytree.tree_unflatten([_free_batch(leaf) for leaf in leaves], structure)
        shapes = {**_by_name(module, free_args), **free_kwargs}
    with _form(module, training), warnings.catch_warnings():
        # Recurrent layers look after their weights in a way that is none of the caller's business.
        warnings.filterwarnings("ignore", message=".*_flat_weights.* assigned during export")
        program = torch.export.export(module, tuple(args), dict(kwargs), dynamic_shapes=shapes, strict=False)
        return program.run_decompositions({})


def _by_name(module, args):
    """Positional arguments under the names that forward() has for them."""
    return dict(inspect.signature(module.forward).bind_partial(*args).arguments)


def decompose(program, operators):
    """The program with those operators expressed by simpler ones, as far as PyTorch knows how."""
    table = torch.export.default_decompositions()
    known = {operator: table[operator] for operator in operators if operator in table}
    return program.run_decompositions(known) if known else None
