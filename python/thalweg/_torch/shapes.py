"""Operators that move elements."""

import torch

from thalweg import ops
from thalweg._core import Value
from thalweg._torch.free import FreeSize, Repeated, reshape_target
from thalweg._torch.registry import converts

_END = 2**63 - 1


@converts(
    "view.default",
    "reshape.default",
    "_unsafe_view.default",
    "flatten.using_ints",
    "unflatten.int",
    "squeeze.default",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze.default",
)
def reshape(converter, x, *_):
    # Not the size that is asked for, in which -1 stands for what the export has found out.
    shape = converter.shape()
    target = reshape_target(converter.shape_of_argument(0), shape)
    if target is None:
        converter.fail(f"makes {shape} of {converter.shape_of_argument(0)}: too many sizes are free")
    return ops.reshape(converter.value(x), target)


@converts("permute.default")
def permute(converter, x, dims):
    x = converter.value(x)
    return ops.transpose(x, [dim % x.ndim for dim in dims])


@converts("transpose.int", "swapaxes.default", "swapdims.default")
def transpose(converter, x, dim0, dim1):
    return converter.value(x).transpose(dim0, dim1)


@converts("t.default", "numpy_T.default")
def reverse(converter, x):
    return ops.transpose(converter.value(x))


@converts("expand.default", "expand_as.default", "broadcast_to.default")
def expand(converter, x, *_, **__):
    target = converter.shape()
    x = converter.value(x)
    lead = len(target) - x.ndim
    grows = [
        isinstance(size, FreeSize) and (place < lead or x.shape[place - lead] is not None)
        for place, size in enumerate(target)
    ]
    if any(grows):
        return converter.repeat(x, target)
    return ops.expand(x, [-1 if isinstance(size, FreeSize) else size for size in target])


@converts("copy.default")
def copy(converter, x, source, non_blocking=False):
    return expand(converter, converter.value(source, converter.dtype()))


@converts("repeat.default")
def repeat(converter, x, repeats):
    x = converter.value(x)
    if any(isinstance(count, FreeSize) for count in repeats):
        if any(count != 1 and not isinstance(count, FreeSize) for count in repeats):
            converter.fail(f"repeats {repeats}: the batch must be all that is repeated")
        return expand(converter, x)
    if len(repeats) > x.ndim:
        x = ops.unsqueeze(x, list(range(len(repeats) - x.ndim)))
    return ops.tile(x, list(repeats))


@converts("cat.default", "concat.default")
def cat(converter, parts, dim=0):
    dtype = converter.dtype()
    parts = [part for part in parts if not _adds_nothing(part, dim)]
    return ops.concat([converter.value(part, dtype) for part in parts], dim)


def _adds_nothing(part, dim):
    """Whether a constant holds no element: a cache begins as one of shape [0], which goes with any other."""
    if not isinstance(part, (torch.Tensor, Repeated)):
        return False
    return list(part.shape) == [0] or part.shape[dim] == 0


@converts("stack.default")
def stack(converter, parts, dim=0):
    rank = len(converter.shape())
    dtype = converter.dtype()
    return ops.concat([ops.unsqueeze(converter.value(part, dtype), [dim % rank]) for part in parts], dim)


def _cut(converter, x, dim):
    """Cuts along a dimension into what the operator gives."""
    x = converter.value(x)
    sizes = [part.shape[dim] for part in converter.node.meta["val"]]
    return ops.split(x, [int(size) for size in sizes], dim)


@converts("split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default", "tensor_split.sections")
def split(converter, x, _, dim=0):
    return _cut(converter, x, dim)


@converts("unbind.int")
def unbind(converter, x, dim=0):
    x = converter.value(x)
    return [ops.squeeze(part, [dim]) for part in ops.split(x, [1] * x.shape[dim], dim)]


@converts("select.int")
def select(converter, x, dim, index):
    x = converter.value(x)
    return ops.squeeze(ops.slice(x, [index], [_END if index == -1 else index + 1], [dim]), [dim])


@converts("slice.Tensor")
def slice_(converter, x, dim=0, start=None, end=None, step=1):
    # A bound at the size of a free dimension is its end.
    last = _END if end is None or isinstance(end, FreeSize) else end
    if isinstance(start, FreeSize):
        converter.fail("begins at a free size")
    if (start or 0) == 0 and last >= _END and step == 1:
        return x
    return ops.slice(converter.value(x), [start or 0], [last], [dim], [step])


@converts("slice_scatter.default")
def slice_scatter(converter, x, source, dim=0, start=None, end=None, step=1):
    if any(isinstance(bound, FreeSize) for bound in (start, end)):
        converter.fail("replaces elements up to a free size")
    dtype = converter.dtype()
    x, source = converter.value(x, dtype), converter.value(source, dtype)
    size = x.shape[dim]
    if size is None:
        if step != 1 or (start or 0) != 0 or (end is not None and end < _END):
            converter.fail("replaces a part of a free dimension")
        return source
    first, last, _ = slice(start, end).indices(size)
    if step != 1:
        return _replaced(converter, x, source, dim, range(first, last, step))
    parts = [ops.slice(x, [0], [first], [dim]), source, ops.slice(x, [last], [size], [dim])]
    return ops.concat([part for part in parts if part.shape[dim] != 0], dim)


def _replaced(converter, x, source, dim, places):
    """Every so many elements: the source, spread over the dimension, shows where it has some."""
    size = x.shape[dim]
    number = torch.zeros(size, dtype=torch.int64)
    number[list(places)] = torch.arange(len(places))
    chosen = torch.zeros(size, dtype=torch.bool)
    chosen[list(places)] = True
    chosen = chosen.reshape([-1 if axis == dim % x.ndim else 1 for axis in range(x.ndim)])
    return ops.where(converter.value(chosen), ops.gather(source, converter.value(number), dim), x)


@converts("select_scatter.default")
def select_scatter(converter, x, source, dim, index):
    source = ops.unsqueeze(converter.value(source), [dim])
    return slice_scatter(converter, x, source, dim, index, None if index == -1 else index + 1)


@converts("narrow.default")
def narrow(converter, x, dim, start, length):
    return ops.slice(converter.value(x), [start], [start + length], [dim])


@converts("flip.default")
def flip(converter, x, dims):
    x = converter.value(x)
    return ops.slice(x, [-1] * len(dims), [-_END] * len(dims), list(dims), [-1] * len(dims))


@converts("roll.default")
def roll(converter, x, shifts, dims):
    x = converter.value(x)
    for shift, dim in zip(shifts, dims):
        size = x.shape[dim]
        if size is None:
            converter.fail("rolls along a free dimension")
        first = size - shift % size
        if first != size:
            x = ops.concat([ops.slice(x, [first], [size], [dim]), ops.slice(x, [0], [first], [dim])], dim)
    return x


def _wrapped(x, begins, ends):
    """What lies at the other end follows at each."""
    for dim, (before, after) in enumerate(zip(begins, ends)):
        if before or after:
            size = x.shape[dim]
            parts = [
                ops.slice(x, [size - before], [size], [dim]) if before > 0 else None,
                ops.slice(x, [max(-before, 0)], [size + min(after, 0)], [dim]),
                ops.slice(x, [0], [after], [dim]) if after > 0 else None,
            ]
            parts = [part for part in parts if part is not None]
            x = ops.concat(parts, dim) if len(parts) > 1 else parts[0]
    return x


@converts("pad.default", "constant_pad_nd.default")
def pad(converter, x, pad, mode="constant", value=None):
    x = converter.value(x)
    begins, ends = [0] * x.ndim, [0] * x.ndim
    for pair in range(len(pad) // 2):
        begins[x.ndim - 1 - pair], ends[x.ndim - 1 - pair] = pad[2 * pair], pad[2 * pair + 1]
    if not any(begins + ends):
        return x
    if mode == "circular":
        return _wrapped(x, begins, ends)
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    if mode not in modes:
        converter.fail(f"pads in mode {mode}")
    if mode == "constant" and isinstance(value, (Value, torch.Tensor)):
        converter.fail("pads with a tensor")
    return ops.pad(x, begins + ends, modes[mode], float(value or 0))
