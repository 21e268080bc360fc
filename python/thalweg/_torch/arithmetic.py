"""Elementwise operators."""

import math

import torch

from thalweg import ops
from thalweg._core import Value, torch_functions
from thalweg._torch.free import Counted, Filled, FreeSize
from thalweg._torch.registry import converts


def _register_unary(name, function):
    @converts(name)
    def convert(converter, x, *numbers, **named):
        named = {key: float(number) for key, number in named.items()}
        return function(converter.value(x), *map(float, numbers), **named)


# The engine knows PyTorch's names of its functions.
for _name, _op in torch_functions().items():
    _register_unary(_name, getattr(ops, _op))
_register_unary("bitwise_not.default", ops.logical_not)


@converts("expm1.default")
def expm1(converter, x):
    return ops.exp(converter.value(x)) - 1.0


@converts("relu6.default")
def relu6(converter, x):
    return ops.clip(converter.value(x), 0.0, 6.0)


@converts("hardtanh.default")
def hardtanh(converter, x, min_val=-1.0, max_val=1.0):
    return ops.clip(converter.value(x), float(min_val), float(max_val))


@converts("clamp.default")
def clamp(converter, x, min=None, max=None):
    low = -math.inf if min is None else float(min)
    high = math.inf if max is None else float(max)
    return ops.clip(converter.value(x), low, high)


@converts("clamp_min.default")
def clamp_min(converter, x, min):
    return clamp(converter, x, min=min)


@converts("clamp_max.default")
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
    left = converter.value(a, dtype)
    if isinstance(b, (bool, int, float)):
        return left, float(b) if dtype.is_floating_point else converter.value(b, dtype)
    return left, converter.value(b, dtype)


def _register_binary(name, function):
    @converts(f"{name}.Tensor", f"{name}.Scalar")
    def convert(converter, a, b):
        return function(*_operands(converter, a, b))


for _name, _function in {"mul": ops.mul, "pow": ops.pow}.items():
    _register_binary(_name, _function)


@converts("pow.Tensor_Scalar", "pow.Tensor_Tensor")
def power(converter, base, exponent):
    if not isinstance(exponent, Value) and exponent == 2:
        return ops.square(converter.value(base))
    return ops.pow(*_operands(converter, base, exponent))


@converts("minimum.default")
def minimum(converter, a, b):
    return ops.minimum(*_operands(converter, a, b))


@converts("maximum.default")
def maximum(converter, a, b):
    return ops.maximum(*_operands(converter, a, b))


@converts("add.Tensor", "add.Scalar")
def add(converter, a, b, alpha=1):
    left, right = _operands(converter, a, b)
    return ops.add(left, right if alpha == 1 else right * alpha)


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


@converts("remainder.Tensor", "remainder.Scalar")
def remainder(converter, a, b):
    left, right = _operands(converter, a, b)
    return ops.modulo(left, right)


def _comparison(converter, function, a, b):
    if isinstance(b, (bool, int, float)):
        left = converter.value(a)
        return function(left, ops.scalar_like(left, float(b)))
    left, right = converter.value(a), converter.value(b)
    return function(left, right if left.dtype == right.dtype else ops.cast(right, left.dtype))


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


@converts("logical_and.default", "bitwise_and.Tensor")
def logical_and(converter, a, b):
    return ops.logical_and(converter.value(a), converter.value(b))


@converts("logical_or.default", "bitwise_or.Tensor")
def logical_or(converter, a, b):
    return ops.logical_or(converter.value(a), converter.value(b))


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(converter, condition, a, b):
    dtype = converter.dtype()
    return ops.where(converter.value(condition), converter.value(a, dtype), converter.value(b, dtype))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(converter, x, mask, value):
    return where(converter, mask, value, x)


@converts(
    "clone.default",
    "contiguous.default",
    "alias.default",
    "lift_fresh_copy.default",
    "_assert_tensor_metadata.default",
)
def same(converter, x, *_, **__):
    return x


@converts("detach.default")
def detach(converter, x):
    differentiable = isinstance(x, Value) and converter.dtype().is_floating_point
    return ops.stop_gradient(x) if differentiable else x


@converts("to.dtype", "_to_copy.default", "to.dtype_layout", "type_as.default", "to.device")
def cast(converter, x, *_, **__):
    if isinstance(x, Filled):
        return Filled(x.shape, x.number, converter.dtype())
    if isinstance(x, Counted):
        return Counted(x.size, converter.dtype(), x.step)
    return converter.value(x, converter.dtype())


def _filled(converter, number):
    shape, dtype = converter.shape(), converter.dtype()
    if all(isinstance(size, int) for size in shape):
        return torch.full(shape, number, dtype=dtype)
    return Filled(shape, number, dtype)


@converts("zeros.default", "new_zeros.default", "zeros_like.default", "empty.memory_format", "empty_like.default")
def zeros(converter, *_, **__):
    return _filled(converter, 0)


@converts("ones.default", "new_ones.default", "ones_like.default")
def ones(converter, *_, **__):
    return _filled(converter, 1)


@converts("full.default", "new_full.default", "full_like.default")
def full(converter, _, number, *__, **___):
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
