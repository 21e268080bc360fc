"""Pictures made larger or smaller."""

import math

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _is_their_quotient(before, after, factor):
    """Whether a given factor is what the sizes come to."""
    return factor is None or abs(before * factor - after) < 1e-6 * after


def _nearest_along(converter, x, dim, size, step):
    # In 32 bits, as PyTorch does, or places on an edge would round to the other side.
    places = torch.floor(torch.arange(size, dtype=torch.float32) * step).long()
    return ops.gather(x, converter.value(places.clamp(max=x.shape[dim] - 1)), dim)


def _linear_along(converter, x, dim, size, step):
    last = x.shape[dim] - 1
    places = ((torch.arange(size, dtype=torch.float32) + 0.5) * step - 0.5).clamp(min=0)
    first = places.long().clamp(max=last)
    share = (places - first).clamp(max=1).reshape([-1 if axis == dim else 1 for axis in range(x.ndim)])
    here = ops.gather(x, converter.value(first), dim)
    there = ops.gather(x, converter.value((first + 1).clamp(max=last)), dim)
    return here * converter.value(1 - share) + there * converter.value(share)


def _by_factors(converter, x, sizes, factors, along):
    """A factor that is given counts, though the sizes are cut down to whole numbers."""
    for dim, (size, factor) in enumerate(zip(sizes, factors), 2):
        step = torch.tensor(1.0 / factor, dtype=torch.float32)
        x = along(converter, x, dim, size, step)
    return x


def _upsampled(converter, x, output_size, factors, mode, coordinates):
    x = converter.value(x)
    sizes = output_size
    if sizes is None:
        sizes = [math.floor(size * factor) for size, factor in zip(x.shape[2:], factors)]
    fits = coordinates == "align_corners" or output_size is not None
    if fits or all(map(_is_their_quotient, x.shape[2:], sizes, factors)):
        return ops.interpolate(x, list(sizes), mode, coordinates)
    if mode == "cubic":
        converter.fail("makes pictures larger by a factor that their size cannot grow by: give the size")
    return _by_factors(converter, x, sizes, factors, _nearest_along if mode == "nearest" else _linear_along)


@converts("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(converter, x, output_size, factors):
    return _upsampled(converter, x, output_size, factors, "nearest", "asymmetric")


@converts("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def upsample_linear(converter, x, output_size, align_corners, factors):
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _upsampled(converter, x, output_size, factors, "linear", coordinates)
