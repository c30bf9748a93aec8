"""Keeps the tensors that autograd saves for the backward pass in a file, as a PyTorch user can do today.

torch.autograd.graph.saved_tensors_hooks gives each saved tensor to pack() and asks unpack() for it again. Both are
synchronous: O_DIRECT writes and reads through one aligned buffer, into a preallocated file that is reused every step.
Like PyTorch's own save_on_cpu, a tensor saved by two ops is stored twice. Parameters and small tensors stay in memory.
"""

import mmap
import os

import numpy
import torch

SMALLEST_BYTES = 256 * 1024
ALIGNMENT = 4096
GROWTH_BYTES = 1 << 30


def round_up(value, multiple):
    return (value + multiple - 1) // multiple * multiple


class SavedOnDisk:
    def __init__(self, path, parameters):
        self.parameters = {parameter.data_ptr() for parameter in parameters}
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        os.unlink(path)
        self.allocated = 0
        self.next_offset = 0
        self.buffer = mmap.mmap(-1, ALIGNMENT)

    def hooks(self):
        """A context manager for one forward pass."""
        self.next_offset = 0
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def bounce(self, size):
        if len(self.buffer) < size:
            self.buffer = mmap.mmap(-1, round_up(size, 1 << 21))
            self.buffer.madvise(mmap.MADV_HUGEPAGE)
        return memoryview(self.buffer)[:size]

    def pack(self, tensor):
        size = tensor.numel() * tensor.element_size()
        dense = tensor.is_contiguous() or tensor.is_contiguous(memory_format=torch.channels_last)
        if size < SMALLEST_BYTES or tensor.data_ptr() in self.parameters or not dense:
            return tensor
        padded = round_up(size, ALIGNMENT)
        if self.next_offset + padded > self.allocated:
            os.posix_fallocate(self.file, self.allocated, max(GROWTH_BYTES, padded))
            self.allocated += max(GROWTH_BYTES, padded)
        flat = tensor.detach().as_strided((tensor.numel(),), (1,)).numpy()
        window = self.bounce(padded)
        numpy.frombuffer(window, dtype=flat.dtype, count=flat.size)[:] = flat
        self.transfer(os.pwritev, window, self.next_offset)
        handle = (self.next_offset, tensor.size(), tensor.stride(), tensor.dtype)
        self.next_offset += padded
        return handle

    def unpack(self, handle):
        if isinstance(handle, torch.Tensor):
            return handle
        offset, shape, stride, dtype = handle
        tensor = torch.empty_strided(shape, stride, dtype=dtype)
        flat = tensor.as_strided((tensor.numel(),), (1,)).numpy()
        window = self.bounce(round_up(flat.nbytes, ALIGNMENT))
        self.transfer(os.preadv, window, offset)
        flat[:] = numpy.frombuffer(window, dtype=flat.dtype, count=flat.size)
        return tensor

    def transfer(self, operation, window, offset):
        done = 0
        while done < len(window):
            count = operation(self.file, [window[done:]], offset + done)
            if count <= 0:
                raise OSError("the file of saved tensors ended early")
            done += count
