"""What charts say of their numbers, against the document: memory, planners, the curve, the breakdown.

For test classes with `path`, the `document` it was made from, and `browser`.
"""

LEFT, RIGHT, DOWN, HOME = "\ue012", "\ue014", "\ue015", "\ue011"


class NumberChecks:
    def setUp(self):
        self.browser.open(self.path)
        self.length = self.document["timeline"]["step_ms"]

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])

    def test_memory_says_what_is_there_at_an_instant(self):
        memory = self.document["memory"][0]
        at = 0.4 * self.length
        instant = max(i for i, ms in enumerate(memory["ms"]) if ms <= at)
        lines = self.browser.hover("chart-memory-0", 0.4 * self.browser.plot_box("chart-memory-0")[2], 50)
        total = sum(row[instant] for row in memory["bytes"])
        self.assertIn("in dram", lines[0])
        self.assertAlmostEqual(bytes_of(lines[0]), total, delta=0.02 * total)
        parameter = next(line for line in lines if line.startswith("parameter"))
        self.assertAlmostEqual(
            bytes_of(parameter.removeprefix("parameter ")), memory["bytes"][0][instant], delta=0.006 * total
        )

    def test_planners_say_their_numbers_fastest_first_and_name_what_is_infeasible(self):
        self.browser.focus("#chart-planners")
        names = []
        for _ in self.document["comparison"]["results"]:
            self.browser.keys(RIGHT)
            names.append(self.browser.data("chart-planners", "item"))
        feasible = [row for row in self.document["comparison"]["results"] if "step_ms" in row]
        ordered = sorted(feasible, key=lambda row: row["step_ms"]["median"])
        self.assertEqual(names, [row["planner"].replace("_", " ") for row in ordered] + ["redl"])
        self.assertEqual(self.browser.tip()[1], "infeasible: needs 2.1 GiB of fast memory, the budget is 1.2 GiB")
        self.browser.keys(HOME)
        lines = self.browser.tip()
        self.assertIn(f"measured: median {ordered[0]['step_ms']['median']:.3g} ms", lines)
        self.assertIn(f"certified bound {ordered[0]['scaled_bound_ms']:.3g} ms", lines)

    def test_the_curve_names_planner_budget_bound_and_knee(self):
        points = self.document["sweep"]["models"][0]["points"]
        self.browser.focus("#chart-curve")
        self.browser.keys(HOME, RIGHT, RIGHT, RIGHT)
        lines = self.browser.tip()
        self.assertTrue(lines[0].startswith("joint in ") and lines[0].endswith("(30 %)"), lines)
        self.assertIn(f"{points[3]['predicted_slowdown']:.3f} ×", lines[1])
        self.assertTrue(any(line.startswith("bound ") for line in lines))
        self.assertTrue(any(line.startswith("the knee") for line in lines))
        self.browser.keys(DOWN)
        self.assertTrue(self.browser.tip()[0].startswith("sentinel in "))
        self.browser.keys(LEFT, LEFT, LEFT)
        self.assertTrue(any(line.startswith("infeasible") for line in self.browser.tip()), self.browser.tip())

    def test_the_breakdown_says_the_steps_parts(self):
        self.browser.focus("#chart-breakdown")
        self.browser.keys(HOME)
        parts = self.document["step"]["parts_ms"]
        self.assertTrue(self.browser.tip()[0].startswith("this step: "))
        self.assertTrue(
            any(line.startswith(f"computation {parts['computation']:.3g} ms") for line in self.browser.tip()),
            self.browser.tip(),
        )


def bytes_of(text):
    number, unit = text.split()[:2]
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)
