#!/usr/bin/env python3
"""Makes the .npy and .npz files beside it. Needs numpy (2.x)."""

import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent
NUMBERS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

np.save(FOLDER / "row_major.npy", NUMBERS)
np.save(FOLDER / "column_major.npy", np.asfortranarray(NUMBERS))
np.save(FOLDER / "big_endian.npy", NUMBERS.astype(">f4"))
np.save(FOLDER / "scalar.npy", np.int64(-7))
np.save(FOLDER / "complex.npy", np.zeros(2, np.complex64))
np.savez(FOLDER / "stored.npz", x=NUMBERS, flags=np.array([True, False]))
np.savez_compressed(FOLDER / "compressed.npz", x=NUMBERS, flags=np.array([True, False]))
