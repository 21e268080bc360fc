"""Lets an export know what a module's buffers hold, so that it may decide by them: flags, tables, points in time."""

import contextlib

import torch
from torch._subclasses import fake_tensor
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

# Of elements: what modules decide by is small.
_LARGEST = 4096


def with_known_buffers(module, export):
    """What `export` returns. A decision by what a buffer holds is made as the buffer is now, as one by an attribute is, if
    there is no other way, and unless the module changes that buffer."""
    try:
        return export()
    except Exception as error:
        if not isinstance(error.__cause__ or error, GuardOnDataDependentSymNode):
            raise
        with contextlib.suppress(Exception):
            with _known(list(module.buffers())):
                # Only without changes in place does a program tell which buffers it changes.
                changed = set(export().run_decompositions({}).graph_signature.buffers_to_mutate.values())
            with _known([buffer for name, buffer in module.named_buffers() if name not in changed]):
                return export()
        raise


@contextlib.contextmanager
def _known(buffers):
    known = {id(buffer) for buffer in buffers if buffer.numel() <= _LARGEST}
    converter, limit = fake_tensor.FakeTensorConverter, fake_tensor.CONSTANT_NUMEL_LIMIT
    original = converter.from_real_tensor

    def from_real_tensor(self, fake_mode, t, *arguments, **named):
        fake = original(self, fake_mode, t, *arguments, **named)
        if id(t) in known and fake.constant is None and type(t) is torch.Tensor:
            # A copy, as what is done to it in place is done while the export runs.
            fake.constant = t.detach().clone()
            self.add_constant_storage_mapping(fake)
        return fake

    converter.from_real_tensor, fake_tensor.CONSTANT_NUMEL_LIMIT = from_real_tensor, _LARGEST
    try:
        yield
    finally:
        converter.from_real_tensor, fake_tensor.CONSTANT_NUMEL_LIMIT = original, limit
