#!/usr/bin/env python3
"""Writes the image files beside this script and, as IDX files, what Pillow makes of them.

Needs Pillow 13.0.0 and numpy. The pictures are computed, so that nobody else's rights are in them:
  photo.*        one picture in every format and kind the decoders know; <file>.idx holds Pillow's pixels
  source.idx     the pixels that the resize_* and color_* files are made of
  resize_<filter>_<width>x<height>.idx           the whole picture
  resize_<filter>_<width>x<height>_cut.idx       of the part (7, 5) to (47, 39): cut out first, then resized
  color_<kind>.idx                               ImageEnhance with the factor of COLORS; hue by way of HSV
"""

import pathlib
import struct

import numpy as np
from PIL import Image, ImageEnhance

HERE = pathlib.Path(__file__).resolve().parent
WIDTH, HEIGHT = 61, 47
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "area": Image.BOX, "nearest": Image.NEAREST}
SIZES = ((23, 19), (100, 90), (61, 20))
COLORS = {"brightness": 1.4, "contrast": 0.6, "saturation": 1.7, "hue": 0.2}


def write_idx(name, array):
    array = np.ascontiguousarray(array, dtype=np.uint8)
    header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    (HERE / f"{name}.idx").write_bytes(header + array.tobytes())


def pixels(image, mode="RGB"):
    array = np.asarray(image.convert(mode))
    return array if array.ndim == 3 else array[:, :, None]


def picture():
    """Smooth colours, a disc with a sharp edge, and a fine grating."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    red = 127 + 120 * np.sin(x / 9) * np.cos(y / 7)
    green = 255 * x / WIDTH
    blue = 255 - 255 * y / HEIGHT
    disc = (x - 40) ** 2 + (y - 20) ** 2 < 120
    grating = (x < 16) & (y > 30) & ((x.astype(int) + y.astype(int)) % 2 == 0)
    rgb = np.stack([red, green, blue], axis=-1)
    rgb[disc] = (240, 30, 60)
    rgb[grating] = (255, 255, 255)
    return Image.fromarray(np.clip(np.round(rgb), 0, 255).astype(np.uint8))


def files(photo):
    """name -> (image, save options)"""
    palette = photo.quantize(64)
    deep = Image.fromarray((np.asarray(photo.convert("L")).astype(np.uint16) * 257))
    return {
        "photo.jpg": (photo, {"quality": 90}),
        "photo_444.jpg": (photo, {"quality": 90, "subsampling": 0}),
        "photo_progressive.jpg": (photo, {"quality": 90, "progressive": True}),
        "photo_gray.jpg": (photo.convert("L"), {"quality": 90}),
        "photo_cmyk.jpg": (photo.convert("CMYK"), {"quality": 95}),
        "photo.png": (photo, {}),
        "photo_alpha.png": (photo.convert("RGBA"), {}),
        "photo_palette.png": (palette, {}),
        "photo_two.png": (photo.convert("1"), {}),
        "photo_gray.png": (photo.convert("L"), {}),
        "photo_16bit.png": (deep, {}),
        "photo.bmp": (photo, {}),
        "photo_palette.bmp": (palette, {}),
        "photo_alpha.bmp": (photo.convert("RGBA"), {}),
        "photo.gif": (palette, {"save_all": True, "append_images": [palette.rotate(180)]}),
    }


def expected(name):
    image = Image.open(HERE / name)
    if image.mode.startswith("I"):
        return np.repeat((np.asarray(image).astype(np.uint32) // 257).astype(np.uint8)[:, :, None], 3, axis=2)
    return pixels(image)


def recolored(photo, kind, factor):
    if kind == "hue":
        h, s, v = photo.convert("HSV").split()
        turned = (np.asarray(h).astype(int) + int(factor * 255)) % 256
        return Image.merge("HSV", (Image.fromarray(turned.astype(np.uint8)), s, v)).convert("RGB")
    enhance = {"brightness": ImageEnhance.Brightness, "contrast": ImageEnhance.Contrast, "saturation": ImageEnhance.Color}
    return enhance[kind](photo).enhance(factor)


def main():
    photo = picture()
    write_idx("source", pixels(photo))
    for name, (image, options) in files(photo).items():
        image.save(HERE / name, **options)
        write_idx(name, expected(name))
    write_idx("photo.jpg.gray", pixels(Image.open(HERE / "photo.jpg"), "L"))
    for filter_name, resampling in FILTERS.items():
        for size in SIZES:
            name = f"resize_{filter_name}_{size[0]}x{size[1]}"
            write_idx(name, pixels(photo.resize(size, resampling)))
            # Where one side grows and the other shrinks Pillow starts with the columns; where source pixels end exactly
            # in the middle of a result's, its "nearest" takes either neighbour. Neither is worth a comparison.
            if size != SIZES[2] and filter_name != "nearest":
                write_idx(f"{name}_cut", pixels(photo.crop((7, 5, 47, 39)).resize(size, resampling)))
    for kind, factor in COLORS.items():
        write_idx(f"color_{kind}", pixels(recolored(photo, kind, factor)))


if __name__ == "__main__":
    main()
