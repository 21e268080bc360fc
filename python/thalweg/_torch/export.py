"""Drives torch.export: a module and example inputs become a functional graph of operators."""

import collections.abc
import contextlib
import dataclasses
import inspect
import sys
import warnings

import torch
import torch.utils._pytree as pytree

from thalweg._core import Error, InputError
from thalweg._torch.batch import batch_choices, is_free, repeated_once
from thalweg._torch.decompositions import DECOMPOSITIONS
from thalweg._torch.known_buffers import with_known_buffers
from thalweg._torch.own_gradients import followed
from thalweg._torch.refusals import explanation
from thalweg._torch.replaced import replaced


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


class BatchNotFree(Exception):
    """No choice of the dimensions that could be the batch lets torch.export go through; the cause says why."""


def export_module(module, args, kwargs, batch_dim, training):
    """The exported program, with changes in place made functional; with `batch_dim` None all sizes are fixed."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch takes a torch.nn.Module, not a {type(module).__name__}")
    _register_dataclasses((args, kwargs))
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise InputError("no example input is a torch.Tensor")
    if batch_dim is not None and batch_dim < 0:
        raise InputError(f"batch_dim is {batch_dim}, must be counted from the front")
    if batch_dim and not any(isinstance(leaf, torch.Tensor) and leaf.dim() > batch_dim for leaf in leaves):
        raise InputError(f"batch_dim is {batch_dim}, but no example input has more than {batch_dim} dimensions")
    with _form(module, training), replaced(training):
        try:
            # What computes at inference only has no use for gradients.
            with followed() if training else contextlib.nullcontext():
                if batch_dim is None:
                    return _export(module, args, kwargs, None)
                return _export_free(module, leaves, structure, batch_dim)
        except Exception as error:
            explained = explanation(error.__cause__ or error)
            if explained is None:
                raise
            raise Error(explained) from error


def _export_free(module, leaves, structure, batch_dim):
    """With the first choice of dimensions that stays free; else with the first one that can be exported at all."""
    fixed, cause = None, None
    for dims in batch_choices(leaves, batch_dim):
        args, kwargs = pytree.tree_unflatten(list(map(repeated_once, leaves, dims)), structure)
        marks = [None if dim is None else {dim: torch.export.Dim.AUTO} for dim in dims]
        free_args, free_kwargs = pytree.tree_unflatten(marks, structure)
        try:
            program = _export(module, args, kwargs, {**_by_name(module, free_args), **free_kwargs})
        except Exception as error:  # of any kind: it is what the module does with such an input
            cause = cause or error
            continue
        if is_free(program, batch_dim):
            return program
        fixed = fixed or program
    if fixed is None:
        raise BatchNotFree from cause
    return fixed


def _export(module, args, kwargs, shapes):
    # Without gradients, as callers may be, a module could take ways that are only meant for inference, and parts of it
    # that are without gradients by themselves could not be told from the rest.
    with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings():
        # Recurrent layers look after their weights in a way that is none of the caller's business.
        warnings.filterwarnings("ignore", message=".*_flat_weights.* assigned during export")
        with _known_structures(module), _masks_not_looked_at():
            program = with_known_buffers(
                module, lambda: torch.export.export(module, tuple(args), dict(kwargs), dynamic_shapes=shapes, strict=False)
            )
        _detach_where_gradients_are_off(program.graph_module)
        _express(program.graph_module)
        return program.run_decompositions({})


@contextlib.contextmanager
def _known_structures(module):
    """Within, what a module returns may hold any dataclass, and the caches of transformers' text models."""
    if "transformers" in sys.modules:
        # Other versions than those that have it may need nothing of the kind.
        with contextlib.suppress(ImportError):
            from transformers.integrations.executorch import register_dynamic_cache_export_support

            register_dynamic_cache_export_support()
    handle = module.register_forward_hook(lambda _, __, result: _register_dataclasses(result))
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def _masks_not_looked_at():
    """Within, nn.Transformer does not look whether a mask is the causal one, which only its content tells: it is used as given."""
    place = torch.nn.modules.transformer
    original = getattr(place, "_detect_is_causal_mask", None)
    if original is None:
        yield
        return
    place._detect_is_causal_mask = lambda mask, is_causal=None, size=None: bool(is_causal)
    try:
        yield
    finally:
        place._detect_is_causal_mask = original


def _register_dataclasses(structure):
    """Tells PyTorch of the dataclasses in a structure that it does not know."""
    if dataclasses.is_dataclass(structure) and not isinstance(structure, type):
        if type(structure) not in pytree.SUPPORTED_NODES:
            torch.export.register_dataclass(type(structure))
        for field in dataclasses.fields(structure):
            _register_dataclasses(getattr(structure, field.name))
    elif isinstance(structure, collections.abc.Mapping):
        for part in structure.values():
            _register_dataclasses(part)
    elif isinstance(structure, (tuple, list)):
        for part in structure:
            _register_dataclasses(part)


def _detach_where_gradients_are_off(graph_module):
    """Regions without gradients are functions of their own until decomposing makes them part of the rest.

    What they return is detached, which stays.
    """
    for node in graph_module.graph.nodes:
        if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled:
            region = getattr(graph_module, node.args[1].target)
            _detach_where_gradients_are_off(region)
            if not node.args[0]:
                _detach_results(region)


def _express(graph_module):
    """Puts functions of ours in the place of operators, of which decomposing records what they do."""
    for part in graph_module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            node.target = DECOMPOSITIONS.get(str(node.target), node.target) if node.op == "call_function" else node.target
        if isinstance(part, torch.fx.GraphModule):
            part.recompile()


def _detach_results(region):
    (output,) = region.graph.find_nodes(op="output")
    for result in output.all_input_nodes:
        value = result.meta.get("val")
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            with region.graph.inserting_before(output):
                detached = region.graph.call_function(torch.ops.aten.detach.default, (result,))
            detached.meta = dict(result.meta)
            output.replace_input_with(result, detached)
    region.recompile()


def _by_name(module, args):
    """Positional arguments under the names that forward() has for them."""
    return dict(inspect.signature(module.forward).bind_partial(*args).arguments)


def decompose(program, operators):
    """The program with those operators expressed by simpler ones, as far as PyTorch knows how."""
    table = torch.export.default_decompositions()
    known = {operator: table[operator] for operator in operators if operator in table}
    return program.run_decompositions(known) if known else None
