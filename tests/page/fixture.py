"""A document as `sluice report` writes it, of a made-up step: by seed, with as many timeline bars as asked.

The step is a chain of layers: a forward op each, backward ops in reverse, updates. Activations leave for the slow tier
after their forward op and come back before their backward op, so that bars, places and memory agree with one another.
"""
import random

ROLES = ["parameter", "optimizer_state", "gradient", "activation", "workspace"]
KINDS = ["forward", "backward", "update", "stall", "prefetch", "eviction"]
GIB = 1 << 30
TIERS = ["dram", "cxl", "file"]  # the middle one holds nothing, so it has no chart
FILE = 2


class Step:
    """Bars, tensors and places under construction; times in ms."""

    def __init__(self):
        self.bars = []
        self.tensors = []

    def tensor(self, name, role, size, shape):
        self.tensors.append({"name": name, "role": role, "bytes": size, "shape": shape, "places": [], "story": ""})
        return len(self.tensors) - 1

    def bar(self, lane, kind, begin, end, name, tensors, size=0, cause=""):
        self.bars.append((lane, begin, end, kind, name, tensors, size, cause))


def make_step(seed, bars):
    """A step of at least `bars` bars: 3 ops and 2 transfers a layer, and a stall where one is late."""
    rng = random.Random(seed)
    step = Step()
    layers = max(3, -(-bars // 5))
    weights = [
        step.tensor(f"layer{i}.conv.weight", "parameter", rng.randrange(1 << 18, 1 << 22), "[64, 64, 3, 3]")
        for i in range(layers)
    ]
    activations = [
        step.tensor(f"layer{i}.conv.output", "activation", rng.randrange(1 << 20, 1 << 24), "[16, 64, 56, 56]")
        for i in range(layers)
    ]
    gradients = [
        step.tensor(f"layer{i}.conv.weight.gradient", "gradient", step.tensors[weights[i]]["bytes"], "[64, 64, 3, 3]")
        for i in range(layers)
    ]
    clock, away = forward_pass(step, rng, weights, activations)
    clock = backward_pass(step, rng, clock, away, weights, activations, gradients)
    for index in weights:
        step.tensors[index]["places"] = [[0, 0.0, clock]]
    step.bars.sort(key=lambda bar: (bar[0], bar[1]))
    return step, clock


def forward_pass(step, rng, weights, activations):
    clock, out_free, away = 0.0, 0.0, {}
    for i, (weight, activation) in enumerate(zip(weights, activations)):
        took = rng.uniform(0.1, 0.5)
        operands = [weight, activation] + ([activations[i - 1]] if i else [])
        step.bar(0, "forward", clock, clock + took, f"layer{i}.conv", operands, 0, "convolution")
        begin, clock = clock, clock + took
        size = step.tensors[activation]["bytes"]
        out_begin = max(clock, out_free)
        out_free = out_begin + size / 3e7
        step.bar(
            1, "eviction", out_begin, out_free, f"layer{i}.conv.output", [activation], size, f"room for op {i + 5}"
        )
        away[activation] = (begin, out_free)
    return max(clock, out_free), away


def backward_pass(step, rng, clock, away, weights, activations, gradients):
    in_free, last = clock, len(weights) - 1
    for i in reversed(range(len(weights))):
        activation, size = activations[i], step.tensors[activations[i]]["bytes"]
        begin, left = away[activation]
        in_begin = max(in_free, clock - 20)
        in_free = in_begin + size / 3e7
        step.bar(
            2, "prefetch", in_begin, in_free, f"layer{i}.conv.output", [activation], size, f"op {2 * last - i} reads it"
        )
        if in_free > clock:
            step.bar(0, "stall", clock, in_free, "stall", [activation], 0, f"waits for layer{i}.conv.output")
        clock = max(clock, in_free)
        took = rng.uniform(0.2, 0.8)
        operands = [activation, weights[i], gradients[i]]
        step.bar(0, "backward", clock, clock + took, f"layer{i}.conv.backward", operands, 0, "convolution")
        step.tensors[activation]["places"] = [[0, begin, left], [FILE, left, in_free], [0, in_free, clock + took]]
        step.tensors[activation]["story"] = f"evicted after op {i} (layer{i}.conv), back before op {2 * last - i}"
        step.tensors[gradients[i]]["places"] = [[0, clock, clock + took + 0.05]]
        clock += took
        step.bar(0, "update", clock, clock + 0.05, f"layer{i}.conv.update", [weights[i], gradients[i]], 0, "SGD")
        clock += 0.05
    return clock


def memory_of(step, length, tier, name, budget, emulated):
    """Bytes by role from the tensors' places: what the chart stacks."""
    roles = ROLES if tier == 0 else ["activation"]
    change = {0.0: [0] * len(roles)}
    for tensor in step.tensors:
        for place, begin, end in tensor["places"]:
            if place == tier:
                role = roles.index(tensor["role"])
                change.setdefault(begin, [0] * len(roles))[role] += tensor["bytes"]
                change.setdefault(end, [0] * len(roles))[role] -= tensor["bytes"]
    instants = sorted(at for at in change if at < length)
    totals, now = [], [0] * len(roles)
    for at in instants:
        now = [a + b for a, b in zip(now, change[at])]
        totals.append(now)
    sums = [sum(row) for row in totals]
    peak = sums.index(max(sums))
    return {
        "tier": name,
        "emulated": emulated,
        "budget_bytes": budget or int(1.1 * sums[peak]),
        "arena_bytes": int(1.02 * sums[peak]),
        "peak": {"bytes": sums[peak], "ms": instants[peak], "op": op_at(step, instants[peak])},
        "roles": roles,
        "ms": instants,
        "bytes": [[row[role] for row in totals] for role in range(len(roles))],
    }


def op_at(step, at):
    return next((bar[4] for bar in step.bars if bar[0] == 0 and bar[1] <= at < bar[2]), "")


def comparison(length):
    rows = [
        ("joint", 1.0),
        ("sentinel", 1.12),
        ("autotm", 1.08),
        ("first_touch", 1.9),
        ("capuchin", 1.21),
        ("vdnn", 1.55),
    ]
    results = []
    for planner, ratio in rows:
        median = length * ratio
        results.append(
            {
                "planner": planner,
                "predicted_ms": 0.97 * median,
                "order_bound_ms": 0.93 * median,
                "slowdown": 1.1 * ratio,
                "lower_bound_ms": 0.85 * length,
                "scaled_bound_ms": 0.87 * length,
                "step_ms": {
                    "median": median,
                    "q1": 0.98 * median,
                    "q3": 1.03 * median,
                    "min": 0.95 * median,
                    "max": 1.1 * median,
                },
                "measured_parts_ms": parts(median, 0.05 * ratio),
            }
        )
    results.append({"planner": "redl", "infeasible": "needs 2.1 GiB of fast memory, the budget is 1.2 GiB"})
    return {"executed": True, "results": results}


def parts(length, exposed):
    shares = {
        "computation": 0.9 - exposed,
        "recomputation": 0.06,
        "exposed_transfer": exposed,
        "processor_wait": 0.0,
        "other": 0.04,
    }
    return {name: share * length for name, share in shares.items()} | {"overlapped_transfer": 0.4 * length}


def sweep(length, whole):
    points = []
    for planner, worse in [("joint", 1.0), ("sentinel", 1.25), ("autotm", 1.15)]:
        for share in [0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0]:
            point = {"planner": planner, "budget_bytes": int(share * whole), "share": share}
            if planner == "sentinel" and share < 0.2:
                points.append(point | {"infeasible": "does not fit", "smallest_feasible_bytes": int(0.18 * whole)})
                continue
            slow = 1 + worse * 0.25 * (1 / share - 1) ** 0.7 / 2.5
            points.append(
                point
                | {
                    "predicted_ms": length * slow,
                    "predicted_slowdown": slow,
                    "bound_slowdown": 1 + (slow - 1) * 0.6 / worse,
                    "knee": share == 0.3,
                }
            )
    return {
        "run": {},
        "models": [{"model": "chain", "fast_only_bytes": whole, "fast_only_predicted_ms": length, "points": points}],
    }


def make_document(seed=1, bars=5000):
    step, length = make_step(seed, bars)
    columns = list(zip(*step.bars))
    by_bytes = sorted(range(len(step.tensors)), key=lambda i: -step.tensors[i]["bytes"])
    whole = sum(tensor["bytes"] for tensor in step.tensors)
    return {
        "format": "sluice-json",
        "title": f"chain of {bars} bars",
        "subtitle": "a made-up step, for tests",
        "emulated": "slow memory emulated",
        "run": {},
        "machine": {"tiers": [{"name": name} for name in TIERS]},
        "commands": [{"what": "this page", "command": "tests/page/fixture.py"}],
        "how_measured": ["It was not."],
        "plan": {"planner": "joint"},
        "step": {"step_ms": length, "parts_ms": parts(length, 0.07)},
        "memory": [memory_of(step, length, 0, "dram", 0, False), memory_of(step, length, FILE, "file", 64 * GIB, True)],
        "timeline": {
            "step_ms": length,
            "lanes": [
                {"name": "compute", "emulated": False},
                {"name": "dram -> file", "emulated": True},
                {"name": "file -> dram", "emulated": True},
            ],
            "kinds": KINDS,
            "bars": {
                "lane": list(columns[0]),
                "kind": [KINDS.index(kind) for kind in columns[3]],
                "begin_ms": list(columns[1]),
                "end_ms": list(columns[2]),
                "name": list(columns[4]),
                "tensors": list(columns[5]),
                "bytes": list(columns[6]),
                "cause": list(columns[7]),
            },
        },
        "tensors": step.tensors,
        "largest": by_bytes[:12],
        "comparison": comparison(length),
        "sweep": sweep(length, whole),
        "one_more_gib": {
            "from_bytes": GIB,
            "to_bytes": 2 * GIB,
            "predicted_ms": length * 0.9,
            "saves_ms": length * 0.1,
            "text": "a tenth",
        },
    }
