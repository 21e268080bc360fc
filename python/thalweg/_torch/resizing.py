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


def _cubic_share(distance, bend=-0.75):
    """Of an element at a distance of up to 2."""
    near = ((bend + 2) * distance - (bend + 3)) * distance**2 + 1
    far = ((bend * distance - 5 * bend) * distance + 8 * bend) * distance - 4 * bend
    return torch.where(distance <= 1, near, far)


def _cubic_along(converter, x, dim, size, step):
    places = (torch.arange(size, dtype=torch.float32) + 0.5) * step - 0.5
    first = places.floor()
    parts = []
    for offset in (-1, 0, 1, 2):
        share = _cubic_share((places - (first + offset)).abs()).reshape([-1 if axis == dim else 1 for axis in range(x.ndim)])
        chosen = (first.long() + offset).clamp(0, x.shape[dim] - 1)
        parts.append(ops.gather(x, converter.value(chosen), dim) * converter.value(share))
    return parts[0] + parts[1] + parts[2] + parts[3]


_ALONG = {"nearest": _nearest_along, "linear": _linear_along, "cubic": _cubic_along}


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
    return _by_factors(converter, x, sizes, factors, _ALONG[mode])


def _shares_along(operator, size, output, align_corners, factor):
    """What each of `size` elements of a line adds to each of `output`: PyTorch's own answer to lines with a single 1."""
    lines = torch.eye(size)[None, :, None, :]
    return operator(lines, [1, output], align_corners, None, factor)[0, :, 0, :]


@converts("_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec")
def upsample_averaged(converter, x, output_size, align_corners, factors):
    """With antialias: a product with a matrix along each dimension."""
    x = converter.value(x, converter.dtype())
    linear = "bilinear" in str(converter.node.target)
    operator = (torch.ops.aten._upsample_bilinear2d_aa if linear else torch.ops.aten._upsample_bicubic2d_aa).default
    sizes = output_size or [math.floor(size * factor) for size, factor in zip(x.shape[2:], factors)]
    for size, factor in zip(sizes, factors or (None, None)):
        shares = _shares_along(operator, x.shape[2], size, align_corners, factor)
        # Each dimension comes last for its product, so that both end where they began.
        x = ops.matmul(x.transpose(2, 3), converter.value(shares))
    return x


@converts("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(converter, x, output_size, factors):
    return _upsampled(converter, x, output_size, factors, "nearest", "asymmetric")


@converts("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def upsample_linear(converter, x, output_size, align_corners, factors):
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _upsampled(converter, x, output_size, factors, "linear", coordinates)


@converts("upsample_bicubic2d.vec")
def upsample_cubic(converter, x, output_size, align_corners, factors):
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _upsampled(converter, x, output_size, factors, "cubic", coordinates)
