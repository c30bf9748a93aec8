#!/usr/bin/python3
"""What a report costs to look at: pages of `sluice report` for several models, opened in headless Chromium.

    report_pages.py [--binary BINARY] [--folder FOLDER] [--json OUT]

Of each page: its size, errors of the console, when it was first painted, how many bars its timeline has, how many charts
have data, and what one event of panning the timeline costs the page's main thread (median and most of 100 events, the
drawing included). Needs Chromium, its driver and Selenium (scripts/install_packages.sh test); the ONNX model needs PyTorch
to be exported.
"""
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "page"))
from browser import Browser  # noqa: E402
from processes import parser_of, write_json  # noqa: E402

PAN_EVENTS = 100
MODELS = {"resnet50": ["resnet50", "--batch", "16"], "bert_base": ["bert_base", "--batch", "8"],
          "densenet121": ["densenet121", "--batch", "16"], "efficientnet_b0 (ONNX)": None}


def exported(folder):
    path = folder / "efficientnet_b0.onnx"
    if not path.exists():
        subprocess.run([ROOT / "benchmarks/rivals/export_onnx.py", folder, "efficientnet_b0"], check=True, stdout=sys.stderr)
    return ["--onnx", str(path), "--batch", "16"]


def write_pages(arguments):
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in MODELS.items():
        page = folder / f"report_{name.split()[0]}.html"
        begin = time.monotonic()
        subprocess.run([arguments.sluice, "report", *(model or exported(folder)), "--fast", "20%", "--spill-dir", folder,
                        "-o", page], check=True, stdout=sys.stderr)
        yield name, page, time.monotonic() - begin


def task_ms(browser):
    """What tasks of the page's main thread have taken so far: its own time, whatever else the machine does."""
    metrics = {metric["name"]: metric["value"] for metric in browser.cdp("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"] * 1e3


def pan_cost(browser):
    """Median and most main-thread ms of panning the timeline to and fro, at a third of the step, the drawing included."""
    browser.focus("#chart-timeline")
    browser.keys("0", *["+"] * 3)
    browser.cdp("Performance.enable", timeDomain="threadTicks")
    costs = []
    for event in range(PAN_EVENTS):
        before = task_ms(browser)
        browser.press("chart-timeline", "Earlier" if event % 2 else "Later")
        costs.append(task_ms(browser) - before)
    browser.cdp("Performance.disable")
    return statistics.median(costs), max(costs)


def look_at(browser, name, page, seconds):
    browser.open(page.resolve())
    paint = browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
    charts = browser.charts()
    median, most = pan_cost(browser)
    return {"page": name, "bytes": page.stat().st_size, "made_in_seconds": seconds, "first_paint_ms": paint,
            "bars": int(browser.data("chart-timeline", "points")), "charts": len(charts),
            "charts_with_data": sum(int(browser.data(chart, "points") or 0) > 0 for chart in charts),
            "pan_ms": median, "pan_ms_most": most, "console_errors": browser.console()}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--folder", default=str(ROOT / "build/report_pages"), help="where the pages are left")
    arguments = parser.parse_args()
    browser = Browser(shutil.which("chromedriver"))
    rows = [look_at(browser, *page) for page in write_pages(arguments)]
    browser.close()
    print(f"{'page':24} {'size':>9} {'first paint':>12} {'bars':>6} {'charts':>7} {'pan, median':>12} {'most':>8}  console")
    for row in rows:
        print(f"{row['page']:24} {row['bytes'] / 2**20:5.2f} MiB {row['first_paint_ms']:9.0f} ms {row['bars']:6} "
              f"{row['charts_with_data']:3}/{row['charts']:<3} {row['pan_ms']:9.1f} ms {row['pan_ms_most']:5.1f} ms  "
              f"{len(row['console_errors'])} errors")
    write_json(arguments.json, {"events": PAN_EVENTS, "pages": rows})


if __name__ == "__main__":
    main()
