"""The plan for a step that was seen before; no PyTorch."""

import unittest

from sluice.paths import KEPT_EVENTS, KEPT_PATHS, KnownPath, KnownPaths, Path, Plan, Saved

MIB = 1 << 20


def step(sizes, growth=0):
    """A step that saves tensors of these sizes and asks for them in the opposite order."""
    path, used = Path(), 0
    path.happen(("begin",), 0, 0)
    for size in sizes:
        used += size
        path.saved.append(Saved(size, path.happen(("save", size), used, 0)))
        path.most[-1] = used + growth
    for index in range(len(sizes) - 1, -1, -1):
        path.saved[index].asked = path.happen(("ask", index), used, 0)
        path.most[-1] = used + growth
        used -= sizes[index]
    return path


def used_at_most(path, plan):
    """What the step takes when the plan is followed, and the disk is fast."""
    event_of = dict(plan.brings)
    most = 0
    for event, with_all in enumerate(path.most):
        away = sum(path.saved[index].nbytes for index in plan.leaves
                   if path.saved[index].made < event < event_of[index])
        most = max(most, with_all - away)
    return most


class PathTest(unittest.TestCase):
    def test_nothing_leaves_where_all_has_room(self):
        plan = step([10, 20, 30]).plan(60)
        self.assertEqual((plan.leaves, plan.brings), (set(), []))

    def test_the_oldest_leave_and_no_more_than_needed(self):
        self.assertEqual(step([10] * 8).plan(55).leaves, {0, 1, 2})

    def test_the_first_asked_for_comes_back_first(self):
        self.assertEqual([index for index, _ in step([10] * 8).plan(40).brings], [3, 2, 1, 0])

    def test_what_computing_takes_is_left_free(self):
        self.assertEqual(step([10] * 8, growth=20).plan(55).leaves, {0, 1, 2, 3, 4})

    def test_the_budget_holds_while_they_come_back(self):
        for budget in (30, 40, 55, 70):
            path = step([10] * 8)
            self.assertLessEqual(used_at_most(path, path.plan(budget)), budget, budget)

    def test_they_come_back_as_early_as_there_is_room(self):
        path = step([10] * 8)
        for budget in (40, 55):
            plan = path.plan(budget)
            for index, event in plan.brings:
                self.assertLess(event, path.saved[index].asked, "so that it can be read behind the computation")

    def test_a_batch_that_outlives_the_step_stays(self):
        path = step([10] * 8)
        path.saved[0].outlived = True
        self.assertEqual(path.plan(55).leaves, {1, 2, 3})

    def test_steps_that_begin_alike_share_their_prefixes(self):
        short, long = step([10] * 4), step([10] * 6)
        self.assertEqual(short.prefixes[:5], long.prefixes[:5])
        self.assertNotEqual(short.prefixes[5], long.prefixes[5])


class KnownPathsTest(unittest.TestCase):
    def remember(self, known, sizes):
        path = step(sizes)
        known.remember(KnownPath(path, Plan(set(), [])))
        return path

    def test_a_path_is_found_by_what_it_begins_with(self):
        known = KnownPaths()
        short, long = self.remember(known, [10] * 4), self.remember(known, [10] * 6)
        self.assertEqual(known.beginning(short.prefixes[3]).prefixes, long.prefixes, "the last of both")
        self.assertEqual(known.beginning(short.prefixes[-1]).prefixes, short.prefixes)
        self.assertIsNone(known.beginning(step([11]).prefixes[-1]))

    def test_the_paths_taken_longest_ago_are_forgotten(self):
        known = KnownPaths()
        paths = [self.remember(known, [10, 20 + number]) for number in range(KEPT_PATHS)]
        self.remember(known, [10, 20])  # again
        self.remember(known, [10, 1000])
        self.assertIsNotNone(known.beginning(paths[0].prefixes[-1]))
        self.assertIsNone(known.beginning(paths[1].prefixes[-1]))
        self.assertIsNotNone(known.beginning(paths[0].prefixes[1]), "others begin like that")

    def test_however_many_there_are_they_take_no_more(self):
        known, sizes = KnownPaths(), []
        for number in range(200):
            self.remember(known, [10 + number % 7, *range(number, number + 40)])
            sizes.append(len(known))
        self.assertEqual(max(sizes), max(sizes[: 2 * KEPT_PATHS]))

    def test_long_ones_are_few(self):
        known = KnownPaths()
        for number in range(4):
            self.remember(known, [number + 1] * (KEPT_EVENTS // 2))
            self.assertLessEqual(len(known), 2 * KEPT_EVENTS)
