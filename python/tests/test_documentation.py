"""The examples of docs/python.md run, one after the other, as a reader would type them."""

import contextlib
import io
import os
import re
import unittest

try:
    import torch
except ImportError:
    torch = None

from modules import paging_refused

PAGE = os.path.join(os.path.dirname(__file__), "../../docs/python.md")


REFUSED = "PyTorch is not installed" if torch is None else paging_refused()


@unittest.skipIf(REFUSED, REFUSED)
class DocumentationTest(unittest.TestCase):
    def test_examples_run(self):
        with open(PAGE, encoding="utf-8") as page:
            examples = re.findall(r"^```python\n(.*?)^```", page.read(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(examples), 2)
        names, printed = {}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            for example in examples:
                exec(compile(example, PAGE, "exec"), names)
        self.assertIn("OffloadReport(saved=", printed.getvalue())
