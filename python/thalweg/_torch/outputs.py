"""The names of what a module returns."""


def _names_in(context, count):
    """The keys or fields that the context of a structure lists, one for each part; numbers where it lists none."""
    if hasattr(context, "_fields"):
        return list(context._fields)
    if isinstance(context, (list, tuple)):
        if len(context) == count and all(isinstance(name, str) for name in context):
            return list(context)
        # A dataclass lists those of its fields that hold something first.
        if context and isinstance(context[0], (list, tuple)):
            return _names_in(context[0], count)
    return list(range(count))


def _paths(spec, path):
    """The way to each leaf of a structure, in order."""
    if spec.is_leaf():
        return [path]
    parts = spec.children()
    names = _names_in(spec.context, len(parts))
    return [found for name, part in zip(names, parts) for found in _paths(part, [*path, name])]


def output_names(structure, is_tensor):
    """A name for each leaf of the structure that a module returns, for which `is_tensor` tells which are tensors.

    Fields and keys name them, as "logits" or "hidden_states.2"; a tensor alone is "output", and those of a plain tuple
    are "output0", "output1", ...
    """
    alone, place, result = sum(is_tensor) == 1, 0, []
    for path, tensor in zip(_paths(structure, []), is_tensor):
        if any(isinstance(step, str) for step in path):
            result.append(".".join(map(str, path)))
        else:
            result.append("output" if alone else f"output{place}")
        place += tensor
    return result
