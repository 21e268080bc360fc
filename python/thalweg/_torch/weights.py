"""What becomes of a module's parameters and buffers."""

import torch


def name_of_dtype(dtype):
    """As numpy names it."""
    return str(dtype).removeprefix("torch.")


def computed_dtype(dtype):
    """The element type that stands for one of PyTorch: bfloat16 and float16 are computed in float32.

    What a module is stored in need not be what it is computed in; that is for the model's precision to say.
    """
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


def held(tensor):
    """A tensor of the module as the graph holds it: complex numbers as pairs, along a last dimension."""
    tensor = tensor.detach()
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return tensor.to(computed_dtype(tensor.dtype)).contiguous()


def as_in_module(values, dtype):
    """The reverse for what a model gives: in the element type of a tensor of the module."""
    return (torch.view_as_complex(values.contiguous()) if dtype.is_complex else values).to(dtype)


class ModelWeights:
    """Weights of a model: parameters, and states for the buffers that the module changes; the others are constants."""

    def parameter(self, graph, name, tensor):
        return graph.parameter(name, held(tensor), tensor.requires_grad)

    def buffer(self, graph, name, tensor, is_changed):
        return graph.state(name, held(tensor)) if is_changed else tensor.detach()

    def change(self, graph, name, value):
        graph.assign(graph.find(name), value)


class LiveWeights(ModelWeights):
    """The same, but all buffers of numbers are states: they may be set anew, as those of a module in training."""

    def buffer(self, graph, name, tensor, is_changed):
        return super().buffer(graph, name, tensor, is_changed or tensor.is_floating_point())


class FunctionWeights:
    """Inputs of a function that has no weights of its own. New contents of buffers are further outputs."""

    def __init__(self):
        # The name in the graph of each parameter and buffer.
        self.inputs = {}
        self.changes = {}

    def parameter(self, graph, name, tensor):
        self.inputs[name] = f"weights.{name}"
        as_held = held(tensor)
        return graph.input(self.inputs[name], list(as_held.shape), name_of_dtype(as_held.dtype))

    def buffer(self, graph, name, tensor, is_changed):
        if is_changed or tensor.is_floating_point():
            return self.parameter(graph, name, tensor)
        return tensor.detach()

    def change(self, graph, name, value):
        self.changes[name] = value
