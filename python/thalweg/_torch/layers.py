"""Layers: convolutions, pools, products, normalisation, attention, dropout."""

import math

import torch

from thalweg import ops
from thalweg._torch.free import Filled
from thalweg._torch.registry import converts


def _each(numbers, rank):
    """One number per spatial dimension."""
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * rank if len(numbers) == 1 else numbers


def _optional(converter, given):
    return None if given is None else converter.value(given)


def _same_padding(weight, dilation):
    pads = [(size - 1) * step for size, step in zip(weight.shape[2:], dilation)]
    return [pad // 2 for pad in pads] + [pad - pad // 2 for pad in pads]


@converts("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv(converter, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    weight = converter.value(weight)
    rank = weight.ndim - 2
    dilations = _each(dilation, rank)
    if padding == "same":
        pads = _same_padding(weight, dilations)
    else:
        pads = _each(0 if padding == "valid" else padding, rank)
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
        return ops.max_pool(
            converter.value(x),
            _each(kernel_size, rank),
            strides=_each(stride or kernel_size, rank),
            pads=_each(padding, rank),
            dilations=_each(dilation, rank),
            ceil_mode=ceil_mode,
        )

    @converts(f"max_pool{rank}d_with_indices.default")
    def max_pool_with_indices(converter, *args, **named):
        # Whoever asks for the indices fails on None.
        return (max_pool(converter, *args, **named), None)

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
        if divisor_override is not None:
            converter.fail("has a divisor_override")
        return ops.avg_pool(
            converter.value(x),
            _each(kernel_size, rank),
            strides=_each(stride or kernel_size, rank),
            pads=_each(padding, rank),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )

    @converts(f"adaptive_avg_pool{rank}d.default", f"_adaptive_avg_pool{rank}d.default")
    def adaptive_avg_pool(converter, x, output_size):
        return ops.adaptive_avg_pool(converter.value(x), _each(output_size, rank))

    @converts(f"adaptive_max_pool{rank}d.default")
    def adaptive_max_pool(converter, x, output_size):
        return (ops.adaptive_max_pool(converter.value(x), _each(output_size, rank)), None)


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


def _affine(converter, x, weight, bias, axis=1):
    """Scale and shift of the channels: those given, else 1 and 0."""
    channels = x.shape[axis]
    scale = torch.ones(channels) if weight is None else weight
    shift = torch.zeros(channels) if bias is None else bias
    return converter.value(scale), converter.value(shift)


@converts("_native_batch_norm_legit_functional.default")
def batch_norm(converter, x, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        return (batch_norm_inference(converter, x, weight, bias, running_mean, running_var, momentum, eps)[0],)
    x = converter.value(x)
    scale, shift = _affine(converter, x, weight, bias)
    attributes = {"epsilon": eps, "running_mean": running_mean.name, "running_variance": running_var.name}
    y, mean, variance = converter.graph.add("batch_norm", [x, scale, shift, None], attributes)
    count = ops.element_count(x, [0, *range(2, x.ndim)])
    unbiased = variance * (count / ops.maximum(count - 1.0, 1.0))
    new_mean = running_mean * (1.0 - momentum) + mean * momentum
    new_variance = running_var * (1.0 - momentum) + unbiased * momentum
    return (y, mean, ops.rsqrt(variance + eps), new_mean, new_variance)


@converts("_native_batch_norm_legit_no_training.default")
def batch_norm_inference(converter, x, weight, bias, running_mean, running_var, momentum, eps):
    x = converter.value(x)
    scale, shift = _affine(converter, x, weight, bias)
    mean, variance = converter.value(running_mean), converter.value(running_var)
    return (ops.batch_norm_inference(x, scale, shift, mean, variance, eps), None, None)


@converts("batch_norm.default")
def batch_norm_composite(converter, x, weight, bias, running_mean, running_var, training, momentum, eps, _=False):
    if training and running_mean is not None:
        return batch_norm(converter, x, weight, bias, running_mean, running_var, training, momentum, eps)[0]
    if training:
        converter.fail("keeps no running statistics (track_running_stats=False)")
    return batch_norm_inference(converter, x, weight, bias, running_mean, running_var, momentum, eps)[0]


@converts("layer_norm.default")
def layer_norm(converter, x, normalized_shape, weight=None, bias=None, eps=1e-5, _=False):
    scale, shift = _optional(converter, weight), _optional(converter, bias)
    return ops.layer_norm(converter.value(x), scale, shift, -len(normalized_shape), eps)


@converts("native_layer_norm.default")
def native_layer_norm(converter, x, normalized_shape, weight, bias, eps):
    return (layer_norm(converter, x, normalized_shape, weight, bias, eps), None, None)


@converts("group_norm.default")
def group_norm(converter, x, num_groups, weight=None, bias=None, eps=1e-5, _=True):
    scale, shift = _optional(converter, weight), _optional(converter, bias)
    return ops.group_norm(converter.value(x), scale, shift, num_groups, eps)


@converts("native_group_norm.default")
def native_group_norm(converter, x, weight, bias, n, c, hxw, group, eps):
    return (group_norm(converter, x, group, weight, bias, eps), None, None)


@converts("instance_norm.default")
def instance_norm(converter, x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, _=False):
    if not use_input_stats:
        return batch_norm_inference(converter, x, weight, bias, running_mean, running_var, momentum, eps)[0]
    if running_mean is not None:
        converter.fail("would learn running statistics (track_running_stats=True): convert with training=False to use them")
    x = converter.value(x)
    # Each channel is a group of its own.
    return ops.group_norm(x, _optional(converter, weight), _optional(converter, bias), x.shape[1], eps)


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


def _seed(converter):
    """Draws of different nodes are independent."""
    return len(converter.graph.nodes)


@converts("dropout.default")
def dropout(converter, x, p, train=True):
    x = converter.value(x)
    return ops.dropout(x, float(p), _seed(converter)) if train and p > 0 else x


@converts("native_dropout.default")
def native_dropout(converter, x, p, train=True):
    return (dropout(converter, x, p, bool(train)), None)


def _ones(converter, shape):
    if all(isinstance(size, int) for size in shape):
        return converter.value(torch.ones(shape, dtype=converter.dtype()))
    return converter.value(Filled(shape, 1, converter.dtype()))


@converts("feature_dropout.default")
def feature_dropout(converter, x, p, train=True):
    """Whole channels at once."""
    x = converter.value(x)
    if not train or p == 0:
        return x
    shape = converter.shape()
    channels = _ones(converter, shape[:2] + [1] * (len(shape) - 2))
    return x * ops.dropout(channels, float(p), _seed(converter))


@converts("bernoulli.p")
def bernoulli(converter, x, p=0.5, generator=None):
    """1 with probability p, else 0; at inference p, which is the mean: what follows divides by it."""
    if p == 0:
        return Filled(converter.shape(), 0, converter.dtype())
    ones = _ones(converter, converter.shape())
    return ops.dropout(ones, 1.0 - p, _seed(converter)) * float(p) if p < 1 else ones


def _additive(converter, mask, like):
    """A mask of bools as numbers to add: PyTorch's True means "takes part"."""
    if isinstance(mask, torch.Tensor):
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
        return converter.value(mask)
    if mask.dtype != "bool":
        return mask
    return ops.where(mask, ops.scalar_like(like, 0.0), ops.scalar_like(like, -math.inf))


@converts("scaled_dot_product_attention.default")
def attention(converter, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        converter.fail("groups queries (enable_gqa)")
    q, k, v = converter.value(q), converter.value(k), converter.value(v)
    mask = None if attn_mask is None else _additive(converter, attn_mask, q)
    if dropout_p == 0 and q.ndim == 4:
        return ops.attention(q, k, v, mask, scale, is_causal)
    scores = ops.matmul(q, k, transpose_b=True) * (1.0 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        rows, columns = scores.shape[-2:]
        allowed = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
        scores = scores + _additive(converter, allowed, q)
    weights = ops.softmax(scores if mask is None else scores + mask, -1)
    return ops.matmul(dropout(converter, weights, dropout_p), v)


def _upsampled(converter, x, output_size, scale_factors, mode, coordinates):
    x = converter.value(x)
    if output_size is None:
        output_size = [math.floor(size * factor) for size, factor in zip(x.shape[2:], scale_factors)]
    return ops.interpolate(x, list(output_size), mode, coordinates)


@converts("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(converter, x, output_size, scale_factors):
    return _upsampled(converter, x, output_size, scale_factors, "nearest", "asymmetric")


@converts("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def upsample_linear(converter, x, output_size, align_corners, scale_factors):
    coordinates = "align_corners" if align_corners else "half_pixel"
    return _upsampled(converter, x, output_size, scale_factors, "linear", coordinates)
