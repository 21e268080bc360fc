"""A PyTorch module that is computed by Thalweg."""

import threading

import torch
import torch.utils._pytree as pytree

from thalweg._core import Error, Model, Value
from thalweg._torch.convert import computed_dtype, convert_module
from thalweg._torch.export import BatchNotFree
from thalweg._torch.free import FreeSize


class _TensorOf:
    """Stands for a tensor among the outputs."""

    def __init__(self, dtype):
        self.dtype = dtype


class _Conversion:
    """A model for inputs of one kind."""

    def __init__(self, structure, leaves, converted, options):
        self._model = Model(converted.graph, **options)
        # Values of the graph stand for tensors, all else for itself.
        self._outputs = [
            _TensorOf(dtype) if isinstance(output, Value) else output
            for output, dtype in zip(converted.outputs, converted.output_dtypes)
        ]
        self._out_spec = converted.program.call_spec.out_spec
        self._free_sizes = converted.free_sizes
        self._structure = structure
        declared = iter(self._model.graph.inputs)
        # None in a shape is free: that of the batch, unless what the module computes fixes it.
        self._kinds = [
            (next(declared).shape, leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves
        ]

    def run(self, leaves):
        tensors = [leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        inputs = [tensor.to(computed_dtype(tensor.dtype)).numpy() for tensor in tensors]
        result = self._model(*inputs)
        results = iter(map(torch.from_numpy, result if isinstance(result, tuple) else (result,)))
        sizes = {name: inputs[number].shape[dim] for name, (number, dim) in self._free_sizes.items()}
        outputs = [
            next(results).to(output.dtype) if isinstance(output, _TensorOf) else _size_in(sizes, output)
            for output in self._outputs
        ]
        return pytree.tree_unflatten(outputs, self._out_spec)

    def takes(self, structure, leaves):
        return structure == self._structure and all(map(_is_of_kind, leaves, self._kinds))


def _size_in(sizes, output):
    return output.value(sizes) if isinstance(output, FreeSize) else output


def _is_of_kind(leaf, kind):
    if not isinstance(leaf, torch.Tensor):
        return type(leaf) is type(kind) and leaf == kind
    if not isinstance(kind, tuple):
        return False
    shape, dtype = kind
    return leaf.dtype == dtype and leaf.dim() == len(shape) and all(map(_is_of_size, leaf.shape, shape))


def _is_of_size(size, expected):
    return expected is None or size == expected


class Accelerated(torch.nn.Module):
    """Called as the module it was made of; gives what that gives at inference, without gradients.

    The first call with inputs of a new kind (anything but the batch size differs) converts the module with the weights
    that it has then. The conversions used last are kept.
    """

    def __init__(self, module, max_conversions, options):
        super().__init__()
        # In a tuple, so that it is no part of this module: its weights are not those in use.
        self._original = (module,)
        self._options = options
        self._max_conversions = max_conversions
        self._conversions = []
        self._lock = threading.Lock()

    def __getstate__(self):
        """Without conversions, for pickle and copy: they are made again, with the module's weights of that moment."""
        return {**self.__dict__, "_conversions": [], "_lock": None}

    def __setstate__(self, state):
        super().__setstate__(state)
        self._lock = threading.Lock()

    def forward(self, *args, **kwargs):
        leaves, structure = pytree.tree_flatten((args, kwargs))
        with self._lock:
            conversion = self._conversion(structure, leaves, args, kwargs)
        return conversion.run(leaves)

    def _conversion(self, structure, leaves, args, kwargs):
        """The one for these inputs, which goes to the end of the list: the first is the one that was used longest ago."""
        known = [conversion for conversion in self._conversions if conversion.takes(structure, leaves)]
        if known:
            self._conversions.remove(known[0])
        else:
            known = [self._convert(structure, leaves, args, kwargs)]
        self._conversions.append(known[0])
        del self._conversions[: -self._max_conversions]
        return known[0]

    def _convert(self, structure, leaves, args, kwargs):
        try:
            conversion = self._convert_once(structure, leaves, args, kwargs, batch_dim=0)
            # An example of one sample is exported as two; a module that fixes its batch has then the wrong one.
            if conversion.takes(structure, leaves):
                return conversion
        except (BatchNotFree, Error):
            # It may be the free size that stands in the way.
            pass
        return self._convert_once(structure, leaves, args, kwargs, batch_dim=None)

    def _convert_once(self, structure, leaves, args, kwargs, batch_dim):
        converted = convert_module(self._original[0], args, kwargs, batch_dim=batch_dim, training=False)
        return _Conversion(structure, leaves, converted, self._options)


def accelerate(module: torch.nn.Module, max_conversions: int = 16, **options) -> Accelerated:
    """The module, computed by Thalweg, with the same way to call it: for inference.

    It is converted for each kind of inputs, and ``max_conversions`` are kept at a time. ``options`` are those of thalweg.Model; kernels are chosen by measuring unless they say otherwise.

    >>> import torch, thalweg
    >>> fast = thalweg.accelerate(torch.nn.Linear(4, 3))
    >>> fast(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"accelerate takes a torch.nn.Module, not a {type(module).__name__}")
    if max_conversions < 1:
        raise ValueError(f"max_conversions is {max_conversions}, must be at least 1")
    return Accelerated(module, max_conversions, {"tuning": "measured", **options})
