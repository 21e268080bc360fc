#!/usr/bin/env python3
"""Benchmark worker: reads the data of one case with the libraries people use. The line protocol is that of worker.py."""

import importlib.metadata
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import worker  # noqa: E402
from data_cases import DATA_CASES  # noqa: E402

ROOT = pathlib.Path(os.environ.get("THALWEG_DEPS") or pathlib.Path.home() / ".cache" / "thalweg") / "bench-data"
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH = 8192


class OpenCvPhotos:
    """A map-style dataset that does with OpenCV what torchvision's transforms do."""

    def __init__(self, directory):
        self.paths = sorted(str(p) for p in pathlib.Path(directory).glob("*/*.jpg"))
        self.classes = sorted({pathlib.Path(p).parent.name for p in self.paths})

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        import cv2
        import numpy as np
        import torch
        from torchvision import transforms

        cv2.setNumThreads(0)
        image = cv2.imread(self.paths[index])
        top, left, height, width = transforms.RandomResizedCrop.get_params(
            torch.empty(3, *image.shape[:2]), (0.08, 1.0), (3 / 4, 4 / 3))
        # INTER_AREA is what OpenCV has against aliasing.
        image = cv2.resize(image[top:top + height, left:left + width], (224, 224), interpolation=cv2.INTER_AREA)
        if torch.rand(1) < 0.5:
            image = cv2.flip(image, 1)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB).astype(np.float32)
        image -= np.float32(MEAN) * np.float32(255)
        image *= np.float32(1) / (np.float32(DEVIATION) * np.float32(255))
        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))), 0


def checked_images(directory):
    from torchvision import datasets, transforms

    folder = datasets.ImageFolder(directory, transforms.Compose([
        transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)]))
    sample = range(0, len(folder), len(folder) // 32)
    return sum(float(folder[i][0].abs().mean()) for i in sample) / len(sample)


def image_dataset(config, directory):
    import torch
    from torchvision import datasets, io, transforms
    from torchvision.transforms import v2

    if config == "opencv":
        return OpenCvPhotos(directory)
    if config == "torchvision_v2":
        # Decodes straight into tensors and stays in u8 until the end: the way its documentation calls the fastest.
        return datasets.ImageFolder(
            directory, v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                   v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)]),
            loader=lambda path: io.decode_jpeg(io.read_file(path), mode=io.ImageReadMode.RGB))
    return datasets.ImageFolder(directory, transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize(MEAN, DEVIATION)]))


def image_step(config, threads):
    import torch

    directory = str(ROOT / "photos")
    check = checked_images(directory)
    loader = torch.utils.data.DataLoader(image_dataset(config, directory), batch_size=64, shuffle=True,
                                         num_workers=threads, persistent_workers=True)

    def step():
        count = sum(len(images) for images, _ in loader)
        assert count == len(loader.dataset)
        return check
    return step


def looked_at(batches, columns):
    """The sum over some elements of each batch, as bench/data_run.cc takes it."""
    return sum(abs(float(batch[i, i % columns])) for batch in batches for i in range(0, len(batch), 1024))


def rows_of(record_batches):
    import numpy as np

    for batch in record_batches:
        yield np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1)


def parquet_step(config, threads):
    import pyarrow
    import pyarrow.parquet

    pyarrow.set_cpu_count(threads)
    path = ROOT / "table.parquet"

    def step():
        if config == "pyarrow":
            batches = pyarrow.parquet.read_table(path).to_batches(max_chunksize=BATCH)
        else:
            batches = pyarrow.parquet.ParquetFile(path, pre_buffer=True).iter_batches(batch_size=BATCH)
        return looked_at(aligned(rows_of(batches)), 200)
    return step


def aligned(batches):
    """Batches of BATCH rows, whatever the row groups' borders."""
    import numpy as np

    rest = None
    for batch in batches:
        rest = batch if rest is None else np.concatenate([rest, batch])
        while len(rest) >= BATCH:
            yield rest[:BATCH]
            rest = rest[BATCH:]
        rest = rest if len(rest) else None
    if rest is not None:
        yield rest


def csv_step(config, threads):
    import numpy as np
    import pandas
    import pyarrow

    pyarrow.set_cpu_count(threads)
    engine = {"pandas": "c", "pandas_pyarrow": "pyarrow"}[config]

    def step():
        values = pandas.read_csv(ROOT / "table.csv", dtype=np.float32, engine=engine).to_numpy(np.float32)
        return looked_at((np.ascontiguousarray(values[i:i + BATCH]) for i in range(0, len(values), BATCH)), 20)
    return step


STEPS = {"data_imagefolder_224": image_step, "data_parquet_200cols": parquet_step, "data_csv": csv_step}


LIBRARIES = {"torchvision": "torchvision", "torchvision_v2": "torchvision", "opencv": "opencv-python-headless",
             "pyarrow": "pyarrow", "pyarrow_batches": "pyarrow", "pandas": "pandas", "pandas_pyarrow": "pandas"}


class Reader:
    def __init__(self, options):
        self.version = importlib.metadata.version(LIBRARIES[options.config])
        self.step = STEPS[options.case](options.config, options.threads)

    @staticmethod
    def loss(result):
        return result


if __name__ == "__main__":
    sys.exit(worker.serve(worker.parser(__doc__, list(DATA_CASES), list(LIBRARIES)).parse_args(), Reader))
