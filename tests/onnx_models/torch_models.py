"""Models as people bring them from PyTorch: seeded random weights, and batches to run them with."""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F
from torchvision import models, ops

EXPORTERS = ("dynamo", "torchscript")


@dataclasses.dataclass
class Example:
    """A module, batches of its inputs, and which dimensions of each input are free: name -> {dimension: its name}.

    The first batch is what the exporter sees."""
    module: nn.Module
    batches: list
    free: dict


def settle_batch_norms(module, batch):
    """Running statistics that fit the weights, as training would leave them, so that activations stay in range."""
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean over all batches
    module.train()
    with torch.no_grad():
        module(batch)
    return module.eval()


def pictures(batch, size, seed):
    return torch.rand(batch, 3, size, size, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def classifier(make):
    module = settle_batch_norms(make(weights=None), pictures(4, 224, 1))
    return Example(module, [(pictures(2, 224, 2),), (pictures(1, 224, 3),), (pictures(3, 224, 4),)], {"x": {0: "batch"}})


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask):
        batch, time, dim = x.shape
        q, k, v = (part.view(batch, time, self.heads, dim // self.heads).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(dim // self.heads) + mask
        return self.out((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, time, dim))


class BertLayer(nn.Module):
    def __init__(self, dim, heads, ffn):
        super().__init__()
        self.attention, self.norm1 = Attention(dim, heads), nn.LayerNorm(dim, eps=1e-12)
        self.wide, self.narrow, self.norm2 = nn.Linear(dim, ffn), nn.Linear(ffn, dim), nn.LayerNorm(dim, eps=1e-12)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.narrow(F.gelu(self.wide(x))))


class Bert(nn.Module):
    """An encoder of BERT-base's size: token ids and a mask of the tokens that count -> states and a pooled vector."""

    def __init__(self, vocab=30522, dim=768, heads=12, ffn=3072, layers=12, positions=512):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Embedding(positions, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(dim, heads, ffn) for _ in range(layers))
        self.pooler = nn.Linear(dim, dim)

    def forward(self, ids, mask):
        hidden = (1.0 - mask.to(torch.float32))[:, None, None, :] * torch.finfo(torch.float32).min
        x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1]))[None])
        for layer in self.layers:
            x = layer(x, hidden)
        return x, torch.tanh(self.pooler(x[:, 0]))


def text(batch, time, seed):
    """Token ids, and a mask that hides the last tokens of every row but the first."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 30522, (batch, time), generator=generator)
    lengths = torch.tensor([time] + [max(1, time - 3 * row) for row in range(1, batch)])
    return ids, (torch.arange(time)[None] < lengths[:, None]).to(torch.int64)


def bert():
    free = {"ids": {0: "batch", 1: "time"}, "mask": {0: "batch", 1: "time"}}
    return Example(Bert().eval(), [text(2, 32, 1), text(1, 128, 2), text(3, 20, 3)], free)


class Encoder(nn.Module):
    """torch.nn's own encoder layers, with a padding mask."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30522, 256)
        layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)

    def forward(self, ids, mask):
        return self.encoder(self.words(ids), src_key_padding_mask=mask == 0)


def encoder():
    torch.backends.mha.set_fastpath_enabled(False)  # the fused operator has no counterpart in ONNX
    free = {"ids": {0: "batch", 1: "time"}, "mask": {0: "batch", 1: "time"}}
    return Example(Encoder().eval(), [text(2, 32, 4), text(1, 16, 5)], free)


class Detector(nn.Module):
    """SSD in small: two maps of features, a grid of default boxes each, and suppression of overlapping boxes."""

    SIZE, CLASSES, KEPT, BOXES = 160, 21, 100, 4

    def __init__(self):
        super().__init__()
        self.near = models.mobilenet_v2(weights=None).features[:14]
        self.far = nn.Sequential(nn.Conv2d(96, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128), nn.Hardswish())
        self.heads = nn.ModuleList(nn.Conv2d(c, self.BOXES * (4 + self.CLASSES), 3, padding=1) for c in (96, 128))
        grids = [self.grid(10, 0.25), self.grid(5, 0.5)]
        self.register_buffer("boxes", torch.cat(grids))

    def grid(self, cells, scale):
        middle = (torch.arange(cells) + 0.5) / cells
        y, x, ratio = torch.meshgrid(middle, middle, torch.tensor([0.5, 0.8, 1.25, 2.0]).sqrt(), indexing="ij")
        return torch.stack([x, y, scale * ratio, scale / ratio], dim=-1).reshape(-1, 4)

    def predictions(self, picture):
        maps = [self.near(picture)]
        maps.append(self.far(maps[0]))
        flat = [head(m).permute(0, 2, 3, 1).reshape(picture.shape[0], -1, 4 + self.CLASSES)
                for head, m in zip(self.heads, maps)]
        return torch.cat(flat, dim=1)

    def forward(self, picture):
        raw = self.predictions(picture)[0]
        middle = self.boxes[:, :2] + 0.1 * raw[:, :2] * self.boxes[:, 2:]
        half = self.boxes[:, 2:] * torch.exp(0.2 * raw[:, 2:4]) / 2
        boxes = torch.cat([middle - half, middle + half], dim=1).clamp(0.0, 1.0)
        scores, labels = torch.softmax(raw[:, 4:], dim=1)[:, 1:].max(dim=1)
        scores, order = scores.topk(self.KEPT)
        boxes, labels = boxes[order], labels[order]
        kept = ops.nms(boxes + labels[:, None].to(boxes.dtype) * 2.0, scores, 0.45)
        return boxes[kept], scores[kept], labels[kept]


class Predictions(nn.Module):
    """What a detector computes before it chooses, for settle_batch_norms."""

    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, picture):
        return self.detector.predictions(picture)


def detector():
    module = Detector()
    settle_batch_norms(Predictions(module), pictures(8, Detector.SIZE, 1))
    return Example(module.eval(), [(pictures(1, Detector.SIZE, seed),) for seed in (2, 3)], {"x": {}})


MODELS = {
    "resnet50": lambda: classifier(models.resnet50),
    "mobilenet_v2": lambda: classifier(models.mobilenet_v2),
    "vgg16": lambda: classifier(models.vgg16),
    "bert": bert,
    "encoder": encoder,
    "detector": detector,
}


def exporters_of(name):
    # Of torch.nn's attention the tracer writes batch and time into the graph as constants.
    return ("dynamo",) if name == "encoder" else EXPORTERS


def make(name):
    torch.manual_seed(7)
    return MODELS[name]()


def export(example, exporter, path):
    names = list(example.free)
    settings = {"input_names": names, "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        dims = {dim: torch.export.Dim(dim, min=1) for free in example.free.values() for dim in free.values()}
        settings["dynamic_shapes"] = tuple({d: dims[dim] for d, dim in free.items()} for free in example.free.values())
    else:
        settings["dynamic_axes"] = example.free
        settings["opset_version"] = 17
    torch.onnx.export(example.module, example.batches[0], path, verbose=False, **settings)
