"""Fourier transforms, and signals cut into frames."""

import torch

from thalweg import ops
from thalweg._torch.complex_numbers import Complex, takes_complex, is_complex, parts_of, part_dtype
from thalweg._torch.registry import converts

# PyTorch's numbers of what is divided by: nothing, the root of the length, the length.
_NORMS = ("none", "ortho", "all")


def _scaled(pair, factor):
    return pair if factor == 1 else tuple(part * factor for part in pair)


def _factor(norm, length, inverse):
    """What results are multiplied with, by PyTorch's name of the norm."""
    if norm == "ortho":
        return length**-0.5
    divides = inverse if norm in (None, "backward") else not inverse
    return 1 / length if divides else 1


def _last(x, dim, move):
    """The value with the dimension at the end, or back from there."""
    if x is None or dim == x.ndim - 1:
        return x
    others = [d for d in range(x.ndim) if d != dim]
    order = [*others, dim]
    return ops.transpose(x, order if move else [order.index(d) for d in range(x.ndim)])


def _transform(converter, pair, dim, length=None, inverse=False, kept=0, factor=1):
    re, im = pair
    dim %= re.ndim
    if re.shape[dim] is None:
        converter.fail("transforms along a free dimension")
    result = ops.fourier(_last(re, dim, True), _last(im, dim, True), length=length or 0, kept=kept, inverse=inverse)
    return tuple(_last(part, dim, False) for part in _scaled(result, factor))


def _size(converter, pair, dim, length):
    return length if length is not None else pair[0].shape[dim]


def _whole(converter, x, dims, lengths, norm, inverse):
    """Along each dimension, with all results."""
    pair = parts_of(converter, x)
    for dim, length in zip(dims, lengths):
        length = _size(converter, pair, dim, length)
        pair = _transform(converter, pair, dim, length, inverse, 0, _factor(norm, length, inverse))
    return Complex(*pair)


def _of_real(converter, x, dims, lengths, norm):
    """Half of the results along the last dimension."""
    pair = parts_of(converter, x)
    length = _size(converter, pair, dims[-1], lengths[-1])
    pair = _transform(converter, pair, dims[-1], length, False, length // 2 + 1, _factor(norm, length, False))
    return _whole(converter, Complex(*pair), dims[:-1], lengths[:-1], norm, False)


def _to_real(converter, x, dims, lengths, norm):
    x = _whole(converter, x, dims[:-1], lengths[:-1], norm, True)
    dim = dims[-1] % x.ndim
    length = lengths[-1] if lengths[-1] is not None else 2 * (x.shape[dim] - 1)
    real = ops.fourier_of_half(_last(x.real, dim, True), _last(x.imaginary, dim, True), length)
    factor = _factor(norm, length, True)
    return _last(real if factor == 1 else real * factor, dim, False)


def _dims(x, lengths, dims, usual):
    """The dimensions, and a length for each, None where it stays."""
    rank = x.ndim
    if dims is None:
        dims = usual if usual is not None else range(rank)
        dims = list(dims)[-len(lengths) :] if lengths is not None else list(dims)
    return list(dims), list(lengths) if lengths is not None else [None] * len(dims)


def _with_parts(names):
    """Operators that take real numbers as well as complex ones."""

    def register(function):
        return converts(*names)(takes_complex(*names)(function))

    return register


def _register_line(name, function, *more):
    @_with_parts([f"fft_{name}.default"])
    def convert(converter, x, n=None, dim=-1, norm=None):
        return function(converter, x, [dim], [n], norm, *more)


def _register_planes(name, function, *more):
    @_with_parts([f"fft_{name}2.default"])
    def convert_planes(converter, x, s=None, dim=(-2, -1), norm=None):
        dims, lengths = _dims(x, s, dim, None)
        return function(converter, x, dims, lengths, norm, *more)

    @_with_parts([f"fft_{name}n.default"])
    def convert_all(converter, x, s=None, dim=None, norm=None):
        dims, lengths = _dims(x, s, dim, None)
        return function(converter, x, dims, lengths, norm, *more)


for _name, _function, _more in (
    ("fft", _whole, (False,)),
    ("ifft", _whole, (True,)),
    ("rfft", _of_real, ()),
    ("irfft", _to_real, ()),
):
    _register_line(_name, _function, *_more)
    _register_planes(_name, _function, *_more)


@_with_parts(["_fft_c2c.default"])
def fft_c2c(converter, x, dim, normalization, forward):
    pair = parts_of(converter, x)
    for d in dim:
        pair = _transform(converter, pair, d, None, not forward, 0, _by_number(normalization, pair[0].shape[d]))
    return Complex(*pair)


@converts("_fft_r2c.default")
def fft_r2c(converter, x, dim, normalization, onesided):
    pair = parts_of(converter, x)
    length = pair[0].shape[dim[-1]]
    kept = length // 2 + 1 if onesided else 0
    pair = _transform(converter, pair, dim[-1], None, False, kept, _by_number(normalization, length))
    return fft_c2c(converter, Complex(*pair), dim[:-1], normalization, True)


@takes_complex("_fft_c2r.default")
def fft_c2r(converter, x, dim, normalization, last_dim_size):
    x = fft_c2c(converter, x, dim[:-1], normalization, False)
    last = dim[-1] % x.ndim
    real = ops.fourier_of_half(_last(x.real, last, True), _last(x.imaginary, last, True), last_dim_size)
    factor = _by_number(normalization, last_dim_size)
    return _last(real if factor == 1 else real * factor, last, False)


def _by_number(normalization, length):
    return {"none": 1, "ortho": length**-0.5, "all": 1 / length}[_NORMS[normalization]]


def _with_zeros(x, margins):
    return ops.pad(x, margins, "constant", 0.0)


def _window(converter, window, win_length, n_fft):
    """As long as a frame, with zeros on both sides; None if there is none to multiply with."""
    if window is None and win_length == n_fft:
        return None
    dtype = part_dtype(converter.dtype())
    window = converter.value(torch.ones(win_length) if window is None else window, dtype)
    before = (n_fft - win_length) // 2
    return _with_zeros(window, [before, n_fft - win_length - before]) if win_length < n_fft else window


@_with_parts(["stft.default", "stft.center"])
def stft(converter, x, n_fft, hop_length=None, win_length=None, window=None, *more, **named):
    """Frames of a signal, [..., N], each multiplied by a window and transformed: [..., bins, frames]."""
    names = ("center", "pad_mode") if converter.node.target._overloadname == "center" else ()
    options = dict(zip((*names, "normalized", "onesided", "return_complex", "align_to_window"), more)) | named
    pair = parts_of(converter, x)
    if options.get("center", names != ()):
        margins = [0] * (2 * pair[0].ndim)
        margins[pair[0].ndim - 1] = margins[-1] = n_fft // 2
        mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}[options.get("pad_mode", "reflect")]
        pair = tuple(part if part is None else ops.pad(part, margins, mode, 0.0) for part in pair)
    size = pair[0].shape[-1]
    if size is None:
        converter.fail("takes a signal of free length")
    starts = torch.arange(0, size - n_fft + 1, hop_length or n_fft // 4)
    places = converter.value(starts[:, None] + torch.arange(n_fft))
    frames = [part if part is None else ops.gather(part, places, part.ndim - 1) for part in pair]
    window = _window(converter, window, win_length or n_fft, n_fft)
    if window is not None:
        frames = [part if part is None else part * window for part in frames]
    onesided = options.get("onesided")
    half = pair[1] is None if onesided is None else onesided
    factor = n_fft**-0.5 if options.get("normalized") else 1
    result = _transform(converter, frames, -1, None, False, n_fft // 2 + 1 if half else 0, factor)
    result = Complex(*(part.transpose(-1, -2) for part in result))
    if is_complex(converter.node.meta["val"]):
        return result
    return ops.concat([ops.unsqueeze(part, [part.ndim]) for part in (result.real, result.imaginary)], result.ndim)


def _overlapped(x, hop):
    """Frames, [..., T, n], added up where they lie, `hop` apart: [..., (T - 1) hop + n]."""
    frames, size = x.shape[-2], x.shape[-1]
    lead = [0 if extent is None else extent for extent in x.shape[:-2]]
    pieces = -(-size // hop)
    whole = _with_zeros(x, [0] * (2 * x.ndim - 1) + [pieces * hop - size]) if pieces * hop != size else x
    total = None
    for piece in range(pieces):
        part = ops.slice(whole, [piece * hop], [(piece + 1) * hop], [x.ndim - 1])
        margins = [0] * (2 * x.ndim)
        margins[x.ndim - 2], margins[2 * x.ndim - 2] = piece, pieces - 1 - piece
        part = _with_zeros(part, margins) if pieces > 1 else part
        total = part if total is None else total + part
    total = ops.reshape(total, [*lead, (frames + pieces - 1) * hop])
    return ops.slice(total, [0], [(frames - 1) * hop + size], [total.ndim - 1])


@takes_complex("istft.default")
def istft(
    converter,
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    if return_complex or onesided is False:
        converter.fail("makes complex signals")
    hop = hop_length or n_fft // 4
    re, im = (part.transpose(-1, -2) for part in parts_of(converter, x))
    if re.shape[-2] is None:
        converter.fail("takes a spectrum of free length")
    frames = ops.fourier_of_half(re, im, n_fft) * (n_fft**-0.5 if normalized else 1 / n_fft)
    window = _window(converter, window, win_length or n_fft, n_fft)
    if window is None:
        window = converter.value(torch.ones(n_fft, dtype=part_dtype(converter.dtype())))
    signal = _overlapped(frames * window, hop)
    weight = _overlapped(ops.expand(ops.square(window), [re.shape[-2], n_fft]), hop)
    begin = n_fft // 2 if center else 0
    size = signal.shape[-1]
    end = begin + length if length is not None else size - begin
    signal = ops.slice(signal, [begin], [min(end, size)], [signal.ndim - 1])
    signal = signal / ops.slice(weight, [begin], [min(end, size)], [0])
    return _with_zeros(signal, [0] * (2 * signal.ndim - 1) + [end - size]) if end > size else signal
