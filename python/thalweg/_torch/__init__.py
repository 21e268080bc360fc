"""PyTorch modules as Thalweg models, through torch.export. Imported only when it is asked for: torch is optional."""

from thalweg._torch.accelerate import accelerate
from thalweg._torch.convert import from_torch, load_into_torch

__all__ = ["accelerate", "from_torch", "load_into_torch"]
