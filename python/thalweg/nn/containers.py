"""Modules that hold other modules."""

import copy
from collections.abc import Mapping

from thalweg._core.nn import Module


class _Numbered(Module):
    """Children under the names 0, 1, ..., or under those of a mapping."""

    def __init__(self, modules):
        super().__init__()
        items = modules.items() if isinstance(modules, Mapping) else enumerate(modules)
        for name, module in items:
            if not isinstance(module, Module):
                raise TypeError(f"{type(self).__name__} holds modules; '{name}' is a {type(module).__name__}")
            setattr(self, str(name), module)

    def append(self, module):
        setattr(self, str(len(self)), module)
        return self

    def _modules(self):
        return [module for _, module in self.named_children()]

    def __len__(self):
        return len(self._modules())

    def __iter__(self):
        return iter(self._modules())

    def __getitem__(self, index):
        return self._modules()[index]


class Sequential(_Numbered):
    """Modules one after another; several, or one mapping of names to modules.

    >>> from thalweg import nn
    >>> len(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
    3
    """

    def __init__(self, *modules):
        super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else modules)

    def forward(self, x):
        for module in self:
            x = module(x)
        return x


class ModuleList(_Numbered):
    """A list of modules, which forward() of another module calls as it likes."""

    def __init__(self, modules=()):
        super().__init__(modules)


class TransformerEncoder(Module):
    """``num_layers`` copies of a layer, and a normalisation if there is one."""

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        if norm is not None:
            self.norm = norm

    def forward(self, src, mask=None):
        for layer in self.layers:
            src = layer(src, mask)
        return self.norm(src) if "norm" in vars(self) else src
