"""A PyTorch module that is computed by Thalweg."""

import threading

import torch
import torch.utils._pytree as pytree

from thalweg._core import Error
from thalweg._torch.conversions import Differentiable, Inference, LiveInference
from thalweg._torch.export import BatchNotFree


class Accelerated(torch.nn.Module):
    """Called as the module it was made of; gives what that gives at inference, without gradients.

    The first call with inputs of a new kind (anything but the batch size differs) converts the module with the weights
    that it has then. The conversions used last are kept.
    """

    def __init__(self, module, max_conversions, options):
        super().__init__()
        self._keep(module)
        self._options = options
        self._max_conversions = max_conversions
        self._conversions = []
        self._lock = threading.Lock()

    def _keep(self, module):
        # In a tuple, so that it is no part of this module: its weights are not those in use.
        self._original = (module,)

    def __getstate__(self):
        """Without conversions, for pickle and copy: they are made again, with the module's weights of that moment."""
        return {**self.__dict__, "_conversions": [], "_lock": None}

    def __setstate__(self, state):
        super().__setstate__(state)
        self._lock = threading.Lock()

    def forward(self, *args, **kwargs):
        leaves, structure = pytree.tree_flatten((args, kwargs))
        with self._lock:
            conversion = self._conversion(self._kind(), structure, leaves, args, kwargs)
        return conversion.run(leaves)

    def _kind(self):
        """What a conversion is to be; this one knows one kind."""
        return Inference

    def _conversion(self, kind, structure, leaves, args, kwargs):
        """The one for these inputs, which goes to the end of the list: the first is the one that was used longest ago."""
        known = [
            conversion
            for conversion in self._conversions
            if isinstance(conversion, kind) and conversion.takes(structure, leaves)
        ]
        if known:
            self._conversions.remove(known[0])
        else:
            known = [self._convert(kind, structure, leaves, args, kwargs)]
        self._conversions.append(known[0])
        del self._conversions[: -self._max_conversions]
        return known[0]

    def _convert(self, kind, structure, leaves, args, kwargs):
        try:
            conversion = self._convert_once(kind, structure, leaves, args, kwargs, batch_dim=0)
            # An example of one sample is exported as two; a module that fixes its batch has then the wrong one.
            if conversion.takes(structure, leaves):
                return conversion
        except (BatchNotFree, Error):
            # It may be the free size that stands in the way.
            pass
        return self._convert_once(kind, structure, leaves, args, kwargs, batch_dim=None)

    def _convert_once(self, kind, structure, leaves, args, kwargs, batch_dim):
        return kind(self._module(), structure, leaves, (args, kwargs), batch_dim, self._options)

    def _module(self):
        return self._original[0]


class AcceleratedWithGradients(Accelerated):
    """The module itself, of which Thalweg computes the answers and the gradients, with the weights of every moment.

    It has the module as its part ``module``, and with it its parameters, which an optimiser of PyTorch may train. Its
    modes are those of the module.
    """

    def _keep(self, module):
        self.module = module
        self.training = module.training

    def _module(self):
        return self.module

    def _kind(self):
        asked = torch.is_grad_enabled() or self.module.training
        return Differentiable if asked else LiveInference


def accelerate(module: torch.nn.Module, max_conversions: int = 16, gradients: bool = False, **options) -> Accelerated:
    """The module, computed by Thalweg, with the same way to call it.

    It is converted for each kind of inputs, and ``max_conversions`` are kept at a time. ``options`` are those of
    thalweg.Model; kernels are chosen by measuring unless they say otherwise. Without ``gradients`` it is for inference,
    with the weights that the module has when it is converted. With them it is for a training loop of PyTorch's: it
    computes with the module's own weights at every call, in training mode as in the other, changes running statistics,
    and gives the gradients of parameters and inputs to whatever loss is computed of its results. Gradients of gradients
    it has none.

    >>> import torch, thalweg
    >>> fast = thalweg.accelerate(torch.nn.Linear(4, 3))
    >>> fast(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    >>> trained = thalweg.accelerate(torch.nn.Linear(4, 3), gradients=True)
    >>> optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    >>> trained(torch.ones(2, 4)).square().mean().backward()
    >>> optimizer.step()
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"accelerate takes a torch.nn.Module, not a {type(module).__name__}")
    if max_conversions < 1:
        raise ValueError(f"max_conversions is {max_conversions}, must be at least 1")
    kind = AcceleratedWithGradients if gradients else Accelerated
    return kind(module, max_conversions, {"tuning": "measured", **options})
