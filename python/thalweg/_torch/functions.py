"""Functions of numbers that the engine has no op for, by those that it has."""

import math

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _register_unary(name, function):
    @converts(name)
    def convert(converter, x):
        return function(converter.value(x, converter.dtype()))


_register_unary("log2.default", lambda x: ops.log(x) * (1 / math.log(2)))
_register_unary("log10.default", lambda x: ops.log(x) * (1 / math.log(10)))
_register_unary("exp2.default", lambda x: ops.exp(x * math.log(2)))
_register_unary("erfc.default", lambda x: 1.0 - ops.erf(x))
_register_unary("frac.default", lambda x: x - ops.sign(x) * ops.floor(ops.abs(x)))

_SHIFT = 8


def _above_half(x):
    """(a, logarithm) for x of at least a half: lgamma(x) = lgamma(x + 8) - log(x (x + 1) ... (x + 7))."""
    product = x
    for step in range(1, _SHIFT):
        product = product * (x + float(step))
    return x + float(_SHIFT), ops.log(product)


def _log_gamma_above_half(x):
    large, taken = _above_half(x)
    squared = ops.reciprocal(ops.square(large))
    # Stirling's series.
    series = ((squared * (1 / 1260) - 1 / 360) * squared + 1 / 12) * ops.reciprocal(large)
    return (large - 0.5) * ops.log(large) - large + 0.5 * math.log(2 * math.pi) + series - taken


def _log_gamma(x):
    reflected = ops.less(x, ops.scalar_like(x, 0.5))
    right = _log_gamma_above_half(ops.where(reflected, 1.0 - x, x))
    sine = ops.abs(ops.sin(ops.where(reflected, x, ops.scalar_like(x, 0.5)) * math.pi))
    return ops.where(reflected, math.log(math.pi) - ops.log(sine) - right, right)


def _digamma_above_half(x):
    large = x + float(_SHIFT)
    squared = ops.reciprocal(ops.square(large))
    series = ((squared * (-1 / 252) + 1 / 120) * squared - 1 / 12) * squared
    y = ops.log(large) - 0.5 * ops.reciprocal(large) + series
    for step in range(_SHIFT):
        y = y - ops.reciprocal(x + float(step))
    return y


def _digamma(x):
    reflected = ops.less(x, ops.scalar_like(x, 0.5))
    right = _digamma_above_half(ops.where(reflected, 1.0 - x, x))
    angle = ops.where(reflected, x, ops.scalar_like(x, 0.25)) * math.pi
    return ops.where(reflected, right - math.pi / ops.tan(angle), right)


_register_unary("lgamma.default", _log_gamma)
_register_unary("digamma.default", _digamma)


def _pair(converter, a, b):
    return converter.aligned([a, b], converter.dtype())


def _zero(x):
    return ops.scalar_like(x, 0.0)


def _sign_with_plus(x):
    """-1 or 1."""
    return ops.where(ops.less(x, _zero(x)), ops.scalar_like(x, -1.0), ops.scalar_like(x, 1.0))


@converts("atan2.default")
def atan2(converter, y, x):
    y, x = _pair(converter, y, x)
    steep = ops.greater(ops.abs(y), ops.abs(x))
    # Divided by the larger of both, of which none is 0 but at the origin, where the angle is 0.
    above, below = ops.where(steep, x, y), ops.where(steep, y, x)
    below = ops.where(ops.equal(below, _zero(below)), ops.scalar_like(below, 1.0), below)
    angle = ops.atan(above / below)
    behind = ops.where(ops.less(x, _zero(x)), _sign_with_plus(y) * math.pi, _zero(y))
    return ops.where(steep, _sign_with_plus(y) * (math.pi / 2) - angle, angle + behind)


@converts("hypot.default")
def hypot(converter, a, b):
    a, b = _pair(converter, a, b)
    return ops.sqrt(ops.square(a) + ops.square(b))


@converts("copysign.Tensor", "copysign.Scalar")
def copysign(converter, a, b):
    a, b = _pair(converter, a, b)
    return ops.abs(a) * _sign_with_plus(b)


def _register_known(name, function):
    @converts(name)
    def convert(converter, a, b):
        """What is no number counts only if both are none."""
        a, b = _pair(converter, a, b)
        return function(ops.where(ops.is_nan(a), b, a), ops.where(ops.is_nan(b), a, b))


_register_known("fmax.default", ops.maximum)
_register_known("fmin.default", ops.minimum)


@converts("round.decimals")
def round_decimals(converter, x, decimals=0):
    factor = 10.0**decimals
    return ops.round(converter.value(x, converter.dtype()) * factor) * (1.0 / factor)


def _register_shift(name, function):
    @converts(f"{name}.Scalar", f"{name}.Tensor")
    def convert(converter, a, b):
        return function(*_pair(converter, a, b))


for _side, _function in {"left": ops.shift_left, "right": ops.shift_right}.items():
    for _name in (f"bitwise_{_side}_shift", f"__{_side[0]}shift__"):
        _register_shift(_name, _function)


@converts("_cdist_forward.default")
def cdist(converter, a, b, p, compute_mode):
    """The distance of each row of a from each of b."""
    a, b = converter.aligned([a, b], converter.dtype())
    rows, columns, width = a.shape[-2], b.shape[-2], a.shape[-1]
    if p == 2 and None not in (rows, columns) and rows * columns * width > _LARGEST_TABLE:
        squares = ops.reduce_sum(ops.square(a), [-1], True) + ops.unsqueeze(ops.reduce_sum(ops.square(b), [-1]), [b.ndim - 2])
        # A distance of 0 has no gradient.
        return ops.sqrt(ops.clip(squares - 2.0 * ops.matmul(a, b, transpose_b=True), 1e-30, math.inf))
    apart = ops.unsqueeze(a, [a.ndim - 1]) - ops.unsqueeze(b, [b.ndim - 2])
    if p == math.inf:
        return ops.reduce_max(ops.abs(apart), [-1])
    if p in (1, 2):
        return (ops.reduce_l1 if p == 1 else ops.reduce_l2)(apart, [-1])
    if p == 0:
        return ops.reduce_sum(ops.cast(ops.logical_not(ops.equal(apart, _zero(apart))), "float32"), [-1])
    return ops.pow(ops.reduce_sum(ops.pow(ops.abs(apart), float(p)), [-1]), 1.0 / p)


# Elements of the differences of all pairs, beyond which distances are found by a product of matrices.
_LARGEST_TABLE = 2**22
