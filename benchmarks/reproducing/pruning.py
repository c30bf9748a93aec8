"""What a record keeps of the JSON that a command wrote: what the README, the pages, the papers' items and the summaries read.

A small document is kept whole but for its series; of a large one the fields below, and whatever a paper's row reads.
"""
SMALL = 1200  # characters
SERIES = 12   # more numbers in a list are a series
LABELS = frozenset({"planner", "model", "name", "batch", "problem", "machine", "percent", "fast", "rival"})
FIGURES = frozenset({
    # of contestants of a comparison: the README's tables, benchmarks/joint_summary.py and prediction_errors.py
    "slowdown", "predicted_slowdown", "predicted_ms", "lower_bound_ms", "order_bound_ms", "scaled_bound_ms",
    "fast_budget_bytes", "peak_rss_bytes", "same_losses", "same_parameters", "median",
    # beside PyTorch and the kernel's swap
    "ratio_to", "memory_limit_bytes", "geometric_mean", "max_relative_error"})
PAIRED = ("sentinel", "joint")  # planners whose rounds are compared one by one


def is_emulated(value):
    """Whether a document says that a tier, a link or a processor of it was imitated."""
    if isinstance(value, dict):
        return any(value.get(key) is True for key in ("emulated", "throttled")) or any(map(is_emulated, value.values()))
    return isinstance(value, list) and any(map(is_emulated, value))


def is_series(value):
    return isinstance(value, list) and len(value) > SERIES and not isinstance(value[0], (dict, list))


def pruned(document, read=frozenset()):
    """`read`: the paths, tuples of keys and indices, that papers' rows read."""
    small = len(repr(document)) <= SMALL

    def keep(value, path, figure):
        if path in read:
            return value
        if isinstance(value, dict):
            kept = {key: keep(each, (*path, key), figure or key in FIGURES or wanted(value, key)) for key, each in value.items()}
            kept = {key: each for key, each in kept.items() if each is not None}
            return kept if any(key not in LABELS or (*path, key) in read for key in kept) else None
        if isinstance(value, list) and not is_series(value):
            kept = [keep(each, (*path, index), figure) for index, each in enumerate(value)]
            if isinstance(value[0] if value else None, dict):
                return [each or {} for each in kept] if any(kept) else None  # rows keep their places
            return kept if value and None not in kept else None
        if is_series(value):
            return value if figure and path[-1] == "round_ms" or any((*path, i) in read for i in range(len(value))) else None
        return value if small or figure or path[-1] in LABELS else None

    def wanted(parent, key):
        return key == "round_ms" and parent.get("planner") in PAIRED

    return keep(document, (), False) or {}
