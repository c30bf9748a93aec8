"""Tests reproduce.py: in checkouts of its own, with results that take no time, and on the files of this repository."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from reproducing import addresses, catalog, code_state, papers, pruning, records

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITE = "import json, sys; json.dump({'rows': [{'name': 'a', 'ms': 2.5}], 'links': [{'throttled': True}]}, open(sys.argv[1], 'w'))"


def entry(name, *command, **more):
    return {"name": name, "how": "executed", "command": list(command), "minutes": 0.01, "measures": ["code/"], **more}


def writing(name, **more):
    return entry(name, sys.executable, "-c", f"{WRITE}; print('printed of', sys.argv[1])", "$out", **more)


class Checkout:
    """A repository with kept results and a paper."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder).resolve()
        self.write("code/a.cpp", "one")
        self.write("benchmarks/measured_code.json", "{}  // none")
        self.paper({"what": "step", "model": "net", "setting": "here", "published": 2.4, "published_from": "text", "unit": "ms",
                    "better": "lower", "ours": "a#/rows/name=a/ms"})
        for words in (["init", "-q"], ["config", "user.email", "a@b"], ["config", "user.name", "a"]):
            self.git(*words)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def paper(self, *rows):
        self.write("benchmarks/papers/home.json", json.dumps(
            {"paper": "HOME", "items": [{"item": "figure 1", "title": "Steps", "rows": rows}]}))

    def kept(self, *entries):
        self.write("benchmarks/kept/some.json", json.dumps({"results": entries}))

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "all")
        return self.git("rev-parse", "--short", "HEAD")

    def command(self, *words):
        return [sys.executable, str(ROOT / "benchmarks" / "reproduce.py"), *words, "--root", str(self.root)]

    def run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False)

    def records(self):
        return records.records_of(self.root / "docs" / "results")

    def state(self, name):
        return code_state.States(catalog.Catalog(self.root), self.records()).of(name)


class InACheckout(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = Checkout(folder.name)

    def test_a_result_is_made_once_and_its_rows_evaluated(self):
        self.checkout.kept(writing("a", note="a note"))
        commit = self.checkout.commit()
        self.assertIn("would make (0.01 minutes) a: missing", self.checkout.run("all", "--dry-run").stdout)
        self.assertEqual(self.checkout.records(), {})
        made = self.checkout.run("home-figure-1")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stdout, r"step .* 2\.4 ms +2\.50 ms +executed, emulated +matches\n")
        self.assertEqual(self.checkout.records()["a"]["commit"], commit)
        page = (self.checkout.root / "docs/results/some.md").read_text()
        self.assertRegex(page, rf"## a\n\n```text\n\$ .*a\.json\ncommit {commit}\na note\nprinted of a\.json\n```")
        self.assertNotIn("made a", self.checkout.run("a").stdout)
        self.assertIn("made a", self.checkout.run("a", "--again").stdout)

    def test_what_is_measured_makes_it_stale(self):
        self.checkout.kept(writing("a"))
        self.checkout.commit()
        self.checkout.run("a")
        self.checkout.write("code/a_test.cpp", "tests do not count")
        self.assertEqual(self.checkout.state("a").kind, "kept")
        self.checkout.write("code/b.cpp", "not even committed")
        self.assertRegex(str(self.checkout.state("a")), "stale since .*: code/ changed")
        self.assertIn("matches (stale)", self.checkout.run("home", "--no-run").stdout)
        self.checkout.run("a")
        self.assertTrue(self.checkout.records()["a"]["dirty"])
        self.assertEqual(self.checkout.state("a").kind, "kept")
        self.checkout.kept(writing("a", before=[["true"]]))
        self.assertEqual(self.checkout.state("a").kind, "stale", "another command")
        records.write_records(self.checkout.root / "docs/results", {"a": {"name": "a"}})
        self.assertEqual(self.checkout.state("a").kind, "cannot tell")

    def test_an_interruption_keeps_what_is_made_and_the_next_call_goes_on(self):
        begun, go = self.checkout.root / "begun", self.checkout.root / "go"
        wait = f"import pathlib, time\npathlib.Path('{begun}').touch()\nwhile not pathlib.Path('{go}').exists(): time.sleep(0.01)\n"
        self.checkout.kept(writing("a"), entry("b", sys.executable, "-c", "import sys\n" + wait + WRITE, "$out"))
        self.checkout.commit()
        with subprocess.Popen(self.checkout.command("all"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            deadline = time.monotonic() + 60
            while not begun.exists():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertIn("another reproduce.py is at work", self.checkout.run("all").stderr)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, errors)
        self.assertIn("1 made in this run stay", errors)
        self.assertEqual(list(self.checkout.records()), ["a"])
        self.assertFalse((self.checkout.root / "docs/results/.making").exists())
        go.touch()
        second = self.checkout.run("all")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertNotIn("made a", second.stdout)
        self.assertEqual(list(self.checkout.records()), ["a", "b"])

    def test_what_fails_leaves_nothing_and_the_others_go_on(self):
        self.checkout.kept(entry("a", sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('{}'); sys.exit('no disk')", "$out"),
                           entry("b", sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('{')", "$out"), writing("c"))
        self.checkout.commit()
        ran = self.checkout.run("all", "--json", str(self.checkout.root / "out.json"))
        self.assertEqual(ran.returncode, 1)
        document = json.loads((self.checkout.root / "out.json").read_text())
        self.assertEqual(document["made"], ["c"])
        self.assertRegex(document["failed"]["a"], "ended with 1: no disk")
        self.assertRegex(document["failed"]["b"], "no good JSON")
        self.assertEqual(list(self.checkout.records()), ["c"])
        self.assertIn("a is not kept yet", ran.stdout)

    def test_what_the_machine_lacks_and_what_takes_hours_is_skipped(self):
        self.checkout.kept(writing("a", needs={"a tower": ["test", "-d", "$root/tower"]}), writing("b", only_if_asked="takes hours"))
        self.checkout.commit()
        skipped = self.checkout.run("all").stdout
        self.assertIn("skipped a: this machine lacks a tower", skipped)
        self.assertIn("skipped b: only if asked for by its name: takes hours", skipped)
        self.assertIn("only if asked: takes hours", self.checkout.run("list").stdout)
        self.assertIn("made b", self.checkout.run("b").stdout)

    def test_mistakes_are_named(self):
        self.checkout.kept(writing("a", hwo="executed"))
        self.assertRegex(self.checkout.run("list").stderr, "some.json: a: unknown field \"hwo\"")
        self.checkout.kept(writing("a"), writing("a"))
        self.assertRegex(self.checkout.run("list").stderr, "a is in some.json, too")
        self.checkout.kept(entry("a", "$sluce"))
        self.assertRegex(self.checkout.run("list").stderr, "unknown place")
        self.checkout.kept(writing("alpha"))
        wrong = self.checkout.run("alph")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("(like it: alpha)", wrong.stderr)
        self.checkout.paper({"what": "step", "model": "net", "setting": "here", "published": 1, "published_from": "text", "unit": "x",
                             "better": "lower", "ours": 2})
        self.assertIn("written by hand", self.checkout.run("list").stderr)


class Numbers(unittest.TestCase):
    DOCUMENT = {"rows": [{"name": "a", "on": True, "ms": [1, 2], "simulated": True}, {"name": "b", "on": True, "ms": [3, 5]}]}

    def value(self, expression):
        return addresses.evaluated(expression, {"kept": self.DOCUMENT}.get)

    def test_addresses(self):
        self.assertEqual(self.value("kept#/rows/name=b/ms/1"), (5, False))
        self.assertEqual(self.value({"add": "kept#/rows/*on=true/ms/0"}), (4, True))
        self.assertEqual(self.value({"percent": {"divide": ["kept#/rows/name=a&on=true/ms/0", 4]}}), (25, True))
        self.assertEqual(self.value({"count": "kept#/rows/*/ms/*"}), (4, True))
        self.assertEqual(self.value({"max": ["kept#/rows/1/ms/0", 2]}), (3, False))
        for wrong, why in (("kept#/rows/on=true/ms/0", "2 elements with on=true"), ("kept#/rows/name=c/ms", "no element with name=c"),
                           ("kept#/rows/0/no", "no \"no\""), ("kept#/rows/9/ms", "none of number 9"), ("kept#/rows/0/on", "no number"),
                           ("kept#/rows/*/ms/0", "2 numbers where one is wanted"), ({"divide": ["kept#/rows/0/ms/0", 0]}, "no finite"),
                           ({"twice": 1}, "unknown \"twice\""), ({"subtract": 1}, "subtract of 1 numbers")):
            with self.assertRaisesRegex(addresses.Missing, re.escape(why)):
                self.value(wrong)

    def test_verdicts(self):
        for ours, published, better, verdict in (
                (1.1, [1, 1], "higher", "matches"), (1.11, [1, 1], "higher", "ahead"), (1.11, [1, 1], "lower", "behind"),
                (0.89, [1, 1], "lower", "ahead"), (0.89, [1, 1], "higher", "behind"), (2, [1, 3], "lower", "matches"),
                (3.31, [1, 3], "lower", "behind"), (0.95, [1, 3], "neither", "agrees"), (4, [1, 3], "neither", "differs"),
                (-1.2, [-1, -1], "higher", "behind"), (-1.05, [-1, -1], "higher", "matches")):
            self.assertEqual(papers.verdict_of(ours, published, better), verdict, (ours, published, better))

    def test_records_keep_what_is_read_and_come_back_as_they_were(self):
        big = {"results": [{"planner": name, "slowdown": 1.25, "round_ms": list(range(20)), "ops": [{"op": "x" * 99}] * 20}
                           for name in ("fast-only", "joint")], "far": {"of": [{"n": 1, "m": 2}, {"n": 3}]}}
        kept = pruning.pruned(big, addresses.Walk(big, "big#/far/of/n=3/n").read)
        self.assertEqual(kept, {"results": [{"planner": "fast-only", "slowdown": 1.25},
                                            {"planner": "joint", "slowdown": 1.25, "round_ms": list(range(20))}],
                                "far": {"of": [{}, {"n": 3}]}})
        self.assertEqual(records.unpacked(json.loads(json.dumps(records.packed(kept)))), kept)
        self.assertEqual(pruning.pruned({"seconds": 3.5, "losses": list(range(20))}), {"seconds": 3.5})

    def test_long_lists_lose_their_middle(self):
        text = "\n".join(f"line {number:05}" for number in range(9999))
        short = records.shortened(text)
        self.assertLess(len(short), records.LONGEST + 100)
        self.assertRegex(short, r"\A(line \d+\n)+\.\.\. \d+ lines are left out here \.\.\.\n(line \d+\n)+line 09998\Z")


class ThisRepository(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.known, cls.items = catalog.Catalog(ROOT), papers.read_items(ROOT)
        cls.found = records.records_of()
        states = code_state.States(cls.known, cls.found)
        evaluation = papers.Evaluation(cls.known.kept, cls.found, states)
        cls.evaluated = [(item, evaluation.item(item)) for item in cls.items]

    def test_what_is_measured_and_run_is_there(self):
        for kept in self.known.kept.values():
            paths = self.known.measured(kept) + [words[0] for words in kept.commands() if words[0].startswith("benchmarks/")]
            self.assertTrue(self.known.measured(kept), f"{kept.name} measures nothing")
            for path in paths:
                self.assertTrue((ROOT / path).exists(), f"{kept.name}: {path}")

    def test_every_row_has_its_number_or_its_result_is_not_kept_yet(self):
        for item, results in self.evaluated:
            for result in results:
                if result.missing:
                    self.assertIn("is not kept yet", result.missing, f"{item.id}: {result.row['what']}")

    def test_the_page_is_what_is_written_now(self):
        def unmarked(text):  # without what depends on the commit
            return re.sub(r" \((stale|age unknown)\)|\n\d+ of these rows read .*\n", "", text)

        self.assertEqual(unmarked((ROOT / "docs/results/papers.md").read_text()), unmarked(papers.papers_page(self.evaluated)),
                         "write it again: benchmarks/reproduce.py all --no-run")

    def test_results_are_small(self):
        size = sum(file.stat().st_size for file in (ROOT / "docs" / "results").iterdir())
        self.assertLess(size, 1_000_000, "docs/results holds what is read, not raw runs")
