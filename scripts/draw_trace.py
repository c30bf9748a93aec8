#!/usr/bin/env python3
"""Draws one step of a trace (sluice train --trace FILE) as an SVG: compute, both transfer directions, fast memory.

    scripts/draw_trace.py trace.json step.svg

The step drawn is the last one in the trace. Needs nothing but Python's own library.
"""
import html
import json
import sys

WIDTH, LEFT, LANE, GAP, CURVE = 960, 118, 26, 10, 110
COLOURS = {"forward": "#4c78a8", "backward": "#f58518", "update": "#b279a2",
           "stall": "#e45756", "prefetch": "#54a24b", "eviction": "#9d755d"}


def last_step(events):
    """Events of the last step by kind, times in milliseconds since its start, and its length."""
    timed = [e for e in events if e["ph"] == "X"]
    step = max(e["args"].get("step", -1) for e in timed)
    ops = [e for e in timed if e["cat"] == "op" and e["args"]["step"] == step]
    begin = min(e["ts"] for e in ops)
    end = max(e["ts"] + e["dur"] for e in timed if e["ts"] >= begin)
    kept = [e for e in timed if begin <= e["ts"] <= end]
    counters = [e for e in events if e["ph"] == "C"]
    memory = [e for e in counters if e["name"] == counters[0]["name"] and begin <= e["ts"] <= end]
    return kept, memory, begin, end


def bar(x, y, width, colour, title):
    return (f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.3):.2f}" height="{LANE}" fill="{colour}">'
            f"<title>{html.escape(title)}</title></rect>")


def draw(trace):
    events, memory, begin, end = last_step(trace["traceEvents"])
    scale = (WIDTH - LEFT - 10) / (end - begin)
    lanes = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    rows = {tid: 10 + i * (LANE + GAP) for i, tid in enumerate(sorted(lanes))}
    parts = []
    for tid, y in rows.items():
        parts.append(f'<text x="{LEFT - 8}" y="{y + 17}" text-anchor="end">{html.escape(lanes[tid])}</text>')
    for e in events:
        kind = e["args"].get("phase", e["cat"])
        milliseconds = e["dur"] / 1000
        parts.append(bar(LEFT + (e["ts"] - begin) * scale, rows[e["tid"]], e["dur"] * scale, COLOURS.get(kind, "#888"),
                         f'{e["name"]}  {milliseconds:.2f} ms'))
    top = 10 + len(rows) * (LANE + GAP)
    values = [(e["ts"], max(e["args"].values())) for e in memory]
    if values:
        peak = max(v for _, v in values)
        points, last = [], None
        for ts, value in values:
            x = LEFT + (ts - begin) * scale
            if last is not None:
                points.append(f"{x:.1f},{last:.1f}")
            last = top + CURVE * (1 - value / peak)
            points.append(f"{x:.1f},{last:.1f}")
        points += [f"{WIDTH - 10},{last:.1f}", f"{WIDTH - 10},{top + CURVE}", f"{LEFT},{top + CURVE}"]
        parts.append(f'<polygon points="{" ".join(points)}" fill="#72b7b2"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">fast memory</text>')
        parts.append(f'<text x="{LEFT - 8}" y="{top + 30}" text-anchor="end">peak {peak:.0f} MiB</text>')
    base = top + CURVE + 18
    parts.append(f'<text x="{LEFT}" y="{base}">0</text>')
    parts.append(f'<text x="{WIDTH - 10}" y="{base}" text-anchor="end">{(end - begin) / 1000:.0f} ms</text>')
    x = LEFT + 60
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="{base - 10}" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="{base}">{name}</text>')
        x += 32 + 8 * len(name)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {base + 10}" font-family="sans-serif" '
            f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n')


def main():
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as source:
        trace = json.load(source)
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        target.write(draw(trace))


if __name__ == "__main__":
    main()
