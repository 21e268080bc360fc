"""Normalisation by the statistics of batches, groups, layers and weights."""

import torch

from thalweg import ops
from thalweg._torch.registry import converts


def _optional(converter, given):
    return None if given is None else converter.value(given)


def _affine(converter, x, weight, bias, axis=1):
    """Scale and shift of the channels: those given, else 1 and 0."""
    channels = x.shape[axis]
    scale = torch.ones(channels) if weight is None else weight
    shift = torch.zeros(channels) if bias is None else bias
    return converter.value(scale), converter.value(shift)


def _state_of(converter, statistics):
    """The name of the state that running statistics are kept in, also where the norm was applied before; else None."""
    if statistics.kind == "state":
        return statistics.name
    return converter.running_statistics.get(id(statistics), (None, None))[1]


@converts("_native_batch_norm_legit_functional.default")
def batch_norm(converter, x, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        return (batch_norm_inference(converter, x, weight, bias, running_mean, running_var, momentum, eps)[0],)
    x = converter.value(x)
    scale, shift = _affine(converter, x, weight, bias)
    attributes = {"epsilon": eps}
    states = [_state_of(converter, statistics) for statistics in (running_mean, running_var)]
    if all(states):
        # What takes the place of the batch's statistics at inference.
        attributes |= {"running_mean": states[0], "running_variance": states[1]}
    y, mean, variance = converter.graph.add("batch_norm", [x, scale, shift, None], attributes)
    count = ops.element_count(x, [0, *range(2, x.ndim)])
    unbiased = variance * (count / ops.maximum(count - 1.0, 1.0))
    new_mean = running_mean * (1.0 - momentum) + mean * momentum
    new_variance = running_var * (1.0 - momentum) + unbiased * momentum
    for state, value in zip(states, (new_mean, new_variance)):
        if state:
            converter.running_statistics[id(value)] = (value, state)
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
    if training or running_mean is None:
        return _by_batch(converter, x, weight, bias, eps)
    return batch_norm_inference(converter, x, weight, bias, running_mean, running_var, momentum, eps)[0]


def _by_batch(converter, x, weight, bias, eps):
    """By the statistics of what is given, in training and at inference: weights are standardised so."""
    x = converter.value(x)
    if x.shape[0] == 1:
        return ops.group_norm(x, _optional(converter, weight), _optional(converter, bias), x.shape[1], eps)
    channels, rest = x.shape[1], list(x.shape[2:])
    swap = [1, 0, *range(2, x.ndim)]
    rows = ops.reshape(ops.transpose(x, swap), [channels, -1])
    normal = ops.layer_norm(rows, None, None, -1, eps)
    y = ops.transpose(ops.reshape(normal, [channels, -1, *rest]), swap)
    places = [1, channels, *[1] * len(rest)]
    y = y if weight is None else y * ops.reshape(converter.value(weight), places)
    return y if bias is None else y + ops.reshape(converter.value(bias), places)


@converts("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(converter, x, weight, bias, training, momentum, eps):
    return (_by_batch(converter, x, weight, bias, eps), None, None)


@converts("_weight_norm.default")
def weight_norm(converter, v, g, dim=0):
    """The direction of v with the length of g, for each place along `dim`."""
    v, g = converter.value(v), converter.value(g)
    others = [axis for axis in range(v.ndim) if dim == -1 or axis != dim % v.ndim]
    return v * (g / ops.reduce_l2(v, others, True))


@converts("_weight_norm_interface.default")
def weight_norm_interface(converter, v, g, dim=0):
    return (weight_norm(converter, v, g, dim), None)


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


