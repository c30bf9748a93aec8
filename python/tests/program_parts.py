"""What random autograd programs (autograd_programs.py) are made of, beside PyTorch itself: leaves, functions, modules."""

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Stopped(Exception):
    """Raised in mid-step, on purpose."""


def values(seed, shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_complex:
        return torch.view_as_complex(torch.randn(*shape, 2, generator=generator)).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(0, 16, shape, generator=generator).to(dtype)
    return torch.randn(*shape, generator=generator).to(dtype)


def leaf(seed, shape, dtype=torch.float32):
    return values(seed, shape, dtype).requires_grad_()


def real(x):
    """A number to differentiate, of whatever there is."""
    if x.is_complex():
        x = torch.view_as_real(x.resolve_conj())
    return x.double().sum() if x.dtype in (torch.half, torch.bfloat16, torch.float64) else x.sum()


class Swish(torch.autograd.Function):
    """Saves an input, what it made on the way, and nothing; writes into what it saved when it is asked."""

    @staticmethod
    def forward(ctx, x, scale):
        gate = torch.sigmoid(x * scale)
        ctx.scale = scale
        ctx.save_for_backward(x, gate, None)
        return x * gate

    @staticmethod
    def backward(ctx, gradient):
        x, gate, _ = ctx.saved_tensors
        slope = gate + ctx.scale * x * gate * (1 - gate)
        if torch.is_grad_enabled():
            return slope * gradient, None
        gate.copy_(slope * gradient)
        return gate, None


class Exponential(torch.autograd.Function):
    """Saves its output; makes other histories within."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            torch.sin(inner).sum()
        y = torch.exp(torch.tanh(x))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y * (1 - torch.tanh(x) ** 2)


class ClampInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(-0.5, 0.5)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient * (y.abs() < 0.5)


class TwoResults(torch.autograd.Function):
    """Two outputs, both saved, and one that has no gradient; keeps a tensor that is not saved."""

    @staticmethod
    def forward(ctx, x, w):
        a, b, order = torch.sin(x) * w, torch.cos(x), x.argsort(-1)
        ctx.mark_non_differentiable(order)
        ctx.kept = w
        ctx.save_for_backward(a, b, x, order)
        return a, b, order

    @staticmethod
    def backward(ctx, for_a, for_b, _):
        a, b, x, order = ctx.saved_tensors
        return for_a * b * ctx.kept - for_b * torch.sin(x) + 0 * order, for_a * torch.sin(x) + 0 * a


class Failing(torch.autograd.Function):
    """Its backward pass fails."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        assert ctx.saved_tensors[0].shape == gradient.shape
        raise Stopped("in the backward pass")


MODULES = {
    "linear": lambda: torch.nn.Linear(128, 128),
    "norm": lambda: torch.nn.LayerNorm(128),
    "block": lambda: torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.GELU("tanh"), torch.nn.Dropout(0.2), torch.nn.Linear(128, 128)),
    "statistics": lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(128), torch.nn.ReLU(inplace=True)),
    "picture": lambda: torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.Hardswish(inplace=True), torch.nn.Conv2d(4, 2, 1)),
    "lstm": lambda: torch.nn.LSTM(128, 32, bidirectional=True),
    "gru": lambda: torch.nn.GRU(128, 64),
    "attention": lambda: torch.nn.TransformerEncoderLayer(128, 4, 256, 0.1),
    "table": lambda: torch.nn.Embedding(16, 128, sparse=True),
}


class Modules(dict):
    """Made when they are asked for first, with the same weights each time; a program may use one again and again."""

    def __missing__(self, name):
        with torch.random.fork_rng():
            torch.manual_seed(5)
            self[name] = MODULES[name]()
        return self[name]

    def parameters(self):
        return [each for module in self.values() for each in module.parameters()]

    def buffers(self):
        return [each for module in self.values() for each in module.buffers()]


def packed(module, x):
    """A recurrent module over sequences of several lengths."""
    lengths = torch.arange(8, 8 - x.shape[1], -1)
    states, _ = module(pack_padded_sequence(x[:8], lengths, enforce_sorted=True))
    return pad_packed_sequence(states)[0]


def sparse(seed, compressed):
    where = torch.randint(128, (2, 6000), generator=torch.Generator().manual_seed(seed))
    found = torch.sparse_coo_tensor(where, values(seed, (6000,)), (128, 128)).coalesce()
    return found.to_sparse_csr() if compressed else found


def keep_and_double(kept):
    """A hook that keeps the gradient that it sees, and changes it."""

    def hook(gradient):
        kept.append(gradient)
        return gradient * 2

    return hook


def stop(_):
    raise Stopped("in a hook")
