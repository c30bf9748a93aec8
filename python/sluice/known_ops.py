"""Ops that PyTorch's exporter does not know, or writes in a form that loses what training needs, as ONNX' ops."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

_NONE, _MEAN, _SUM = 0, 1, 2  # PyTorch's numbers of reductions


class _Writer:
    """Arithmetic in a graph that is being written. What it takes and gives are values of that graph; numbers become some."""

    def __init__(self, graph: Any):
        self._graph = graph

    def op(self, kind: str, *operands: Any, **attributes: Any) -> Any:
        return self._graph.op(kind, *(self.number(each) if isinstance(each, (int, float)) else each for each in operands), **attributes)

    def number(self, value: float) -> Any:
        import torch

        return self._graph.op("Constant", value_t=torch.tensor(float(value)))

    def integers(self, values: int | list[int]) -> Any:
        import torch

        return self._graph.op("Constant", value_t=torch.tensor(values))

    def add(self, a: Any, b: Any) -> Any:
        return self.op("Add", a, b)

    def minus(self, a: Any, b: Any) -> Any:
        return self.op("Sub", a, b)

    def times(self, *factors: Any) -> Any:
        product = factors[0]
        for factor in factors[1:]:
            product = self.op("Mul", product, factor)
        return product

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return self.op("Where", condition, a, b)

    def reduced(self, losses: Any, reduction: Any) -> Any:
        how = _constant(reduction, "i")
        if how == _NONE:
            return losses
        return self.op("ReduceMean" if how == _MEAN else "ReduceSum", losses, keepdims_i=0)


def _constant(value: Any, kind: str) -> Any:
    from torch.onnx import symbolic_helper

    return symbolic_helper._maybe_get_const(value, kind)


def _given(value: Any) -> bool:
    from torch.onnx import symbolic_helper

    return value is not None and not symbolic_helper._is_none(value)


def _unknown(what: str) -> Any:
    from torch.onnx import symbolic_helper

    return symbolic_helper._onnx_unsupported(what)


def _bernoulli(w: _Writer, x: Any, p: Any = None, *_: Any) -> Any:
    """``bernoulli_(p)`` of stochastic depth, which draws whose branch counts: a dropout of ones by another scale."""
    import torch

    kept = _constant(p, "f")
    if not isinstance(kept, float):
        return _unknown("bernoulli of probabilities that are not one number")
    ones = w.op("ConstantOfShape", w.op("Shape", x), value_t=torch.tensor([1.0]))
    training = w.op("Constant", value_t=torch.tensor(True))
    return w.times(w.op("Dropout", ones, 1 - kept, training), kept)


def _embedding(w: _Writer, weight: Any, ids: Any, padding: Any, by_frequency: Any, *_: Any) -> Any:
    """The padding's row is zero and stays so: what is looked up there is 0 times something, and so is its gradient."""
    if _constant(by_frequency, "b"):
        return _unknown("an embedding with scale_grad_by_freq")
    rows = w.op("Gather", weight, ids)
    number = _constant(padding, "i")
    if number < 0:
        return rows
    counts = w.op("Cast", w.op("Not", w.op("Equal", ids, w.integers(number))), to_i=1)
    return w.times(rows, w.op("Unsqueeze", counts, w.integers([-1])))


def _mse(w: _Writer, x: Any, y: Any, reduction: Any) -> Any:
    difference = w.minus(x, y)
    return w.reduced(w.times(difference, difference), reduction)


def _l1(w: _Writer, x: Any, y: Any, reduction: Any) -> Any:
    return w.reduced(w.op("Abs", w.minus(x, y)), reduction)


def _smooth_l1(w: _Writer, x: Any, y: Any, reduction: Any, beta: Any) -> Any:
    bend = float(_constant(beta, "f"))
    if bend == 0:
        return _l1(w, x, y, reduction)
    distance = w.op("Abs", w.minus(x, y))
    near = w.times(distance, distance, 0.5 / bend)
    return w.reduced(w.where(w.op("Less", distance, bend), near, w.minus(distance, bend / 2)), reduction)


def _huber(w: _Writer, x: Any, y: Any, reduction: Any, delta: Any) -> Any:
    bend = float(_constant(delta, "f"))
    distance = w.op("Abs", w.minus(x, y))
    near = w.times(distance, distance, 0.5)
    far = w.times(w.minus(distance, bend / 2), bend)
    return w.reduced(w.where(w.op("Less", distance, bend), near, far), reduction)


def _binary_cross_entropy(w: _Writer, x: Any, y: Any, weight: Any, reduction: Any) -> Any:
    """Logarithms are at least -100, as PyTorch's."""
    yes = w.times(y, w.op("Max", w.op("Log", x), -100))
    no = w.times(w.minus(1, y), w.op("Max", w.op("Log", w.minus(1, x)), -100))
    losses = w.op("Neg", w.add(yes, no))
    return w.reduced(w.times(losses, weight) if _given(weight) else losses, reduction)


def _binary_cross_entropy_of_logits(w: _Writer, x: Any, y: Any, weight: Any, positive: Any, reduction: Any) -> Any:
    """(1 - y) x + log(1 + exp -x), the latter (p - 1) y + 1 times: no logarithm of a sigmoid, which may be 0."""
    other = w.op("Softplus", w.op("Neg", x))
    if _given(positive):
        other = w.times(other, w.add(w.times(w.minus(positive, 1), y), 1))
    losses = w.add(w.times(w.minus(1, y), x), other)
    return w.reduced(w.times(losses, weight) if _given(weight) else losses, reduction)


def _divergence(w: _Writer, x: Any, y: Any, reduction: Any, log_target: Any) -> Any:
    if _constant(log_target, "b"):
        return w.reduced(w.times(w.op("Exp", y), w.minus(y, x)), reduction)
    some = w.op("Greater", y, 0)
    entropy = w.times(y, w.op("Log", w.where(some, y, 1)))
    return w.reduced(w.minus(entropy, w.times(y, x)), reduction)


def _soft_margin(w: _Writer, x: Any, y: Any, reduction: Any) -> Any:
    return w.reduced(w.op("Softplus", w.op("Neg", w.times(x, y))), reduction)


def _hinge(w: _Writer, x: Any, y: Any, margin: Any, reduction: Any) -> Any:
    far = w.op("Relu", w.minus(float(_constant(margin, "f")), x))
    return w.reduced(w.where(w.op("Equal", y, 1), x, far), reduction)


def _margin_ranking(w: _Writer, a: Any, b: Any, y: Any, margin: Any, reduction: Any) -> Any:
    losses = w.op("Relu", w.add(w.op("Neg", w.times(y, w.minus(a, b))), float(_constant(margin, "f"))))
    return w.reduced(losses, reduction)


def _cosine(w: _Writer, a: Any, b: Any, y: Any, margin: Any, reduction: Any) -> Any:
    """1 - cosine where y is 1, else how far the cosine is above the margin; squares of lengths are 1e-12 above what they are."""
    along = w.integers([-1])
    product = w.op("ReduceSum", w.times(a, b), along, keepdims_i=0)
    squares = [w.add(w.op("ReduceSum", w.times(each, each), along, keepdims_i=0), 1e-12) for each in (a, b)]
    cosine = w.op("Div", product, w.op("Sqrt", w.times(*squares)))
    far = w.op("Relu", w.minus(cosine, float(_constant(margin, "f"))))
    same = w.op("Equal", w.op("Cast", y, to_i=1), 1)
    return w.reduced(w.where(same, w.minus(1, cosine), far), reduction)


def _triplet(w: _Writer, anchor: Any, near: Any, far: Any, margin: Any, p: Any, epsilon: Any, swap: Any, reduction: Any) -> Any:
    if float(_constant(p, "f")) != 2:
        return _unknown("triplet margin loss of another norm than 2")

    def distance(a: Any, b: Any) -> Any:
        difference = w.add(w.minus(a, b), float(_constant(epsilon, "f")))
        return w.op("ReduceL2", difference, axes_i=[-1], keepdims_i=0)

    other = distance(anchor, far)
    if _constant(swap, "b"):
        other = w.op("Min", other, distance(near, far))
    losses = w.op("Relu", w.add(w.minus(distance(anchor, near), other), float(_constant(margin, "f"))))
    return w.reduced(losses, reduction)


def _poisson(w: _Writer, x: Any, y: Any, log_input: Any, full: Any, epsilon: Any, reduction: Any) -> Any:
    if _constant(full, "b"):
        return _unknown("Poisson loss with Stirling's term")
    if _constant(log_input, "b"):
        losses = w.minus(w.op("Exp", x), w.times(y, x))
    else:
        losses = w.minus(x, w.times(y, w.op("Log", w.add(x, float(_constant(epsilon, "f"))))))
    return w.reduced(losses, reduction)


def _cross_entropy(w: _Writer, x: Any, y: Any, weight: Any, reduction: Any, ignored: Any, smoothing: Any) -> Any:
    smooth = float(_constant(smoothing, "f"))
    how = ("none", "mean", "sum")[_constant(reduction, "i")]
    left_out = _constant(ignored, "i")
    of_labels = dict(reduction_s=how, ignore_index_i=left_out)
    weights = (weight,) if _given(weight) else ()
    probabilities = y.type().scalarType() in ("Float", "Double")
    if not probabilities and smooth == 0:
        return w.op("SoftmaxCrossEntropyLoss", x, y, *weights, **of_labels)
    if weights:
        return _unknown("cross-entropy with weights of classes and label smoothing or probabilities as targets")
    logarithms = w.op("LogSoftmax", x, axis_i=1)
    if probabilities:
        y = w.add(w.times(y, 1 - smooth), w.op("Div", smooth, w.op("Cast", w.op("Gather", w.op("Shape", x), w.integers(1)), to_i=1)))
        losses = w.op("Neg", w.op("ReduceSum", w.times(y, logarithms), w.integers([1]), keepdims_i=0))
        if how == "none":
            return losses
        return w.op("ReduceMean" if how == "mean" else "ReduceSum", losses, keepdims_i=0)
    # The mean over classes has the same labels that do not count: it is given to all of a sample's classes.
    mean = w.add(w.times(logarithms, 0), w.op("ReduceMean", logarithms, axes_i=[1]))
    of_label, of_all = (w.op("NegativeLogLikelihoodLoss", each, y, **of_labels) for each in (logarithms, mean))
    return w.add(w.times(of_label, 1 - smooth), w.times(of_all, smooth))


_OPS: dict[str, Callable] = {
    "bernoulli": _bernoulli,
    "embedding": _embedding,
    "mse_loss": _mse,
    "l1_loss": _l1,
    "smooth_l1_loss": _smooth_l1,
    "huber_loss": _huber,
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _binary_cross_entropy_of_logits,
    "kl_div": _divergence,
    "soft_margin_loss": _soft_margin,
    "hinge_embedding_loss": _hinge,
    "margin_ranking_loss": _margin_ranking,
    "cosine_embedding_loss": _cosine,
    "triplet_margin_loss": _triplet,
    "poisson_nll_loss": _poisson,
    "cross_entropy_loss": _cross_entropy,
}


@contextlib.contextmanager
def known_ops(opset: int) -> Iterator[None]:
    """While these are written, PyTorch's exporter writes the ops above as they are here."""
    import torch

    def writes(how: Callable) -> Callable:
        return lambda graph, *operands: how(_Writer(graph), *operands)

    for name, how in _OPS.items():
        torch.onnx.register_custom_op_symbolic(f"aten::{name}", writes(how), opset)
    try:
        yield
    finally:
        for name in _OPS:
            torch.onnx.unregister_custom_op_symbolic(f"aten::{name}", opset)
