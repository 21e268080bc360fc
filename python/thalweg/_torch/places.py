"""Reading pictures at places that are computed: deformable convolutions and cubic grids, both by the engine's grid_sample."""

import torch

_aten = torch.ops.aten
_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
# How far the curve of cubic interpolation bends, as PyTorch has it.
_BEND = -0.75


def _as_grid(places, size):
    """Numbers of elements as a grid has them without align_corners, which also stands for pictures one element wide."""
    return (places * 2 + 1) / size - 1


def _taps(kernel, dilation, extent, stride, padding, shape, like):
    """Where each element of the window looks along one dimension, before anything is added to it."""
    starts = torch.arange(extent, dtype=like.dtype) * stride - padding
    steps = torch.arange(kernel, dtype=like.dtype) * dilation
    return (steps[:, None] + starts).reshape(shape)


def deform_conv2d(x, weight, offset, mask, bias, *numbers):
    """torchvision's: each element of the window is read where an offset of its own moves it, then multiplied as ever."""
    stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask = numbers
    channels, height, width = x.shape[1:]
    outputs, _, rows, columns = weight.shape
    out_h, out_w = offset.shape[2:]
    size = rows * columns
    offset = offset.reshape(-1, rows, columns, 2, out_h, out_w)
    y_places = offset[:, :, :, 0] + _taps(rows, dilation_h, out_h, stride_h, pad_h, (rows, 1, out_h, 1), offset)
    x_places = offset[:, :, :, 1] + _taps(columns, dilation_w, out_w, stride_w, pad_w, (1, columns, 1, out_w), offset)
    grid = torch.stack([_as_grid(x_places, width), _as_grid(y_places, height)], dim=-1)
    groups_of_channels = x.reshape(-1, channels // offset_groups, height, width)
    read = _aten.grid_sampler.default(groups_of_channels, grid.reshape(-1, size * out_h, out_w, 2), _LINEAR, _ZEROS, False)
    if use_mask:
        read = read.reshape(-1, channels // offset_groups, size, out_h, out_w) * mask.reshape(-1, 1, size, out_h, out_w)
    read = read.reshape(-1, channels * size, out_h, out_w)
    return torch.nn.functional.conv2d(read, weight.reshape(outputs, -1, 1, 1), bias, groups=groups)


def _reflected(places, size, align_corners):
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return torch.zeros_like(places)
    distance = (places - low).abs()
    rest = distance - torch.floor(distance / span) * span
    turned = torch.floor(distance / span)
    odd = turned - torch.floor(turned / 2) * 2
    return torch.where(odd == 0, rest + low, span - rest + low)


def _bounded(places, size, padding, align_corners):
    if padding == _REFLECTION:
        places = _reflected(places, size, align_corners)
    return places if padding == _ZEROS else places.clamp(0, size - 1)


def _cubic_along(grid, size, padding, align_corners):
    """Of one dimension [N, ...]: the four elements around each place [N, 4, ...], as a grid has them, and their shares."""
    place = (grid + 1) * ((size - 1) / 2) if align_corners else ((grid + 1) * size - 1) / 2
    first = torch.floor(place)
    share = place - first
    elements, shares = [], []
    for step in (-1, 0, 1, 2):
        elements.append(_as_grid(_bounded(first + step, size, padding, align_corners), size))
        away = (share - step).abs()
        near = ((_BEND + 2) * away - (_BEND + 3)) * away * away + 1
        far = ((_BEND * away - 5 * _BEND) * away + 8 * _BEND) * away - 4 * _BEND
        shares.append(near if step in (0, 1) else far)
    return torch.stack(elements, 1), torch.stack(shares, 1)


def grid_sampler(x, grid, mode, padding, align_corners):
    """Cubic grids read the 16 elements around each place."""
    if mode != _CUBIC or x.dim() != 4:
        return _aten.grid_sampler.default(x, grid, mode, padding, align_corners)
    channels, height, width = x.shape[1:]
    out_h, out_w = grid.shape[1:3]
    columns, column_shares = _cubic_along(grid[..., 0], width, padding, align_corners)
    rows, row_shares = _cubic_along(grid[..., 1], height, padding, align_corners)
    zeros = torch.zeros(4, 4, 1, 1, dtype=grid.dtype)
    around = torch.stack([columns[:, None] + zeros, rows[:, :, None] + zeros], dim=-1).reshape(-1, 16 * out_h, out_w, 2)
    read = _aten.grid_sampler.default(x, around, _NEAREST, _ZEROS, False).reshape(-1, channels, 16, out_h, out_w)
    shares = (column_shares[:, None] * row_shares[:, :, None]).reshape(-1, 1, 16, out_h, out_w)
    return (read * shares).sum(2)
