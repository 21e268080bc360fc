"""What is pinned twice is pinned alike, and the examples in docstrings hold."""

import doctest
import importlib
import pathlib
import pkgutil
import re
import tomllib

import pyarrow
import pytest

import thalweg

ROOT = pathlib.Path(__file__).parents[2]


def pins(lines):
    return dict(re.findall(r"^\s*([\w.-]+)==([\w.]+)", "\n".join(lines), re.MULTILINE))


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    ours = pins((ROOT / "scripts/python-requirements.txt").read_text().splitlines())
    for name, version in pins(project["build-system"]["requires"] + project["project"]["dependencies"]).items():
        assert ours[name] == version, name
    arrow = re.search(r"^ARROW_VERSION=(.*)$", (ROOT / "scripts/versions.sh").read_text(), re.MULTILINE)
    assert ours["pyarrow"] == arrow.group(1)


def test_arrow_is_that_of_pyarrow():
    from thalweg import _tables

    assert _tables.arrow_version() == pyarrow.__version__


# thalweg.spark needs pyspark; tests/spark imports it.
MODULES = [
    module.name
    for module in pkgutil.walk_packages(thalweg.__path__, "thalweg.")
    if "._" not in module.name and not module.name.startswith("thalweg.spark")
]


@pytest.mark.parametrize("name", ["thalweg", *MODULES])
def test_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
