"""What `accelerate` makes of a module for inputs of one kind."""

import torch
import torch.utils._pytree as pytree
from torch.autograd.function import once_differentiable

from thalweg import ops
from thalweg._core import GradientFunction, Model, Value
from thalweg._torch.convert import convert_module
from thalweg._torch.free import FreeSize
from thalweg._torch.weights import FunctionWeights, LiveWeights, ModelWeights, as_in_module, held

_RANDOM = ("dropout", "gaussian_noise")


class _TensorOf:
    """Stands for a tensor among the outputs."""

    def __init__(self, dtype):
        self.dtype = dtype


def _array(tensor):
    return held(tensor).numpy()


class _Conversion:
    """A graph for inputs of one kind, and how the module is called."""

    def __init__(self, converted, structure, leaves):
        # Values of the graph stand for tensors, all else for itself.
        self._outputs = [
            _TensorOf(dtype) if isinstance(output, Value) else output
            for output, dtype in zip(converted.outputs, converted.output_dtypes)
        ]
        self._out_spec = converted.program.call_spec.out_spec
        self._free_sizes = converted.free_sizes
        self._structure = structure
        declared = iter(converted.user_inputs)
        # None in a shape is free: that of the batch, unless what the module computes fixes it.
        self._kinds = [
            (next(declared).shape, leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves
        ]

    def takes(self, structure, leaves):
        return structure == self._structure and all(map(_is_of_kind, leaves, self._kinds))

    def _answer(self, tensors, inputs):
        """What the module returns, of tensors in the graph's order of outputs and of all of its inputs."""
        results = iter(tensors)
        sizes = {name: inputs[number].shape[dim] for name, (number, dim) in self._free_sizes.items()}
        outputs = [
            next(results).to(output.dtype) if isinstance(output, _TensorOf) else _size_in(sizes, output)
            for output in self._outputs
        ]
        return pytree.tree_unflatten(outputs, self._out_spec)


class Inference(_Conversion):
    """With the weights of the moment in which it was made."""

    _weights = ModelWeights

    def __init__(self, module, structure, leaves, arguments, batch_dim, options):
        converted = convert_module(module, *arguments, batch_dim=batch_dim, training=False, weights=self._weights)
        super().__init__(converted, structure, leaves)
        self._model = Model(converted.graph, **options)

    def run(self, leaves):
        inputs = [_array(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        result = self._model(*inputs)
        return self._answer(map(torch.from_numpy, result if isinstance(result, tuple) else (result,)), inputs)


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


def _named_tensors(module):
    """Parameters and buffers, those under several names under each."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _state_of(tensor):
    """Changes whenever the content does."""
    return id(tensor), tensor.data_ptr(), tensor._version


class LiveInference(Inference):
    """With the weights that the module has at each call."""

    _weights = LiveWeights

    def __init__(self, module, structure, leaves, arguments, batch_dim, options):
        super().__init__(module, structure, leaves, arguments, batch_dim, options)
        self._module = module
        self._names = self._model.weight_names()
        tensors = _named_tensors(module)
        self._constants = [name for name in tensors if name not in self._names and not tensors[name].requires_grad]
        self._seen = {name: _state_of(tensor) for name, tensor in tensors.items()}

    def takes(self, structure, leaves):
        if not super().takes(structure, leaves):
            return False
        tensors = _named_tensors(self._module)
        return all(_state_of(tensors[name]) == self._seen[name] for name in self._constants)

    def run(self, leaves):
        tensors = _named_tensors(self._module)
        for name in self._names:
            state = _state_of(tensors[name])
            if state != self._seen[name]:
                self._model.set_weight(name, _array(tensors[name]))
                self._seen[name] = state
        return super().run(leaves)


class Differentiable(_Conversion):
    """With the weights of each call, and gradients."""

    def __init__(self, module, structure, leaves, arguments, batch_dim, options):
        converted = convert_module(
            module, *arguments, batch_dim=batch_dim, training=module.training, weights=FunctionWeights
        )
        super().__init__(converted, structure, leaves)
        self._module = module
        weights, graph = converted.weights, converted.graph
        self._changed = list(weights.changes)
        self.returned = len(graph.outputs)
        for name, value in weights.changes.items():
            graph.mark_output(ops.stop_gradient(value), f"changed.{name}")
        names = {in_graph: name for name, in_graph in weights.inputs.items()}
        # The name of a weight, or None for what the caller gives.
        self._sources = [names.get(value.name) for value in graph.inputs]
        self._asked = self._what_is_asked(leaves)
        tensors = self._tensors(leaves)
        self.wanted = [number for number, tensor in enumerate(tensors) if tensor.requires_grad]
        self.function = GradientFunction(graph, [graph.inputs[number].name for number in self.wanted], **options)
        self._is_random = any(node.op in _RANDOM for node in graph.nodes)
        used = set(weights.inputs)
        self._constants = {
            name: _state_of(buffer) for name, buffer in module.named_buffers() if name not in used
        }

    def _what_is_asked(self, leaves):
        """All that decides, besides the kind of the inputs, which graph it is."""
        modes = [part.training for part in self._module.modules()]
        trained = [parameter.requires_grad for parameter in self._module.parameters()]
        return modes, trained, [leaf.requires_grad for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def takes(self, structure, leaves):
        if not super().takes(structure, leaves) or self._what_is_asked(leaves) != self._asked:
            return False
        buffers = dict(self._module.named_buffers())
        return all(_state_of(buffers[name]) == state for name, state in self._constants.items())

    def _tensors(self, leaves):
        """In the order of the graph's inputs."""
        weights = _named_tensors(self._module)
        given = (leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        return [next(given) if name is None else weights[name] for name in self._sources]

    def _is_changed(self, number):
        return self._sources[number] in self._changed

    def arrays(self, tensors):
        """For the engine, which reads them until the gradients are computed; buffers will have changed by then."""
        arrays = [_array(tensor) for tensor in tensors]
        return [array.copy() if self._is_changed(number) else array for number, array in enumerate(arrays)]

    def kept(self, tensors):
        return [tensor for number, tensor in enumerate(tensors) if not self._is_changed(number)]

    def seed(self):
        """Of what is drawn, by PyTorch's own generator; one that nothing is drawn from stays as it is."""
        return int(torch.randint(2**62, ())) if self._is_random else 0

    def run(self, leaves):
        tensors = self._tensors(leaves)
        results = _Call.apply(self, *tensors)
        buffers = dict(self._module.named_buffers(remove_duplicate=False))
        with torch.no_grad():
            for name, changed in zip(self._changed, results[self.returned :]):
                buffers[name].copy_(changed)
        return self._answer(results[: self.returned], tensors)


class _Call(torch.autograd.Function):
    """One run of a differentiable conversion, as PyTorch's autograd knows functions."""

    @staticmethod
    def forward(ctx, conversion, *tensors):
        run = conversion.function.run(conversion.arrays(tensors), conversion.seed())
        outputs = [torch.from_numpy(array) for array in run.take_outputs()]
        ctx.conversion, ctx.run = conversion, run
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        ctx.floating = [output.is_floating_point() for output in outputs]
        fixed = [output for number, output in enumerate(outputs) if _is_fixed(conversion, number, output)]
        ctx.mark_non_differentiable(*fixed)
        # The engine has them; saved so that PyTorch notices if they are changed before the gradients are computed.
        ctx.save_for_backward(*conversion.kept(tensors))
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):
        _ = ctx.saved_tensors
        given = [_array(gradient) for gradient, floating in zip(gradients, ctx.floating) if floating]
        found = ctx.run.gradients(given)
        result = [None] * len(ctx.dtypes)
        for number, array in zip(ctx.conversion.wanted, found):
            if array is not None:
                result[number] = as_in_module(torch.from_numpy(array), ctx.dtypes[number])
        return None, *result


def _is_fixed(conversion, number, output):
    """Whether no gradient goes through an output: new contents of buffers, and what is no floating number."""
    return number >= conversion.returned or not output.is_floating_point()
