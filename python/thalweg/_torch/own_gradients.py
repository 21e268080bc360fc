"""Functions with gradients of their own (torch.autograd.Function), of which an export follows the forward way only.

Where the gradient is the one coming in, times something, element by element (that of a step that is taken for a slope, of a
gradient that is reversed), it is written down as that: y = forward(x) + (x - x) * slope, of which the x that is subtracted
and the slope are detached. Whether it is so is tried out on random numbers.
"""

import contextlib
import threading
import warnings

import torch


class _Context:
    """What forward and backward of such a function hand each other."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self.saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        pass

    def mark_dirty(self, *tensors):
        pass

    def mark_non_differentiable(self, *tensors):
        pass

    def set_materialize_grads(self, value):
        pass


@contextlib.contextmanager
def followed():
    """Within, functions are applied in a form whose gradients an export keeps."""
    original = torch.autograd.Function.__dict__["apply"]
    known = {}

    def apply(function, *arguments, **named):
        def plainly():
            return original.__get__(None, function)(*arguments, **named)

        if named or function.__module__.startswith("torch."):
            return plainly()
        key = (function, *map(_kind_of, arguments))
        if key not in known:
            known[key] = _in_another_thread(_way_of, function, arguments)
            if known[key] is None:
                _warn(function)
        return _with_slopes(function, arguments) if known[key] == "slopes" else plainly()

    torch.autograd.Function.apply = classmethod(apply)
    try:
        yield
    finally:
        torch.autograd.Function.apply = original


def _warn(function):
    warnings.warn(
        f"{function.__qualname__} has a gradient of its own (backward), which is not taken over: it is not the incoming one times "
        "something, element by element. Training takes the gradient of what forward computes instead",
        stacklevel=2,
    )


def _kind_of(argument):
    if isinstance(argument, torch.Tensor):
        return argument.dtype, tuple(map(str, argument.shape))
    try:
        hash(argument)
    except TypeError:
        return repr(argument)
    return argument


def _in_another_thread(function, *arguments):
    """Where nothing is recorded, as an export does in this one."""
    result = []
    worker = threading.Thread(target=lambda: result.append(function(*arguments)))
    worker.start()
    worker.join()
    return result[0] if result else None


def _forward(function, context, arguments):
    if function.setup_context is not torch.autograd.Function.setup_context:
        output = function.forward(*arguments)
        function.setup_context(context, arguments, output)
        return output
    return function.forward(context, *arguments)


def _is_learned(argument):
    return isinstance(argument, torch.Tensor) and argument.is_floating_point()


def _run(function, arguments):
    """(output, what backward makes of an incoming gradient)."""
    context = _Context(tuple(map(_is_learned, arguments)))
    with torch.no_grad():
        output = _forward(function, context, arguments)

    def backward(incoming):
        with torch.no_grad():
            gradients = function.backward(context, incoming)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return [gradient if _is_learned(argument) else None for argument, gradient in zip(arguments, gradients)]

    return output, backward


def _with_slopes(function, arguments):
    output, backward = _run(function, tuple(one.detach() if isinstance(one, torch.Tensor) else one for one in arguments))
    result = output.detach()
    for argument, slope in zip(arguments, backward(torch.ones_like(output))):
        if slope is not None:
            result = result + (argument - argument.detach()) * slope.detach()
    return result


def _example(argument):
    if not isinstance(argument, torch.Tensor):
        return argument
    shape = [size.node.hint if isinstance(size, torch.SymInt) else size for size in argument.shape]
    if argument.is_floating_point():
        return torch.randn(shape, dtype=argument.dtype, generator=torch.Generator().manual_seed(1))
    return torch.ones(shape, dtype=argument.dtype)


def _way_of(function, arguments):
    """"slopes" if the gradient is one of those; "plain" if it is that of what forward computes; None if it is neither."""
    arguments = tuple(map(_example, arguments))
    try:
        if _is_plain(function, arguments):
            return "plain"
        return "slopes" if _is_of_slopes(function, arguments) else None
    except Exception:  # of any kind: it is the function of somebody else, on numbers that it was not made for
        return None


def _is_of_slopes(function, arguments):
    output, backward = _run(function, arguments)
    if not isinstance(output, torch.Tensor):
        return False
    incoming = torch.randn(output.shape, dtype=output.dtype, generator=torch.Generator().manual_seed(2))
    # Of elements of very different sizes, so that what is cut off or normalised shows.
    incoming = incoming * 10.0 ** (incoming * 2)
    slopes, found = backward(torch.ones_like(output)), backward(incoming)
    return all(
        slope is None and gradient is None or slope.shape == output.shape and torch.allclose(slope * incoming, gradient)
        for slope, gradient in zip(slopes, found)
    )


def _is_plain(function, arguments):
    leaves = [one.clone().requires_grad_() if _is_learned(one) else one for one in arguments]
    output = _forward(function, _Context(tuple(map(_is_learned, arguments))), leaves)
    if not isinstance(output, torch.Tensor) or not output.requires_grad:
        return False
    incoming = torch.randn(output.shape, dtype=output.dtype, generator=torch.Generator().manual_seed(3))
    learned = [leaf for leaf in leaves if _is_learned(leaf)]
    expected = torch.autograd.grad(output, learned, incoming, allow_unused=True)
    found = [gradient for leaf, gradient in zip(leaves, _run(function, arguments)[1](incoming)) if _is_learned(leaf)]
    return all(
        (a is None or not a.any()) and (b is None or not b.any()) or a is not None and b is not None and torch.allclose(a, b, atol=1e-6)
        for a, b in zip(expected, found)
    )
