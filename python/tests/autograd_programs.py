"""Random programs for autograd, each from its seed: Python text of one step, over the names of program_parts.py.

A program is written line by line while it runs under plain PyTorch: a line that PyTorch refuses there and then is left out.
What it refuses later (a tensor that was changed in place, say) stays: whoever runs the program is to see the same error.
`within()` is what a step is put into.
"""

import random
import re

import torch

import program_parts

REAL = lambda x: x.is_floating_point()
WIDE = lambda x: x.dtype in (torch.float32, torch.float64)
COMPLEX = lambda x: x.is_complex()
FLOAT = lambda x: x.is_floating_point() or x.is_complex()
SINGLE = lambda x: x.dtype == torch.float32
WHOLE = lambda x: not FLOAT(x)
MATRIX = lambda x: SINGLE(x) and x.dim() == 2 and x.shape[1] == 128
SQUARE = lambda x: FLOAT(x) and x.dim() == 2 and x.shape == (128, 128)
DEEP = lambda x: FLOAT(x) and x.dim() >= 2
PICTURE = lambda x: SINGLE(x) and x.numel() % (2 * 128 * 64) == 0 and x.numel() > 0

# (how often, which tensors, what becomes of them). x and y: tensors, y of x's shape; n, m: small numbers; u: in [0, 1).
OPS = [
    (9, REAL, "torch.{one}(x)"),
    (4, WIDE, "F.{activation}(x)"),
    (6, FLOAT, "x * y"),
    (3, FLOAT, "x * x"),
    (4, FLOAT, "x + u * y"),
    (2, REAL, "x / (y.abs() + 1)"),
    (2, REAL, "torch.atan2(x, y)"),
    (2, REAL, "torch.where(x > y, x, y * u)"),
    (2, REAL, "torch.addcmul(x, y, x, value=u)"),
    (1, REAL, "torch.lerp(x, y, u)"),
    (2, REAL, "x.clamp(-u, 1)"),
    (2, DEEP, "F.softmax(x.float(), -1)"),
    (1, DEEP, "F.log_softmax(x.float(), -1)"),
    (2, WIDE, "F.dropout(x, u)"),
    (2, DEEP, "x.cumsum(-1)"),
    (1, DEEP, "x.abs().sort(-1)[0]"),
    (1, DEEP, "x.real.cummax(0)[0]"),
    (1, DEEP, "x.abs().topk(min(x.shape[-1], 40), -1)[0]"),
    (1, DEEP, "x.roll(n, 0).flip(0)"),
    (2, DEEP, "x[torch.arange(x.shape[0]).flip(0) // 2]"),
    (1, DEEP, "torch.cat([x, y], -1)"),
    (1, DEEP, "torch.stack([x, y]).mean(0)"),
    (2, DEEP, "x.masked_fill(values(n, x.shape).gt(u), u)"),
    (1, DEEP, "x.std(-1, keepdim=True) * x"),
    (1, DEEP, "x.norm(dim=-1, keepdim=True) + x"),
    (4, SQUARE, "x @ y"),
    (2, SQUARE, "x.t() @ x"),
    (1, SQUARE, "torch.einsum('ij,kj->ki', x, y)"),
    (1, SQUARE, "torch.bmm(x.view(2, 64, 128), y.view(2, 128, 64)).reshape(2, 64, 64)"),
    # views
    (3, DEEP, "x.transpose(0, 1)"),
    (2, DEEP, "x[n:]"),
    (2, DEEP, "x[:, ::2]"),
    (2, DEEP, "x.chunk(2, 0)[1]"),
    (1, DEEP, "x.unsafe_chunk(2, 0)[0]"),
    (1, DEEP, "x.unbind(0)[n % x.shape[0]]"),
    (1, FLOAT, "x.unsqueeze(0).expand(2, *x.shape)"),
    (1, DEEP, "x.unfold(0, 3, 2)"),
    (1, DEEP, "x.contiguous().as_strided((100, 64), (32, 1), n)"),
    (1, DEEP, "x.diagonal()"),
    (2, FLOAT, "x.reshape(-1)"),
    (1, FLOAT, "x.view_as(x)"),
    (2, FLOAT, "x.detach()"),
    (1, FLOAT, "x.data"),
    (1, FLOAT, "x.clone()"),
    (1, SINGLE, "x.reshape(2, -1, 2, 64).contiguous(memory_format=torch.channels_last)"),
    # types
    (1, REAL, "x.double()"),
    (1, REAL, "x.half()"),
    (2, REAL, "x.bfloat16()"),
    (3, FLOAT, "x.float() if not x.is_complex() else x.real"),
    (2, DEEP, "x.abs().argsort(-1)"),
    (1, REAL, "(x * 3).int()"),
    (1, WHOLE, "x.float() * u"),
    (1, WHOLE, "torch.where(x > n, 1.0, x * u)"),
    # complex
    (3, SINGLE, "torch.complex(x, y)"),
    (2, SINGLE, "torch.view_as_complex(x.reshape(-1, 64, 2))"),
    (2, SINGLE, "torch.polar(x.abs(), y)"),
    (3, COMPLEX, "x.conj() * y"),
    (2, COMPLEX, "x.conj()"),
    (2, COMPLEX, "x.conj().imag"),
    (1, COMPLEX, "x.imag.square() + x.real"),
    (2, COMPLEX, "torch.view_as_real(x.resolve_conj())"),
    (2, COMPLEX, "x.abs()"),
    (1, COMPLEX, "x.angle()"),
    (1, COMPLEX, "torch.exp(x / (1 + x.abs().square().sum().sqrt()))"),
    (2, lambda x: COMPLEX(x) and x.dim() == 2, "x.mH @ x"),
    (2, lambda x: DEEP(x) and (COMPLEX(x) or WIDE(x)), "torch.fft.fft(x)"),
    (1, lambda x: WIDE(x) and x.dim() > 1, "torch.fft.rfft(x)"),
    (1, lambda x: COMPLEX(x) and x.dim() > 1, "torch.fft.irfft(x, 128)"),
    # functions, modules, other layouts
    (4, WIDE, "Swish.apply(x, u)"),
    (3, WIDE, "Exponential.apply(x)"),
    (2, WIDE, "ClampInPlace.apply(x + 0)"),
    (2, WIDE, "TwoResults.apply(x, y)[n % 2]"),
    (5, MATRIX, "net['{module}'](x)"),
    (1, MATRIX, "packed(net['lstm'], x.reshape(-1, 4, 128))"),
    (1, MATRIX, "packed(net['gru'], x.reshape(-1, 4, 128))"),
    (1, MATRIX, "net['attention'](x.reshape(-1, 8, 128))"),
    (1, PICTURE, "net['picture'](x.reshape(-1, 2, 64, 128))"),
    (1, MATRIX, "net['table'](x[:16].detach().abs().long().clamp(max=15))"),
    (2, lambda x: MATRIX(x) and x.shape[0] == 128, "torch.sparse.mm(sparse(n, False), x)"),
    (1, lambda x: MATRIX(x) and x.shape[0] == 128, "sparse(n, True) @ x"),
    (2, MATRIX, "checkpoint(net['block'], x, use_reentrant={flag})"),
    (2, WIDE, "checkpoint(lambda a, b: Swish.apply(torch.sin(a) * b, 0.5), x, y, use_reentrant={flag})"),
]
CHANGES = [  # in place, under whatever name
    (3, FLOAT, "x.mul_(u)"),
    (3, FLOAT, "x.add_(y)"),
    (2, REAL, "x.sin_()"),
    (2, REAL, "x.exp_()"),
    (2, REAL, "F.relu_(x)"),
    (1, FLOAT, "x.zero_()"),
    (2, FLOAT, "x.copy_(y)"),
    (2, DEEP, "x[n:n + 2] = u"),
    (1, DEEP, "x[:, 1].mul_(2)"),
    (1, DEEP, "x.t_()"),
    (2, FLOAT, "x.data.mul_(u)"),
    (1, FLOAT, "x.detach().add_(1)"),
    (1, SINGLE, "numpy.multiply(x.detach().numpy(), 2, out=x.detach().numpy())"),
    (2, DEEP, "for part in x.unsafe_chunk(2, 0): part.mul_(u)"),
    (1, FLOAT, "x.data = x.data.clone() * u"),
    (1, FLOAT, "x.detach_()"),
    (1, WHOLE, "x.add_(1)"),
]
# Not gelu as it is by default: of a gradient that is not contiguous PyTorch 1.13 makes one of numbers that nobody wrote.
WORDS = {
    "one": "sin cos tanh sigmoid exp relu square abs erf log1p sqrt reciprocal".split(),
    "activation": "mish silu softplus elu leaky_relu hardtanh".split(),
    "module": "linear linear norm block statistics".split(),
    "flag": ["True", "False"],
}


def namespace(within):
    """Where a program runs."""
    import numpy
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(7)
    names = {name: each for name, each in vars(program_parts).items() if not name.startswith("_")}
    return {**names, "torch": torch, "F": torch.nn.functional, "numpy": numpy, "checkpoint": checkpoint,
            "results": [], "within": within, "net": program_parts.Modules()}


class Writer:
    """Writes one program."""

    def __init__(self, seed: int):
        self.random, self.space = random.Random(seed), namespace(torch.enable_grad)
        self.lines: list[str] = []
        self.tail: list[str] = []  # behind the step
        self.looks: list[str] = []  # at what came of it, also where it failed
        self.made = 0

    def text(self) -> str:
        inside = "\n".join("    " + line for line in self.lines)
        return "\n".join([f"with within():\n{inside}", *self.tail]) + "\n"

    def write(self, line: str) -> bool:
        """Whether PyTorch takes it."""
        try:
            exec(line, self.space)
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, ArithmeticError, AssertionError):
            return False
        self.lines.append(line)
        return True

    def tensors(self, which=lambda each: True) -> list[str]:
        def suits(tensor) -> bool:
            try:
                return which(tensor)
            except RuntimeError:  # PyTorch does not say what it is: a view whose history is lost
                return False

        return [name for name, each in self.space.items() if name[0] == "v" and name[1:].isdigit() and suits(each)]

    def leaf(self, shape=None, dtype=None) -> str:
        shape = shape or self.random.choice([(128, 128), (128, 128), (160, 128), (2, 128, 128), (256, 64), (20, 128)])
        dtype = dtype or self.random.choice(["torch.float32"] * 7 + ["torch.float64", "torch.complex64", "torch.bfloat16"])
        self.made += 1
        kind = "values" if self.random.random() < 0.2 else "leaf"
        self.write(f"v{self.made} = {kind}({self.made}, {tuple(shape)}, {dtype})")
        return f"v{self.made}"

    def fill(self, template: str, x: str) -> str:
        """The template's words; y becomes a tensor of x's shape and type."""
        shape, dtype = self.space[x].shape, self.space[x].dtype
        for word, choices in WORDS.items():
            template = template.replace("{" + word + "}", self.random.choice(choices))
        if _has(template, "y"):
            alike = self.tensors(lambda each: each.shape == shape and each.dtype == dtype)
            y = self.random.choice(alike) if self.random.random() < 0.7 else self.leaf(shape, dtype)
            template = _put(template, "y", y)
        numbers = {"x": x, "n": str(self.random.randrange(1, 8)), "u": str(self.random.choice([0.25, 0.5, 0.9]))}
        for name, value in numbers.items():
            template = _put(template, name, value)
        return template

    def pick(self, table) -> str | None:
        _, which, template = self.random.choices(table, [each[0] for each in table])[0]
        names = self.tensors(which)
        if not names:
            return None
        late = names[len(names) // 2:] if self.random.random() < 0.7 else names
        return self.fill(template, self.random.choice(late))

    def grow(self) -> None:
        draw = self.random.random()
        if draw < 0.07:
            line = self.pick(CHANGES)
            if line is not None:
                self.write(line if self.random.random() < 0.6 else _in_no_grad(line))
        elif draw < 0.15:
            self.hang_something_on()
        elif draw < 0.35:
            self.drop()
        else:
            line = self.pick(OPS)
            if line is not None:
                self.made += 1
                if self.write(f"v{self.made} = {line}") and self.space[f"v{self.made}"].numel() > 1 << 18:
                    self.write(f"v{self.made} = v{self.made}.reshape(-1)[:20000]")

    def hang_something_on(self) -> None:
        names = self.tensors(lambda each: FLOAT(each) and each.requires_grad)
        if names:
            # PyTorch crashes where these are the first to ask a view of a changed tensor for its history
            what = ["{0}.grad_fn; {0}.register_hook(lambda g: g * 0.5)", "{0}.grad_fn; {0}.retain_grad()", "{0}.grad_fn; {0}.register_hook(keep_and_double(results))",
                    "results.append({}.sum())", "results.append({})", "gc.collect()"]
            if self.random.random() < 0.05:
                what = ["{0}.grad_fn; {0}.register_hook(stop)"]
            self.write("import gc" if "gc" not in self.space else self.random.choice(what).format(self.random.choice(names)))

    def drop(self) -> None:
        names = self.tensors()
        if len(names) > 2:
            self.write(f"del {self.random.choice(names[:-1])}")

    def end(self) -> None:
        """Backward passes of one of many ways; then gradients are looked at."""
        ends = self.tensors(lambda each: FLOAT(each) and each.requires_grad)
        leaves = self.tensors(lambda each: FLOAT(each) and each.requires_grad and each.is_leaf)
        if not ends:
            return
        chosen = self.random.sample(ends, min(len(ends), self.random.randrange(1, 4)))
        self.write("loss = " + " + ".join(f"real({each})" for each in chosen))
        if self.random.random() < 0.6:
            for name in self.tensors(lambda each: not each.is_leaf):
                self.write(f"del {name}")
        self.lines += self.random.choices(BACKWARD, [each[0] for each in BACKWARD])[0][1].format(leaves=", ".join(leaves)).split("\n")
        if self.random.random() < 0.1:  # behind the step
            self.tail = [self.lines.pop()]
        self.looks = ["results.append(loss)", "results += [each.grad for each in (" + "".join(f"{each}, " for each in leaves) + ")]",
                      "results += [each.grad for each in net.parameters()]",
                      "results += [each.clone() for each in net.buffers()]", "results.append(torch.get_rng_state())"]


BACKWARD = [
    (12, "loss.backward()"),
    (4, "loss.backward(retain_graph=True)\nloss.backward()"),
    (2, "loss.backward(retain_graph=True)\nloss.backward(retain_graph=True)\nloss.backward()"),
    (4, "results += torch.autograd.grad(loss, [{leaves}], allow_unused=True)"),
    (3, "results += torch.autograd.grad(loss, [{leaves}], retain_graph=True, allow_unused=True)\nloss.backward()"),
    (4, "first = torch.autograd.grad(loss, [{leaves}], create_graph=True, allow_unused=True)\nresults += first\n"
        "loss = sum(real(g * g) for g in first if g is not None and g.requires_grad)\nloss.backward()"),
    (1, "loss.backward(create_graph=True)\nloss.backward()"),
    (1, "loss.backward()\nloss.backward()"),
    (1, "pass"),
    (2, "raise Stopped('in mid-step')"),
    (1, "(Failing.apply(loss) * 2).backward()"),
]


def _has(template: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", template) is not None


def _put(template: str, name: str, value: str) -> str:
    return re.sub(rf"\b{name}\b", value, template)


def _in_no_grad(line: str) -> str:
    return f"with torch.no_grad(): {line}" if not line.startswith("for") else line


def write_program(seed: int) -> tuple[str, list[str]]:
    """A step, and lines that look at what came of it."""
    writer = Writer(seed)
    for _ in range(writer.random.randrange(1, 4)):
        writer.leaf()
    for _ in range(writer.random.choice([4, 8, 16, 30])):
        writer.grow()
    writer.end()
    return writer.text(), writer.looks
