#!/usr/bin/env python3
"""Takes pictures of a report page in headless Chromium, for docs/ and for people who change it.

    screenshot.py PAGE.html OUT.png [--dark] [--width 1200] [--only SELECTOR] [--keys CHART TEXT...]

All of the page, or one element with --only. --keys gives keys to a chart before, such as
    --keys chart-timeline + + ArrowRight Enter
"""
import argparse
import base64
import os
import shutil
import sys

sys.dont_write_bytecode = True

from browser import Browser  # noqa: E402

NAMED = {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Enter": "\ue007"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("out")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--only", default="body", help="CSS selector")
    parser.add_argument("--keys", nargs="+", default=[])
    arguments = parser.parse_args()
    browser = Browser(shutil.which("chromedriver"))
    try:
        browser.dark(arguments.dark)
        browser.size(arguments.width, 2400)  # a section is all in view
        browser.open(os.path.abspath(arguments.page))
        if arguments.keys:
            browser.focus(f"#{arguments.keys[0]}")
        browser.run("document.querySelector(arguments[0]).scrollIntoView()", arguments.only)
        browser.frames()
        browser.keys(*(NAMED.get(key, key) for key in arguments.keys[1:]))
        box = browser.run(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "const [x, y] = [box.x + scrollX - 12, box.y + scrollY - 12];"
            "return { x, y, width: box.width + 24, height: box.height + 24, scale: 1 }",
            arguments.only,
        )
        picture = browser.cdp(
            "Page.captureScreenshot", captureBeyondViewport=arguments.only == "body", format="png", clip=box
        )
        with open(arguments.out, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
    finally:
        browser.close()


if __name__ == "__main__":
    main()
