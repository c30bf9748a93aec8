#!/usr/bin/python3
"""What delaying updates by a step is worth (ZeRO-Offload's figure 5.11), and what it does to the loss (5.12).

    delayed_updates.py [--rounds N] [--steps N] [--curve N] [--text FILE] [--binary BINARY] [--json OUT] [--help]

Two processors of a core each, device and host (emulated), the optimizer on the host (planner zero-offload), gradients clipped
by their norm: so without a delay the host begins when the backward pass has ended. Each round trains each model without
and with a delay, in turn; shown are medians of the rounds' medians, with the least and the most, and the share of the host's step
in the one without a delay. The curve is that of a small GPT-2 on the characters of --text: exact, and delayed from step 41
on, from a checkpoint of the exact run at step 40.
"""

import json
import os
import statistics
import tempfile

from processes import json_of, parser_of, spread, write_json

MODELS = {"width 512, depth 6, 64 tokens": ["--batch", "2", "--sequence", "32", "--width", "512", "--depth", "6"],
          "width 768, depth 6, 32 tokens": ["--batch", "1", "--sequence", "32", "--width", "768", "--depth", "6"],
          "width 1024, depth 3, 64 tokens": ["--batch", "2", "--sequence", "32", "--width", "1024", "--depth", "3"]}
COMMON = ["gpt2_small", "--classes", "256", "--optimizer", "adamw", "--precision", "bf16-masters", "--clip-norm", "1", "--no-validation"]
HOST = ["--slow", "pcie3", "--processors", "device:1,host:1:pcie3", "--planner", "zero-offload"]
CURVE = ["--batch", "8", "--sequence", "64", "--width", "128", "--depth", "2", "--planner", "fast-only"]
WARM_UP = 40  # steps before updates are delayed, as in the paper
LAST = 10  # losses at the end of a curve, of which a paper has the mean


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="(default %(default)s)")
    parser.add_argument("--steps", type=int, default=25, help="of each run (default %(default)s)")
    parser.add_argument("--curve", type=int, default=1000, help="steps of the loss curve; 0: none (default %(default)s)")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3", help="(default %(default)s)")
    return parser.parse_args()


def train(options, *words):
    """The JSON of a run."""
    return json_of([options.sluice, "train", *COMMON, *words])


def host_share(options, words):
    """Of the simulated step without a delay: how long the host's ops take."""
    events = json_of([options.sluice, "simulate", *COMMON[:-1], *HOST, *words], "--trace")["traceEvents"]
    lanes = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    host = sum(event["dur"] for event in spans if "host" in lanes[event["tid"]] and event["cat"] == "op")
    return host / max(event["ts"] + event["dur"] for event in spans)


def measured(options, words):
    """Step times without and with a delay, by round, and what was predicted."""
    times, predicted = {False: [], True: []}, {}
    for number in range(options.rounds):
        for delayed in (False, True) if number % 2 == 0 else (True, False):
            run = train(options, *HOST, *words, "--steps", str(options.steps), *(["--delay-updates"] if delayed else []))
            times[delayed].append(run["step_ms"]["median"])
            predicted[delayed] = run["predicted_ms"]
    return {"exact_ms": times[False], "delayed_ms": times[True], "host_share": host_share(options, words),
            "gain": spread([exact / delayed for exact, delayed in zip(times[False], times[True])]),
            "predicted_gain": predicted[False] / predicted[True]}


def losses(options, steps, *words):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "losses")
        train(options, *CURVE, "--data", f"tokens:{options.text}", "--steps", str(steps), "--losses", path, *words)
        with open(path) as file:
            return [json.loads(line)["loss"] for line in file]


def curves(options):
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = os.path.join(folder, "exact.ckpt")
        begin = losses(options, WARM_UP, "--checkpoint", checkpoint)
        delayed = begin + losses(options, options.curve, "--delay-updates", "--resume", checkpoint)
    return {"exact": losses(options, options.curve), "delayed": delayed}


def text_of(name, row):
    gain = row["gain"]
    return (f"  {name:<34}{statistics.median(row['exact_ms']):>9.1f}{statistics.median(row['delayed_ms']):>11.1f}"
            f"{row['host_share']:>8.0%}{gain['median']:>10.2f}x ({gain['least']:.2f}-{gain['most']:.2f})"
            f"{row['predicted_gain']:>10.2f}x")


def text_of_curves(both):
    """Mean losses of a twentieth of the steps each."""
    part = max(1, len(both["exact"]) // 20)
    lines = ["loss, mean of the steps up to", f"  {'step':>6}{'exact':>10}{'delayed':>10}"]
    for end in range(part, len(both["exact"]) + 1, part):
        means = [statistics.mean(both[way][end - part:end]) for way in ("exact", "delayed")]
        lines.append(f"  {end:>6}{means[0]:>10.4f}{means[1]:>10.4f}")
    return "\n".join(lines)


def main():
    options = arguments()
    document = {"rows": {}}
    print(f"GPT-2, {options.rounds} rounds of {options.steps} steps; device and host are a core each, emulated")
    print(f"  {'':<34}{'exact ms':>9}{'delayed ms':>11}{'host':>8}{'gain':>11}{'predicted':>24}")
    for name, words in MODELS.items():
        document["rows"][name] = measured(options, words)
        print(text_of(name, document["rows"][name]), flush=True)
    if options.curve > 0:
        document["curves"] = curves(options)
        document["last_losses"] = {way: curve[-LAST:] for way, curve in document["curves"].items()}
        print(text_of_curves(document["curves"]))
    write_json(options.json, document)


if __name__ == "__main__":
    main()
