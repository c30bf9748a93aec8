#!/usr/bin/env python3
"""Tests the pages that `sluice report` and `--html` write, in headless Chromium, offline.

    page_test.py --command SLUICE --work FOLDER [-- unittest's arguments]

Exit status 77, with the reason, where Chromium, its driver or Selenium is missing, or where the build has no charts.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}; scripts/install_packages.sh test installs what is missing")
    sys.exit(SKIPPED)


try:
    from browser import Browser
except ImportError:
    skip("this Python has no selenium")

SETTINGS = argparse.Namespace()
EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/allocation.csv")
RIGHT, DOWN, HOME, ENTER, ESCAPE = "\ue014", "\ue015", "\ue011", "\ue007", "\ue00c"
REPORT_CHARTS = [f"chart-{name}" for name in ("memory-0", "memory-1", "timeline", "planners", "curve", "breakdown")]
OVER_TIME = REPORT_CHARTS[:3]
MODEL = ["--batch", "2", "--image-size", "16", "--threads", "1", "--slow", "optane"]
LANE = {"pitch": 46, "label": 18, "bar": 22}  # sluice/report/page/web/timeline.js


def write_page(name, *arguments, option="--html"):
    path = os.path.join(SETTINGS.work, f"{name}.html")
    words = [SETTINGS.command, *arguments, option, path]
    if "resnet20" in arguments:
        words += MODEL + ["--cache-dir", os.path.join(SETTINGS.work, "cache")]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return path


def bytes_of(text):
    number, unit = text.split()[:2]
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)


class InBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(SETTINGS.driver)
        cls.addClassCleanup(cls.browser.close)

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])

    def document(self):
        return json.loads(self.browser.run("return document.getElementById('report-data').textContent"))

    def expect_drawn(self, charts):
        for chart in charts:
            with self.subTest(chart):
                self.assertGreater(int(self.browser.data(chart, "points")), 0)
                self.assertGreater(self.browser.colours(chart), 4)

    def expect_fits(self, width):
        wide = self.browser.run(
            "return [...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll, pre, .heard')"
            " && one.getBoundingClientRect().right > arguments[0]).map((one) => one.outerHTML.slice(0, 100))",
            width + 1,
        )
        self.assertEqual(wide, [])
        self.assertLessEqual(self.browser.run("return document.scrollingElement.scrollWidth"), width)

    def tip_at_first(self, chart):
        self.browser.focus(f"#{chart}")
        self.browser.keys(HOME)
        return self.browser.tip()


class Report(InBrowser):
    """One page, opened once; each test begins at the whole step with nothing highlighted."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = write_page(
            "report", "report", "resnet20", "--fast", "60%", "--planner", "sentinel", "--planners", "on-demand,joint",
            "--curve", "1%,40%,60%,100%", option="-o",
        )  # fmt: skip
        cls.browser.open(cls.path)
        cls.report = cls.document(cls)
        cls.bars = cls.report["timeline"]["bars"]
        cls.length = cls.report["timeline"]["step_ms"]

    def setUp(self):
        self.browser.leave()
        self.browser.focus("#chart-timeline")
        self.browser.keys("0", ESCAPE)

    def place_of(self, bar):
        """The middle of what is seen of a bar, from the plot's corner."""
        low, high = self.browser.seen()
        begin, end = max(self.bars["begin_ms"][bar], low), min(self.bars["end_ms"][bar], high)
        width = self.browser.plot_box("chart-timeline")[2]
        top = LANE["pitch"] * self.bars["lane"][bar] + LANE["label"] + LANE["bar"] / 2
        return ((begin + end) / 2 - low) / (high - low) * width, top

    def longest_in(self, lane):
        length = lambda bar: self.bars["end_ms"][bar] - self.bars["begin_ms"][bar]  # noqa: E731
        return max((bar for bar, its in enumerate(self.bars["lane"]) if its == lane), key=length)

    def test_loads_nothing_and_draws_every_chart(self):
        with open(self.path, encoding="utf-8") as page:
            text = page.read()
        self.assertIn("Permission is hereby granted, free of charge", text)
        text = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
        self.assertIsNone(re.search(r'(src|srcset)\s*=\s*"|<link\b|@import|url\(', text))
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').map((one) => one.name)"), [])
        self.assertEqual(self.browser.charts(), REPORT_CHARTS)
        self.expect_drawn(REPORT_CHARTS)
        self.assertEqual(int(self.browser.data("chart-timeline", "points")), len(self.bars["lane"]))
        said = self.browser.run("return [...document.querySelectorAll('.emulated')].map((one) => one.textContent)")
        self.assertEqual(said, [self.report["emulated"]] * len(REPORT_CHARTS))

    def test_hover_names_bars_and_highlights_their_tensors_everywhere(self):
        before = {}
        for chart in OVER_TIME:
            before[chart] = self.browser.picture(chart)
        for lane, named in enumerate(self.report["timeline"]["lanes"]):
            bar = self.longest_in(lane)
            lines = self.browser.hover("chart-timeline", *self.place_of(bar))
            self.assertEqual(lines[0], self.bars["name"][bar])
            kind = self.report["timeline"]["kinds"][self.bars["kind"][bar]]
            self.assertEqual(lines[1], f"{kind} on {named['name']}{' (emulated)' if named['emulated'] else ''}")
            self.assertEqual(self.browser.highlighted(), self.bars["tensors"][bar])
            self.assertIn(self.report["tensors"][self.bars["tensors"][bar][0]]["name"], " ".join(lines[2:]))
        for chart in OVER_TIME:
            self.assertNotEqual(self.browser.picture(chart), before[chart], chart)
        self.browser.leave()
        self.assertEqual(self.browser.highlighted(), [])
        for chart in OVER_TIME:
            self.assertEqual(self.browser.picture(chart), before[chart], chart)

    def test_a_click_keeps_the_highlight_and_one_beside_ends_it(self):
        bar = self.longest_in(0)
        left, top = self.place_of(bar)
        self.browser.click("chart-timeline", left, top)
        self.browser.leave()
        self.assertEqual(self.browser.highlighted(), self.bars["tensors"][bar])
        self.browser.click("chart-timeline", left, 4)
        self.assertEqual(self.browser.highlighted(), [])

    def test_rows_of_the_largest_highlight_and_are_highlighted(self):
        tensor = self.report["largest"][0]
        row = f"tr[data-tensor='{tensor}']"
        self.browser.focus(row)
        self.browser.keys(ENTER)
        self.browser.focus("#chart-timeline")
        self.assertEqual(self.browser.highlighted(), [tensor])
        self.assertTrue(self.browser.run("return document.querySelector(arguments[0]).matches('.highlighted')", row))
        self.browser.keys(ESCAPE)
        self.assertEqual(self.browser.highlighted(), [])

    def test_dragging_zooms_all_charts_over_time_and_a_double_click_shows_the_whole(self):
        before = self.browser.picture("chart-memory-0")
        width = self.browser.plot_box("chart-timeline")[2]
        self.browser.drag("chart-timeline", 0.25 * width, 0.5 * width, 4)
        for chart in OVER_TIME:
            low, high = self.browser.seen(chart)
            self.assertAlmostEqual(low, 0.25 * self.length, delta=0.01 * self.length)
            self.assertAlmostEqual(high, 0.5 * self.length, delta=0.01 * self.length)
        self.assertNotEqual(self.browser.picture("chart-memory-0"), before)
        self.browser.click("chart-timeline", 0.5 * width, 4, clicks=2)
        self.assertEqual(self.browser.seen(), (0, self.length))

    def test_buttons_wheel_and_keys_zoom_and_pan(self):
        steps = [
            lambda: self.browser.press("chart-timeline", "Zoom in"),
            lambda: self.browser.keys("+"),
            lambda: self.browser.mouse("mouseWheel", *middle, deltaX=0, deltaY=-100, modifiers=2),
        ]
        for times, step in enumerate(steps, 1):
            box = self.browser.plot_box("chart-timeline")
            middle = box[0] + box[2] / 2, box[1] + 4
            step()
            self.browser.frames()
            low, high = self.browser.seen()
            self.assertAlmostEqual(high - low, self.length / 1.5**times, delta=1e-3 * self.length)
        self.browser.press("chart-timeline", "Later")
        later = self.browser.seen()
        self.assertAlmostEqual(later[0] - low, (high - low) / 2, delta=1e-3 * self.length)
        self.browser.keys(RIGHT, shift=True)
        self.assertGreater(self.browser.seen()[0], later[0])
        self.browser.press("chart-timeline", "Show the whole step")
        self.assertEqual(self.browser.seen(), (0, self.length))

    def test_keys_go_from_bar_to_bar_and_the_view_follows(self):
        self.browser.keys("+", "+", "+", "+", HOME, RIGHT)
        self.assertEqual(self.browser.data("chart-timeline", "item"), self.bars["name"][1])
        self.assertLessEqual(self.browser.seen()[0], self.bars["begin_ms"][1])
        self.assertIn(self.bars["name"][1], self.browser.run("return document.getElementById('said').textContent"))
        self.browser.keys(DOWN)
        self.assertNotIn(f" on {self.report['timeline']['lanes'][0]['name']}", self.browser.tip()[1])
        self.browser.keys(ESCAPE)
        self.assertEqual(self.browser.tip(), [])

    def test_charts_say_the_documents_numbers(self):
        memory = self.report["memory"][0]
        # The longest instant, hovered in its middle: others may be narrower than a pixel.
        spans = zip(memory["ms"], [*memory["ms"][1:], self.length])
        instant, (begin, end) = max(enumerate(spans), key=lambda each: each[1][1] - each[1][0])
        place = (begin + end) / 2 / self.length
        lines = self.browser.hover("chart-memory-0", place * self.browser.plot_box("chart-memory-0")[2], 50)
        total = sum(row[instant] for row in memory["bytes"])
        self.assertAlmostEqual(bytes_of(lines[0]), total, delta=0.006 * total)
        ordered = sorted(self.report["comparison"]["results"], key=lambda row: row["predicted_ms"])
        lines = self.tip_at_first("chart-planners")
        self.assertEqual(lines[:2], [ordered[0]["planner"], f"predicted {ordered[0]['predicted_ms']:.3g} ms"])
        too_small = self.report["sweep"]["models"][0]["points"][0]
        lines = self.tip_at_first("chart-curve")
        self.assertEqual(lines[1], f"infeasible: {too_small['infeasible']}")
        lines = self.tip_at_first("chart-breakdown")
        self.assertEqual(lines[0].split(":")[0], "this step")
        self.assertIn(f"computation {self.report['step']['parts_ms']['computation']:.3g} ms", lines[1])

    def test_tooltips_stay_in_the_window_and_off_the_pointer(self):
        for chart in REPORT_CHARTS:
            box = self.browser.plot_box(chart)
            for left, top in ((2, 4), (box[2] - 2, box[3] - 4)):
                if not self.browser.hover(chart, left, top):
                    continue
                tip = self.browser.run(
                    "const { left, top, right, bottom } = document.getElementById('tip').getBoundingClientRect();"
                    "return [left, top, right, bottom, innerWidth, innerHeight]"
                )
                x, y = box[0] + left, box[1] + top
                self.assertFalse(tip[0] <= x <= tip[2] and tip[1] <= y <= tip[3], f"{chart}: it covers the pointer")
                self.assertTrue(min(tip) >= 0 and tip[2] <= tip[4] and tip[3] <= tip[5], f"{chart}: {tip}")

    def test_dark_is_dark(self):
        light = {chart: self.browser.picture(chart) for chart in REPORT_CHARTS}
        self.addCleanup(self.browser.dark, False)
        self.browser.dark(True)
        background = self.browser.run("return getComputedStyle(document.body).backgroundColor")
        self.assertNotEqual(background, "rgb(255, 255, 255)")
        for chart, picture in light.items():
            self.assertNotEqual(self.browser.picture(chart), picture)

    def test_prints_in_light_colours(self):
        self.addCleanup(self.browser.dark, False)
        self.browser.dark(True)
        self.browser.run(
            "addEventListener('beforeprint', () => {"
            "  window.printed = getComputedStyle(document.documentElement).getPropertyValue('--page').trim(); })"
        )
        pdf = self.browser.print_to_pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(len(pdf), 20000)
        self.assertEqual(self.browser.run("return window.printed"), "#ffffff")
        self.assertFalse(self.browser.run("return document.documentElement.classList.contains('printing')"))


class OtherPages(InBrowser):
    def test_a_report_fits_a_phone_also_when_it_was_interrupted(self):
        with open(write_page("phone", "report", "resnet20", "--fast", "60%", "--planner", "sentinel", "--curve", "60%",
                             "--planners", "on-demand", option="-o"), encoding="utf-8") as page:  # fmt: skip
            html = page.read()
        whole = re.search(r'(<script type="application/json"[^>]*>)(.*?)</script>', html, re.DOTALL)
        document = json.loads(whole[2])
        for part in ("comparison", "sweep"):
            del document[part]
        path = os.path.join(SETTINGS.work, "interrupted.html")
        with open(path, "w", encoding="utf-8") as page:
            page.write(html.replace(whole[2], json.dumps(document).replace("<", "\\u003c")))
        self.browser.size(360, 740, density=2, mobile=True)
        self.addCleanup(self.browser.usual_size)
        self.browser.open(path)
        self.expect_fits(360)
        self.expect_drawn(OVER_TIME + ["chart-breakdown"])
        self.assertIsNone(self.browser.data("chart-curve", "points"))
        sizes = self.browser.run("const canvas = document.querySelector('#chart-timeline canvas');"
                                 "return canvas.width / canvas.getBoundingClientRect().width")  # fmt: skip
        self.assertAlmostEqual(sizes, 2, delta=0.02)

    def open_page(self, name, charts, *arguments):
        self.browser.open(write_page(name, *arguments))
        titles = self.browser.run("return [...document.querySelectorAll('section h2')].map((one) => one.textContent)")
        self.assertEqual(titles, [*charts, "The numbers"])
        self.expect_drawn(self.browser.charts())
        self.browser.size(360, 740, mobile=True)
        self.expect_fits(360)
        self.browser.usual_size()
        return self.document()

    def test_of_a_sweep(self):
        document = self.open_page(
            "sweep",
            ["Step time over fast memory", "Performance per price", "Inputs of ops in fast memory",
             "Outputs of ops in fast memory", "Moved into fast memory a step", "Moved out of fast memory a step"],
            "sweep", "resnet20", "--planners", "sentinel", "--fast", "40%,70%", "--price", "fast=2,slow=1",
        )  # fmt: skip
        point = document["models"][0]["points"][0]
        for chart in self.browser.charts():
            lines = self.tip_at_first(chart)
            self.assertTrue(lines[0].startswith("sentinel in ") and lines[0].endswith("(40 %)"), lines)
            self.assertIn(f"{point['predicted_slowdown']:.3f} ×", lines[1])

    def test_of_budgets_without_loss(self):
        document = self.open_page(
            "no_loss", ["Fast memory without loss"], "sweep", "resnet20", "--planners", "sentinel", "--no-loss", "50%"
        )
        whole = document["models"][0]["fast_only_bytes"]
        lines = self.tip_at_first("chart-0")
        self.assertAlmostEqual(bytes_of(lines[1]), whole, delta=0.006 * whole)

    def test_of_a_comparison(self):
        document = self.open_page(
            "compare", ["Step time of planners", "Where the time of a step goes"],
            "compare", "resnet20", "--fast", "60%", "--planners", "sentinel", "--steps", "4", "--starts", "1",
        )  # fmt: skip
        fastest = min(row["step_ms"]["median"] for row in document["results"])
        self.assertIn(f"measured: median {fastest:.3g} ms", self.tip_at_first("chart-0"))

    def test_of_a_characterization(self):
        document = self.open_page(
            "characterize",
            ["Live bytes over the step", "Tensors by the layers they live", "Their bytes",
             "Layers from a tensor's use before to its use"],
            "characterize", "resnet20", "--no-accesses",
        )  # fmt: skip
        live = document["live"]
        total = sum(live[kind][0] for kind in ("persistent", "long_lived", "short_lived"))
        self.assertAlmostEqual(bytes_of(self.tip_at_first("chart-0")[0].split(": ")[1]), total, delta=0.006 * total)

    def test_of_a_search(self):
        planner = "swapadvisor:generations=8:patience=0"
        document = self.open_page(
            "search", [f"How the search of {planner} converged"],
            "plan", "resnet20", "--fast", "70%", "--link-bandwidth", "0.05GB/s", "--planner", planner,
        )  # fmt: skip
        rounds = [each for each in document["convergence"] if each["feasible"]]
        self.assertEqual(int(self.browser.data("chart-0", "points")), 3 * len(rounds))

    def test_of_an_allocation(self):
        document = self.open_page("allocate", ["Offsets over time"], "allocate", EXAMPLE)
        first = document["boxes"][0]
        self.assertEqual(self.tip_at_first("chart-0")[1], f"{first['size']} bytes at {first['offset']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the sluice command")
    parser.add_argument("--work", required=True, help="folder for pages")
    _, others = parser.parse_known_args(namespace=SETTINGS)
    SETTINGS.driver = shutil.which("chromedriver")
    if not SETTINGS.driver or not (shutil.which("chromium") or shutil.which("google-chrome")):
        skip("Chromium and its driver are not installed")
    os.makedirs(SETTINGS.work, exist_ok=True)
    with open(write_page("try", "allocate", EXAMPLE), encoding="utf-8") as page:
        if "There are no charts" in page.read():
            skip("this build has no charts")
    unittest.main(argv=[sys.argv[0], *(other for other in others if other != "--")])


if __name__ == "__main__":
    main()
