"""A model with two outputs."""

from thalweg import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return {"first": self.first(x), "second": self.second(x)}
