"""What a row of the tables says."""

import collections.abc
import dataclasses

import torch


@dataclasses.dataclass
class Network:
    """How to make a network, and what to give it: tensors by the names that its forward has for them.

    `inputs` gives those for a batch of some size. Answers differ relative to the largest, and weights that were trained
    relative to how far they moved; normalised by small batches, some networks magnify the last bits, so that PyTorch in
    float32 and in float64 part after some `steps` too.
    """

    make: collections.abc.Callable
    inputs: collections.abc.Callable
    batch: int = 2
    rate: float = 0.01
    steps: int = 3
    tolerance: float = 2e-5
    training_tolerance: float = 1e-3


def images(size, name="x"):
    return lambda batch: {name: torch.randn(batch, 3, size, size)}


def of_transformers(kind, config, inputs, options, **row):
    """A model of Hugging Face's package by its class, that of its configuration, and options of that."""

    def make():
        import transformers

        return getattr(transformers, kind)(getattr(transformers, config)(**options))

    return Network(make, inputs, **row)
