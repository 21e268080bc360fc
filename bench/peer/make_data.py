#!/usr/bin/env python3
"""Writes what the data cases read into a directory (argument). Does nothing for what is there.

  photos/<class>/<n>.jpg   512 JPEGs of about 500 x 375 pixels, quality 90, cut at random places and scales out of the
                           photographs that scikit-image carries
  table.parquet            1,000,000 rows of 200 f32 columns, random numbers, row groups of 65,536, Snappy
  table.csv                200,000 rows of 20 columns, numbers with six digits after the point
Run it with the benchmark environment's Python.
"""

import pathlib
import shutil
import sys

PHOTOS = ("astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "retina.jpg", "rocket.jpg",
          "motorcycle_left.png", "ihc.png")
IMAGES = 512


def photos(directory):
    import importlib.util

    import numpy as np
    from PIL import Image

    # Where the package lies; to import it would need scipy, which nothing else here does.
    source = pathlib.Path(importlib.util.find_spec("skimage").origin).parent / "data"
    random = np.random.default_rng(1)
    originals = [Image.open(source / name).convert("RGB") for name in PHOTOS]
    for i in range(IMAGES):
        number = i % len(originals)
        original = originals[number]
        share = random.uniform(0.6, 1.0)
        width, height = int(original.width * share), int(original.height * share)
        left, top = int(random.integers(0, original.width - width + 1)), int(random.integers(0, original.height - height + 1))
        scale = random.uniform(440, 560) / max(width, height)
        image = original.crop((left, top, left + width, top + height)).resize(
            (max(64, round(width * scale)), max(64, round(height * scale))), Image.BICUBIC)
        target = directory / PHOTOS[number].split(".")[0] / f"{i:04d}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        image.save(target, quality=90)


def parquet(path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(2)
    schema = pa.schema([(f"c{i}", pa.float32()) for i in range(200)])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for begin in range(0, 1_000_000, 65536):
            rows = min(65536, 1_000_000 - begin)
            columns = [pa.array(random.standard_normal(rows, dtype=np.float32)) for _ in range(200)]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=65536)


def csv(path):
    import numpy as np

    values = np.random.default_rng(3).standard_normal((200_000, 20))
    with open(path, "w") as out:
        out.write(",".join(f"c{i}" for i in range(20)) + "\n")
        np.savetxt(out, values, fmt="%.6f", delimiter=",")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    for name, make in (("photos", photos), ("table.parquet", parquet), ("table.csv", csv)):
        if (root / name).exists():
            continue
        print(f"making {root / name}", flush=True)
        part = root / f".{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.unlink(missing_ok=True)
        make(part)
        part.rename(root / name)


if __name__ == "__main__":
    main()
