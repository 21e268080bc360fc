"""Complex numbers, of which the graph knows nothing: pairs of values go through an export in their place."""

import torch
import torch.utils._pytree as pytree

from thalweg import ops
from thalweg._torch.registry import converts

# Operators that do to both parts what they do to a number.
_BY_PARTS = {
    f"aten.{name}"
    for name in """alias.default cat.default clone.default concat.default constant_pad_nd.default contiguous.default detach.default
    expand.default flatten.using_ints flip.default index_select.default mean.dim narrow.default neg.default pad.default
    permute.default repeat.default reshape.default roll.default select.int slice.Tensor split.Tensor split_with_sizes.default
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
        def of_part(number):
            def pick(leaf):
                return parts_of(converter, leaf)[number] if is_complex(leaf) else leaf

            return conversion(converter, *pytree.tree_map(pick, arguments), **pytree.tree_map(pick, named))

        real, imaginary = of_part(0), of_part(1)
        if isinstance(real, (list, tuple)):
            return [Complex(*pair) for pair in zip(real, imaginary)]
        return Complex(real, imaginary)

    return convert


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
    x = converter.value(x, part_dtype(converter.dtype()))
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
    re, im = parts_of(converter, x)
    return ops.sqrt(ops.square(re) + ops.square(im))


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
    if exponent != 2:
        converter.fail(f"raises complex numbers to the power {exponent}")
    return multiply(converter, x, x)
