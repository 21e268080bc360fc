"""Where the largest element of each window lies, as max pools tell it and unpooling asks for it."""

import itertools
import math

import torch

from thalweg import ops
from thalweg._torch.free import Deferred


class PoolPlaces(Deferred):
    """The places within a whole channel, counted row by row; found only where somebody asks for them."""

    dtype = torch.int64

    def __init__(self, x, out, kernel, strides, pads, dilations):
        self.x = x
        self.shape = [None, None, *out]
        self._window = (out, kernel, strides, pads, dilations)

    def value(self, converter, dtype=None):
        out, kernel, strides, pads, dilations = self._window
        sizes = list(self.x.shape[2:])
        if None in sizes:
            converter.fail("tells places in pictures of a free size")
        axes = [axis + 2 for axis in range(len(out))]
        # Up to where the last window ends, which may be beyond the padding (ceil_mode).
        reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(out, strides, kernel, dilations)]
        after = [max(need - pad - size, 0) for need, pad, size in zip(reach, pads, sizes)]
        padded = ops.pad(self.x, [0, 0, *pads, 0, 0, *after], "constant", -math.inf)
        elements, offsets = [], []
        for place in itertools.product(*map(range, kernel)):
            begins = [number * step for number, step in zip(place, dilations)]
            ends = [begin + (o - 1) * s + 1 for begin, o, s in zip(begins, out, strides)]
            elements.append(ops.unsqueeze(ops.slice(padded, begins, ends, axes, list(strides)), [0]))
            offsets.append(_counted(begins, sizes))
        winner = ops.arg_max(ops.concat(elements, 0), 0)
        lines = [torch.arange(o) * s - pad for o, s, pad in zip(out, strides, pads)]
        first = _counted(torch.meshgrid(*lines, indexing="ij"), sizes)
        return ops.gather(converter.value(torch.tensor(offsets)), winner, 0) + converter.value(first)


def _counted(coordinates, sizes):
    """One number for coordinates, of numbers or tensors."""
    place = coordinates[0]
    for coordinate, size in zip(coordinates[1:], sizes[1:]):
        place = place * size + coordinate
    return place
