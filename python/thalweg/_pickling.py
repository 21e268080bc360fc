"""How pickle and copy take graphs and models: as the files by which they travel between processes."""

import copyreg
import os
import tempfile

from thalweg._core import Graph, Model

_GRAPH = "graph.onnx"


def _files_of(save, name):
    """What ``save`` writes to a path of this name, and beside it: the content of each file by its name."""
    with tempfile.TemporaryDirectory() as folder:
        save(os.path.join(folder, name))
        files = {}
        for entry in os.scandir(folder):
            with open(entry.path, "rb") as file:
                files[entry.name] = file.read()
        return files


def _from_files(load, name, files, options):
    with tempfile.TemporaryDirectory() as folder:
        for other, content in files.items():
            with open(os.path.join(folder, other), "wb") as file:
                file.write(content)
        return load(os.path.join(folder, name), **options)


def _graph(files):
    return _from_files(Graph.load_for_training, _GRAPH, files, {})


def _model(files, options):
    return _from_files(Model.load, _GRAPH, files, options)


copyreg.pickle(Graph, lambda graph: (_graph, (_files_of(graph.save_for_training, _GRAPH),)))
copyreg.pickle(Model, lambda model: (_model, (_files_of(model.save_for_training, _GRAPH), model.options)))
