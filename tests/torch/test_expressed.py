"""Operators that the engine expresses by others: grids, deformed windows, projections, systems of equations, alignments."""

import numpy as np
import pytest
import thalweg
import torch
from test_from_torch import Function, error
from test_operators import Trained
from test_training import BATCH, STEPS, assert_same_training
from torch import nn
from torch.nn import functional

torchvision = pytest.importorskip("torchvision")


def moved(x, scale=0.4):
    """Places [N, 4, 5, 2] that the data itself moves, some of them outside."""
    batch, rows, columns = x.shape[0], 4, 5
    base = functional.affine_grid(torch.eye(2, 3)[None], [1, 1, rows, columns], align_corners=False)
    return base * 1.3 + scale * torch.tanh(x[:, :2, :rows, :columns]).permute(0, 2, 3, 1).reshape(batch, rows, columns, 2)


def square(x):
    """Matrices that are far from singular, [N, 4, 4]."""
    return x[:, 0, :4, :4] + 5 * torch.eye(4)


FUNCTIONS = {
    "cubes over zeros": lambda x: functional.grid_sample(x, moved(x), "bicubic", "zeros", True),
    "cubes over the border": lambda x: functional.grid_sample(x, moved(x), "bicubic", "border", False),
    "cubes over mirrors": lambda x: functional.grid_sample(x, moved(x, 2.0), "bicubic", "reflection", False),
    "cubes over mirrors at corners": lambda x: functional.grid_sample(x, moved(x, 2.0), "bicubic", "reflection", True),
    "averaged on the way down": lambda x: functional.interpolate(x, (3, 2), mode="bilinear", antialias=True),
    "averaged by a factor": lambda x: functional.interpolate(x, scale_factor=(0.4, 0.7), mode="bilinear", antialias=True),
    "averaged by cubes": lambda x: functional.interpolate(x, (3, 9), mode="bicubic", antialias=True, align_corners=True),
    "determinants": lambda x: torch.linalg.det(square(x)) + torch.logdet(square(x)) + torch.linalg.slogdet(-square(x)[:, :3, :3])[0],
    "negative determinants": lambda x: torch.logdet(-square(x)[:, :3, :3]).isnan().float() + torch.linalg.det(x[:, 0, :1, :1]),
    "inverses": lambda x: torch.linalg.inv(square(x)) @ x[:, 1, :4] + square(x).inverse() @ x[:, 2, :4],
    "systems": lambda x: torch.linalg.solve(square(x), x[:, 1, :4]) + torch.linalg.solve(square(x)[0] * 0 + 2 * torch.eye(4), x[:, 2, :4]),
    "systems from the right": lambda x: torch.linalg.solve(square(x), x[:, 1, :3, :4], left=False),
    "systems of one side": lambda x: torch.linalg.solve(square(x), x[:, 1, 0, :4]),
    "triangles": lambda x: torch.linalg.solve_triangular(square(x), x[:, 1, :4], upper=True)
    + torch.linalg.solve_triangular(square(x), x[:, 2, :4], upper=False, unitriangular=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_answers(name):
    function = FUNCTIONS[name]
    torch.manual_seed(1)
    model = thalweg.from_torch(Function(function), torch.randn(2, 3, 6, 7))
    x = torch.randn(5, 3, 6, 7)
    assert error(model(x.numpy()), function(x)) < 2e-5


@pytest.mark.parametrize("name", ["cubes over zeros", "averaged on the way down"])
def test_pictures_are_written(name, tmp_path):
    torch.manual_seed(2)
    x = torch.randn(2, 3, 6, 7)
    thalweg.from_torch(Function(FUNCTIONS[name]), x).save(tmp_path / "model.onnx")
    assert error(thalweg.load(str(tmp_path / "model.onnx"))(x.numpy()), FUNCTIONS[name](x)) < 2e-5


def of_rows(y):
    return y.view(-1, 2, 2, 2)


def regular(y):
    return of_rows(y)[:, 0] * 0.3 + 2 * torch.eye(2)


TRAINED = {
    "cubes": lambda y: functional.grid_sample(of_rows(y), of_rows(y).tanh() * 0.9, "bicubic", "border", False).flatten(1),
    "averages": lambda y: y + functional.interpolate(of_rows(y), (1, 2), mode="bicubic", antialias=True).flatten(1).repeat(1, 2),
    "determinants": lambda y: y + torch.linalg.det(regular(y))[:, None] + torch.linalg.slogdet(regular(y))[1][:, None],
    "systems": lambda y: torch.linalg.solve(regular(y)[:, None], of_rows(y)).flatten(1),
    "inverses": lambda y: torch.cat([torch.linalg.inv(regular(y)).flatten(1), y[:, 4:]], 1),
}


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name):
    torch.manual_seed(3)
    assert_same_training(Trained(TRAINED[name]), torch.randn(STEPS * BATCH, 6), tolerance=1e-4)


class Deformed(nn.Module):
    def __init__(self, groups=1, offsets=2, kernel=(3, 2), masks=True, **options):
        super().__init__()
        self.offsets = nn.Conv2d(4, 2 * offsets * kernel[0] * kernel[1], kernel, **options)
        self.masks = nn.Conv2d(4, offsets * kernel[0] * kernel[1], kernel, **options) if masks else None
        self.body = torchvision.ops.DeformConv2d(4, 6, kernel, groups=groups, **options)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        masks = None if self.masks is None else self.masks(x).sigmoid()
        return self.head(self.body(x, self.offsets(x) * 2, masks).mean((2, 3)))


@pytest.mark.parametrize(
    "options",
    [{}, {"groups": 2, "stride": (2, 1), "padding": (1, 2)}, {"offsets": 4, "masks": False, "dilation": 2, "padding": 2}],
)
def test_deformed_windows(options):
    torch.manual_seed(4)
    module, x = Deformed(**options), torch.randn(STEPS * BATCH, 4, 7, 6)
    assert error(thalweg.from_torch(module, x[:2])(x.numpy()), module.eval()(x)) < 1e-5
    assert_same_training(module, x, tolerance=1e-4)


class Projected(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.body = nn.LSTM(5, 8, proj_size=3, batch_first=True, **options)
        self.head = nn.Linear(6 if options.get("bidirectional") else 3, 3)

    def forward(self, x):
        y, (hidden, cell) = self.body(x)
        return self.head(y[:, -1]) + hidden.mean() + cell.mean()


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "num_layers": 2}])
def test_projected_states(options):
    torch.manual_seed(5)
    module, x = Projected(**options), torch.randn(STEPS * BATCH, 6, 5)
    assert error(thalweg.from_torch(module, x[:2])(x[:7].numpy()), module.eval()(x[:7])) < 1e-5


class Bounded(nn.Module):
    def __init__(self, norm=2.0):
        super().__init__()
        self.table = nn.Embedding(9, 4, max_norm=1.0, norm_type=norm)
        self.head = nn.Linear(4, 2)

    def forward(self, words):
        return self.head(self.table(words).mean(1))


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_rows_of_a_bounded_length(norm):
    torch.manual_seed(6)
    module, words = Bounded(norm), torch.randint(0, 9, (5, 3))
    with pytest.warns(UserWarning, match="max_norm"):
        model = thalweg.from_torch(module, words)
    assert error(model(words.numpy()), module.eval()(words)) < 1e-5
    assert not module.table.weight.grad


class Aligned(nn.Module):
    """Gives its own loss: that of letters without places."""

    def __init__(self, reduction):
        super().__init__()
        self.body, self.reduction = nn.Linear(4, 5), reduction

    def forward(self, x, letters, frames, lengths):
        scores = self.body(x).log_softmax(-1).transpose(0, 1)
        return functional.ctc_loss(scores, letters, frames, lengths, reduction=self.reduction)


class Losing(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.body, self.loss = nn.Linear(4, 5), loss

    def forward(self, x, *targets):
        return self.loss(self.body(x), *targets)


def signs(*shape):
    return torch.randn(shape).sign()


LOSSES = {
    "HingeEmbeddingLoss": lambda: (signs(6, 5),),
    "MarginRankingLoss": lambda: (torch.randn(6, 5), signs(6, 5)),
    "GaussianNLLLoss": lambda: (torch.randn(6, 5), torch.rand(6, 5)),
    "CrossEntropyLoss": lambda: (torch.randint(0, 5, (6,)),),
    "MultiMarginLoss": lambda: (torch.randint(0, 5, (6,)),),
    "TripletMarginLoss": lambda: (torch.randn(6, 5), torch.randn(6, 5)),
    "CosineEmbeddingLoss": lambda: (torch.randn(6, 5), signs(6)),
    "PoissonNLLLoss": lambda: (torch.rand(6, 5),),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_inside_of_modules(name, reduction):
    torch.manual_seed(8)
    module, targets = Losing(getattr(nn, name)(reduction=reduction)), LOSSES[name]()
    x = torch.randn(6, 4)
    expected = module(x, *targets)
    model = thalweg.from_torch(module, (x[:2], *[given[:2] for given in targets]))
    np.testing.assert_allclose(
        model(x.numpy(), *[given.numpy() for given in targets]), expected.detach().numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_alignments(reduction):
    torch.manual_seed(7)
    module = Aligned(reduction)
    inputs = (torch.randn(3, 8, 4), torch.randint(1, 5, (3, 3)), torch.tensor([8, 7, 5]), torch.tensor([3, 0, 2]))
    expected = module(*inputs)
    model = thalweg.from_torch(module, inputs)
    np.testing.assert_allclose(model(*[given.numpy() for given in inputs]), expected.detach().numpy(), rtol=1e-5)
    loss = thalweg.accelerate(module, gradients=True)(*inputs)
    expected.sum().backward()
    wanted, module.body.weight.grad = module.body.weight.grad, None
    loss.sum().backward()
    assert error(module.body.weight.grad.numpy(), wanted) < 1e-5
