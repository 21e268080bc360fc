"""Weights that a module uses and PyTorch does not know as its own."""

import torch


def unregistered_weights(module):
    """The places, as "layers[0].weight", of parameters that lie in lists, tuples and dicts of Python's, where PyTorch does
    not look for them: module.parameters() lacks them, and torch.export takes them for constants."""
    known = {id(parameter) for parameter in module.parameters()}
    found = {}
    for path, part in module.named_modules():
        for name, held in vars(part).items():
            if not name.startswith("_") and isinstance(held, (list, tuple, dict)):
                for place, parameter in _parameters_in(held, f"{path}.{name}" if path else name):
                    if id(parameter) not in known:
                        found.setdefault(id(parameter), place)
    return list(found.values())


def _parameters_in(held, place):
    if isinstance(held, torch.nn.Parameter):
        yield place, held
    elif isinstance(held, torch.nn.Module):
        for name, parameter in held.named_parameters():
            yield f"{place}.{name}", parameter
    elif isinstance(held, (list, tuple)):
        for number, one in enumerate(held):
            yield from _parameters_in(one, f"{place}[{number}]")
    elif isinstance(held, dict):
        for key, one in held.items():
            yield from _parameters_in(one, f"{place}[{key!r}]")
