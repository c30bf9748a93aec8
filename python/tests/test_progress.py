"""What is shown of the command's progress, by where standard error goes."""

import io
import os
import sys
import types
import unittest
import unittest.mock

from sluice.progress import CLEAR, Messages, in_notebook


class Terminal(io.StringIO):
    def isatty(self):
        return True


WORK = [f"{CLEAR}planning  1/4", f"{CLEAR}planning  2/4{CLEAR}", "sluice: note: a hint\r\n", f"{CLEAR}planning  3/4"]


def shown(out, pieces) -> str:
    messages = Messages(out)
    for piece in pieces:
        messages.feed(piece.encode())
    messages.close()
    return out.getvalue()


class ProgressTest(unittest.TestCase):
    def test_a_terminal_has_one_line_rewritten_in_place(self):
        with unittest.mock.patch.dict(os.environ, {"TERM": "xterm"}):
            text = shown(Terminal(), WORK)
        self.assertIn("\rplanning  1/4", text)
        self.assertIn("\rplanning  3/4", text)
        self.assertIn("\r" + " " * 13 + "\rsluice: note: a hint\n", text)
        self.assertTrue(text.endswith("\r"), repr(text))
        self.assertEqual(text.count("\n"), 1)

    def test_a_notebook_is_as_good_as_a_terminal(self):
        shell = types.SimpleNamespace(kernel=object())
        notebook = types.SimpleNamespace(get_ipython=lambda: shell)
        with unittest.mock.patch.dict(sys.modules, {"IPython": notebook}):
            self.assertTrue(in_notebook())
            self.assertIn("\rplanning  1/4", shown(io.StringIO(), WORK))
        with unittest.mock.patch.dict(sys.modules, {"IPython": types.SimpleNamespace(get_ipython=lambda: None)}):
            self.assertFalse(in_notebook())

    def test_a_log_has_notes_and_now_and_then_a_line(self):
        self.assertEqual(shown(io.StringIO(), WORK), "sluice: note: a hint\n")
        messages = Messages(io.StringIO())
        messages._logged -= 11
        messages.feed(WORK[0].encode())
        self.assertEqual(messages._out.getvalue(), "sluice: planning  1/4\n")

    def test_signs_in_pieces_are_whole(self):
        bar = f"{CLEAR}planning █░  1/4".encode()
        with unittest.mock.patch.dict(os.environ, {"TERM": "xterm"}):
            messages = Messages(Terminal())
        for i in range(len(bar)):
            messages.feed(bar[i : i + 1])
        self.assertIn("planning █░  1/4", messages._out.getvalue())
        self.assertNotIn("\ufffd", messages._out.getvalue())

    def test_errors_are_kept_for_the_exception(self):
        messages = Messages(io.StringIO())
        messages.feed(b"sluice: no room\r\n  at all\r\nsluice: see --help\r\n")
        self.assertEqual(messages.errors, ["no room\n  at all", "see --help"])
        self.assertEqual(messages._out.getvalue(), "")
