"""Complex numbers, of which the graph knows nothing: pairs of values go through an export in their place."""

import torch
import torch.utils._pytree as pytree

from thalweg import ops
from thalweg._core import Value
from thalweg._torch.free import Deferred, Repeated
from thalweg._torch.registry import CONVERSIONS, converts

# Operators that do to both parts what they do to a number.
_BY_PARTS = {
    f"aten.{name}"
    for name in """alias.default cat.default clone.default concat.default constant_pad_nd.default contiguous.default copy.default detach.default
    diagonal.default expand.default flatten.using_ints flip.default index_select.default mean.dim narrow.default neg.default pad.default
    permute.default repeat.default reshape.default roll.default select.int select_scatter.default slice.Tensor
    slice_scatter.default split.Tensor split_with_sizes.default
    squeeze.default squeeze.dim squeeze.dims stack.default sum.default sum.dim_IntList swapaxes.default t.default
    transpose.int unbind.int unflatten.int unsqueeze.default view.default _unsafe_view.default""".split()
}
_CONVERSIONS = {}


class Complex:
    """Real and imaginary parts, of one shape and type."""

    def __init__(self, real, imaginary):
        self.real, self.imaginary = real, imaginary

    @property
    def ndim(self):
        return self.real.ndim

    @property
    def shape(self):
        return self.real.shape


def is_complex(given):
    return isinstance(given, Complex) or (isinstance(given, torch.Tensor) and given.is_complex()) or isinstance(given, complex)


def part_dtype(dtype):
    """The element type of the parts of complex numbers; that of real ones as it is."""
    return dtype.to_real() if dtype.is_complex else dtype


def parts_of(converter, given):
    """(real, imaginary) as values of the graph; the second is None for what is real."""
    dtype = part_dtype(converter.dtype())
    if isinstance(given, torch.Tensor) and given.is_complex():
        given = Complex(given.real, given.imag)
    if isinstance(given, complex):
        given = Complex(torch.tensor(given.real, dtype=dtype), torch.tensor(given.imag, dtype=dtype))
    if isinstance(given, Complex):
        return converter.value(given.real, dtype), converter.value(given.imaginary, dtype)
    return converter.value(given, dtype), None


def conversion_of(target, conversion):
    """The conversion of an operator that takes complex numbers; None if there is none."""
    name = str(target)
    if name in _CONVERSIONS:
        return _CONVERSIONS[name]
    return _by_parts(conversion) if name in _BY_PARTS and conversion is not None else None


def _by_parts(conversion):
    def convert(converter, *arguments, **named):
        dtype = _dtype_of_parts(converter)

        def of_part(number):
            def pick(leaf):
                if is_complex(leaf):
                    return parts_of(converter, leaf)[number]
                # What is real beside complex numbers has imaginary parts of 0.
                return converter.value(leaf, dtype) * 0.0 if number == 1 and _is_real(leaf) else leaf

            return conversion(converter, *pytree.tree_map(pick, arguments), **pytree.tree_map(pick, named))

        real, imaginary = of_part(0), of_part(1)
        if isinstance(real, (list, tuple)):
            return [Complex(*pair) for pair in zip(real, imaginary)]
        return Complex(real, imaginary)

    return convert


def _dtype_of_parts(converter):
    """Of what an operator gives, or, where it gives several, of the first."""
    result = converter.node.meta["val"]
    return part_dtype((result[0] if isinstance(result, (tuple, list)) else result).dtype)


def _is_real(leaf):
    """Whether a leaf holds real numbers, rather than indices or an argument."""
    if isinstance(leaf, Value):
        return leaf.dtype.startswith(("float", "bfloat"))
    return isinstance(leaf, (torch.Tensor, Repeated, Deferred)) and leaf.dtype.is_floating_point


def takes_complex(*names):
    """Registers what an operator does to complex numbers."""

    def register(function):
        for name in names:
            _CONVERSIONS["aten." + name] = function
        return function

    return register


@takes_complex("real.default")
def real(converter, x):
    return parts_of(converter, x)[0]


@takes_complex("imag.default")
def imaginary(converter, x):
    return parts_of(converter, x)[1]


@takes_complex("view_as_real.default", "view_as_real_copy.default")
def view_as_real(converter, x):
    re, im = parts_of(converter, x)
    return ops.concat([ops.unsqueeze(re, [re.ndim]), ops.unsqueeze(im, [im.ndim])], re.ndim)


@converts("view_as_complex.default", "view_as_complex_copy.default")
def view_as_complex(converter, x):
    return parts_of_pairs(converter.value(x, part_dtype(converter.dtype())))


def parts_of_pairs(x):
    """Of numbers whose parts lie along the last dimension."""
    last = x.ndim - 1
    return Complex(*(ops.squeeze(ops.slice(x, [part], [part + 1], [last]), [last]) for part in (0, 1)))


@converts("complex.default")
def complex_of(converter, re, im):
    return Complex(*converter.aligned([re, im], part_dtype(converter.dtype())))


@converts("polar.default")
def polar(converter, size, angle):
    size, angle = converter.aligned([size, angle], part_dtype(converter.dtype()))
    return Complex(size * ops.cos(angle), size * ops.sin(angle))


@takes_complex("abs.default")
def absolute(converter, x):
    """Of 0, as in spectra of silence, the gradient is 0, where that of a root is infinite."""
    re, im = parts_of(converter, x)
    squared = ops.square(re) + ops.square(im)
    zero = ops.scalar_like(squared, 0.0)
    is_zero = ops.equal(squared, zero)
    return ops.where(is_zero, zero, ops.sqrt(ops.where(is_zero, ops.scalar_like(squared, 1.0), squared)))


@takes_complex("angle.default")
def angle(converter, x):
    return CONVERSIONS["aten.atan2.default"](converter, *reversed(parts_of(converter, x)))


def _matrix_product(converter, a, b):
    (a_re, a_im), (b_re, b_im) = parts_of(converter, a), parts_of(converter, b)
    if a_im is None:
        return Complex(ops.matmul(a_re, b_re), ops.matmul(a_re, b_im))
    if b_im is None:
        return Complex(ops.matmul(a_re, b_re), ops.matmul(a_im, b_re))
    return Complex(
        ops.matmul(a_re, b_re) - ops.matmul(a_im, b_im), ops.matmul(a_re, b_im) + ops.matmul(a_im, b_re)
    )


@takes_complex("matmul.default", "mm.default", "bmm.default")
def matmul(converter, a, b):
    return _matrix_product(converter, a, b)


@takes_complex("linear.default")
def linear(converter, x, weight, bias=None):
    re, im = parts_of(converter, weight)
    swapped = [*range(re.ndim - 2), re.ndim - 1, re.ndim - 2]
    product = _matrix_product(converter, x, Complex(ops.transpose(re, swapped), ops.transpose(im, swapped)))
    if bias is None:
        return product
    bias_re, bias_im = parts_of(converter, bias)
    return Complex(product.real + bias_re, product.imaginary + bias_im)


@takes_complex("exp.default")
def exponential(converter, x):
    re, im = parts_of(converter, x)
    size = ops.exp(re)
    return Complex(size * ops.cos(im), size * ops.sin(im))


@takes_complex("log.default")
def logarithm(converter, x):
    re, im = parts_of(converter, x)
    return Complex(ops.log(ops.square(re) + ops.square(im)) * 0.5, angle(converter, Complex(re, im)))


@takes_complex("sqrt.default")
def square_root(converter, x):
    re, im = parts_of(converter, x)
    size = ops.sqrt(ops.square(re) + ops.square(im))
    # Of the two the part that is not lost in a difference, and the other by it.
    larger = ops.sqrt((size + ops.abs(re)) * 0.5)
    zero, one = ops.scalar_like(re, 0.0), ops.scalar_like(re, 1.0)
    smaller = ops.abs(im) * 0.5 / ops.where(ops.equal(larger, zero), one, larger)
    right = ops.greater_equal(re, zero)
    sign = ops.where(ops.less(im, zero), ops.neg(one), one)
    return Complex(ops.where(right, larger, smaller), sign * ops.where(right, smaller, larger))


@takes_complex("reciprocal.default")
def reciprocal(converter, x):
    re, im = parts_of(converter, x)
    size = ops.square(re) + ops.square(im)
    return Complex(re / size, ops.neg(im / size))


@takes_complex("where.self")
def where(converter, condition, a, b):
    dtype = part_dtype(converter.dtype())
    parts = [Complex(re, re * 0.0 if im is None else im) for re, im in (parts_of(converter, given) for given in (a, b))]
    condition = converter.value(condition, torch.bool)
    return Complex(*(ops.where(condition, *map(converter.value, pair, (dtype, dtype))) for pair in _pairs(*parts)))


def _pairs(a, b):
    return (a.real, b.real), (a.imaginary, b.imaginary)


@takes_complex("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(converter, x, mask, value):
    return where(converter, mask, value, x)


@takes_complex("conj.default", "_conj.default", "conj_physical.default", "_conj_physical.default")
def conjugate(converter, x):
    re, im = parts_of(converter, x)
    return Complex(re, ops.neg(im))


@takes_complex("resolve_conj.default", "resolve_neg.default")
def resolved(converter, x):
    return Complex(*parts_of(converter, x))


@takes_complex("mul.Tensor", "mul.Scalar")
def multiply(converter, a, b):
    (a_re, a_im), (b_re, b_im) = parts_of(converter, a), parts_of(converter, b)
    if a_im is None:
        return Complex(a_re * b_re, a_re * b_im)
    if b_im is None:
        return Complex(a_re * b_re, a_im * b_re)
    return Complex(a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re)


@takes_complex("div.Tensor", "div.Scalar")
def divide(converter, a, b):
    (a_re, a_im), (b_re, b_im) = parts_of(converter, a), parts_of(converter, b)
    if b_im is None:
        return Complex(a_re / b_re, a_im / b_re)
    size = ops.square(b_re) + ops.square(b_im)
    if a_im is None:
        return Complex(a_re * b_re / size, ops.neg(a_re * b_im / size))
    return Complex((a_re * b_re + a_im * b_im) / size, (a_im * b_re - a_re * b_im) / size)


def _register_sum(name, sign):
    @takes_complex(f"{name}.Tensor", f"{name}.Scalar")
    def add(converter, a, b, alpha=1):
        (a_re, a_im), (b_re, b_im) = parts_of(converter, a), parts_of(converter, b)
        factor = sign * alpha
        b_re = b_re if factor == 1 else b_re * float(factor)
        b_im = b_im if factor == 1 or b_im is None else b_im * float(factor)
        if a_im is None or b_im is None:
            # The sum may be larger than the one of the two that has an imaginary part.
            im = a_im if b_im is None else b_im
            other = b_re if b_im is None else a_re
            return Complex(a_re + b_re, im + other * 0.0)
        return Complex(a_re + b_re, a_im + b_im)


_register_sum("add", 1)
_register_sum("sub", -1)


@takes_complex("pow.Tensor_Scalar")
def power(converter, x, exponent):
    if not isinstance(exponent, int) or not 1 <= exponent <= _HIGHEST_POWER:
        converter.fail(f"raises complex numbers to the power {exponent}: whole ones up to {_HIGHEST_POWER} are known")
    result = x
    for _ in range(exponent - 1):
        result = multiply(converter, result, x)
    return result


_HIGHEST_POWER = 8
