#!/usr/bin/env python3
"""Makes a data set of shapes that hide each other, in COCO's instances format, with exact masks.

    make_shapes.py FOLDER --pictures 400 --seed 1 --height 160 --width 160 [--photos DIR]

writes FOLDER/instances.json and FOLDER/pictures/*.jpg. Eight kinds of shapes of any size, angle, colour and texture lie on
backgrounds that are cut out of the photographs in DIR, or made of smooth noise without one. A mask is what is to be seen of
its object; at least a quarter of each is. The same arguments give the same files. Needs numpy and Pillow.
"""

import argparse
import json
import math
import pathlib

import numpy as np
from PIL import Image, ImageDraw

KINDS = ("disc", "square", "triangle", "star", "ring", "cross", "crescent", "arrow")
LEAST_VISIBLE = 0.25
LEAST_PIXELS = 40
FINE = 4  # shapes are drawn so many times as large


def regular(corners, turn=0.0, radius=1.0):
    return [(radius * math.sin(2 * math.pi * i / corners + turn), -radius * math.cos(2 * math.pi * i / corners + turn))
            for i in range(corners)]


def star():
    outer, inner = regular(5), regular(5, math.pi / 5, 0.42)
    return [point for pair in zip(outer, inner) for point in pair]


CROSS = [(-0.3, -1), (0.3, -1), (0.3, -0.3), (1, -0.3), (1, 0.3), (0.3, 0.3), (0.3, 1), (-0.3, 1), (-0.3, 0.3), (-1, 0.3),
         (-1, -0.3), (-0.3, -0.3)]
ARROW = [(0, -1), (0.8, 0), (0.3, 0), (0.3, 1), (-0.3, 1), (-0.3, 0), (-0.8, 0)]
# Outlines around the middle, and what is cut out of them.
OUTLINES = {"disc": (regular(48), []), "square": (regular(4, math.pi / 4), []), "triangle": (regular(3), []),
            "star": (star(), []), "ring": (regular(48), regular(48, 0, 0.55)), "cross": (CROSS, []),
            "crescent": (regular(48), [(x + 0.45, y) for x, y in regular(48, 0, 0.85)]), "arrow": (ARROW, [])}


def shape_mask(kind, x, y, radius, turn, height, width):
    """Pixels of which at least half are inside."""
    outline, hole = OUTLINES[kind]
    image = Image.new("L", (width * FINE, height * FINE))
    draw = ImageDraw.Draw(image)
    cos, sin = math.cos(turn), math.sin(turn)
    for points, value in ((outline, 255), (hole, 0)):
        if points:
            draw.polygon([((x + radius * (px * cos - py * sin)) * FINE, (y + radius * (px * sin + py * cos)) * FINE)
                          for px, py in points], fill=value)
    return np.asarray(image.reduce(FINE)) >= 128


def noise(rng, height, width, cells):
    small = rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC), np.float32)


def background(rng, photos, height, width):
    if not photos:
        return 0.6 * noise(rng, height, width, 4) + 0.4 * noise(rng, height, width, 24)
    photo = photos[rng.integers(len(photos))]
    share = rng.uniform(0.4, 1.0) * min(photo.width / width, photo.height / height)
    w, h = max(1, int(width * share)), max(1, int(height * share))
    left, top = rng.integers(photo.width - w + 1), rng.integers(photo.height - h + 1)
    return np.asarray(photo.resize((width, height), Image.BILINEAR, (left, top, left + w, top + h)), np.float32)


def texture(rng, height, width):
    color = rng.integers(0, 256, 3).astype(np.float32)
    if rng.random() < 0.5:
        return color + 0.3 * (noise(rng, height, width, int(rng.integers(4, 20))) - 128)
    y, x = np.mgrid[:height, :width]
    angle, period = rng.uniform(0, math.pi), rng.uniform(4, 14)
    stripes = np.sin((x * math.cos(angle) + y * math.sin(angle)) * 2 * math.pi / period)
    return color + 45 * stripes[..., None]


def place_objects(rng, height, width, most):
    """-> [(kind, whole mask)] from the lowest to the topmost, and what is to be seen of each"""
    objects = []
    for _ in range(rng.integers(1, most + 1)):
        kind = KINDS[rng.integers(len(KINDS))]
        radius = min(height, width) * math.exp(rng.uniform(math.log(0.08), math.log(0.38)))
        whole = shape_mask(kind, rng.uniform(0, width), rng.uniform(0, height), radius, rng.uniform(0, 2 * math.pi), height, width)
        tried = objects + [(kind, whole)]
        visible = visible_parts([mask for _, mask in tried])
        if all(v.sum() >= max(LEAST_PIXELS, LEAST_VISIBLE * mask.sum()) for v, (_, mask) in zip(visible, tried)):
            objects = tried
    return objects, visible_parts([mask for _, mask in objects])


def visible_parts(masks):
    hidden, parts = np.zeros_like(masks[0]) if masks else None, []
    for mask in reversed(masks):
        parts.append(mask & ~hidden)
        hidden = hidden | mask
    return parts[::-1]


def runs(mask):
    pixels = mask.ravel(order="F")
    edges = np.flatnonzero(np.diff(pixels.astype(np.int8))) + 1
    counts = np.diff(np.concatenate([[0], edges, [pixels.size]])).tolist()
    return ([0] if pixels[0] else []) + counts


def annotation(number, image, kind, mask):
    ys, xs = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    box = [int(xs[0]), int(ys[0]), int(xs[-1] - xs[0] + 1), int(ys[-1] - ys[0] + 1)]
    return {"id": number, "image_id": image, "category_id": KINDS.index(kind) + 1, "iscrowd": 0, "bbox": box,
            "area": int(mask.sum()), "segmentation": {"size": list(mask.shape), "counts": runs(mask)}}


def make(folder, pictures, seed, height, width, most=8, photos=()):
    """-> the instances, as written"""
    folder = pathlib.Path(folder)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    photos = [Image.open(path).convert("RGB") for path in sorted(photos)]
    images, annotations = [], []
    for number in range(1, pictures + 1):
        rng = np.random.default_rng((seed, number))
        pixels = background(rng, photos, height, width)
        objects, parts = place_objects(rng, height, width, most)
        for (kind, _), part in zip(objects, parts):
            pixels = np.where(part[..., None], texture(rng, height, width), pixels)
            annotations.append(annotation(len(annotations) + 1, number, kind, part))
        name = f"pictures/{number:06d}.jpg"
        pixels = pixels + rng.normal(0, 4, pixels.shape)
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / name, quality=92)
        images.append({"id": number, "height": height, "width": width, "file_name": name})
    instances = {"images": images, "annotations": annotations,
                 "categories": [{"id": i + 1, "name": kind} for i, kind in enumerate(KINDS)]}
    (folder / "instances.json").write_text(json.dumps(instances, separators=(",", ":")))
    return instances


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pictures", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--height", type=int, default=160)
    parser.add_argument("--width", type=int, default=160)
    parser.add_argument("--objects", type=int, default=8, help="at most, in a picture (default 8)")
    parser.add_argument("--photos", type=pathlib.Path, help="a folder of photographs for backgrounds")
    options = parser.parse_args()
    photos = [p for p in options.photos.iterdir() if p.suffix.lower() in (".jpg", ".jpeg", ".png")] if options.photos else []
    made = make(options.folder, options.pictures, options.seed, options.height, options.width, options.objects, photos)
    print(f"{len(made['images'])} pictures with {len(made['annotations'])} objects in {options.folder}")


if __name__ == "__main__":
    main()
