#!/usr/bin/env python3
"""Writes tests/golden/ssd300.json: SSD300 on a narrow VGG16 in PyTorch, forward, losses and 20 steps of training.

Run it with the benchmark environment's Python (torch and numpy). Weights and pictures come from deterministic.py, but for the
factors of the normalised map, which are 20; the objects are in the file. Names and numbers of layers are those of the
published PyTorch files. Steps: SGD, momentum 0.9, on the two pictures of batch 0.
"""

import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

import deterministic

HERE = pathlib.Path(__file__).resolve().parent
WIDTH, CLASSES, STEPS, RATE = 16, 4, 20, 1e-3
LEVELS = [(8, 30, 60, [2]), (16, 60, 111, [2, 3]), (32, 111, 162, [2, 3]), (64, 162, 213, [2, 3]), (100, 213, 264, [2]),
          (300, 264, 315, [2])]
# Of each picture: left, top, right, bottom, class from 0 on; -1 fills up.
OBJECTS = [[[0.1, 0.15, 0.6, 0.7, 0], [0.55, 0.5, 0.95, 0.9, 2], [0.02, 0.02, 0.12, 0.1, 1]],
           [[0.3, 0.3, 0.5, 0.8, 1], [0, 0, 0, 0, -1], [0, 0, 0, 0, -1]]]
VARIANCES = torch.tensor([0.1, 0.1, 0.2, 0.2])


class L2Norm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.full((channels,), 20.0))

    def forward(self, x):
        return self.weight.view(1, -1, 1, 1) * x / (x.pow(2).sum(1, keepdim=True).sqrt() + 1e-10)


class Ssd(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for width in [64, 64, "M", 128, 128, "M", 256, 256, 256, "C", 512, 512, 512, "M", 512, 512, 512]:
            if isinstance(width, str):
                layers.append(nn.MaxPool2d(2, 2, ceil_mode=width == "C"))
                continue
            layers += [nn.Conv2d(channels, width // WIDTH, 3, padding=1), nn.ReLU()]
            channels = width // WIDTH
        layers += [nn.MaxPool2d(3, 1, 1), nn.Conv2d(channels, 1024 // WIDTH, 3, padding=6, dilation=6), nn.ReLU(),
                   nn.Conv2d(1024 // WIDTH, 1024 // WIDTH, 1), nn.ReLU()]
        self.vgg = nn.ModuleList(layers)
        self.L2Norm = L2Norm(512 // WIDTH)
        self.extras, channels = nn.ModuleList(), 1024 // WIDTH
        for narrow, wide, options in [(256, 512, (2, 1)), (128, 256, (2, 1)), (128, 256, (1, 0)), (128, 256, (1, 0))]:
            self.extras.append(nn.Conv2d(channels, narrow // WIDTH, 1))
            self.extras.append(nn.Conv2d(narrow // WIDTH, wide // WIDTH, 3, *options))
            channels = wide // WIDTH
        widths = [w // WIDTH for w in (512, 1024, 512, 256, 256, 256)]
        self.each = [2 + 2 * len(level[3]) for level in LEVELS]
        self.loc = nn.ModuleList(nn.Conv2d(w, n * 4, 3, padding=1) for w, n in zip(widths, self.each))
        self.conf = nn.ModuleList(nn.Conv2d(w, n * CLASSES, 3, padding=1) for w, n in zip(widths, self.each))

    def forward(self, x):
        maps = []
        for i, layer in enumerate(self.vgg):
            x = layer(x)
            if i == 22:
                maps.append(self.L2Norm(x))
        maps.append(x)
        for i, layer in enumerate(self.extras):
            x = F.relu(layer(x))
            if i % 2 == 1:
                maps.append(x)
        flat = [[h(m).permute(0, 2, 3, 1).reshape(len(x), -1, n) for h, m in zip(heads, maps)]
                for heads, n in ((self.loc, 4), (self.conf, CLASSES))]
        return torch.cat(flat[0], 1), torch.cat(flat[1], 1), priors([m.shape[-1] for m in maps])


def priors(sizes):
    boxes = []
    for size, (step, low, high, ratios) in zip(sizes, LEVELS):
        for row in range(size):
            for column in range(size):
                x, y = (column + 0.5) * step / 300, (row + 0.5) * step / 300
                extents = [(low, low), (math.sqrt(low * high),) * 2]
                for ratio in ratios:
                    root = math.sqrt(ratio)
                    extents += [(low * root, low / root), (low / root, low * root)]
                boxes += [(x - w / 600, y - h / 600, x + w / 600, y + h / 600) for w, h in extents]
    return torch.tensor(boxes, dtype=torch.float64).clamp(0, 1).float()


def overlaps(a, b):
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    both = (high - low).clamp(min=0).prod(2)
    area = [(box[:, 2:] - box[:, :2]).prod(1) for box in (a, b)]
    return both / (area[0][:, None] + area[1][None] - both)


def match(boxes, prior_boxes):
    """The number of each prior's object, or -1."""
    table = overlaps(boxes, prior_boxes)
    best, number = table.max(0)
    number[best < 0.5] = -1
    for _ in boxes:
        place = table.argmax().item()
        g, p = divmod(place, table.shape[1])
        number[p] = g
        table[g, :] = -1
        table[:, p] = -1
    return number


def encode(boxes, prior_boxes):
    size = prior_boxes[:, 2:] - prior_boxes[:, :2]
    middle = ((boxes[:, :2] + boxes[:, 2:]) - (prior_boxes[:, :2] + prior_boxes[:, 2:])) / 2 / size
    return torch.cat([middle, ((boxes[:, 2:] - boxes[:, :2]) / size).log()], 1) / VARIANCES.to(boxes)


def losses(places, logits, prior_boxes):
    place_loss, class_loss, total = 0.0, 0.0, 0
    for n, objects in enumerate(OBJECTS):
        table = torch.tensor([o for o in objects if o[4] >= 0], dtype=places.dtype)
        number = match(table[:, :4], prior_boxes.to(places))
        found = number >= 0
        labels = torch.where(found, table[:, 4].long()[number.clamp(min=0)] + 1, 0)
        entropy = F.cross_entropy(logits[n], labels, reduction="none")
        count = min(3 * int(found.sum()), int((~found).sum()))
        hardest = entropy.detach().masked_fill(found, -1).topk(count).indices
        class_loss = class_loss + entropy[found].sum() + entropy[hardest].sum()
        targets = encode(table[number[found], :4], prior_boxes.to(places)[found])
        place_loss = place_loss + F.smooth_l1_loss(places[n][found], targets, reduction="sum")
        total += int(found.sum())
    return place_loss / total, class_loss / total, total


def build(dtype):
    model = Ssd()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name == "L2Norm.weight":
                continue
            if parameter.dim() == 1:
                parameter.zero_()
            else:
                parameter.copy_(deterministic.uniform(name, tuple(parameter.shape), math.sqrt(6.0 / parameter[0].numel())))
    return model.to(dtype)


def train(dtype):
    model = build(dtype)
    x = deterministic.uniform("input.0", (len(OBJECTS), 3, 300, 300), 1.0).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    result = {"losses": []}
    for step in range(STEPS):
        places, logits, prior_boxes = model(x)
        place_loss, class_loss, total = losses(places, logits, prior_boxes)
        loss = place_loss + class_loss
        if step == 0:
            result |= {"place_loss": place_loss.item(), "class_loss": class_loss.item(), "matched": total}
            for name, value in (("places", places), ("logits", logits), ("priors", prior_boxes)):
                flat = value.detach().double().flatten()
                result[name] = {"sum": flat.sum().item(), "abs_sum": flat.abs().sum().item(),
                                "every_997th": flat[::997].tolist()}
        result["losses"].append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return result


def main():
    torch.set_num_threads(1)
    single, double = train(torch.float32), train(torch.float64)
    gaps = [abs(a - b) / abs(b) for a, b in zip(single["losses"], double["losses"])]
    print("losses", single["losses"][0], single["losses"][-1], "gap", max(gaps))
    single |= {"f64_gap": max(gaps), "width": WIDTH, "classes": CLASSES, "rate": RATE, "objects": OBJECTS,
               "parameters": [[name, list(p.shape)] for name, p in build(torch.float32).named_parameters()]}
    (HERE / "ssd300.json").write_text(json.dumps(single, indent=1) + "\n")


if __name__ == "__main__":
    main()
