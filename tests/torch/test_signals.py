"""Fourier transforms, complex numbers, and pictures read through grids, as modules of PyTorch's. Run by `make test-torch`."""

import pytest
import thalweg
import torch
from test_from_torch import TOLERANCE, Function, assert_same, error
from test_training import BATCH, STEPS, assert_same_training
from torch import nn
from torch.nn import functional


def real(z):
    return torch.view_as_real(z)


TRANSFORMS = {
    "complex": (lambda x: real(torch.fft.fft(x)) + real(torch.fft.ifft(x).resolve_conj()), (3, 4, 12)),
    "halves": (lambda x: real(torch.fft.rfft(x, norm="ortho"))[..., :4, :] + real(torch.fft.rfft(x, n=8))[..., :4, :], (3, 4, 12)),
    "there and back": (lambda x: torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]) + torch.fft.ifft(torch.fft.fft(x)).real, (3, 15)),
    "another dimension": (lambda x: torch.fft.fft(x, dim=1, norm="forward").abs(), (3, 10, 4)),
    "planes": (lambda x: torch.fft.fft2(x).imag + torch.fft.ifft2(x).real, (3, 2, 6, 5)),
    "halves of planes": (lambda x: torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho"), s=x.shape[-2:], norm="ortho"), (3, 6, 5)),
    "all but the batch": (lambda x: torch.fft.fftn(x, dim=(1, 2)).real, (3, 4, 6)),
    "mixed tokens": (lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, (3, 8, 6)),
    "a long one": (lambda x: torch.fft.rfft(x).abs(), (2, 4410)),
    "a filter": (
        lambda x: torch.fft.irfft(torch.fft.rfft(x, n=32) * torch.fft.rfft(torch.arange(5.0), n=32), n=32)[..., :20],
        (3, 20),
    ),
    "shifted": (lambda x: torch.fft.fftshift(torch.fft.fft(x), dim=-1).imag, (3, 9)),
}
COMPLEX = {
    "arithmetic": lambda z: real((z * z.conj() + 2 * z - z * 1j) / (1 + z * z) + z**2),
    "movement": lambda z: real(torch.cat([z, z.flip(1)], 1).transpose(1, 2)[:, 1:].reshape(-1, 8)),
    "parts": lambda z: torch.stack([z.real, z.imag, z.abs()], 1) - torch.view_as_complex(torch.stack([z.imag, z.real], -1)).real[:, None],
    "rotation": lambda z: real(z * torch.polar(torch.ones(3), torch.arange(3.0))),
    "sums": lambda z: real(z.sum(1) + z.mean(1) - (-z)[:, 0]),
    "beside real numbers": lambda z: real(torch.cat([z, z.real], 1) + torch.stack([z, z.abs()])[1].repeat(1, 2, 1)),
    "products of matrices": lambda z: real(z @ z.mT.conj() + torch.einsum("bij,kj->bik", z, torch.arange(6.0).view(2, 3) * 1j)),
    "functions": lambda z: real(z.exp() + z.log() + z.sqrt() * 2 + 1 / z + z**3) + z.angle()[..., None],
    "parts replaced": lambda z: real(_replaced(z)),
    "chosen": lambda z: real(torch.where(z.real > 0, z, z.imag) + z.masked_fill(z.imag > 0, 2.0)),
}


def _replaced(z):
    y = torch.zeros(z.shape[0], 2, 4, dtype=torch.cfloat)
    y[:, :, :3] = z
    y[:, 0, 3] = z[:, 1, 0]
    return y


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    function, shape = TRANSFORMS[name]
    torch.manual_seed(1)
    model = thalweg.from_torch(Function(function), torch.randn(shape))
    x = torch.randn(2 * shape[0], *shape[1:])
    assert error(model(x.numpy()), function(x)) < TOLERANCE


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    function = COMPLEX[name]
    torch.manual_seed(2)

    def on_pairs(x):
        return function(torch.view_as_complex(x))

    model = thalweg.from_torch(Function(on_pairs), torch.randn(3, 2, 3, 2))
    x = torch.randn(5, 2, 3, 2)
    assert error(model(x.numpy()), on_pairs(x)) < TOLERANCE


def test_a_module_that_returns_complex_numbers_is_told_how_to_return_them():
    with pytest.raises(thalweg.Error, match="return torch.view_as_real of them"):
        thalweg.from_torch(Function(torch.fft.fft), torch.randn(2, 8))


class Operator(nn.Module):
    """A layer of a Fourier neural operator: products of the lowest frequencies by matrices of complex numbers."""

    def __init__(self, channels=4, modes=3):
        super().__init__()
        self.modes = modes
        self.weights = nn.Parameter(torch.randn(channels, channels, modes, modes, dtype=torch.cfloat) / channels)
        self.body, self.head = nn.Linear(1, channels), nn.Linear(channels, 3)

    def forward(self, x):
        x = self.body(x).permute(0, 3, 1, 2)
        spectrum, few = torch.fft.rfft2(x), self.modes
        kept = torch.zeros(x.shape[0], x.shape[1], *spectrum.shape[2:], dtype=torch.cfloat)
        kept[:, :, :few, :few] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :few, :few], self.weights)
        return self.head(functional.gelu(x + torch.fft.irfft2(kept, s=x.shape[-2:])).mean((2, 3)))


def test_weights_of_complex_numbers():
    torch.manual_seed(4)
    module, x = Operator(), torch.randn(3, 6, 8, 1)
    assert_same(module, x)
    assert_same_training(module, torch.randn(STEPS * BATCH, 6, 8, 1))
    trained = thalweg.accelerate(module, gradients=True)
    trained(x).square().mean().backward()
    found, module.weights.grad = module.weights.grad, None
    module(x).square().mean().backward()
    assert torch.allclose(found, module.weights.grad, atol=1e-6)


class Spectrogram(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.register_buffer("window", torch.hann_window(options.pop("win_length", 64)))
        self.options = options

    def forward(self, x):
        z = torch.stft(x, 64, 16, win_length=len(self.window), window=self.window, return_complex=True, **self.options)
        return z.abs() ** 2


@pytest.mark.parametrize(
    "options", [{}, {"center": False}, {"win_length": 48}, {"normalized": True}, {"onesided": False}, {"pad_mode": "constant"}]
)
def test_spectrograms(options):
    assert_same(Spectrogram(**options), torch.randn(2, 400))


class Vocoder(nn.Module):
    """Changes a spectrum, and makes a signal of it again."""

    def __init__(self, hop, **options):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, 33))
        self.register_buffer("window", torch.hann_window(64))
        self.hop, self.options = hop, options

    def forward(self, x):
        z = torch.stft(x, 64, self.hop, window=self.window, return_complex=True)
        return torch.istft(z * self.scale[:, None], 64, self.hop, window=self.window, **self.options)


@pytest.mark.parametrize("hop, options", [(16, {}), (20, {}), (16, {"length": 400}), (32, {"length": 380})])
def test_signals_of_spectra(hop, options):
    assert_same(Vocoder(hop, **options), torch.randn(2, 400))


def test_silence_has_no_gradient():
    class Loudness(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.linspace(0.5, 1.5, 32))
            self.head = nn.Linear(17, 3)

        def forward(self, x):
            return self.head(torch.fft.rfft(x * self.scale).abs())

    x = torch.randn(STEPS * BATCH, 32)
    x[::2] = 0
    torch.manual_seed(7)
    assert_same_training(Loudness(), x)


def test_spectra_are_trained():
    torch.manual_seed(3)
    assert_same_training(nn.Sequential(Vocoder(16), nn.Linear(96, 3)), torch.randn(STEPS * BATCH, 96))


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_pictures_through_grids(mode, padding_mode, align_corners):
    def sampled(x):
        grid = 1.5 * torch.tanh(x[:, :2, ::2, 1:]).permute(0, 2, 3, 1)
        return functional.grid_sample(x, grid, mode, padding_mode, align_corners)

    torch.manual_seed(4)
    model = thalweg.from_torch(Function(sampled), torch.randn(3, 4, 6, 7))
    x = torch.randn(5, 4, 6, 7)
    assert error(model(x.numpy()), sampled(x)) < TOLERANCE


class Transformer(nn.Module):
    """A spatial transformer: a network that turns and moves its own input."""

    def __init__(self):
        super().__init__()
        self.places = nn.Linear(3 * 8 * 8, 6)
        with torch.no_grad():
            self.places.weight.mul_(0.3)
            self.places.bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
        self.body = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4 * 6 * 6, 3)

    def forward(self, x):
        theta = self.places(x.flatten(1)).view(-1, 2, 3)
        grid = functional.affine_grid(theta, x.shape, align_corners=False)
        x = functional.grid_sample(x, grid, align_corners=False)
        return self.head(torch.relu(self.body(x)).flatten(1))


def test_a_spatial_transformer_is_trained():
    torch.manual_seed(5)
    assert_same(Transformer(), torch.randn(2, 3, 8, 8))
    assert_same_training(Transformer(), torch.randn(STEPS * BATCH, 3, 8, 8))


def test_what_a_grid_cannot_do_is_named():
    def curved(x):
        return functional.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), "bicubic", align_corners=False)

    with pytest.raises(thalweg.Error, match="bicubic: bilinear and nearest are known"):
        thalweg.from_torch(Function(curved), torch.randn(2, 3, 4, 4))
