"""Optimisers with their options: thalweg.optim.adam(learning_rate=0.01)."""

from thalweg._core.optim import *  # noqa: F403
