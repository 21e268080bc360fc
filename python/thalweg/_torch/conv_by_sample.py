"""Convolutions with weights for each sample: modules write them as one of a single sample with a group for each."""

import itertools
import math

from thalweg import ops
from thalweg._torch.free import FreeSize


def has_weights_of_samples(groups):
    return isinstance(groups, FreeSize)


def conv_by_sample(converter, x, weight, bias, strides, pads, dilations, groups):
    """As products of each sample's weights and the elements below its window."""
    of_batch, channels = converter.shape_of_argument(0)[:2]
    outputs = converter.shape_of_argument(1)[0]
    parts = groups.factor
    if of_batch != 1 or not all(isinstance(size, FreeSize) for size in (channels, outputs)) or None in x.shape[2:]:
        converter.fail(f"has {groups} groups, which is not one, or some, for each sample of [1, samples * channels, ...]")
    rank = len(strides)
    begins, ends = (pads[:rank], pads[rank:]) if len(pads) == 2 * rank else (pads, pads)
    samples = ops.reshape(x, [-1, channels.factor, *x.shape[2:]])
    padded = ops.pad(samples, [0, 0, *begins, 0, 0, *ends], "constant", 0.0)
    kernel, sizes = list(weight.shape[2:]), list(padded.shape[2:])
    out = [(size - (k - 1) * d - 1) // s + 1 for size, k, d, s in zip(sizes, kernel, dilations, strides)]
    axes = [axis + 2 for axis in range(rank)]
    elements = []
    for place in itertools.product(*map(range, kernel)):
        first = [number * step for number, step in zip(place, dilations)]
        last = [begin + (o - 1) * s + 1 for begin, o, s in zip(first, out, strides)]
        elements.append(ops.unsqueeze(ops.slice(padded, first, last, axes, list(strides)), [2]))
    below = channels.factor // parts * math.prod(kernel)
    windows = ops.reshape(ops.concat(elements, 2), [-1, parts, below, math.prod(out)])
    products = ops.matmul(ops.reshape(weight, [-1, parts, outputs.factor // parts, below]), windows)
    y = ops.reshape(products, [1, -1, *out])
    return y if bias is None else y + ops.reshape(bias, [1, -1, *[1] * rank])
