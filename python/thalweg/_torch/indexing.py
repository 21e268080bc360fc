"""Operators that read and write elements at places that tensors tell."""

import math

import torch

from thalweg import ops
from thalweg._core import Value
from thalweg._torch.free import Counted, FreeSize, Repeated
from thalweg._torch.registry import converts

_BY_MASK = (
    "chooses elements by a mask that depends on the inputs, so that their number does: use torch.where(mask, x, other), "
    "or multiply by the mask"
)


def _is_mask(indices):
    return not isinstance(indices, Counted) and str(indices.dtype).removeprefix("torch.") in ("bool", "uint8")


def _places_of(mask):
    """The indices that a mask of constants stands for, one for each of its dimensions."""
    return mask.nonzero(as_tuple=True)


def _chosen(converter, indices):
    """(dimension, indices) for each dimension that is indexed."""
    given, dim = [], 0
    for chosen in indices:
        if chosen is None:
            dim += 1
        elif not _is_mask(chosen):
            given.append((dim, chosen))
            dim += 1
        elif isinstance(chosen, torch.Tensor):
            given += [(dim + place, part) for place, part in enumerate(_places_of(chosen))]
            dim += chosen.dim()
        else:
            converter.fail(_BY_MASK)
    return given


class _Places:
    """Several dimensions of a tensor, indexed by a tensor each, as one dimension in front of, or among, the others.

    `first` is where that one is: PyTorch puts it where the dimensions were if they are side by side, else in front.
    """

    def __init__(self, converter, x, given):
        self.dims = [dim for dim, _ in given]
        together = self.dims == list(range(self.dims[0], self.dims[-1] + 1))
        self.first = self.dims[0] if together else 0
        others = [dim for dim in range(x.ndim) if dim not in self.dims]
        self.order = others[: self.first] + self.dims + others[self.first :]
        self.shape = [x.shape[dim] for dim in self.order]
        sizes = self.shape[self.first : self.first + len(self.dims)]
        self.rest = self.shape[self.first + len(self.dims) :]
        if None in sizes[1:]:
            converter.fail("indexes with several tensors, and a dimension that is free is not the first of them")
        if [sizes[0], *self.rest].count(None) > 1:
            converter.fail("indexes a free dimension, and another one behind it is free too")
        count = None if sizes[0] is None else math.prod(sizes)
        # As ops.reshape takes it.
        self.joined_shape = [0] * self.first + [-1 if size is None else size for size in (count, *self.rest)]
        place = converter.value(given[0][1], torch.int64)
        for size, (_, indices) in zip(sizes[1:], given[1:]):
            indices = converter.value(indices, torch.int64)
            # Counted from the end, as far as it is negative; so is the place as a whole if the first index is.
            indices = ops.where(ops.less(indices, ops.scalar_like(indices, 0.0)), indices + size, indices)
            place = place * size + indices
        self.place = place

    def joined(self, x):
        """The tensor with those dimensions made one."""
        x = ops.transpose(x, self.order) if self.order != sorted(self.order) else x
        return ops.reshape(x, self.joined_shape) if len(self.dims) > 1 else x

    def parted(self, x, like):
        """The reverse, into the shape of `like`."""
        if len(self.dims) > 1:
            target = [-1 if size is None else size for size in self.shape]
            x = ops.reshape(x, [0 if place < self.first else size for place, size in enumerate(target)])
        if self.order == sorted(self.order):
            return x
        return ops.transpose(x, [self.order.index(dim) for dim in range(like.ndim)])


@converts("index.Tensor", "_unsafe_index.Tensor")
def index(converter, x, indices):
    x = converter.value(x)
    places = _Places(converter, x, _chosen(converter, indices))
    return ops.gather(places.joined(x), places.place, places.first)


def _put_by_mask(converter, x, mask, values, accumulate):
    rank = len(converter.shape_of_argument(0)) - len(mask.shape)
    extra = len(values.shape) - rank
    if any(size != 1 for size in values.shape[: max(extra, 0)]):
        converter.fail(_BY_MASK)
    if extra > 0:
        values = ops.reshape(converter.value(values), list(values.shape[extra:]))
    mask = _with_dimensions(mask, rank)
    dtype = converter.dtype()
    mask, x, values = converter.aligned([mask, x, values], [torch.bool, dtype, dtype])
    return ops.where(mask, x + values if accumulate else values, x)


def _with_dimensions(mask, count):
    """With so many more of size 1."""
    if isinstance(mask, Value):
        return ops.unsqueeze(mask, list(range(mask.ndim, mask.ndim + count))) if count else mask
    if isinstance(mask, Repeated):
        return Repeated(_with_dimensions(mask.tensor, count), mask.shape + [1] * count)
    return mask[(..., *[None] * count)]


@converts("index_put.default", "_unsafe_index_put.default", "_index_put_impl.default")
def index_put(converter, x, indices, values, accumulate=False, *_):
    given = [chosen for chosen in indices if chosen is not None]
    by_mask = len(given) == 1 and indices[0] is not None and _is_mask(given[0])
    # A mask of constants may have a row for each of its places.
    if by_mask and (not isinstance(given[0], torch.Tensor) or all(size == 1 for size in values.shape)):
        return _put_by_mask(converter, x, given[0], values, accumulate)
    dtype = converter.dtype()
    x = converter.value(x, dtype)
    places = _Places(converter, x, _chosen(converter, indices))
    table = places.joined(x)
    at = ops.reshape(places.place, [1] * places.first + _sizes(places.place) + [1] * len(places.rest))
    # What was there has the shape of what comes there, whatever of it is free.
    present = ops.gather(table, places.place, places.first)
    if places.place.ndim != 1 and None in places.rest:
        converter.fail("writes at places before a dimension that is free")
    at, values = (
        converter.graph.add("expand_like", [value, present])[0] for value in (at, converter.value(values, dtype))
    )
    if places.place.ndim != 1:
        joined = [0] * places.first + [-1, *places.rest]
        at, values = ops.reshape(at, joined), ops.reshape(values, joined)
    return places.parted(ops.scatter_elements(table, at, values, places.first, accumulate), x)


def _sizes(value):
    """Its shape, for ops.reshape, which can find out one size."""
    return [-1 if size is None else size for size in value.shape]


@converts("index_select.default")
def index_select(converter, x, dim, index):
    return ops.gather(converter.value(x), converter.value(index), dim)


@converts("one_hot.default")
def one_hot(converter, indices, num_classes):
    classes = converter.value(torch.arange(num_classes))
    chosen = ops.equal(ops.unsqueeze(converter.value(indices, torch.int64), [len(converter.shape()) - 1]), classes)
    return ops.cast(chosen, "int64")


@converts("gather.default")
def gather(converter, x, dim, index, **_):
    return ops.gather_elements(converter.value(x), converter.value(index), dim)


def _scattered(converter, x, dim, index, source, accumulate):
    dtype = converter.dtype()
    x, index = converter.value(x, dtype), converter.value(index)
    if isinstance(source, (bool, int, float)):
        (source,) = converter.graph.add("expand_like", [converter.value(source, dtype), index])
    source = converter.value(source, dtype)
    longer = [axis for axis in range(source.ndim) if source.shape[axis] != index.shape[axis]]
    if longer:
        source = ops.slice(source, [0] * len(longer), [index.shape[axis] for axis in longer], longer)
    return ops.scatter_elements(x, index, source, dim, accumulate)


@converts("scatter.src", "scatter.value")
def scatter(converter, x, dim, index, source):
    return _scattered(converter, x, dim, index, source, False)


@converts("scatter_add.default")
def scatter_add(converter, x, dim, index, source):
    return _scattered(converter, x, dim, index, source, True)


@converts("index_add.default")
def index_add(converter, x, dim, index, source, alpha=1):
    source = converter.value(source, converter.dtype())
    index = converter.value(index)
    index = ops.reshape(index, [-1 if axis == dim % source.ndim else 1 for axis in range(source.ndim)])
    (index,) = converter.graph.add("expand_like", [index, source])
    return _scattered(converter, x, dim, index, source if alpha == 1 else source * float(alpha), True)


@converts("unfold.default")
def unfold(converter, x, dimension, size, step):
    """Windows along a dimension, whose elements become the last one."""
    x = converter.value(x)
    dim = dimension % x.ndim
    if x.shape[dim] is None:
        converter.fail("takes windows along a free dimension")
    starts = torch.arange(0, x.shape[dim] - size + 1, step)
    windows = ops.gather(x, converter.value(starts[:, None] + torch.arange(size)), dim)
    return ops.transpose(windows, [axis for axis in range(windows.ndim) if axis != dim + 1] + [dim + 1])


def _triangle(converter, x, keep):
    rows, columns = converter.shape()[-2:]
    if isinstance(rows, FreeSize) or isinstance(columns, FreeSize):
        converter.fail("takes a triangle of a matrix with a free size")
    x = converter.value(x)
    mask = converter.value(keep(torch.ones(rows, columns, dtype=torch.bool)))
    if x.dtype == "bool":
        return ops.logical_and(x, mask)
    return ops.where(mask, x, ops.scalar_like(x, 0.0))


@converts("tril.default")
def tril(converter, x, diagonal=0):
    return _triangle(converter, x, lambda mask: mask.tril(diagonal))


@converts("triu.default")
def triu(converter, x, diagonal=0):
    return _triangle(converter, x, lambda mask: mask.triu(diagonal))
