#!/usr/bin/env python3
"""Writes tests/golden/yolact.json: YOLACT on a narrow ResNet-50 in PyTorch, forward, losses and 20 steps of training.

Run it with the benchmark environment's Python (torch and numpy). Weights and pictures come from deterministic.py, with
0.125 in place of 1 for the scales of the norms that end a block, and a quarter of the weights behind the backbone, without which
masks are so sure that the precision decides; statistics of norms are 0 and 1 and stay so. Objects and their
masks, rectangles, are in the file; names of layers are those of the published files. Steps: SGD, momentum 0.9, on batch 0.
"""

import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

import deterministic
from make_ssd import encode, overlaps

HERE = pathlib.Path(__file__).resolve().parent
SIZE, WIDTH, CLASSES, STEPS, RATE, MOST_MASKS = 138, 16, 5, 20, 1e-3, 12
# Of each picture: left, top, right, bottom, class from 0 on; -1 fills up, -2 is a crowd. The masks are these without their left halves.
OBJECTS = [[[0.1, 0.15, 0.6, 0.7, 0], [0.55, 0.5, 0.95, 0.9, 2], [0.3, 0.05, 0.98, 0.45, -2]],
           [[0.25, 0.3, 0.6, 0.8, 3], [0, 0, 0, 0, -1], [0, 0, 0, 0, -1]]]


def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, planes, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, planes, 1), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = conv(planes, planes, 3, stride), nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = conv(planes, planes * 4, 1), nn.BatchNorm2d(planes * 4)
        self.downsample = None
        if stride != 1 or inputs != planes * 4:
            self.downsample = nn.Sequential(conv(inputs, planes * 4, 1, stride), nn.BatchNorm2d(planes * 4))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        channels = 64 // WIDTH
        self.conv1, self.bn1 = nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels)
        self.layers = nn.ModuleList()
        for stage, depth in enumerate([3, 4, 6, 3]):
            planes, blocks = (64 << stage) // WIDTH, []
            for i in range(depth):
                blocks.append(Block(channels, planes, 2 if stage > 0 and i == 0 else 1))
                channels = planes * 4
            self.layers.append(nn.Sequential(*blocks))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        maps = []
        for layer in self.layers:
            x = layer(x)
            maps.append(x)
        return maps[1:]


class Pyramid(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.lat_layers = nn.ModuleList(nn.Conv2d(c, channels, 1) for c in reversed(inputs))
        self.pred_layers = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in inputs)
        self.downsample_layers = nn.ModuleList(nn.Conv2d(channels, channels, 3, 2, 1) for _ in range(2))

    def forward(self, maps):
        out, above = [], None
        for side, smooth, x in zip(self.lat_layers, self.pred_layers, reversed(maps)):
            y = side(x)
            if above is not None:
                y = F.interpolate(above, size=x.shape[2:], mode="bilinear", align_corners=False) + y
            above = y
            out.insert(0, F.relu(smooth(y)))
        for halve in self.downsample_layers:
            out.append(halve(out[-1]))
        return out


class Head(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.upfeature = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1))
        self.bbox_layer = nn.Conv2d(channels, 3 * 4, 3, padding=1)
        self.conf_layer = nn.Conv2d(channels, 3 * CLASSES, 3, padding=1)
        self.mask_layer = nn.Conv2d(channels, 3 * 32, 3, padding=1)

    def forward(self, x):
        y = F.relu(self.upfeature(x))
        said = [(self.bbox_layer, 4), (self.conf_layer, CLASSES), (self.mask_layer, 32)]
        places, logits, masks = [h(y).permute(0, 2, 3, 1).reshape(len(x), -1, n) for h, n in said]
        return places, logits, masks.tanh()


class Enlarge(nn.Module):
    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class Yolact(nn.Module):
    def __init__(self):
        super().__init__()
        c = 256 // WIDTH
        self.backbone = Backbone()
        self.fpn = Pyramid([512 // WIDTH, 1024 // WIDTH, 2048 // WIDTH], c)
        same = [nn.Conv2d(c, c, 3, padding=1) for _ in range(4)]
        self.proto_net = nn.Sequential(same[0], nn.ReLU(), same[1], nn.ReLU(), same[2], nn.ReLU(), Enlarge(), nn.ReLU(), same[3],
                                       nn.ReLU(), nn.Conv2d(c, 32, 1))
        self.prediction_layers = nn.ModuleList([Head(c)])
        self.semantic_seg_conv = nn.Conv2d(c, CLASSES - 1, 1)

    def forward(self, x):
        maps = self.fpn(self.backbone(x))
        places, logits, masks = (torch.cat(parts, 1) for parts in zip(*(self.prediction_layers[0](m) for m in maps)))
        return {"places": places, "logits": logits, "coefficients": masks, "prototypes": F.relu(self.proto_net(maps[0])),
                "segments": self.semantic_seg_conv(maps[0]), "priors": priors([m.shape[-1] for m in maps])}


def priors(sizes):
    boxes = []
    for size, scale in zip(sizes, (24, 48, 96, 192, 384)):
        for row in range(size):
            for column in range(size):
                x, y = (column + 0.5) / size, (row + 0.5) / size
                for ratio in (1, 0.5, 2):
                    half = scale * math.sqrt(ratio) / SIZE / 2
                    boxes.append((x - half, y - half, x + half, y + half))
    return torch.tensor(boxes, dtype=torch.float64).float()


def match(boxes, crowds, prior_boxes):
    table = overlaps(boxes, prior_boxes)
    best, number = table.max(0)
    number[best < 0.5] = -2
    number[best < 0.4] = -1
    if len(crowds) > 0:
        low = torch.maximum(prior_boxes[:, None, :2], crowds[None, :, :2])
        high = torch.minimum(prior_boxes[:, None, 2:], crowds[None, :, 2:])
        area = (prior_boxes[:, 2:] - prior_boxes[:, :2]).prod(1)
        inside = ((high - low).clamp(min=0).prod(2) / area[:, None]).max(1).values
        number[(number == -1) & (inside > 0.7)] = -2
    for _ in boxes:
        g, p = divmod(table.argmax().item(), table.shape[1])
        number[p] = g
        table[g, :] = -1
        table[:, p] = -1
    return number


def picture_masks(dtype):
    """[N, G, SIZE, SIZE]."""
    masks = torch.zeros(len(OBJECTS), len(OBJECTS[0]), SIZE, SIZE, dtype=dtype)
    for n, objects in enumerate(OBJECTS):
        for g, (left, top, right, bottom, _) in enumerate(objects):
            masks[n, g, round(top * SIZE):round(bottom * SIZE), round((left + right) / 2 * SIZE):round(right * SIZE)] = 1
    return masks


def smaller(masks, like):
    return (F.interpolate(masks, size=like.shape[2:], mode="bilinear", align_corners=False) > 0.5).to(masks.dtype)


def crop(masks, boxes):
    """Of [h, w, K]."""
    h, w, _ = masks.shape
    rows, columns = torch.arange(h).view(-1, 1, 1), torch.arange(w).view(1, -1, 1)
    inside = (columns >= boxes[:, 0] * w - 1) & (columns < boxes[:, 2] * w + 1)
    inside = inside & (rows >= boxes[:, 1] * h - 1) & (rows < boxes[:, 3] * h + 1)
    return masks * inside


def losses(out):
    parts, total = {"places": 0.0, "classes": 0.0, "masks": 0.0, "segments": 0.0}, 0
    dtype, prior_boxes = out["places"].dtype, out["priors"].to(out["places"].dtype)
    all_masks = picture_masks(dtype)
    small, seg = smaller(all_masks, out["prototypes"]), smaller(all_masks, out["segments"])
    for n, objects in enumerate(OBJECTS):
        table = torch.tensor(objects, dtype=dtype)
        own = table[:, 4] >= 0
        number = match(table[own, :4], table[table[:, 4] == -2, :4], prior_boxes)
        found, background = number >= 0, number == -1
        classes = table[own, 4].long()
        labels = torch.where(found, classes[number.clamp(min=0)] + 1, 0)
        entropy = F.cross_entropy(out["logits"][n], labels, reduction="none")
        count = min(3 * int(found.sum()), int(background.sum()))
        hardest = entropy.detach().masked_fill(~background, -1).topk(count).indices
        parts["classes"] += entropy[found].sum() + entropy[hardest].sum()
        boxes = table[own, :4][number[found]]
        parts["places"] += 1.5 * F.smooth_l1_loss(out["places"][n][found], encode(boxes, prior_boxes[found]), reduction="sum")
        total += int(found.sum())
        chosen = torch.nonzero(found).flatten()[:MOST_MASKS]
        own_boxes = table[own, :4][number[chosen]]
        said = (out["prototypes"][n].permute(1, 2, 0) @ out["coefficients"][n][chosen].T).sigmoid()
        wanted = small[n][own][number[chosen]].permute(1, 2, 0)
        entropy = F.binary_cross_entropy(crop(said, own_boxes), wanted, reduction="none").sum((0, 1))
        h, w = wanted.shape[:2]
        area = (own_boxes[:, 2] - own_boxes[:, 0]) * w * (own_boxes[:, 3] - own_boxes[:, 1]) * h
        parts["masks"] += 6.125 * (entropy / area).sum() * int(found.sum()) / len(chosen)
        target = torch.zeros_like(out["segments"][n])
        for mask, kind in zip(seg[n][own], classes):
            target[kind] = torch.maximum(target[kind], mask)
        entropy = F.binary_cross_entropy_with_logits(out["segments"][n], target, reduction="sum")
        parts["segments"] += entropy / target[0].numel() / len(OBJECTS)
    return {name: value if name == "segments" else value / total for name, value in parts.items()}, total


def build(dtype):
    model = Yolact()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.fill_(0.125 if name.endswith("bn3.weight") else 1.0 if name.endswith("weight") else 0.0)
            else:
                parameter.copy_(deterministic.uniform(name, tuple(parameter.shape), math.sqrt(6.0 / parameter[0].numel())))
                parameter.mul_(1.0 if name.startswith("backbone") else 0.25)
    return model.to(dtype).eval()


def train(dtype):
    model = build(dtype)
    x = deterministic.uniform("input.0", (len(OBJECTS), 3, SIZE, SIZE), 1.0).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    result = {"losses": []}
    for step in range(STEPS):
        out = model(x)
        parts, total = losses(out)
        loss = sum(parts.values())
        if step == 0:
            result |= {"parts": {name: value.item() for name, value in parts.items()}, "matched": total}
            for name, value in out.items():
                flat = value.detach().double().flatten()
                result[name] = {"sum": flat.sum().item(), "abs_sum": flat.abs().sum().item(), "every_997th": flat[::997].tolist()}
        result["losses"].append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return result


def main():
    torch.set_num_threads(1)
    single, double = train(torch.float32), train(torch.float64)
    gaps = [abs(a - b) / abs(b) for a, b in zip(single["losses"], double["losses"])]
    print("parts", single["parts"], "matched", single["matched"], "last", single["losses"][-1], "gap", max(gaps))
    names = [[name, list(p.shape)] for name, p in build(torch.float32).state_dict().items() if "num_batches" not in name]
    single |= {"f64_gap": max(gaps), "image_size": SIZE, "width": WIDTH, "classes": CLASSES, "rate": RATE, "objects": OBJECTS,
               "most_masks": MOST_MASKS, "parameters": names}
    (HERE / "yolact.json").write_text(json.dumps(single, indent=1) + "\n")


if __name__ == "__main__":
    main()
