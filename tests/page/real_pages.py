"""Tests of pages that `sluice report` has written: one made here of a small model, and any named by --pages."""
import json
import os
import subprocess

import page_checks

CHARTS = ["chart-memory-0", "chart-memory-1", "chart-timeline", "chart-planners", "chart-curve", "chart-breakdown"]
LANE_TOP, LANE_PITCH, BAR = 18, 46, 22  # sluice/report/page/web/timeline_drawing.js
SMALL = [
    "resnet20",
    "--batch",
    "2",
    "--threads",
    "1",
    "--fast",
    "60%",
    "--slow",
    "optane",
    "--planner",
    "sentinel",
    "--planners",
    "on-demand,joint",
    "--curve",
    "40%,60%,80%,100%",
]


class RealPageChecks(page_checks.PageChecks):
    expected_charts = CHARTS

    def document(self):
        return json.loads(self.browser.run("return document.getElementById('report-data').textContent"))

    def test_hover_names_the_longest_bar_of_each_lane(self):
        timeline = self.document()["timeline"]
        bars = timeline["bars"]
        width = self.browser.plot_box("chart-timeline")[2]
        for lane in range(len(timeline["lanes"])):
            longest = max(
                (bar for bar in range(len(bars["lane"])) if bars["lane"][bar] == lane),
                key=lambda bar: bars["end_ms"][bar] - bars["begin_ms"][bar],
                default=None,
            )
            if longest is None:
                continue
            middle = (bars["begin_ms"][longest] + bars["end_ms"][longest]) / 2
            lines = self.browser.hover(
                "chart-timeline", middle / timeline["step_ms"] * width, LANE_TOP + LANE_PITCH * lane + BAR / 2
            )
            self.assertEqual(lines[0], bars["name"][longest])
            self.assertEqual(
                self.browser.run("return document.documentElement.dataset.highlighted"),
                " ".join(map(str, bars["tensors"][longest])),
            )

    def test_what_is_emulated_is_said_beside_every_chart(self):
        emulated = self.document()["emulated"]
        for chart in self.browser.charts():
            said = self.browser.run(
                "return [...document.querySelectorAll(`#${arguments[0]} .emulated`)].map((one) => one.textContent)",
                chart,
            )
            self.assertEqual(said, [emulated] if emulated else [])

    def test_zoom_and_pan_change_what_is_drawn(self):
        self.browser.focus("#chart-timeline")
        pictures = [self.browser.picture("chart-timeline")]
        for keys, shift in ((["+"] * 4, False), (["\ue014"], True), (["0"], False)):
            self.browser.keys(*keys, shift=shift)
            pictures.append(self.browser.picture("chart-timeline"))
        self.assertEqual(pictures[0], pictures[3])
        self.assertEqual(len(set(pictures)), 3)


def write_report(settings):
    path = os.path.join(settings.work, "report.html")
    subprocess.run(
        [settings.command, "report", *SMALL, "--cache-dir", os.path.join(settings.work, "cache"), "-o", path],
        check=True,
    )
    return path


def test_class(name, base, make_path):
    def set_up(cls):
        super(made, cls).setUpClass()
        cls.path = make_path()

    made = type(name, (RealPageChecks, base), {"setUpClass": classmethod(set_up)})
    return made


def define(names, base, settings):
    """Adds the test classes to `names`, where unittest looks for them."""
    if settings.command:
        names["RealPage"] = test_class("RealPage", base, lambda: write_report(settings))
    for path in settings.pages:
        stem = "".join(letter if letter.isalnum() else "_" for letter in os.path.splitext(os.path.basename(path))[0])
        names[f"Page_{stem}"] = test_class(f"Page_{stem}", base, lambda path=path: os.path.abspath(path))
