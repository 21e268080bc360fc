"""What lies below windows, and convolutions with weights for each sample, which modules write as one of a single sample with a
group for each."""

import itertools
import math

from thalweg import ops
from thalweg._torch.free import FreeSize
from thalweg._torch.registry import converts


def below_windows(x, kernel, strides, pads, dilations):
    """([N, C, elements of a window, ...], extents of the result): the elements below each window, of padded x."""
    rank = len(kernel)
    begins, ends = (pads[:rank], pads[rank:]) if len(pads) == 2 * rank else (pads, pads)
    if any([*begins, *ends]):
        x = ops.pad(x, [0, 0, *begins, 0, 0, *ends], "constant", 0.0)
    out = [(size - (k - 1) * d - 1) // s + 1 for size, k, d, s in zip(x.shape[2:], kernel, dilations, strides)]
    axes = [axis + 2 for axis in range(rank)]
    elements = []
    for place in itertools.product(*map(range, kernel)):
        first = [number * step for number, step in zip(place, dilations)]
        last = [begin + (o - 1) * s + 1 for begin, o, s in zip(first, out, strides)]
        elements.append(ops.unsqueeze(ops.slice(x, first, last, axes, list(strides)), [2]))
    return ops.concat(elements, 2), out


@converts("im2col.default")
def unfold(converter, x, kernel_size, dilation, padding, stride):
    x = converter.value(x)
    if x.ndim == 3:
        return ops.squeeze(unfold(converter, ops.unsqueeze(x, [0]), kernel_size, dilation, padding, stride), [0])
    if None in x.shape[1:]:
        converter.fail("unfolds pictures of a free size")
    windows, out = below_windows(x, list(kernel_size), list(stride), list(padding), list(dilation))
    return ops.reshape(windows, [0, x.shape[1] * math.prod(kernel_size), math.prod(out)])


def has_weights_of_samples(groups):
    return isinstance(groups, FreeSize)


def conv_by_sample(converter, x, weight, bias, strides, pads, dilations, groups):
    """As products of each sample's weights and the elements below its window."""
    of_batch, channels = converter.shape_of_argument(0)[:2]
    outputs = converter.shape_of_argument(1)[0]
    parts = groups.factor
    if of_batch != 1 or not all(isinstance(size, FreeSize) for size in (channels, outputs)) or None in x.shape[2:]:
        converter.fail(f"has {groups} groups, which is not one, or some, for each sample of [1, samples * channels, ...]")
    samples = ops.reshape(x, [-1, channels.factor, *x.shape[2:]])
    kernel = list(weight.shape[2:])
    windows, out = below_windows(samples, kernel, list(strides), list(pads), list(dilations))
    below = channels.factor // parts * math.prod(kernel)
    windows = ops.reshape(windows, [-1, parts, below, math.prod(out)])
    products = ops.matmul(ops.reshape(weight, [-1, parts, outputs.factor // parts, below]), windows)
    y = ops.reshape(products, [1, -1, *out])
    return y if bias is None else y + ops.reshape(bias, [1, -1, *[1] * len(kernel)])
