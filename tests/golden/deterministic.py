"""Initial weights and inputs from a formula that C++ repeats bit for bit.

The generator
-------------
All arithmetic on unsigned 64-bit integers, modulo 2^64. For a tensor called `name`:

    seed = FNV-1a-64 of the name's UTF-8 bytes
           (h = 0xcbf29ce484222325; for each byte: h ^= byte; h *= 0x100000001b3)
    s    = seed + (i + 1) * 0x9E3779B97F4A7C15                 i = 0, 1, ... row-major element index
    s    = (s ^ (s >> 30)) * 0xBF58476D1CE4E5B9
    s    = (s ^ (s >> 27)) * 0x94D049BB133111EB
    z_i  = s ^ (s >> 31)                                       (splitmix64)

Real values: u_i = (z_i >> 40) * 2^-24, value_i = float32((2 u_i - 1) * bound), where u, 2u - 1 (both
exact), bound and the product are double; the only roundings are the product's and the one to float32
(to nearest, ties to even). Integer values below n: z_i mod n.

Parameters
----------
`name` is the parameter's PyTorch name, e.g. `layer1.0.conv1.weight`; its row-major shape is PyTorch's
([out, in/groups, kh, kw] for convolutions, [out, in] for linear layers, [4 hidden, in] for LSTM).
The first rule that applies:

    1. weight of the batch norm that ends a ResNet block's residual   all 0.125
       branch: `layer*.*.bn3.weight` in ResNet-50,
       `layer*.*.bn2.weight` in ResNet-18
    2. rank 1, name ends in `weight` (batch norm, layer norm)         all 1
    3. rank 1 otherwise (every bias)                                  all 0
    4. table of an nn.Embedding (the learned positions too)           bound = 0.1
    5. matrix of an LSTM/GRU/RNN, `weight_ih_l*` and `weight_hh_l*`   bound = 1 / sqrt(hidden size)
    6. any other                                                      bound = sqrt(6 / (shape[1] * shape[2] * ...))

Rule 1 is there because with 1 in its place ResNet-50 on small batches is chaotic: a last-bit difference in the
first step becomes 10% of the loss by the fifth, whatever the learning rate, and nothing could be compared.

Both divisions and square roots are in double. Running means start at 0, running variances at 1;
optimiser state starts at 0.

Inputs
------
Batch k of an input is the tensor called `<input>.<k>`, e.g. `input.0`, generated at its full shape,
the batch dimension included:

    input    float, bound 1, so uniform in [-1, 1)
    label    class index, z mod classes (NCF and ConvLSTM: 0 or 1, z mod 2, used as float)
    tokens   z mod vocabulary
    users    z mod number of users
    items    z mod number of items

Benchmarks use batch 0 for every step. Golden files use batch (step mod batches).
"""

import math

import numpy as np
import torch
from torch import nn

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
# Elements generated at a time: the temporaries stay in cache and do not show in a benchmark's peak memory.
CHUNK = 1 << 16


def fnv1a64(name):
    h = 0xCBF29CE484222325
    for byte in name.encode("utf-8"):
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def bits(name, start, stop):
    """z_start ... z_(stop-1) of the tensor called `name`."""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a64(name)) + np.arange(start + 1, stop + 1, dtype=np.uint64) * GOLDEN_GAMMA
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _generate(name, shape, dtype, convert):
    size = math.prod(shape)
    flat = np.empty(size, dtype)
    for start in range(0, size, CHUNK):
        stop = min(start + CHUNK, size)
        flat[start:stop] = convert(bits(name, start, stop))
    return torch.from_numpy(flat.reshape(shape))


def uniform(name, shape, bound=1.0):
    """float32 tensor, uniform in [-bound, bound)."""
    def convert(z):
        u = (z >> np.uint64(40)).astype(np.float64) * 2.0**-24
        return ((2.0 * u - 1.0) * bound).astype(np.float32)
    return _generate(name, shape, np.float32, convert)


def integers(name, shape, n):
    """int64 tensor, uniform in 0 ... n-1."""
    return _generate(name, shape, np.int64, lambda z: (z % np.uint64(n)).astype(np.int64))


def parameter_rules(model):
    """{parameter name: {"init": "constant", "value": v} or {"init": "uniform", "bound": b}}, in the model's order."""
    small = {f"{path}.{module.residual_norm}.weight"
             for path, module in model.named_modules() if hasattr(module, "residual_norm")}
    rules = {}
    for path, module in model.named_modules():
        for local, parameter in module.named_parameters(recurse=False):
            name = f"{path}.{local}" if path else local
            if name in small:
                rules[name] = {"init": "constant", "value": 0.125}
            elif parameter.dim() == 1:
                rules[name] = {"init": "constant", "value": 1.0 if local.endswith("weight") else 0.0}
            elif isinstance(module, nn.Embedding):
                rules[name] = {"init": "uniform", "bound": 0.1}
            elif isinstance(module, nn.RNNBase):
                rules[name] = {"init": "uniform", "bound": 1.0 / math.sqrt(module.hidden_size)}
            else:
                rules[name] = {"init": "uniform", "bound": math.sqrt(6.0 / math.prod(parameter.shape[1:]))}
    return {name: rules[name] for name, _ in model.named_parameters()}


@torch.no_grad()
def initialise(model):
    """Overwrites every parameter of the model by the rules above; returns the model."""
    parameters = dict(model.named_parameters())
    for name, rule in parameter_rules(model).items():
        parameter = parameters[name]
        if rule["init"] == "uniform":
            parameter.copy_(uniform(name, tuple(parameter.shape), rule["bound"]))
        else:
            parameter.fill_(rule["value"])
    return model
