"""Builds a Thalweg graph from a program that torch.export made."""

import operator

import torch
import torch.utils._pytree as pytree
from torch.export.graph_signature import InputKind, OutputKind

import thalweg._torch.arithmetic  # noqa: F401 (these register conversions)
import thalweg._torch.layers  # noqa: F401
import thalweg._torch.recurrent  # noqa: F401
import thalweg._torch.reductions  # noqa: F401
import thalweg._torch.shapes  # noqa: F401
from thalweg import ops
from thalweg._core import Error, Graph, Model, Value
from thalweg._torch.export import decompose, export_module
from thalweg._torch.free import Filled, FreeSize, size_from
from thalweg._torch.problems import ASSERTIONS, Missing, Problems, is_operator
from thalweg._torch.registry import CONVERSIONS

# What an operator is expressed by may have to be expressed by something simpler in turn.
_ATTEMPTS = 4
_FOLLOWED = {operator.getitem: lambda converter, sequence, index: sequence[index]}


def name_of_dtype(dtype):
    """As numpy names it."""
    return str(dtype).removeprefix("torch.")


def _conversion(target):
    return _FOLLOWED.get(target) or CONVERSIONS.get(str(target))


def _gives_size(node):
    value = node.meta.get("val")
    return isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool)


class Converter:
    """Walks over the nodes of an exported program; conversions call its methods."""

    def __init__(self, program, name):
        self.program = program
        self.graph = Graph(name)
        self.node = None
        self.problems = Problems()
        self._results = {}
        self._batch = None
        signature = program.graph_signature
        self._specs = {spec.arg.name: spec for spec in signature.input_specs}
        self._mutated = {spec.target for spec in signature.output_specs if spec.kind == OutputKind.BUFFER_MUTATION}

    def convert(self):
        for node in self.program.graph.nodes:
            self.node = node
            try:
                self._results[node] = self._visit(node)
            except Error as error:
                self.problems.add_refused(node, str(error))
                self._results[node] = Missing()
        return self.graph

    # What conversions ask for.

    def value(self, given, dtype=None):
        """A value of the graph for a value, a constant tensor or a filled one; cast to `dtype` if that differs."""
        if isinstance(given, Filled):
            given = self.fill(given)
        elif isinstance(given, torch.Tensor):
            given = self.graph.constant((given if dtype is None else given.to(dtype)).detach().contiguous())
        elif not isinstance(given, Value):
            given = self.graph.constant(torch.tensor(given, dtype=dtype or self.dtype()))
        wanted = None if dtype is None else name_of_dtype(dtype)
        return given if wanted is None or given.dtype == wanted else ops.cast(given, wanted)

    def dtype(self):
        """Of the (first) result of the present operator."""
        result = self.node.meta["val"]
        return (result[0] if isinstance(result, (tuple, list)) else result).dtype

    def shape(self):
        """Of the result of the present operator, with FreeSize for free dimensions."""
        return [size_from(size) for size in self.node.meta["val"].shape]

    def shape_of_argument(self, index):
        """The same of an argument."""
        return [size_from(size) for size in self.node.args[index].meta["val"].shape]

    def fill(self, filled):
        """A filled tensor as a value: a number, expanded along the batch of an input."""
        free = [size for size in filled.shape if isinstance(size, FreeSize)]
        if len(free) != 1 or self._batch is None:
            self.fail(f"makes a tensor of shape {filled.shape}: only the batch may be free")
        others = list(range(1, self._batch.ndim))
        batch = ops.slice(self._batch, [0] * len(others), [1] * len(others), others) if others else self._batch
        like = ops.reshape(batch, [-1 if isinstance(size, FreeSize) else 1 for size in filled.shape])
        number = self.graph.constant(torch.tensor(filled.number, dtype=filled.dtype))
        (value,) = self.graph.add("expand_like", [number, like])
        return ops.expand(value, [-1 if isinstance(size, FreeSize) else size for size in filled.shape])

    def fail(self, reason):
        """Refuses the present operator; the walk goes on, so that one error can tell all that is refused."""
        raise Error(reason)

    # The walk.

    def _visit(self, node):
        if node.op == "placeholder":
            return self._placeholder(self._specs[node.name])
        if node.op == "call_function":
            return self._call(node)
        if node.op == "output":
            return self._finish(node.args[0])
        # A part of the module that only an operator such as cond calls: that one is told.
        return Missing()

    def _placeholder(self, spec):
        if spec.kind == InputKind.USER_INPUT:
            given = self.node.meta.get("val")
            return self._input(spec.arg.name) if isinstance(given, torch.Tensor) else given
        if spec.kind == InputKind.PARAMETER:
            parameter = self.program.state_dict[spec.target]
            return self.graph.parameter(spec.target, parameter.detach().contiguous(), parameter.requires_grad)
        if spec.kind == InputKind.BUFFER and spec.target in self._mutated and not self._counts_batches(spec.target):
            return self.graph.state(spec.target, self.program.state_dict[spec.target].detach().contiguous())
        held = self.program.state_dict if spec.target in self.program.state_dict else self.program.constants
        return held[spec.target].detach()

    @staticmethod
    def _counts_batches(name):
        """What batch normalisation counts without using it."""
        return name.endswith("num_batches_tracked")

    def _input(self, name):
        example = self.node.meta["val"]
        sizes = [size_from(size) for size in example.shape]
        shape = [None if isinstance(size, FreeSize) else size for size in sizes]
        value = self.graph.input(name, shape, name_of_dtype(example.dtype))
        if self._batch is None and shape and shape[0] is None:
            self._batch = value
        return value

    def _call(self, node):
        if _gives_size(node):
            return size_from(node.meta["val"])
        if str(node.target) in ASSERTIONS:
            return None
        arguments = torch.fx.map_arg(node.args, self._resolve)
        named = torch.fx.map_arg(node.kwargs, self._resolve)
        leaves = pytree.tree_leaves((arguments, named))
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if not random and not any(isinstance(leaf, (Value, Filled, FreeSize, Missing)) for leaf in leaves):
            # Nothing in it depends on inputs, parameters or the batch: PyTorch itself can compute it.
            return node.target(*arguments, **named)
        conversion = _conversion(node.target)
        missing = [leaf for leaf in leaves if isinstance(leaf, Missing)]
        if conversion is None and is_operator(node.target):
            self.problems.add_unsupported(node)
            return Missing()
        if conversion is None:
            return Missing(told=any(leaf.told for leaf in missing))
        if missing and not any(leaf.told for leaf in missing):
            self.fail("takes a number that is computed of the batch size")
        return Missing() if missing else conversion(self, *arguments, **named)

    def _resolve(self, node):
        return self._results[node]

    def _finish(self, results):
        if self.problems:
            return
        outputs = []
        for spec, result in zip(self.program.graph_signature.output_specs, results):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                state = self.graph.find(spec.target)
                if state is not None:
                    self.graph.assign(state, self.value(self._results[result]))
            elif spec.kind == OutputKind.USER_OUTPUT:
                outputs.append(self.value(self._results[result]))
        for number, value in enumerate(outputs):
            self.graph.mark_output(value, "output" if len(outputs) == 1 else f"output{number}")


def convert_module(module, args, kwargs, *, free_batch, training):
    """The graph of a module and the program that it was made of."""
    program = export_module(module, args, kwargs, free_batch, training)
    for _ in range(_ATTEMPTS):
        converter = Converter(program, type(module).__name__)
        graph = converter.convert()
        if not converter.problems:
            return graph, program
        simpler = decompose(program, converter.problems.unsupported)
        if simpler is None:
            break
        program = simpler
    raise Error(converter.problems.report())


def from_torch(
    module: torch.nn.Module, example_inputs, *, free_batch: bool = True, training: bool = True, **options
) -> Model:
    """A model that computes what a PyTorch module does, for inference and for training.

    ``example_inputs`` is a tensor or a tuple of what the module's forward takes. The first dimension of each tensor stays
    free unless ``free_batch`` is off; all other sizes are those of the examples. Batch normalisation, dropout and the like
    are taken over in training form even if the module is in inference mode (parts of a module in training mode that were
    put into inference mode by themselves stay there); with ``training`` off the model is what the module computes at
    inference and cannot learn statistics. Weights are copied and keep their names: ``load_into_torch`` brings them back.
    ``options`` are those of thalweg.Model. One error lists all operators that cannot be converted.

    >>> import torch, thalweg
    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> model = thalweg.from_torch(module, torch.zeros(1, 4))
    >>> model.weight_names()
    ['0.weight', '0.bias', '2.weight', '2.bias']
    """
    examples = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    graph, _ = convert_module(module, examples, {}, free_batch=free_batch, training=training)
    return Model(graph, **options)


def load_into_torch(model: Model, module: torch.nn.Module) -> torch.nn.Module:
    """Copies the weights of a model that came from ``module``, trained or not, back into it. Returns the module."""
    weights = {name: torch.from_numpy(value) for name, value in model.state_dict().items()}
    missing, unexpected = module.load_state_dict(weights, strict=False)
    if unexpected:
        raise Error(f"the module has no weights named {', '.join(unexpected)}: the model came from another one")
    lacking = [name for name, _ in module.named_parameters() if name in missing and name not in weights]
    tied = {parameter.data_ptr() for name, parameter in module.named_parameters() if name in weights}
    lacking = [name for name in lacking if module.get_parameter(name).data_ptr() not in tied]
    if lacking:
        raise Error(f"the model has no weights named {', '.join(lacking)}: it came from another module")
    return module
