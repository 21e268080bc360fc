"""Modules: names, arguments, subclasses, what they build, and errors."""

import copy
import pickle

import numpy as np
import pytest

import thalweg
from thalweg import nn, ops

# Layers with arguments, and the shape (and element type) that they are called with.
LAYERS = [
    (nn.Linear(4, 3, bias=False), (2, 4)),
    (nn.Embedding(10, 3, padding_idx=0), (2, 5)),
    (nn.Conv1d(2, 4, 3, padding=1), (1, 2, 8)),
    (nn.Conv2d(2, 4, (3, 1), stride=2, padding=(1, 0), groups=2, padding_mode="zeros"), (1, 2, 8, 8)),
    (nn.Conv3d(1, 2, 2), (1, 1, 4, 4, 4)),
    (nn.ConvTranspose2d(2, 3, 2, stride=2, output_padding=1), (1, 2, 4, 4)),
    (nn.SeparableConv2d(2, 4, 3, padding=1), (1, 2, 8, 8)),
    (nn.LocalResponseNorm(3), (1, 4, 3, 3)),
    (nn.Highway(4), (2, 4)),
    (nn.Maxout(4, 3, pieces=2), (2, 4)),
    (nn.ConvLSTM(2, 3, 3), (1, 4, 2, 5, 5)),
    (nn.MaxPool2d(2, ceil_mode=True), (1, 2, 5, 5)),
    (nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False), (1, 2, 5, 5)),
    (nn.AdaptiveAvgPool2d((2, 1)), (1, 2, 5, 5)),
    (nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    (nn.ZeroPad2d((1, 0, 2, 0)), (1, 1, 2, 2)),
    (nn.ReflectionPad1d(1), (1, 1, 4)),
    (nn.BatchNorm1d(3), (2, 3)),
    (nn.BatchNorm2d(3, eps=1e-3, momentum=0.2), (2, 3, 4, 4)),
    (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)),
    (nn.LayerNorm((3, 4)), (2, 3, 4)),
    (nn.GroupNorm(2, 4), (2, 4, 3, 3)),
    (nn.Dropout(0.3), (2, 3)),
    (nn.Dropout2d(), (2, 3, 4, 4)),
    (nn.Flatten(2), (2, 3, 4)),
    (nn.Permute([0, 2, 1]), (2, 3, 4)),
    (nn.GELU("tanh"), (2, 3)),
    (nn.LeakyReLU(0.2), (2, 3)),
    (nn.Softmax(dim=1), (2, 3)),
    (nn.ReLU(inplace=True), (2, 3)),
    (nn.PReLU(3), (2, 3)),
    (nn.GLU(), (2, 4)),
    (nn.Concat(nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 2), nn.ReLU())), (2, 4)),
    (nn.Sum(nn.Linear(4, 3), nn.Linear(4, 3, bias=False)), (2, 4)),
    (nn.Residual(nn.Linear(4, 4)), (2, 4)),
    (nn.TimeDistributed(nn.Conv2d(2, 3, 3)), (2, 5, 2, 6, 6)),
    (nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True), (2, 5, 8)),
    (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8)), (2, 5, 8)),
]


def model_of(module, shape):
    dtype = "int64" if isinstance(module, nn.Embedding) else "float32"
    return thalweg.Model(module, [thalweg.Input((None, *shape[1:]), dtype)])


@pytest.mark.parametrize("module, shape", LAYERS, ids=lambda value: type(value).__name__)
def test_layers_run_and_survive_pickle(module, shape, rng):
    model = model_of(module, shape)
    x = (rng.random(shape) * 5).astype(model.graph.inputs[0].dtype)
    result = model(x)
    assert result.shape[0] == shape[0] and np.isfinite(result).all()
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        np.testing.assert_array_equal(model_of(other, shape)(x), result)


def test_recurrent_layers_give_what_pytorch_gives():
    for layer, states in ((nn.LSTM, 2), (nn.GRU, 1), (nn.RNN, 1)):

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = layer(3, 5, num_layers=2, bidirectional=True, batch_first=True)

            def forward(self, x):
                y, last = self.rnn(x)
                return (y, *last) if states == 2 else (y, last)

        model = thalweg.Model(Net(), [thalweg.Input((None, 7, 3))])
        shapes = [result.shape for result in model(np.zeros((2, 7, 3), "float32"))]
        assert shapes == [(2, 7, 10)] + [(4, 2, 5)] * states
        assert "rnn.weight_ih_l1_reverse" in model.weight_names()


class Scaled(nn.Module):
    """Parameters and a buffer of its own, a list of layers, and a layer that is used twice."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.shared = nn.Linear(4, 4)
        self.scale = nn.Parameter(np.full(4, 2.0, "float32"))
        self.register_buffer("offset", np.ones(4, "float32"))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.shared(self.shared(x)) * self.scale + self.offset


def test_subclass(rng):
    net = Scaled()
    model = thalweg.Model(net, [thalweg.Input((None, 4))])
    assert sorted(model.weight_names()) == sorted(
        ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "shared.weight", "shared.bias", "scale", "offset"]
    )
    x = rng.random((3, 4)).astype("float32")
    w = model.state_dict()
    y = x
    for name in ("layers.0", "layers.1", "shared", "shared"):
        y = y @ w[name + ".weight"].T + w[name + ".bias"]
    np.testing.assert_allclose(model(x), y * 2 + 1, rtol=1e-5, atol=1e-5)
    # The module is free for another model, which starts from the same weights.
    again = thalweg.Model(pickle.loads(pickle.dumps(net)), [thalweg.Input((None, 4))])
    np.testing.assert_array_equal(again(x), model(x))
    np.testing.assert_array_equal(net.scale.data, [2, 2, 2, 2])


def test_seeds():
    def weight(seed):
        return thalweg.Model(nn.Linear(3, 3), [thalweg.Input((None, 3))], seed).weight("weight")

    np.testing.assert_array_equal(weight(1), weight(1))
    assert (weight(1) != weight(2)).any()


def test_functional_graph(rng):
    graph = thalweg.Graph()
    x = graph.input("x", (None, 4))
    layer = nn.Linear(4, 4)
    graph.mark_output(nn.Linear(4, 2)(layer(layer(x))), "y")
    model = thalweg.Model(graph)
    assert model.weight_names() == ["linear_1.weight", "linear_1.bias", "linear_2.weight", "linear_2.bias"]
    assert model(rng.random((3, 4)).astype("float32")).shape == (3, 2)


def evaluate(function, *arrays):
    """What a function of values gives for arrays."""
    graph = thalweg.Graph()
    values = [graph.input(f"x{i}", array.shape, array.dtype) for i, array in enumerate(arrays)]
    graph.mark_output(function(*values), "y")
    return thalweg.Model(graph)(*arrays)


def test_operators(rng):
    a, b = (rng.random((3, 4)) + 1 for _ in range(2))
    for function in (
        lambda x, y: x + y,
        lambda x, y: 1 - x / y,
        lambda x, y: 2.0 * x**2 - y * 3,
        lambda x, y: 1.5 / x + -y,
        lambda x, y: x + np.arange(4.0),
        lambda x, y: abs(x - y),
        lambda x, y: x.mean(axis=1) if isinstance(x, np.ndarray) else x.mean(dim=1),
        lambda x, y: x.reshape(2, 6),
        lambda x, y: x @ (y.T if isinstance(y, np.ndarray) else y.transpose(0, 1)),
    ):
        np.testing.assert_allclose(evaluate(function, a, b), function(a, b), rtol=1e-6)


@pytest.mark.parametrize(
    "index", [0, -1, slice(1, 3), (slice(None), 1), (..., -1), (0, slice(None, None, 2)), (None, 0), (slice(None, None, -1),)]
)
def test_indexing(index, rng):
    x = rng.random((3, 4, 5)).astype("float32")
    np.testing.assert_array_equal(evaluate(lambda value: value[index], x), x[index])


def test_ops_take_named_arguments(rng):
    x, w = rng.random((1, 2, 5, 5)).astype("float32"), rng.random((3, 2, 3, 3)).astype("float32")
    y = evaluate(lambda a, b: ops.conv(a, b, strides=[2, 2], pads=[1, 1]), x, w)
    assert y.shape == (1, 3, 3, 3)
    parts = evaluate(lambda a: ops.concat(ops.split(a, [1, 1], 1)[::-1], 1), x)
    np.testing.assert_array_equal(parts, x[:, ::-1])
    values, _ = thalweg.Graph().input("x", (3, 4)), None
    assert [value.shape for value in ops.top_k(values, 2, 1)] == [(3, 2), (3, 2)]


def test_values_outlive_the_name_of_their_graph():
    value = thalweg.Graph().input("x", (2, None), "int32")
    assert (value.name, value.shape, value.dtype, value.kind) == ("x", (2, None), "int32", "input")
    assert ops.cast(value, np.float32).dtype == "float32"


def test_any_op_by_name():
    graph = thalweg.Graph()
    x = graph.input("x", (2, 3))
    (y,) = graph.add("softmax", [x], {"axis": 1}, name="mine")
    node = graph.nodes[-1]
    assert (node.op, node.name, node.attributes, y.shape) == ("softmax", "mine", {"axis": 1}, (2, 3))


def test_errors_name_the_layer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 3))

        def forward(self, x):
            return self.body(x)

    with pytest.raises(thalweg.Error, match=r"body\.1"):
        thalweg.Model(Net(), [thalweg.Input((None, 4))])


def test_containers_of_branches(rng):
    x = rng.random((2, 5, 4)).astype("float32")

    def result(module):
        model = thalweg.Model(module, [thalweg.Input((None, 5, 4))])
        return model(x), model.state_dict()

    joined, w = result(nn.Concat(nn.Linear(4, 3), nn.Identity(), dim=2))
    np.testing.assert_allclose(joined, np.concatenate([x @ w["0.weight"].T + w["0.bias"], x], 2), rtol=1e-5)
    total, w = result(nn.Sum(nn.Linear(4, 4), nn.Identity(), nn.Identity()))
    np.testing.assert_allclose(total, x @ w["0.weight"].T + w["0.bias"] + 2 * x, rtol=1e-5)
    around, w = result(nn.Residual(nn.Linear(4, 4)))
    np.testing.assert_allclose(around, x @ w["body.weight"].T + w["body.bias"] + x, rtol=1e-5)
    steps, w = result(nn.TimeDistributed(nn.Linear(4, 2)))
    np.testing.assert_allclose(steps, x @ w["body.weight"].T + w["body.bias"], rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="Residual is made around a module, not a str"):
        nn.Residual("relu")
    with pytest.raises(thalweg.Error, match="TimeDistributed: takes \\[N, T, ...\\]"):
        thalweg.Model(nn.TimeDistributed(nn.ReLU()), [thalweg.Input((None, 4))])


def test_modules_by_name_and_functions():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.double = nn.Lambda(ops.square)
            self.heads = nn.ModuleDict({"age": nn.Linear(4, 1), "city": nn.Linear(4, 7)})

        def forward(self, x):
            return {name: head(self.double(x)) for name, head in self.heads.items()}

    net = Heads()
    model = thalweg.Model(net, [thalweg.Input((None, 4))])
    assert "heads.city.weight" in model.weight_names() and len(net.heads) == 2
    assert net.heads["age"] is list(net.heads.values())[0]
    answers = model({"input": np.ones((2, 4), "float32")})
    assert {name: answer.shape for name, answer in answers.items()} == {"age": (2, 1), "city": (2, 7)}


def test_misuse_is_explained():
    with pytest.raises(TypeError, match="thalweg.Model"):
        nn.Linear(2, 2)(np.zeros((1, 2), "float32"))
    with pytest.raises(TypeError, match="holds modules; '1' is a str"):
        nn.Sequential(nn.ReLU(), "relu")
    with pytest.raises(thalweg.InputError, match="not a value"):

        class Wrong(nn.Module):
            def forward(self, x):
                return 3

        thalweg.Model(Wrong(), [thalweg.Input((1,))])
    with pytest.raises(TypeError):
        thalweg.Model("resnet50")
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        nn.Linear(2, 2).missing
