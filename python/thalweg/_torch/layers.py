"""Layers: convolutions, pools, products, softmax, tables, resizing."""

import math

from thalweg import ops
from thalweg._torch.pool_places import PoolPlaces
from thalweg._torch.registry import converts
from thalweg._torch.windows import conv_by_sample, has_weights_of_samples


def _each(numbers, rank):
    """One number per spatial dimension."""
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * rank if len(numbers) == 1 else numbers


def _optional(converter, given):
    return None if given is None else converter.value(given)


def _same_padding(weight, dilation):
    pads = [(size - 1) * step for size, step in zip(weight.shape[2:], dilation)]
    return [pad // 2 for pad in pads] + [pad - pad // 2 for pad in pads]


def _of_one(function, converter, x, *arguments):
    """Of a sample that is no batch."""
    return ops.squeeze(function(converter, ops.unsqueeze(converter.value(x), [0]), *arguments), [0])


@converts("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv(converter, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    weight = converter.value(weight)
    rank = weight.ndim - 2
    if converter.value(x).ndim == rank + 1:
        return _of_one(conv, converter, x, weight, bias, stride, padding, dilation, groups)
    dilations = _each(dilation, rank)
    if padding == "same":
        pads = _same_padding(weight, dilations)
    else:
        pads = _each(0 if padding == "valid" else padding, rank)
    if has_weights_of_samples(groups):
        bias = _optional(converter, bias)
        return conv_by_sample(converter, converter.value(x), weight, bias, _each(stride, rank), pads, dilations, groups)
    return ops.conv(
        converter.value(x),
        weight,
        _optional(converter, bias),
        strides=_each(stride, rank),
        pads=pads,
        dilations=dilations,
        groups=groups,
    )


@converts("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(converter, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    weight = converter.value(weight)
    rank = weight.ndim - 2
    if converter.value(x).ndim == rank + 1:
        return _of_one(conv_transpose, converter, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return ops.conv_transpose(
        converter.value(x),
        weight,
        _optional(converter, bias),
        strides=_each(stride, rank),
        pads=_each(padding, rank),
        output_padding=_each(output_padding, rank),
        dilations=_each(dilation, rank),
        groups=groups,
    )


@converts("convolution.default")
def convolution(converter, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return conv_transpose(converter, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(converter, x, weight, bias, stride, padding, dilation, groups)


def _register_pools(rank):
    @converts(f"max_pool{rank}d.default")
    def max_pool(converter, x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        x = converter.value(x)
        if x.ndim == rank + 1:
            return _of_one(max_pool, converter, x, kernel_size, stride, padding, dilation, ceil_mode)
        return ops.max_pool(
            x,
            _each(kernel_size, rank),
            strides=_each(stride or kernel_size, rank),
            pads=_each(padding, rank),
            dilations=_each(dilation, rank),
            ceil_mode=ceil_mode,
        )

    @converts(f"max_pool{rank}d_with_indices.default")
    def max_pool_with_indices(converter, x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        x = converter.value(x)
        y = max_pool(converter, x, kernel_size, stride, padding, dilation, ceil_mode)
        if x.ndim == rank + 1:
            return (y, None)
        window = [_each(numbers, rank) for numbers in (kernel_size, stride or kernel_size, padding, dilation)]
        return (y, PoolPlaces(x, y.shape[2:], *window))

    @converts(f"avg_pool{rank}d.default")
    def avg_pool(
        converter,
        x,
        kernel_size,
        stride=(),
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        x = converter.value(x)
        if x.ndim == rank + 1:
            rest = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
            return _of_one(avg_pool, converter, x, *rest)
        if divisor_override is not None and ceil_mode:
            converter.fail("has a divisor_override for windows that may be cut off (ceil_mode)")
        means = ops.avg_pool(
            x,
            _each(kernel_size, rank),
            strides=_each(stride or kernel_size, rank),
            pads=_each(padding, rank),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad or divisor_override is not None,
        )
        return means if divisor_override is None else means * (math.prod(_each(kernel_size, rank)) / divisor_override)

    @converts(f"adaptive_avg_pool{rank}d.default", f"_adaptive_avg_pool{rank}d.default")
    def adaptive_avg_pool(converter, x, output_size):
        x = converter.value(x)
        if x.ndim == rank + 1:
            return _of_one(adaptive_avg_pool, converter, x, output_size)
        return ops.adaptive_avg_pool(x, _each(output_size, rank))

    @converts(f"adaptive_max_pool{rank}d.default")
    def adaptive_max_pool(converter, x, output_size):
        x = converter.value(x)
        if x.ndim == rank + 1:
            x = ops.unsqueeze(x, [0])
            return (ops.squeeze(ops.adaptive_max_pool(x, _each(output_size, rank)), [0]), None)
        return (ops.adaptive_max_pool(x, _each(output_size, rank)), None)


for _rank in (1, 2, 3):
    _register_pools(_rank)


@converts("linear.default")
def linear(converter, x, weight, bias=None):
    return ops.linear(converter.value(x), converter.value(weight), _optional(converter, bias))


@converts("matmul.default", "mm.default", "bmm.default")
def matmul(converter, a, b):
    return ops.matmul(converter.value(a), converter.value(b))


@converts("addmm.default", "baddbmm.default")
def addmm(converter, bias, a, b, beta=1, alpha=1):
    product = matmul(converter, a, b)
    product = product if alpha == 1 else product * alpha
    added = converter.value(bias)
    return product + (added if beta == 1 else added * beta)


@converts("softmax.int", "_softmax.default")
def softmax(converter, x, dim, *_, **__):
    return ops.softmax(converter.value(x, converter.dtype()), dim)


@converts("log_softmax.int", "_log_softmax.default")
def log_softmax(converter, x, dim, *_, **__):
    return ops.log_softmax(converter.value(x, converter.dtype()), dim)


@converts("embedding.default")
def embedding(converter, weight, indices, padding_idx=-1, *_):
    padding = None if padding_idx < 0 else padding_idx
    return ops.embedding(converter.value(weight), converter.value(indices), padding)
