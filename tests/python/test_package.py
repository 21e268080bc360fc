"""What is pinned twice is pinned alike, and the examples in docstrings hold."""

import doctest
import importlib
import inspect
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
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def members(owner, name):
    """Name and object of everything that a module of nanobind holds; doctest passes over its functions."""
    for key, value in vars(owner).items():
        if key.startswith("_") or isinstance(value, (str, int, float)):
            continue
        yield f"{name}.{key}", value
        if inspect.ismodule(value) or inspect.isclass(value):
            yield from members(value, f"{name}.{key}")


def bound():
    from thalweg import _tables  # noqa: F401: loads Arrow, which the next one needs

    for module in ("thalweg._core", "thalweg._arrow"):
        yield module, importlib.import_module(module)
        yield from members(importlib.import_module(module), module)


EXAMPLES = {name: value.__doc__ for name, value in bound() if ">>>" in (value.__doc__ or "")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstrings_of_bindings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, None)
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_layers_and_other_classes_have_docstrings():
    assert {"thalweg._core.Model", "thalweg._core.Trainer", "thalweg._core.nn.Conv2d"} <= EXAMPLES.keys()
    assert [name for name, value in bound() if inspect.isclass(value) and not value.__doc__] == []
