"""Losses: a value of one element, from a prediction and a target."""

from thalweg._core.losses import *  # noqa: F403
