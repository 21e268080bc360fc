"""Builds a Thalweg graph from a program that torch.export made."""

import collections
import collections.abc
import operator
import warnings

import torch
import torch.utils._pytree as pytree
from torch.export.graph_signature import InputKind, OutputKind

import thalweg._torch.arithmetic  # noqa: F401 (these register conversions)
import thalweg._torch.attention  # noqa: F401
import thalweg._torch.bags  # noqa: F401
import thalweg._torch.fourier  # noqa: F401
import thalweg._torch.functions  # noqa: F401
import thalweg._torch.indexing  # noqa: F401
import thalweg._torch.layers  # noqa: F401
import thalweg._torch.linear_algebra  # noqa: F401
import thalweg._torch.losses  # noqa: F401
import thalweg._torch.matrices  # noqa: F401
import thalweg._torch.norms  # noqa: F401
import thalweg._torch.ordering  # noqa: F401
import thalweg._torch.recurrent  # noqa: F401
import thalweg._torch.reductions  # noqa: F401
import thalweg._torch.resizing  # noqa: F401
import thalweg._torch.sampling  # noqa: F401
import thalweg._torch.scans  # noqa: F401
import thalweg._torch.scattering  # noqa: F401
import thalweg._torch.shapes  # noqa: F401
from thalweg import ops
from thalweg._core import Error, Graph, Model, Value
from thalweg._torch.complex_numbers import Complex, conversion_of, is_complex, part_dtype, parts_of_pairs
from thalweg._torch.export import BatchNotFree, decompose, export_module
from thalweg._torch.folding import fold
from thalweg._torch.free import Deferred, FreeSize, Repeated, size_from
from thalweg._torch.outputs import output_names
from thalweg._torch.problems import ASSERTIONS, Missing, Problems, is_operator
from thalweg._torch.refusals import what_fixes_sizes
from thalweg._torch.registry import CONVERSIONS
from thalweg._torch.strangers import unregistered_weights
from thalweg._torch.tied import TiedModel
from thalweg._torch.weights import ModelWeights, as_in_module, computed_dtype, held, name_of_dtype

# What an operator is expressed by may have to be expressed by something simpler in turn.
_ATTEMPTS = 4
_NAMED_WEIGHTS = 3
_FOLLOWED = {operator.getitem: lambda converter, sequence, index: sequence[index]}


def _conversion(target):
    return _FOLLOWED.get(target) or CONVERSIONS.get(str(target))


def _free_places(shape):
    return [place for place, size in enumerate(shape) if size is None or isinstance(size, FreeSize)]


def _gives_size(node):
    value = node.meta.get("val")
    return isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool)


class Converter:
    """Walks over the nodes of an exported program; conversions call its methods."""

    def __init__(self, program, name, training, weights):
        self.program = program
        self.training = training
        self.weights = weights
        self.graph = Graph(name)
        self.node = None
        self.problems = Problems()
        # What the module returns: values of the graph, and what is no tensor: None, numbers, sizes.
        self.outputs = []
        # The element type that the module gives each of them; None for what is no tensor.
        self.output_dtypes = []
        # The inputs that a caller gives, in order.
        self.user_inputs = []
        # For each free size of an input, by name: the number of that input, and the dimension.
        self.free_sizes = {}
        # Parameters have one name in the graph; the other names of those that are shared, each with that one.
        self.other_names = {}
        # Running statistics that a batch norm has brought up to date, for where it is applied again: by id, the value, which
        # keeps that id taken, and the name of the state.
        self.running_statistics = {}
        # How many operators have drawn at random.
        self.draws = 0
        self._results = {}
        self._shared = {}
        self._marked = []
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
            except Exception as error:
                # Of arguments that a conversion does not expect: whoever reads of it should know where.
                self.problems.add_refused(node, f"{type(error).__name__}: {error}")
                self._results[node] = Missing()

    # What conversions ask for.

    def value(self, given, dtype=None):
        """A value of the graph for a value, a constant, a number; cast to `dtype` if that differs."""
        dtype = None if dtype is None else computed_dtype(dtype)
        if isinstance(given, Repeated):
            given = self.repeat(self.value(given.tensor, dtype), given.shape)
        elif isinstance(given, Deferred):
            given = given.value(self, dtype)
        elif isinstance(given, FreeSize):
            given = self.size_value(given)
        elif isinstance(given, torch.Tensor):
            given = self.graph.constant(held(given if dtype is None else given.to(dtype)))
        elif not isinstance(given, Value):
            given = self.graph.constant(torch.tensor(given, dtype=dtype or self.dtype()))
        wanted = None if dtype is None else name_of_dtype(dtype)
        return given if wanted is None or given.dtype == wanted else ops.cast(given, wanted)

    def size_value(self, size):
        """A free size as a number of the graph, in float32: a multiple of what an input tells, and a constant."""
        name, factor, added = size.linear()
        if name not in self.free_sizes:
            self.fail(f"computes with the size {size}: only multiples of the batch are known")
        number, dim = self.free_sizes[name]
        count = ops.element_count(self.graph.inputs[number], [dim])
        count = count if factor == 1 else count * float(factor)
        return count if added == 0 else count + float(added)

    def dtype(self):
        """That the (first) result of the present operator is computed in: of complex numbers, each part."""
        result = self.node.meta["val"]
        return computed_dtype(part_dtype((result[0] if isinstance(result, (tuple, list)) else result).dtype))

    def shape(self):
        """Of the result of the present operator, with FreeSize for free dimensions."""
        return [size_from(size) for size in self.node.meta["val"].shape]

    def shape_of_argument(self, index):
        """The same of an argument."""
        return [size_from(size) for size in self.node.args[index].meta["val"].shape]

    def repeat(self, value, shape):
        """A value expanded to a shape with a free size, which only an input can tell."""
        free = [size for size in shape if isinstance(size, FreeSize)]
        if len(free) == 1 and free[0].factor > 1:
            return self._repeat_multiple(value, shape, free[0])
        if len(free) != 1 or free[0].expression not in self.free_sizes:
            self.fail(f"makes a tensor of shape {shape}: only the batch may be free")
        number, dim = self.free_sizes[free[0].expression]
        given = self.graph.inputs[number]
        others = [other for other in range(given.ndim) if other != dim]
        batch = ops.slice(given, [0] * len(others), [1] * len(others), others) if others else given
        like = ops.reshape(batch, [-1 if isinstance(size, FreeSize) else 1 for size in shape])
        like = ops.expand(like, [-1 if isinstance(size, FreeSize) else size for size in shape])
        (value,) = self.graph.add("expand_like", [value, like])
        return value

    def _repeat_multiple(self, value, shape, size):
        """Along a multiple of the batch, as of heads: two dimensions as one. What has the others is repeated as a whole."""
        place = shape.index(size)
        value = ops.unsqueeze(value, list(range(len(shape) - value.ndim))) if value.ndim < len(shape) else value
        if value.shape[place] not in (1, size.factor):
            self.fail(f"makes a tensor of shape {shape} of one of shape {list(value.shape)}")
        before, after = shape[:place], shape[place + 1 :]
        value = self.repeat(ops.unsqueeze(value, [place]), [*before, size.divided_by(size.factor), size.factor, *after])
        return ops.reshape(value, [*before, -1, *after])

    def aligned(self, operands, dtypes=None):
        """Values to be broadcast together, of one element type or of one each.

        Constants are not repeated along what another one has free.
        """
        dtypes = dtypes if isinstance(dtypes, list) else [dtypes] * len(operands)
        given_values = [(given, dtype) for given, dtype in zip(operands, dtypes) if isinstance(given, (Value, Deferred))]
        values = {id(given): self.value(given, dtype) for given, dtype in given_values}
        free = {place - value.ndim for value in values.values() for place in _free_places(value.shape)}

        def aligned(given, dtype):
            if isinstance(given, Repeated) and {place - len(given.shape) for place in _free_places(given.shape)} <= free:
                given = given.tensor
            return self.value(values.get(id(given), given), dtype)

        return [aligned(given, dtype) for given, dtype in zip(operands, dtypes)]

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
            return self._parameter(spec.target)
        known = self.program.state_dict if spec.target in self.program.state_dict else self.program.constants
        if spec.kind != InputKind.BUFFER:
            return known[spec.target].detach()
        return self.weights.buffer(self.graph, spec.target, known[spec.target], spec.target in self._mutated)

    def _parameter(self, name):
        parameter = self.program.state_dict[name]
        known = self._shared.get(id(parameter))
        if known is not None:
            self.other_names[name] = known.name
            return parts_of_pairs(known) if parameter.is_complex() else known
        value = self.weights.parameter(self.graph, name, parameter)
        self._shared[id(parameter)] = value
        return parts_of_pairs(value) if parameter.is_complex() else value

    def _input(self, name):
        example = self.node.meta["val"]
        sizes = [size_from(size) for size in example.shape]
        shape = [None if isinstance(size, FreeSize) else size for size in sizes]
        number = len(self.graph.inputs)
        for dim, size in enumerate(sizes):
            if isinstance(size, FreeSize) and size.is_symbol:
                self.free_sizes.setdefault(size.expression, (number, dim))
        value = self.graph.input(name, shape, name_of_dtype(computed_dtype(example.dtype)))
        self.user_inputs.append(value)
        return value

    def _call(self, node):
        if _gives_size(node):
            return size_from(node.meta["val"])
        if str(node.target) in ASSERTIONS:
            return None
        arguments = torch.fx.map_arg(node.args, self._resolve)
        named = torch.fx.map_arg(node.kwargs, self._resolve)
        folded = fold(node, arguments, named)
        if folded is not None:
            return folded
        leaves = pytree.tree_leaves((arguments, named))
        conversion = _conversion(node.target)
        if any(map(is_complex, leaves)):
            conversion = conversion_of(node.target, conversion)
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
        for spec, result in zip(self.program.graph_signature.output_specs, results):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                self.weights.change(self.graph, spec.target, self.value(self._results[result]))
            elif spec.kind == OutputKind.USER_OUTPUT:
                self.outputs.append(self._output(result))
                self.output_dtypes.append(self._dtype_of(result))
        is_tensor = [isinstance(output, Value) for output in self.outputs]
        if not any(is_tensor):
            self.fail("the module returns no tensor")
        names = output_names(self.program.call_spec.out_spec, is_tensor)
        for number, output in enumerate(self.outputs):
            if is_tensor[number]:
                self.outputs[number] = self._mark_output(output, names[number])

    def _mark_output(self, value, name):
        """What has a name already, as an input or another output, gets another one for this."""
        if value.kind != "computed" or any(value is known for known in self._marked):
            value = ops.reshape(value, [0] * value.ndim)
        self.graph.mark_output(value, name)
        self._marked.append(value)
        return value

    @staticmethod
    def _dtype_of(result):
        given = result.meta.get("val") if isinstance(result, torch.fx.Node) else result
        return given.dtype if isinstance(given, torch.Tensor) else None

    def _output(self, result):
        given = self._results[result] if isinstance(result, torch.fx.Node) else result
        if isinstance(given, Complex):
            self.fail("the module returns complex numbers, which a model has none of: return torch.view_as_real of them")
        return self.value(given) if isinstance(given, (Value, torch.Tensor, Repeated, Deferred)) else given


def convert_module(module, args, kwargs, *, batch_dim, training, weights=ModelWeights):
    """The converter of a module, which holds the graph and what of the module's way to be called is not in it."""
    program = export_module(module, args, kwargs, batch_dim, training)
    for _ in range(_ATTEMPTS):
        converter = Converter(program, type(module).__name__, training, weights())
        converter.convert()
        if not converter.problems:
            return converter
        simpler = decompose(program, converter.problems.unsupported)
        if simpler is None:
            break
        program = simpler
    raise Error(converter.problems.report())


def _arguments(example_inputs):
    """(positional, by name): a mapping, as tokenizers give, has the names of arguments."""
    if isinstance(example_inputs, collections.abc.Mapping):
        return (), dict(example_inputs)
    return (example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)), {}


def _warn_of_strangers(module):
    places = unregistered_weights(module) if isinstance(module, torch.nn.Module) else []
    if places:
        shown = ", ".join(places[:_NAMED_WEIGHTS]) + (f" and {len(places) - _NAMED_WEIGHTS} more" if len(places) > _NAMED_WEIGHTS else "")
        warnings.warn(
            f"{shown}: PyTorch does not know these weights as the module's own, since they lie in a list or dict of Python's. "
            "They are constants of the model and are not trained: hold modules in torch.nn.ModuleList or ModuleDict, parameters "
            "in torch.nn.ParameterList or ParameterDict",
            stacklevel=3,
        )


def from_torch(
    module: torch.nn.Module,
    example_inputs,
    *more_inputs,
    free_batch: bool = True,
    batch_dim: int = 0,
    training: bool = True,
    **options,
) -> Model:
    """A model that computes what a PyTorch module does, for inference and for training.

    ``example_inputs`` is a tensor, a tuple of what the module's forward takes, or a dict of it by name, as tokenizers
    give; several tensors may stand without a tuple, too. The model's inputs have the names of forward's arguments, and its outputs those of the fields and keys of what
    forward returns, if it has any. The first dimension of each tensor
    stays free unless ``free_batch`` is off; all other sizes are those of the examples. ``batch_dim=1`` is for modules
    that take sequences first, [time, batch, features], as PyTorch's do unless they are made with batch_first: it leaves
    the second free in place of the first. Where that cannot be, the dimension is free that has the size of the first
    input's batch, as in the state of a recurrent layer. bfloat16 and float16 become float32, in weights and inputs. Batch normalisation,
    dropout and the like are taken over in training form even if the module is in inference mode (parts of a module in
    training mode that were put into inference mode by themselves stay there); with ``training`` off the model is what
    the module computes at inference and cannot learn statistics. Nothing is trained through detach() and
    torch.no_grad(). What the module returns besides tensors (None, numbers, sizes) is no output of the model. Weights
    are copied and keep their names: ``load_into_torch`` brings them back. ``options`` are those of thalweg.Model. One
    error lists all operators that cannot be converted. Parameters that the module shares are one parameter of the
    model, with all their names in ``state_dict``.

    >>> import torch, thalweg
    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> model = thalweg.from_torch(module, torch.zeros(1, 4))
    >>> model.weight_names()
    ['0.weight', '0.bias', '2.weight', '2.bias']
    """
    args, kwargs = _arguments((example_inputs, *more_inputs) if more_inputs else example_inputs)
    _warn_of_strangers(module)
    failure = None
    try:
        converted = convert_module(
            module, args, kwargs, batch_dim=batch_dim if free_batch else None, training=training
        )
    except BatchNotFree as error:
        failure = error.__cause__
    if failure is not None:
        # If the module does not take the examples in the first place, this tells it.
        converted = convert_module(module, args, kwargs, batch_dim=None, training=training)
        reason = str(failure).strip().partition("\n")[0]
        warnings.warn(f"the sizes of the model's inputs are fixed, torch.export fails otherwise: {reason}", stacklevel=2)
    elif free_batch and not converted.free_sizes:
        warnings.warn(
            f"the batch of the model's inputs is fixed{what_fixes_sizes(converted.program)}. len(x), int(x.shape[0]) and "
            "comparisons make a certain number of it, which torch.export keeps; x.shape[0] itself leaves it free",
            stacklevel=2,
        )
    if converted.other_names:
        return TiedModel(converted.graph, converted.other_names, **options)
    return Model(converted.graph, **options)


def load_into_torch(model: Model, module: torch.nn.Module) -> torch.nn.Module:
    """Copies the weights of a model that came from ``module``, trained or not, back into it. Returns the module."""
    weights = collections.OrderedDict((name, torch.from_numpy(value)) for name, value in model.state_dict().items())
    for name, tensor in module.state_dict(keep_vars=True).items():
        if name in weights and isinstance(tensor, torch.Tensor) and tensor.is_complex():
            weights[name] = as_in_module(weights[name], tensor.dtype)
    # Which versions of modules they are for; some change weights that have none.
    weights._metadata = module.state_dict()._metadata
    missing, unexpected = module.load_state_dict(weights, strict=False)
    if unexpected:
        raise Error(f"the module has no weights named {', '.join(unexpected)}: the model came from another one")
    lacking = [name for name, _ in module.named_parameters() if name in missing and name not in weights]
    tied = {parameter.data_ptr() for name, parameter in module.named_parameters() if name in weights}
    lacking = [name for name in lacking if module.get_parameter(name).data_ptr() not in tied]
    if lacking:
        raise Error(f"the model has no weights named {', '.join(lacking)}: it came from another module")
    return module
