"""Run by scripts/check-wheel in an environment that holds the wheel, numpy and pyarrow only."""

import importlib.metadata
import importlib.resources
import pathlib
import subprocess
import sys
import tempfile

import numpy
import pyarrow

import thalweg
from thalweg import _tables, nn

installed = {distribution.name for distribution in importlib.metadata.distributions()} - {"pip", "setuptools"}
assert installed == {"thalweg", "numpy", "pyarrow"}, installed
assert _tables.arrow_version() == pyarrow.__version__

model = thalweg.Model(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten()), [thalweg.Input((None, 3, 8, 8))])
x = numpy.random.default_rng(0).random((2, 3, 8, 8)).astype("float32")
with tempfile.TemporaryDirectory() as folder:
    path = str(pathlib.Path(folder) / "model.onnx")
    model.save(path)
    numpy.testing.assert_allclose(thalweg.Model.load(path)(x), model(x), rtol=1e-5, atol=1e-6)

    # The command that comes with the package.
    program = pathlib.Path(sys.executable).parent / "thalweg"
    told = subprocess.run([program, "explain", path, "--batch", "2"], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0 and "Conv" in told.stdout, told
    csv = pathlib.Path(folder) / "two.csv"
    csv.write_text("a,b\n1,2\n3,4\n")
    told = subprocess.run([program, "data", str(csv)], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0 and "2 rows" in told.stdout, told

package = importlib.resources.files("thalweg")
assert package.joinpath("py.typed").is_file()
assert any(path.suffix == ".pyi" for path in pathlib.Path(str(package)).rglob("*.pyi"))

# Nothing of the build machine may be in use.
maps = pathlib.Path("/proc/self/maps").read_text()
home = str(pathlib.Path(str(package)))
ours = {line.split()[-1] for line in maps.splitlines() if "thalweg" in line.split()[-1]}
assert ours and all(path.startswith(home) for path in ours), ours
print("the wheel works")
