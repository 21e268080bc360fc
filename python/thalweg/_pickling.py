"""How pickle and copy take graphs and models: as the files by which they travel between processes."""

import copyreg
import os
import tempfile

from thalweg._core import Graph, Model


def _content(saved):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.safetensors")
        saved.save_for_training(path)
        with open(path, "rb") as file:
            return file.read()


def _graph(content):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        return Graph.load_for_training(path)


def _model(content, options):
    return Model(_graph(content), **options)


copyreg.pickle(Graph, lambda graph: (_graph, (_content(graph),)))
copyreg.pickle(Model, lambda model: (_model, (_content(model), model.predict_options)))
