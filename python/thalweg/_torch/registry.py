"""Which function converts which operator of PyTorch."""

CONVERSIONS = {}


def converts(*names):
    """Registers a function for operators, named without "aten.": "relu.default".

    It is called with the converter and the operator's arguments as the exported program has them: values of the graph,
    tensors that are constant, sizes, numbers, lists of these.
    """

    def register(function):
        for name in names:
            CONVERSIONS["aten." + name] = function
        return function

    return register
