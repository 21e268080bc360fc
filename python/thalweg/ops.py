"""Single operations on values of a graph, as the engine has them: what losses and layers of one's own are made of.

>>> import thalweg
>>> graph = thalweg.Graph()
>>> x = graph.input("x", (None, 3))
>>> thalweg.ops.reduce_mean(thalweg.ops.square(x - 1.0), axes=[1])
Value('reduce_mean_2', f32[?], computed)
"""

from thalweg._core.ops import *  # noqa: F403
