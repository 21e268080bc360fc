"""Elementwise operators."""

import math

import torch

from thalweg import ops
from thalweg._core import Value, torch_functions
from thalweg._torch.free import Counted, FreeSize, filled
from thalweg._torch.registry import converts


def _register_unary(name, function):
    @converts(name)
    def convert(converter, x, *numbers, **named):
        named = {key: float(number) for key, number in named.items()}
        # The type is that of the result, as whole numbers have no sine; but what is asked of a number keeps it.
        asks = converter.dtype() == torch.bool
        x = converter.value(x) if asks else converter.value(x, converter.dtype())
        return function(x, *map(float, numbers), **named)


# The engine knows PyTorch's names of its functions.
for _name, _op in torch_functions().items():
    _register_unary(_name, getattr(ops, _op))
_register_unary("trunc.default", lambda x: ops.sign(x) * ops.floor(ops.abs(x)))


@converts("logical_not.default")
def logical_not(converter, x):
    return ops.logical_not(converter.value(x, torch.bool))


@converts("bitwise_not.default")
def bitwise_not(converter, x):
    x = converter.value(x)
    return ops.logical_not(x) if x.dtype == "bool" else ops.bit_not(x)


@converts("isinf.default")
def isinf(converter, x):
    x = ops.abs(converter.value(x))
    return ops.equal(x, ops.scalar_like(x, math.inf))


@converts("relu6.default")
def relu6(converter, x):
    return ops.clip(converter.value(x), 0.0, 6.0)


@converts("hardtanh.default")
def hardtanh(converter, x, min_val=-1.0, max_val=1.0):
    return ops.clip(converter.value(x), float(min_val), float(max_val))


@converts("clamp.default", "clamp.Tensor")
def clamp(converter, x, min=None, max=None):
    dtype = converter.dtype()
    if dtype.is_floating_point and not any(isinstance(bound, (Value, torch.Tensor)) for bound in (min, max)):
        low = -math.inf if min is None else float(min)
        high = math.inf if max is None else float(max)
        return ops.clip(converter.value(x, dtype), low, high)
    if min is not None:
        x = ops.maximum(*converter.aligned([x, min], dtype))
    return x if max is None else ops.minimum(*converter.aligned([x, max], dtype))


@converts("clamp_min.default", "clamp_min.Tensor")
def clamp_min(converter, x, min):
    return clamp(converter, x, min=min)


@converts("clamp_max.default", "clamp_max.Tensor")
def clamp_max(converter, x, max):
    return clamp(converter, x, max=max)


@converts("elu.default")
def elu(converter, x, alpha=1.0, scale=1.0, input_scale=1.0):
    if scale != 1 or input_scale != 1:
        converter.fail("has scales, which only alpha may have")
    return ops.elu(converter.value(x), float(alpha))


@converts("gelu.default")
def gelu(converter, x, approximate="none"):
    return ops.gelu(converter.value(x), approximate == "tanh")


@converts("softplus.default")
def softplus(converter, x, beta=1.0, threshold=20.0):
    return ops.softplus(converter.value(x), float(beta))


@converts("prelu.default", "_prelu_kernel.default")
def prelu(converter, x, weight):
    return ops.prelu(converter.value(x), converter.value(weight))


def _operands(converter, a, b):
    """Both with the element type of the result; a number stays one if it is the second."""
    dtype = converter.dtype()
    if isinstance(b, (bool, int, float)) and dtype.is_floating_point:
        return converter.value(a, dtype), float(b)
    return converter.aligned([a, b], dtype)


def _choosing(of_numbers, of_bools):
    """One function for numbers and another for bools, which have no arithmetic: PyTorch computes with 0 and 1."""
    return lambda a, b: (of_bools if a.dtype == "bool" else of_numbers)(a, b)


def _register_binary(name, function):
    @converts(f"{name}.Tensor", f"{name}.Scalar")
    def convert(converter, a, b):
        return function(*_operands(converter, a, b))


for _name, _function in {"mul": _choosing(ops.mul, ops.logical_and), "pow": ops.pow}.items():
    _register_binary(_name, _function)


@converts("pow.Tensor_Scalar", "pow.Tensor_Tensor")
def power(converter, base, exponent):
    if not isinstance(exponent, Value) and exponent == 2:
        return ops.square(converter.value(base))
    return ops.pow(*_operands(converter, base, exponent))


@converts("minimum.default")
def minimum(converter, a, b):
    return _choosing(ops.minimum, ops.logical_and)(*_operands(converter, a, b))


@converts("maximum.default")
def maximum(converter, a, b):
    return _choosing(ops.maximum, ops.logical_or)(*_operands(converter, a, b))


@converts("add.Tensor", "add.Scalar")
def add(converter, a, b, alpha=1):
    left, right = _operands(converter, a, b)
    return _choosing(ops.add, ops.logical_or)(left, right if alpha == 1 else right * alpha)


@converts("sub.Tensor", "sub.Scalar")
def sub(converter, a, b, alpha=1):
    left, right = _operands(converter, a, b)
    return ops.sub(left, right if alpha == 1 else right * alpha)


@converts("rsub.Scalar", "rsub.Tensor")
def rsub(converter, a, b, alpha=1):
    return sub(converter, b, a, alpha)


@converts("div.Tensor", "div.Scalar")
def div(converter, a, b):
    return ops.div(*_operands(converter, a, b))


@converts("div.Tensor_mode", "div.Scalar_mode")
def div_rounded(converter, a, b, rounding_mode=None):
    left, right = _operands(converter, a, b)
    if rounding_mode is None:
        return ops.div(left, right)
    if converter.dtype().is_floating_point:
        quotient = ops.div(left, right)
        return ops.floor(quotient) if rounding_mode == "floor" else ops.sign(quotient) * ops.floor(ops.abs(quotient))
    if rounding_mode == "floor":
        left = left - ops.modulo(left, right)
    # Division of whole numbers drops the fraction.
    return ops.div(left, right)


@converts("floor_divide.default")
def floor_divide(converter, a, b):
    return div_rounded(converter, a, b, "floor")


@converts("remainder.Tensor", "remainder.Scalar")
def remainder(converter, a, b):
    left, right = _operands(converter, a, b)
    return ops.modulo(left, right)


@converts("fmod.Tensor", "fmod.Scalar")
def fmod(converter, a, b):
    left, right = _operands(converter, a, b)
    return ops.modulo(left, right, truncated=True)


def _comparison(converter, function, a, b):
    given = [argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument for argument in converter.node.args]
    return function(*converter.aligned([a, b], torch.result_type(*given)))


def _register_comparison(name, function):
    @converts(f"{name}.Tensor", f"{name}.Scalar")
    def convert(converter, a, b):
        return _comparison(converter, function, a, b)


for _name, _function in {
    "eq": ops.equal,
    "lt": ops.less,
    "le": ops.less_equal,
    "gt": ops.greater,
    "ge": ops.greater_equal,
    "ne": lambda a, b: ops.logical_not(ops.equal(a, b)),
}.items():
    _register_comparison(_name, _function)


def _register_logical(name, function, of_bits):
    @converts(f"logical_{name}.default")
    def logical(converter, a, b):
        return function(*converter.aligned([a, b], torch.bool))

    @converts(f"bitwise_{name}.Tensor", f"bitwise_{name}.Scalar", f"__{name}__.Tensor", f"__{name}__.Scalar")
    def bitwise(converter, a, b):
        return _choosing(of_bits, function)(*converter.aligned([a, b], converter.dtype()))


_register_logical("and", ops.logical_and, ops.bit_and)
_register_logical("or", ops.logical_or, ops.bit_or)
_register_logical("xor", ops.logical_xor, ops.bit_xor)


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(converter, condition, a, b):
    dtype = converter.dtype()
    return ops.where(*converter.aligned([condition, a, b], [torch.bool, dtype, dtype]))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(converter, x, mask, value):
    return where(converter, mask, value, x)


@converts(
    "clone.default",
    "contiguous.default",
    "alias.default",
    "lift_fresh_copy.default",
)
def same(converter, x, *_, **__):
    return x


@converts("detach.default")
def detach(converter, x):
    differentiable = isinstance(x, Value) and converter.dtype().is_floating_point
    return ops.stop_gradient(x) if differentiable else x


@converts("to.dtype", "_to_copy.default", "to.dtype_layout", "type_as.default", "to.device")
def cast(converter, x, *_, **__):
    if isinstance(x, Counted):
        return Counted(x.size, converter.dtype(), x.step)
    return converter.value(x, converter.dtype())


def _filled(converter, number):
    return filled(converter.shape(), number, converter.dtype())


@converts("zeros.default", "new_zeros.default", "zeros_like.default", "empty.memory_format", "empty_like.default")
def zeros(converter, *_, **__):
    return _filled(converter, 0)


@converts("ones.default", "new_ones.default", "ones_like.default")
def ones(converter, *_, **__):
    return _filled(converter, 1)


@converts("full.default", "full_like.default")
def full(converter, _, number, *__, **___):
    return _filled(converter, number)


@converts("new_full.default")
def new_full(converter, _, size, number, **__):
    return _filled(converter, number)


@converts("arange.default", "arange.start", "arange.start_step")
def arange(converter, *bounds, **_):
    start, end, step = bounds if len(bounds) == 3 else (*bounds, 1) if len(bounds) == 2 else (0, *bounds, 1)
    count = end.divided_by(step) if isinstance(end, FreeSize) and isinstance(step, int) and start == 0 else None
    if count is None:
        converter.fail(f"counts from {start} to {end} by {step}: to a free size only from 0 and by what divides it")
    return Counted(count, converter.dtype(), step)


@converts("fill.Scalar")
def fill(converter, x, number):
    return _filled(converter, number)
