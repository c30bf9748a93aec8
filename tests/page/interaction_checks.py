"""What pointer and keys do in the charts of a page: hover, zoom, pan, highlight; and what panning costs.

For test classes with `path`, the `document` it was made from, and `browser`.
"""
LEFT, UP, RIGHT, DOWN = "\ue012", "\ue013", "\ue014", "\ue015"
HOME, END, ENTER, ESCAPE = "\ue011", "\ue010", "\ue007", "\ue00c"
LANE_TOP, LANE_PITCH, BAR = 18, 46, 22  # sluice/report/page/web/timeline_drawing.js
MS_OF_A_PAN = 33


class InteractionChecks:
    def setUp(self):
        self.browser.open(self.path)
        self.bars = self.document["timeline"]["bars"]
        self.length = self.document["timeline"]["step_ms"]

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])

    def first_of(self, kind):
        return self.bars["kind"].index(self.document["timeline"]["kinds"].index(kind))

    def place_of(self, bar):
        """The middle of what is seen of a bar, from the plot's corner."""
        begin, end = self.bars["begin_ms"][bar], self.bars["end_ms"][bar]
        low, high = self.browser.seen()
        width = self.browser.plot_box("chart-timeline")[2]
        left = ((max(begin, low) + min(end, high)) / 2 - low) / (high - low) * width
        return left, LANE_TOP + LANE_PITCH * self.bars["lane"][bar] + BAR / 2

    def hover_bar(self, bar):
        return self.browser.hover("chart-timeline", *self.place_of(bar))

    def pinned(self):
        return self.browser.run("return [...document.querySelectorAll('.pinned strong')].map((one) => one.textContent)")

    def zoomed_in(self):
        self.browser.focus("#chart-timeline")
        self.browser.keys(HOME, *["+"] * 14)

    def test_hover_names_the_op_its_time_and_its_tensors(self):
        self.zoomed_in()
        for bar in range(3):
            lines = self.hover_bar(bar)
            self.assertEqual(lines[0], self.bars["name"][bar])
            self.assertEqual(lines[1], "forward on compute")
            self.assertIn("convolution", lines)
            for tensor in self.bars["tensors"][bar]:
                self.assertTrue(any(self.document["tensors"][tensor]["name"] in line for line in lines))

    def test_hover_names_a_transfers_bytes_and_cause(self):
        self.zoomed_in()
        bar = self.first_of("eviction")
        lines = self.hover_bar(bar)
        self.assertEqual(lines[0], self.bars["name"][bar])
        self.assertEqual(lines[1], "eviction on dram -> file (emulated)")
        self.assertTrue(any(line.endswith("MiB moved") for line in lines), lines)
        self.assertIn(self.bars["cause"][bar], lines)
        self.assertIn(self.document["tensors"][self.bars["tensors"][bar][0]]["story"], lines)

    def test_hover_highlights_the_tensors_everywhere_and_leaving_ends_it(self):
        self.browser.size(1200, 2000)  # all of them in view: scrolling moves what is under the pointer
        self.addCleanup(self.browser.usual_size)
        self.zoomed_in()
        self.browser.keys(ESCAPE)
        bar = self.first_of("eviction")
        charts = ["chart-timeline", "chart-memory-0", "chart-memory-1"]
        before = {}
        self.browser.plot_box("chart-timeline")
        self.browser.frames()
        for chart in charts:
            before[chart] = self.browser.picture(chart)
        self.hover_bar(bar)
        self.assertEqual(
            self.browser.run("return document.documentElement.dataset.highlighted"), str(self.bars["tensors"][bar][0])
        )
        for chart in charts:
            with self.subTest(chart):
                self.assertNotEqual(self.browser.picture(chart), before[chart])
        self.browser.mouse("mouseMoved", 2, 2)
        self.browser.frames()
        self.assertEqual(self.browser.run("return document.documentElement.dataset.highlighted"), "")
        self.assertEqual(self.browser.picture("chart-timeline"), before["chart-timeline"])

    def test_a_row_of_the_largest_highlights_and_is_highlighted(self):
        tensor = self.document["largest"][0]
        before = self.browser.picture("chart-timeline")
        self.browser.focus(f"tr[data-tensor='{tensor}']")
        self.assertEqual(self.browser.run("return document.documentElement.dataset.highlighted"), str(tensor))
        self.browser.plot_box("chart-timeline")
        self.browser.frames()
        self.assertNotEqual(self.browser.picture("chart-timeline"), before)
        self.browser.run("document.activeElement.blur()")
        transfer = next(bar for bar in range(len(self.bars["lane"])) if self.bars["tensors"][bar] == [tensor])
        self.browser.focus("#chart-timeline")
        self.browser.run("document.querySelector(`tr[data-tensor='${arguments[0]}']`).click()", tensor)
        self.assertIn("highlighted", self.browser.find(f"tr[data-tensor='{tensor}']").get_attribute("class"))
        self.assertEqual(self.bars["tensors"][transfer], [tensor])
        self.browser.keys(ESCAPE)
        self.assertNotIn("highlighted", self.browser.find(f"tr[data-tensor='{tensor}']").get_attribute("class"))

    def test_the_wheel_zooms_once_the_chart_is_chosen_and_scrolls_the_page_before(self):
        self.browser.wheel("chart-timeline", -100)
        self.assertEqual(self.browser.seen(), (0, self.length))
        self.browser.focus("#chart-timeline")
        self.browser.wheel("chart-timeline", -100)
        low, high = self.browser.seen()
        self.assertLess(high - low, 0.8 * self.length)
        self.assertAlmostEqual((low + high) / 2, self.length / 2, delta=0.01 * self.length)
        self.browser.wheel("chart-timeline", 100)
        self.assertAlmostEqual(self.browser.seen()[1], self.length, delta=0.01 * self.length)

    def test_buttons_zoom_and_pan(self):
        def press(label):
            self.browser.run(
                "document.querySelector(`#chart-timeline button[aria-label='${arguments[0]}']`).click()", label
            )
            self.browser.frames()
            return self.browser.seen()

        low, high = press("Zoom in")
        self.assertAlmostEqual(high - low, self.length / 1.5, delta=1e-6 * self.length)
        later = press("Later")
        self.assertGreater(later[0], low)
        self.assertAlmostEqual(later[1] - later[0], high - low, delta=1e-6 * self.length)
        self.assertLess(press("Earlier")[0], later[0])
        self.assertGreater(press("Zoom out")[1] - press("Zoom out")[0], high - low)
        press("Zoom in")
        self.assertEqual(press("Show the whole step"), (0, self.length))

    def test_dragging_pans_what_is_drawn_in_all_charts_over_time(self):
        self.browser.focus("#chart-timeline")
        self.browser.keys("+", "+", "+")
        before, picture = self.browser.seen(), self.browser.picture("chart-timeline")
        width = self.browser.plot_box("chart-timeline")[2]
        self.browser.drag("chart-timeline", -200)
        after = self.browser.seen()
        self.assertAlmostEqual(
            after[0] - before[0], 200 / width * (before[1] - before[0]), delta=0.02 * (before[1] - before[0])
        )
        self.assertAlmostEqual(after[1] - after[0], before[1] - before[0], delta=1e-6 * self.length)
        self.assertNotEqual(self.browser.picture("chart-timeline"), picture)
        self.assertEqual(self.browser.seen("chart-memory-0"), after)

    def test_keys_zoom_pan_and_show_the_whole(self):
        self.browser.focus("#chart-timeline")
        self.browser.keys("+")
        low, high = self.browser.seen()
        self.assertAlmostEqual(high - low, self.length / 1.5, delta=1e-6 * self.length)
        self.browser.keys(RIGHT, shift=True)
        self.assertAlmostEqual(self.browser.seen()[0] - low, (high - low) / 5, delta=1e-3 * self.length)
        self.browser.keys("-", "-")
        self.assertEqual(self.browser.seen(), (0, self.length))
        self.browser.keys("+", "0")
        self.assertEqual(self.browser.seen(), (0, self.length))

    def test_keys_go_from_bar_to_bar_and_the_view_follows(self):
        self.zoomed_in()
        name = lambda: self.browser.data("chart-timeline", "item")  # noqa: E731
        self.assertEqual(name(), self.bars["name"][0])
        self.browser.keys(RIGHT, RIGHT, LEFT)
        self.assertEqual(name(), self.bars["name"][1])
        self.assertIn(self.bars["name"][1], self.browser.find("#said").get_attribute("textContent"))
        self.browser.keys(DOWN)
        self.assertIn(".conv.output", name())
        self.browser.keys(UP, END)
        last = max(bar for bar in range(len(self.bars["lane"])) if self.bars["lane"][bar] == 0)
        self.assertEqual(name(), self.bars["name"][last])
        self.assertGreaterEqual(self.browser.seen()[1], self.bars["end_ms"][last] - 1e-6)
        self.browser.keys(ESCAPE)
        self.assertEqual(name(), "")
        self.assertEqual(self.browser.tip(), [])

    def test_a_pinned_bar_lists_its_tensors_and_each_can_be_highlighted_alone(self):
        self.zoomed_in()
        self.browser.keys(RIGHT, ENTER)
        tensors = self.bars["tensors"][1]
        chosen = lambda: self.browser.run("return document.documentElement.dataset.highlighted")  # noqa: E731
        self.assertEqual(chosen(), " ".join(map(str, tensors)))
        rows = self.browser.run(
            "return [...document.querySelectorAll('.pinned li button')].map((one) => one.textContent)"
        )
        self.assertEqual(len(rows), len(tensors))
        self.browser.run("document.querySelectorAll('.pinned li button')[1].click()")
        self.browser.run("document.activeElement.blur()")
        self.assertEqual(chosen(), str(tensors[1]))
        self.browser.focus("#chart-timeline")
        self.browser.keys(ESCAPE)
        self.assertEqual(chosen(), "")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.pinned').length"), 0)

    def test_a_click_pins_and_one_beside_the_bars_clears(self):
        self.zoomed_in()
        self.browser.click("chart-timeline", *self.place_of(1))
        self.assertEqual(self.pinned(), self.bars["name"][1:2])
        self.browser.mouse("mouseMoved", 2, 2)
        self.browser.frames()
        self.assertEqual(
            self.browser.run("return document.documentElement.dataset.highlighted"),
            " ".join(map(str, self.bars["tensors"][1])),
        )
        self.browser.click("chart-timeline", self.place_of(1)[0], LANE_TOP - 8)
        self.assertEqual(self.pinned(), [])
        self.browser.drag("chart-timeline", -50)
        self.assertEqual(self.pinned(), [])

    def test_tooltips_stay_in_the_window_and_off_the_pointer(self):
        self.look_at_tooltips()

    def test_tooltips_do_so_on_a_small_screen(self):
        self.browser.size(360, 500)
        self.addCleanup(self.browser.usual_size)
        self.look_at_tooltips()

    def look_at_tooltips(self):
        for chart in self.browser.charts():
            box = self.browser.plot_box(chart)
            for left in (2, box[2] / 2, box[2] - 2):
                for top in (4, box[3] / 2, box[3] - 4):
                    if not self.browser.hover(chart, left, top):
                        continue
                    with self.subTest(f"{chart} at {left}, {top}"):
                        tip = self.browser.run(
                            "const { left, top, right, bottom } = document.getElementById('tip').getBoundingClientRect();"
                            "return [left, top, right, bottom, innerWidth, innerHeight]"
                        )
                        x, y = box[0] + left, box[1] + top
                        self.assertFalse(
                            tip[0] <= x <= tip[2] and tip[1] <= y <= tip[3], "the tooltip covers the pointer"
                        )
                        self.assertTrue(tip[0] >= 0 and tip[1] >= 0 and tip[2] <= tip[4] and tip[3] <= tip[5], tip)

    def test_a_finger_names_pins_and_pans(self):
        self.browser.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
        self.addCleanup(self.browser.cdp, "Emulation.setTouchEmulationEnabled", enabled=False)
        self.zoomed_in()
        self.browser.keys(ESCAPE)
        low, width = self.browser.seen()[0], self.browser.plot_box("chart-timeline")[2]
        self.browser.touch("chart-timeline", self.place_of(1))
        self.assertEqual(self.browser.tip()[:1], self.bars["name"][1:2])
        self.assertEqual(self.pinned(), self.bars["name"][1:2])
        self.browser.touch("chart-timeline", *[(width / 2 - 30 * step, LANE_TOP + BAR / 2) for step in range(6)])
        self.assertGreater(self.browser.seen()[0], low)

    def test_panning_5000_bars_is_cheap(self):
        self.assertGreaterEqual(len(self.bars["lane"]), 5000)
        for closer in (1, 6):
            self.browser.focus("#chart-timeline")
            self.browser.keys("0", *["+"] * closer)
            box = self.browser.plot_box("chart-timeline")
            y = box[1] + box[3] - 3
            x = lambda step: box[0] + box[2] / 2 + 3 * (step % 50)  # noqa: E731
            self.browser.mouse("mousePressed", x(0), y, button="left", buttons=1, clickCount=1)
            before = self.browser.seen()
            median, most, idle = self.browser.cost_of_events(
                lambda step: self.browser.mouse("mouseMoved", x(step + 1), y, button="left", buttons=1), 120
            )
            self.assertNotEqual(self.browser.seen(), before)
            self.browser.mouse("mouseReleased", x(120), y, button="left", clickCount=1)
            print(
                f"a pan event with a view of 1/{1.5 ** closer:.1f} of the step: median {median:.1f} ms, most {most:.1f} ms; nothing: {idle:.1f} ms"
            )
            self.assertLessEqual(median, MS_OF_A_PAN)
