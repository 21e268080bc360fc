"""Modules of PyTorch as Thalweg models: the same answers, names, statistics and errors. Run by `make test-torch`."""

import copy
import pickle

import numpy as np
import pytest
import thalweg
import torch
from torch import nn

TOLERANCE = 2e-6


def error(actual, expected):
    """Relative to the largest element."""
    expected = expected.detach().numpy()
    assert actual.shape == expected.shape
    return np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-30)


def assert_same(module, *examples, tolerance=TOLERANCE):
    """At inference, for another batch size than that of the examples."""
    torch.manual_seed(0)
    model = thalweg.from_torch(module, examples)
    module.eval()
    inputs = [torch.cat([example, example, example]) for example in examples]
    with torch.no_grad():
        expected = module(*inputs)
    assert error(model(*[given.numpy() for given in inputs]), expected) < tolerance
    return model


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


ACTIVATIONS = [
    nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.ELU(0.7), nn.SELU(), nn.CELU(0.5), nn.GELU(), nn.GELU("tanh"),
    nn.SiLU(), nn.Mish(), nn.Sigmoid(), nn.LogSigmoid(), nn.Hardsigmoid(), nn.Hardswish(), nn.Hardtanh(-0.3, 0.4),
    nn.Tanh(), nn.Softplus(2.0), nn.Softsign(), nn.Tanhshrink(), nn.Hardshrink(), nn.Softshrink(), nn.PReLU(4),
    nn.Threshold(0.1, -1.0), nn.Softmax(1), nn.LogSoftmax(-1), nn.Softmin(1),
]  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda module: repr(module))
def test_activations(activation):
    assert_same(activation, torch.randn(2, 4, 5))


LAYERS = {
    "conv1d": (nn.Conv1d(4, 6, 3, padding=1, dilation=2), (2, 4, 9)),
    "conv2d": (nn.Conv2d(4, 6, (3, 2), stride=2, padding=(1, 0), groups=2), (2, 4, 9, 8)),
    "conv2d same": (nn.Conv2d(4, 6, (4, 3), padding="same"), (2, 4, 9, 8)),
    "conv3d": (nn.Conv3d(3, 4, 3, bias=False), (2, 3, 5, 6, 7)),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), (2, 4, 5, 5)),
    "max_pool2d": (nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 4, 10, 9)),
    "avg_pool2d": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 4, 10, 9)),
    "adaptive_avg_pool2d": (nn.AdaptiveAvgPool2d((2, 3)), (2, 4, 7, 9)),
    "adaptive_max_pool1d": (nn.AdaptiveMaxPool1d(3), (2, 4, 9)),
    "linear": (nn.Linear(5, 7), (2, 3, 5)),
    "bilinear upsampling": (nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 5)),
    "nearest upsampling": (nn.Upsample(size=(7, 9)), (2, 3, 4, 5)),
    "layer_norm": (nn.LayerNorm((4, 5)), (2, 3, 4, 5)),
    "group_norm": (nn.GroupNorm(2, 6), (2, 6, 5)),
    "batch_norm1d": (nn.BatchNorm1d(6), (4, 6)),
    "batch_norm2d without affine": (nn.BatchNorm2d(6, affine=False), (2, 6, 4, 4)),
    "instance_norm1d": (nn.InstanceNorm1d(6), (2, 6, 5)),
    "instance_norm1d with affine": (nn.InstanceNorm1d(6, affine=True), (2, 6, 5)),
    "instance_norm2d": (nn.InstanceNorm2d(6, eps=0.1), (2, 6, 4, 5)),
    "instance_norm2d with affine": (nn.InstanceNorm2d(6, affine=True), (2, 6, 4, 5)),
    "pixel shuffle": (nn.PixelShuffle(2), (2, 8, 3, 3)),
    "reflection pad": (nn.ReflectionPad2d((1, 2, 0, 1)), (2, 3, 5, 5)),
    "constant pad": (nn.ConstantPad1d((1, 2), 0.5), (2, 3, 5)),
    "encoder": (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (2, 5, 16)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    module, shape = LAYERS[name]
    assert_same(module, torch.randn(shape))


FUNCTIONS = {
    "sizes": (lambda x: x.view(x.size(0), -1).reshape(x.size(0) * 2, 6), [(2, 3, 4)]),
    "cut": (lambda x: torch.cat([part * k for k, part in enumerate(x.split(2, 1))], 1)[:, 1:-1:2], [(2, 6)]),
    "join": (lambda x, y: torch.stack([x, y], 1).unbind(1)[0] + torch.cat([x, y], -1)[..., :4], [(2, 4), (2, 4)]),
    "move": (lambda x: x.permute(0, 2, 1).flip(1).roll(2, 1).transpose(1, 2), [(2, 3, 5)]),
    "reduce": (lambda x: x.sum(1) + x.mean((1,)) + x.amax(1) + x.var(1) + x.std(1) + x.norm(dim=1), [(3, 5)]),
    "choose": (lambda x: torch.where(x > 0, x, 0.1 * x).masked_fill(x > 1, 2.0).clamp(max=1.5), [(2, 9)]),
    "powers": (lambda x, y: (x.abs() + 1) ** y + x**2, [(2, 5), (2, 5)]),
    "arithmetic": (lambda x, y: (2 - x) * y**2 / (y.abs() + 1) - x.pow(3) + 1 / (x * x + 1), [(2, 5), (2, 5)]),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), [(2, 3, 4), (2, 4, 5)]),
    "top": (lambda x: x.topk(3, 1)[0] + x.max(1, keepdim=True)[0], [(2, 8)]),
    "sort": (lambda x: x.sort(1)[0] - x.sort(-1, descending=True)[0] * torch.arange(6), [(2, 6)]),
    "order": (lambda x: x.argsort(1) + 10 * x.argsort(1, descending=True) + 100 * x.sort(1)[1], [(2, 6)]),
    "stable order": (
        lambda x: torch.argsort(x.round(), dim=1, stable=True) + x.round().sort(dim=1, stable=True)[0],
        [(2, 9)],
    ),
    "classes": (lambda x: nn.functional.one_hot(x.argmax(1), 5) * x + nn.functional.one_hot(x.argmax(1), 5), [(2, 5)]),
    "attention": (
        lambda q, k: nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True),
        [(2, 2, 6, 8), (2, 2, 6, 8)],
    ),
    "count": (lambda x: torch.arange(x.size(0))[:, None] + torch.arange(0, 3 * x.size(0), 3)[:, None] + x, [(2, 3)]),
    "fill": (lambda x: torch.cat([torch.ones(x.size(0), 1), x, x.new_zeros(x.size(0), 2)], 1), [(2, 3)]),
}


def _with_zeros(x):
    x = x.clone()
    x[:, 1:3].zero_()
    x[:, -1] = 2 * x[:, 0]
    return x


FUNCTIONS["change in place"] = (_with_zeros, [(2, 5)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, shapes = FUNCTIONS[name]
    assert_same(Function(function), *[torch.randn(shape) for shape in shapes])


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.words = nn.Embedding(50, 16, padding_idx=0)
        self.body = kind(16, 24, num_layers=2, **options)
        self.head = nn.Linear(24 * (2 if options.get("bidirectional") else 1), 3)
        self.batch_first = options.get("batch_first", False)

    def forward(self, ids):
        words = self.words(ids)
        y, last = self.body(words if self.batch_first else words.transpose(0, 1))
        hidden = last[0] if isinstance(last, tuple) else last
        return self.head(y[:, -1] if self.batch_first else y[-1]) + hidden.sum((0, 2)).unsqueeze(1)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{"batch_first": True, "bidirectional": True, "dropout": 0.3}, {"bias": False}])
def test_recurrent_layers(kind, options):
    assert_same(Recurrent(kind, **options), torch.randint(0, 50, (3, 7)))


def test_transformer_encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    assert_same(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(2, 5, 32))


class Tokens(nn.Module):
    """A parameter repeated along the batch, a buffer that is a constant, an example of one sample."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, 6))
        self.register_buffer("order", torch.tensor([2, 0, 1]))

    def forward(self, x):
        return torch.cat([self.token.expand(x.size(0), -1, -1), x[:, self.order]], 1)


def test_batch_stays_free_for_an_example_of_one():
    model = thalweg.from_torch(Tokens(), torch.randn(1, 3, 6))
    assert model(np.zeros((5, 3, 6), "float32")).shape == (5, 4, 6)


def test_fixed_batch():
    model = thalweg.from_torch(nn.Linear(3, 2), torch.randn(4, 3), free_batch=False)
    with pytest.raises(ValueError):
        model(np.zeros((5, 3), "float32"))


def test_weights_keep_names_and_come_back():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))
    model = thalweg.from_torch(module, torch.randn(2, 3, 8, 8))
    assert set(model.weight_names()) == set(module.state_dict())
    model.set_weight("3.bias", np.array([5.0, 6.0], "float32"))
    model.set_weight("1.running_mean", np.full(4, 0.25, "float32"))
    assert thalweg.load_into_torch(model, module) is module
    assert module[3].bias.tolist() == [5, 6]
    assert module[1].running_mean.tolist() == [0.25] * 4
    with pytest.raises(thalweg.Error, match="came from another"):
        thalweg.load_into_torch(model, nn.Linear(3, 2))


def test_modes_are_left_as_they_were():
    module = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)).eval()
    thalweg.from_torch(module, torch.randn(2, 3))
    assert not any(part.training for part in module.modules())


def test_frozen_parts_stay_frozen():
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    module[0].weight.requires_grad_(False)
    module[1].eval()
    model = thalweg.from_torch(module, torch.randn(2, 3))
    frozen = [value.name for value in model.graph.parameters if not value.trainable]
    assert frozen == ["0.weight"]
    assert "1.running_mean" not in model.weight_names()


def test_one_error_lists_all_unsupported_operators():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Function(lambda x: torch.linalg.svdvals(x))

        def forward(self, x):
            return self.part(x) + torch.special.airy_ai(x).sum(-1)

    with pytest.raises(thalweg.Error) as caught:
        thalweg.from_torch(Odd(), torch.randn(2, 4, 4))
    assert "svd" in str(caught.value) and "airy" in str(caught.value) and "part" in str(caught.value)


def test_the_error_lists_operators_behind_others_and_refused_uses():
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.circular = nn.Conv2d(3, 3, 3, padding=1, padding_mode="circular")
            self.pool = nn.AvgPool2d(2, ceil_mode=True, divisor_override=3)

        def forward(self, x):
            y = torch.special.airy_ai(torch.special.bessel_j0(self.circular(x)))
            chosen = torch.nonzero(y).float().sum()
            return self.pool(torch.special.bessel_j0(y)) + torch.special.bessel_j1(chosen) + self.pool(x).sum()

    with pytest.raises(thalweg.Error) as caught:
        thalweg.from_torch(Chain(), torch.randn(2, 3, 6, 6))
    told = str(caught.value).splitlines()[1:]
    assert any("special_airy_ai" in line for line in told)
    assert any("special_bessel_j0" in line and "(2 times)" in line for line in told)
    assert any("nonzero" in line for line in told)
    assert any("special_bessel_j1" in line for line in told)
    assert any("avg_pool2d" in line and "in pool" in line and "divisor_override" in line for line in told)
    assert not any("<built-in" in line for line in told)


class Padded(nn.Module):
    """The usual classifier of texts: what is padding is known by the ids."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16, padding_idx=0)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, ids):
        padding = ids == 0
        y = self.body(self.words(ids), src_key_padding_mask=padding)
        y = y.masked_fill(padding[..., None], 0.0).sum(1) / (~padding).sum(1, keepdim=True)
        return self.head(y)


def test_transformer_encoder_with_padding():
    ids = torch.randint(1, 50, (4, 7))
    ids[1, 4:] = 0
    assert_same(Padded(), ids)


class Stateful(nn.Module):
    def __init__(self, kind, layers=1):
        super().__init__()
        self.body = kind(4, 8, layers, batch_first=True)

    def forward(self, x, state):
        y, last = self.body(x, state)
        return y[:, -1], last


@pytest.mark.parametrize("batch,layers", [(2, 1), (1, 1), (2, 2), (3, 2)])
def test_states_have_their_batch_second(batch, layers):
    module = Stateful(nn.GRU, layers)
    model = thalweg.from_torch(module, (torch.randn(batch, 5, 4), torch.randn(layers, batch, 8)))
    x, state = torch.randn(7, 5, 4), torch.randn(layers, 7, 8)
    for actual, expected in zip(model(x.numpy(), state.numpy()), module(x, state)):
        assert error(actual, expected) < TOLERANCE


def test_sizes_are_fixed_with_a_warning_where_the_batch_cannot_be_free():
    class Particular(nn.Module):
        def forward(self, x):
            if x.shape[0] != 1:
                raise ValueError("one at a time")
            return x + 1

    with pytest.warns(UserWarning, match="fixed.*one at a time"):
        model = thalweg.from_torch(Particular(), torch.zeros(1, 3))
    assert model(np.zeros((1, 3), "float32")).tolist() == [[1, 1, 1]]
    with pytest.raises(ValueError):
        model(np.zeros((2, 3), "float32"))


class FixesItsBatch(nn.Module):
    def forward(self, x):
        return torch.zeros(len(x), 3) + x


def test_the_line_that_fixes_the_batch_is_told():
    with pytest.warns(UserWarning, match=r"fixed by .*test_from_torch.py:\d+: return torch.zeros\(len\(x\), 3\) \+ x"):
        model = thalweg.from_torch(FixesItsBatch(), torch.zeros(2, 3))
    assert tuple(model.inputs[0].shape) == (2, 3)


class LastOfEach(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.GRU(4, 8, batch_first=True)

    def forward(self, x, lengths):
        y, _ = self.body(x)
        rows = torch.arange(y.size(0))
        return y[rows, lengths - 1] + y[rows, -lengths] + rows[:, None]


def test_the_last_output_of_each_sequence():
    assert_same(LastOfEach(), torch.randn(3, 5, 4), torch.tensor([5, 3, 1]))


def test_recurrent_layers_that_do_not_convert_say_so():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.LSTM(4, 8, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return self.body(packed)[1][0]

    with pytest.raises(thalweg.Error, match="pack_padded_sequence"):
        thalweg.from_torch(Packed(), (torch.randn(2, 5, 4), torch.tensor([5, 3])))
    with pytest.raises(thalweg.Error, match="proj_size"):
        thalweg.from_torch(nn.LSTM(4, 8, proj_size=3), torch.randn(5, 2, 4))


class CutsByLength(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x, lengths):
        longest = int(lengths.max())
        return self.body(x)[:, :longest]


class DecidesByContent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        y = self.body(x)
        if y.sum() > 0:
            return 2 * y
        return y


@pytest.mark.parametrize(
    "module, inputs, line",
    [
        (CutsByLength(), (torch.randn(2, 4), torch.tensor([2, 3])), r"longest = int\(lengths.max\(\)\)"),
        (DecidesByContent(), (torch.randn(2, 4),), r"if y.sum\(\) > 0:"),
    ],
)
def test_numbers_that_come_out_of_tensors_are_explained_with_their_line(module, inputs, line):
    with pytest.raises(thalweg.Error, match=rf"of what a tensor holds in .*test_from_torch.py:\d+: {line}.*torch.where"):
        thalweg.from_torch(module, *inputs)


class HidesWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.layers = [self.first, nn.Linear(4, 4)]
        self.scales = {"a": nn.Parameter(torch.full((4,), 0.5))}

    def forward(self, x):
        return self.layers[1](self.layers[0](x)) * self.scales["a"]


def test_weights_in_lists_of_pythons_are_named():
    module = HidesWeights()
    with pytest.warns(UserWarning, match=r"layers\[1\].weight, layers\[1\].bias, scales\['a'\]: PyTorch does not know.*ModuleList"):
        model = thalweg.from_torch(module, torch.randn(2, 4))
    assert model.weight_names() == ["first.weight", "first.bias"]
    x = torch.randn(3, 4)
    assert error(model(x.numpy()), module(x)) < TOLERANCE


def test_several_inputs_need_no_tuple():
    product = Function(lambda x, y: x @ y.T)
    x, y = torch.randn(5, 3), torch.randn(5, 3)
    model = thalweg.from_torch(product, torch.randn(2, 3), torch.randn(2, 3), free_batch=False)
    assert error(model(x[:2].numpy(), y[:2].numpy()), product(x[:2], y[:2])) < TOLERANCE


def test_weights_of_pytorch_load_by_name():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model = thalweg.from_torch(module, torch.randn(2, 3))
    nn.init.constant_(module[1].weight, 7.0)
    model.load_state_dict(module.state_dict())
    assert model.weight("1.weight").tolist() == [7] * 4


def test_modules_that_look_at_their_version_take_weights_back():
    class Versioned(nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
            assert local_metadata["version"] == 2
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    module = Versioned(3, 2)
    thalweg.load_into_torch(thalweg.from_torch(module, torch.randn(2, 3)), module)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        return self.head(self.words(ids).mean(1))


def test_tied_weights_are_one_parameter_of_several_names():
    module = Tied()
    ids = torch.randint(0, 10, (6, 3))
    model = thalweg.from_torch(module, ids)
    assert len(model.graph.parameters) == 1
    ones = np.ones((10, 4), "float32")
    model.set_weight("head.weight", ones)
    for same in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert {name: value.min() for name, value in same.state_dict().items()} == {"words.weight": 1, "head.weight": 1}
    thalweg.load_into_torch(model, module)
    assert module.head.weight is module.words.weight and module.head.weight.min() == 1
    nn.init.constant_(module.words.weight, 3.0)
    model.load_state_dict(module.state_dict())
    assert model.weight("words.weight").min() == 3
    with pytest.raises(thalweg.Error, match="differ"):
        model.load_state_dict({"words.weight": ones, "head.weight": 2 * ones})


def test_what_depends_on_the_content_of_a_batch_says_what_to_do():
    with pytest.raises(thalweg.Error, match="sorts along the batch.*free_batch=False"):
        thalweg.from_torch(Function(lambda x: x.sort(0)[0]), torch.randn(3, 2))
    model = thalweg.from_torch(Function(lambda x: x.sort(0)[0]), torch.randn(3, 2), free_batch=False)
    assert model(np.array([[3, 1], [1, 2], [2, 0]], "float32")).tolist() == [[1, 0], [2, 1], [3, 2]]
    with pytest.raises(thalweg.Error, match="num_classes"):
        thalweg.from_torch(Function(lambda x: nn.functional.one_hot(x) + 1), torch.tensor([0, 2, 1]))


def test_instance_norm_uses_running_statistics_without_learning_them():
    module = nn.InstanceNorm1d(4, track_running_stats=True)
    module(torch.randn(8, 4, 5) + 2)
    with pytest.raises(thalweg.Error, match="track_running_stats.*training=False"):
        thalweg.from_torch(module, torch.randn(2, 4, 5))
    x = torch.randn(3, 4, 5)
    model = thalweg.from_torch(module, torch.randn(2, 4, 5), training=False)
    assert error(model(x.numpy()), module.eval()(x)) < TOLERANCE


def test_wrong_arguments():
    with pytest.raises(TypeError, match="torch.nn.Module"):
        thalweg.from_torch(lambda x: x, torch.zeros(2))
    with pytest.raises(thalweg.InputError, match="example"):
        thalweg.from_torch(nn.Linear(3, 2), 5)


def test_accelerate_keeps_the_way_of_calling():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.drop = nn.Dropout(0.5)

        def forward(self, x, scale=None, *, twice=False):
            y = self.drop(self.layer(x))
            y = y if scale is None else y * scale
            return {"y": y * 2 if twice else y, "sizes": (x.sum(1), y)}

    module = Pair()
    fast = thalweg.accelerate(module)
    module.eval()
    x, scale = torch.randn(3, 4), torch.randn(3, 1)
    for args, kwargs in [((x,), {}), ((x, scale), {}), ((x,), {"scale": scale, "twice": True}), ((x[:1],), {})]:
        result, expected = fast(*args, **kwargs), module(*args, **kwargs)
        torch.testing.assert_close(result["y"], expected["y"].detach())
        torch.testing.assert_close(result["sizes"][0], expected["sizes"][0].detach())
    with pytest.raises(TypeError, match="torch.nn.Module"):
        thalweg.accelerate(3)


def test_accelerate_keeps_the_conversions_used_last():
    module = nn.Conv1d(1, 2, 3).eval()
    fast = thalweg.accelerate(module, max_conversions=2, tuning="fixed")
    kept = []
    for length in (8, 9, 8, 10, 9, 8):
        x = torch.randn(2, 1, length)
        torch.testing.assert_close(fast(x), module(x).detach())
        assert len(fast._conversions) <= 2
        kept.append(fast._conversions[-1])
    assert kept[0] is kept[2] and kept[1] is not kept[4] and kept[0] is not kept[5]
    with pytest.raises(ValueError, match="max_conversions is 0"):
        thalweg.accelerate(module, max_conversions=0)


def test_accelerate_when_the_module_fixes_its_batch():
    class Whole(nn.Module):
        """Its answer depends on the number of rows in a way that export fixes."""

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            rows = [self.layer(row) * (place + 1) for place, row in enumerate(x)]
            return torch.stack(rows)

    module = Whole()
    fast = thalweg.accelerate(module)
    for count in (3, 1, 2, 3, 1):
        x = torch.randn(count, 4)
        torch.testing.assert_close(fast(x), module(x).detach())
    assert len(fast._conversions) == 3


def test_accelerate_keeps_what_is_no_tensor_among_results():
    module = Function(lambda x: (x + 1, None, {"rows": x.shape[0], "twice": 2 * x.shape[0]}, 5, "name", torch.arange(3)))
    fast = thalweg.accelerate(module)
    for rows in (3, 4):
        y, nothing, sizes, number, text, order = fast(torch.zeros(rows, 2))
        assert y.shape == (rows, 2) and nothing is None and sizes == {"rows": rows, "twice": 2 * rows}
        assert number == 5 and text == "name" and order.tolist() == [0, 1, 2]
    assert thalweg.from_torch(module, torch.zeros(3, 2))(np.zeros((4, 2), "float32"))[0].shape == (4, 2)
    attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    y, weights = thalweg.accelerate(attention)(x, x, x, need_weights=False)
    assert weights is None
    torch.testing.assert_close(y, attention(x, x, x, need_weights=False)[0].detach())


def test_accelerate_fixes_the_batch_where_a_free_one_does_not_convert():
    module = Function(lambda x: torch.arange(1, 1 + x.shape[0])[:, None] + x)
    with pytest.raises(thalweg.Error, match="arange"):
        thalweg.from_torch(module, torch.zeros(3, 2))
    fast = thalweg.accelerate(module)
    for rows in (3, 1, 4):
        x = torch.randn(rows, 2)
        torch.testing.assert_close(fast(x), module(x))
