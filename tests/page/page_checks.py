"""What every report page must be, whatever is on it; test classes with a `path` of a page inherit it."""
import json
import os
import re

MIB = 1 << 20
# Pairs of the style's colours that text is written in and on.
TEXT_ON = [
    ("text", "page"),
    ("muted", "page"),
    ("accent", "page"),
    ("text", "panel"),
    ("text", "notice"),
    ("text", "marked"),
]


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


class PageChecks:
    """Of self.path, in self.browser; self.expected_charts are the figures that must be there."""

    def setUp(self):
        self.browser.dark(False)
        self.browser.usual_size()
        self.browser.open(self.path)

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])

    def test_is_small(self):
        self.assertLess(os.path.getsize(self.path), 3 * MIB)

    def test_names_nothing_to_load(self):
        with open(self.path, encoding="utf-8") as page:
            text = re.sub(r'<script type="application/json".*?</script>', "", page.read(), flags=re.DOTALL)
        self.assertIsNone(re.search(r'(src|srcset)\s*=\s*"|<link\b|@import|url\(', text))
        asked = self.browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual(asked, [])

    def test_keeps_the_librarys_licence(self):
        with open(self.path, encoding="utf-8") as page:
            self.assertIn("Permission is hereby granted, free of charge", page.read())

    def test_first_paint_is_soon(self):
        paint = self.browser.run(
            "return performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"
        )
        self.assertTrue(paint, "nothing was painted")
        self.assertLessEqual(paint[0], 1000)

    def test_every_chart_has_data(self):
        for chart in self.expected_charts:
            self.assertIn(chart, self.browser.charts())
        for chart in self.browser.charts():
            with self.subTest(chart):
                self.assertGreater(int(self.browser.data(chart, "points")), 0)
                colours, drawn = self.browser.pixels(chart)
                self.assertGreater(colours, 4)
                self.assertGreater(drawn, 0.01)

    def test_every_chart_is_named_and_in_the_order_of_tabs(self):
        for chart in self.browser.charts():
            with self.subTest(chart):
                figure = self.browser.find(f"#{chart}")
                self.assertEqual(figure.get_attribute("tabindex"), "0")
                self.assertTrue(figure.get_attribute("aria-label"))
                self.assertTrue(self.browser.find(f"#{figure.get_attribute('aria-describedby')}"))

    def test_keys_reach_something_in_every_chart_and_it_is_said(self):
        for chart in self.browser.charts():
            with self.subTest(chart):
                self.browser.focus(f"#{chart}")
                self.browser.keys("\ue014")  # right
                name = self.browser.data(chart, "item")
                self.assertTrue(name)
                self.assertIn(name, self.browser.find("#said").get_attribute("textContent"))
                self.assertEqual(self.browser.tip()[0], name)
                self.browser.keys("\ue00c")  # escape
                self.assertEqual(self.browser.tip(), [])

    def test_dark_is_dark_and_light_is_light(self):
        light = {chart: self.browser.picture(chart) for chart in self.browser.charts()}
        background = "return getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.browser.run(background), "rgb(255, 255, 255)")
        self.browser.dark(True)
        self.assertNotEqual(self.browser.run(background), "rgb(255, 255, 255)")
        for chart, picture in light.items():
            with self.subTest(chart):
                self.assertNotEqual(self.browser.picture(chart), picture)
                self.assertGreater(self.browser.pixels(chart)[0], 4)

    def test_text_stands_out_in_light_and_dark(self):
        for dark in (False, True):
            self.browser.dark(dark)
            for text, ground in TEXT_ON:
                with self.subTest(f"{text} on {ground}, dark: {dark}"):
                    colours = [
                        self.browser.run(
                            "return getComputedStyle(document.documentElement).getPropertyValue(`--${arguments[0]}`).trim()",
                            name,
                        )
                        for name in (text, ground)
                    ]
                    self.assertGreaterEqual(contrast(*colours), 4.5)

    def test_fits_a_small_screen(self):
        self.browser.size(360, 740, density=2, mobile=True)
        self.browser.open(self.path)
        self.browser.run("for (const details of document.querySelectorAll('details')) details.open = true")
        wide = self.browser.run(
            "return [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > 361"
            " && !one.closest('.scroll, pre, .heard')).map((one) => one.outerHTML.slice(0, 100))"
        )
        self.assertEqual(wide, [])
        self.assertLessEqual(self.browser.run("return document.scrollingElement.scrollWidth"), 360)
        for chart in self.browser.charts():
            self.assertGreater(self.browser.pixels(chart)[0], 4)

    def test_pixels_are_the_screens(self):
        for density in (1, 2):
            self.browser.size(1000, 800, density=density)
            self.browser.open(self.path)
            for chart in self.browser.charts():
                widths = self.browser.run(
                    "const canvas = document.querySelector(`#${arguments[0]} canvas:not(.sample)`);"
                    "return [canvas.width, canvas.getBoundingClientRect().width]",
                    chart,
                )
                self.assertAlmostEqual(widths[0] / widths[1], density, delta=0.02)

    def test_prints_in_light_colours_with_all_unfolded(self):
        self.browser.dark(True)
        before = self.browser.run("return document.querySelectorAll('details[open]').length")
        self.browser.run(
            "addEventListener('beforeprint', () => setTimeout(() => 0));"
            "window.printed = null;"
            "addEventListener('beforeprint', () => { window.printed = {"
            "  closed: document.querySelectorAll('details:not([open])').length,"
            "  page: getComputedStyle(document.documentElement).getPropertyValue('--page').trim() }; })"
        )
        pdf = self.browser.print_to(os.path.splitext(self.path)[0] + ".pdf")
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(len(pdf), 20000)
        self.assertEqual(self.browser.run("return window.printed"), {"closed": 0, "page": "#ffffff"})
        self.browser.frames()
        self.assertEqual(self.browser.run("return document.querySelectorAll('details[open]').length"), before)
        self.assertFalse(self.browser.run("return document.documentElement.classList.contains('printing')"))

    def test_the_document_is_the_pages(self):
        document = json.loads(self.browser.run("return document.getElementById('report-data').textContent"))
        self.assertEqual(document["format"], "sluice-json")
        self.assertEqual(int(self.browser.data("chart-timeline", "points")), len(document["timeline"]["bars"]["lane"]))
        for row in self.browser.run(
            "return [...document.querySelectorAll('tr[data-tensor]')].map((row) => [row.dataset.tensor, row.textContent])"
        ):
            self.assertIn(document["tensors"][int(row[0])]["name"], row[1])
