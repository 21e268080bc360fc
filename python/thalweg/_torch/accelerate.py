"""A PyTorch module that is computed by Thalweg."""

import threading

import torch
import torch.utils._pytree as pytree

from thalweg._core import Model
from thalweg._torch.convert import convert_module


class Accelerated(torch.nn.Module):
    """Called as the module it was made of; gives what that gives at inference, without gradients.

    The first call with inputs of a new kind (anything but the batch size differs) converts the module with the weights
    that it has then.
    """

    def __init__(self, module, options):
        super().__init__()
        # In a tuple, so that it is no part of this module: its weights are not those in use.
        self._original = (module,)
        self._options = options
        self._converted = {}
        self._lock = threading.Lock()

    def forward(self, *args, **kwargs):
        leaves, structure = pytree.tree_flatten((args, kwargs))
        key = (structure, *(_kind(leaf) for leaf in leaves))
        with self._lock:
            if key not in self._converted:
                self._converted[key] = self._convert(args, kwargs)
            model, spec = self._converted[key]
        arrays = [leaf.detach().numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        result = model(*arrays)
        outputs = result if isinstance(result, tuple) else (result,)
        return pytree.tree_unflatten([torch.from_numpy(output) for output in outputs], spec)

    def _convert(self, args, kwargs):
        graph, program = convert_module(self._original[0], args, kwargs, free_batch=True, training=False)
        return Model(graph, **self._options), program.call_spec.out_spec


def _kind(leaf):
    return (tuple(leaf.shape[1:]), leaf.dim(), leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf


def accelerate(module: torch.nn.Module, **options) -> Accelerated:
    """The module, computed by Thalweg, with the same way to call it: for inference.

    ``options`` are those of thalweg.Model; kernels are chosen by measuring unless they say otherwise.

    >>> import torch, thalweg
    >>> fast = thalweg.accelerate(torch.nn.Linear(4, 3))
    >>> fast(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"accelerate takes a torch.nn.Module, not a {type(module).__name__}")
    return Accelerated(module, {"tuning": "measured", **options})
