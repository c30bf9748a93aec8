#!/usr/bin/env python3
"""Tests the report page in headless Chromium.

    page_test.py --assets BUILD/page/assets.cpp --work FOLDER [--command sluice] [--pages FILE...] [-- unittest's arguments]

Pages are made around documents of a seeded generator (fixture.py), one of them with 5,000 timeline bars, and by
`sluice report` itself. Exit status 77, with the reason, where Chromium, its driver or Selenium is missing, or where the
build has no charts.
"""
import argparse
import os
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}; scripts/install_packages.sh test installs what is missing")
    sys.exit(SKIPPED)


try:
    import selenium  # noqa: F401
except ImportError:
    skip("this Python has no selenium")

import fixture  # noqa: E402
import interaction_checks  # noqa: E402
import number_checks  # noqa: E402
import page_checks  # noqa: E402
import page_maker  # noqa: E402
import real_pages  # noqa: E402
from browser import Browser  # noqa: E402

SETTINGS = argparse.Namespace()
EVERY_CHART = ["chart-memory-0", "chart-memory-1", "chart-timeline", "chart-planners", "chart-curve", "chart-breakdown"]


def write_page(name, document):
    path = os.path.join(SETTINGS.work, f"{name}.html")
    with open(path, "w", encoding="utf-8") as page:
        page.write(page_maker.make_page(document, *page_maker.read_assets(SETTINGS.assets)))
    return path


class InBrowser(unittest.TestCase):
    """One browser for the tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(SETTINGS.driver)
        cls.addClassCleanup(cls.browser.close)


class SmallPage(page_checks.PageChecks, InBrowser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = write_page("small", fixture.make_document(seed=1, bars=300))
        cls.expected_charts = EVERY_CHART


class LargePage(page_checks.PageChecks, InBrowser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = write_page("large", fixture.make_document(seed=2, bars=5000))
        cls.expected_charts = EVERY_CHART


class Interaction(interaction_checks.InteractionChecks, InBrowser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = fixture.make_document(seed=3, bars=5000)
        cls.path = write_page("interaction", cls.document)


class Numbers(number_checks.NumberChecks, InBrowser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = fixture.make_document(seed=5, bars=300)
        cls.path = write_page("numbers", cls.document)


class Sparse(InBrowser):
    """Documents that lack parts: what is there is drawn, nothing fails."""

    def open_without(self, *parts):
        document = fixture.make_document(seed=4, bars=60)
        for part in parts:
            del document[part]
        self.browser.open(write_page("sparse", document))
        self.assertEqual(self.browser.console(), [])
        return self.browser.run(
            "return [...document.querySelectorAll('figure.chart')].filter((one) => one.dataset.points).map((one) => one.id)"
        )

    def test_without_comparison(self):
        self.assertNotIn("chart-planners", self.open_without("comparison"))

    def test_without_sweep(self):
        self.assertNotIn("chart-curve", self.open_without("sweep"))

    def test_without_timeline(self):
        self.assertIn("chart-planners", self.open_without("timeline"))

    def test_with_nothing_measured(self):
        document = fixture.make_document(seed=4, bars=60)
        document["emulated"] = ""
        document["comparison"]["executed"] = False
        for row in document["comparison"]["results"]:
            row.pop("step_ms", None)
            row.pop("scaled_bound_ms", None)
        self.browser.open(write_page("simulated", document))
        self.assertEqual(self.browser.console(), [])
        self.assertIn("simulated step", self.browser.find("#chart-planners .legend").text)
        self.assertIn("certified bound", self.browser.find("#chart-planners .legend").text)
        self.assertEqual(self.browser.run("return document.querySelectorAll('figure .emulated').length"), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", required=True, help="the assets' source that the build has written")
    parser.add_argument("--work", required=True, help="folder for pages")
    parser.add_argument(
        "--command", default="", help="the sluice command; without it there are no tests of its own pages"
    )
    parser.add_argument(
        "--pages", nargs="*", default=[], help="pages that are tested like these: reports of large models"
    )
    arguments, others = parser.parse_known_args(namespace=SETTINGS)
    arguments.driver = shutil.which("chromedriver")
    if not arguments.driver or not (shutil.which("chromium") or shutil.which("google-chrome")):
        skip("Chromium and its driver are not installed")
    if not page_maker.read_assets(arguments.assets)[1]:
        skip("this build has no charts")
    os.makedirs(arguments.work, exist_ok=True)
    real_pages.define(globals(), InBrowser, arguments)
    unittest.main(argv=[sys.argv[0], *(other for other in others if other != "--")])


if __name__ == "__main__":
    main()
