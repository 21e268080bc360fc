"""Reading pictures at places between their elements."""

import torch

from thalweg import ops
from thalweg._torch.registry import converts

# In the order of PyTorch's numbers.
_MODES = ("linear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@converts("grid_sampler_2d.default", "grid_sampler.default")
def grid_sampler(converter, x, grid, interpolation_mode, padding_mode, align_corners):
    x = converter.value(x, converter.dtype())
    if x.ndim != 4:
        converter.fail(f"reads from {x.ndim - 2}-dimensional volumes: pictures, of 2 dimensions, are what is known")
    mode = _MODES[interpolation_mode]
    if mode == "bicubic":
        converter.fail("has the mode bicubic: bilinear and nearest are known")
    return ops.grid_sample(x, converter.value(grid, converter.dtype()), mode, _PADDINGS[padding_mode], bool(align_corners))


@converts("affine_grid_generator.default")
def affine_grid(converter, theta, size, align_corners):
    """Each place of a picture, with a 1 behind it, through the matrix of its sample."""
    theta = converter.value(theta, converter.dtype())
    spatial = list(size)[2:]
    if not all(isinstance(extent, int) for extent in spatial):
        converter.fail("makes a grid of a size that is free: only the batch may be")
    lines = [_places(extent, align_corners) for extent in reversed(spatial)]
    axes = torch.meshgrid(*reversed(lines), indexing="ij")
    base = torch.stack([*reversed(axes), torch.ones_like(axes[0])], dim=-1).reshape(-1, len(spatial) + 1)
    grid = ops.matmul(converter.value(base.to(converter.dtype())), theta, transpose_b=True)
    return ops.reshape(grid, [-1, *spatial, len(spatial)])


def _places(extent, align_corners):
    """The middles of so many elements between -1 and 1, or places from end to end."""
    if align_corners:
        return torch.linspace(-1, 1, extent, dtype=torch.float64) if extent > 1 else torch.zeros(1, dtype=torch.float64)
    return (2 * torch.arange(extent, dtype=torch.float64) + 1) / extent - 1
