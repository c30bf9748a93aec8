"""Headless Chromium for the tests of our pages: opening, emulating, reading what was drawn and what it cost."""
import base64
import hashlib
import os

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

# How many colours a chart's canvas has.
COLOURS = """
const canvas = document.querySelector(`#${arguments[0]} .plot canvas`);
if (!canvas) return 0;
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
return new Set(new Uint32Array(data.buffer)).size;
"""
AFTER_TWO_FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"


class Browser:
    """Offline from the start. Places in a plot are CSS pixels from its upper left corner."""

    def __init__(self, driver_path, width=1200, height=900):
        options = webdriver.ChromeOptions()
        # Without a sandbox: Chromium refuses to have one as root, and the pages are our own.
        for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars"):
            options.add_argument(f"--{argument}")
        options.add_argument(f"--window-size={width},{height}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver_path), options=options)
        self.driver.set_script_timeout(60)
        self.cdp("Network.enable")
        any_speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.cdp("Network.emulateNetworkConditions", offline=True, **any_speed)

    def close(self):
        self.driver.quit()

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path):
        self.console()
        self.driver.get(f"file://{os.path.abspath(path)}")
        try:
            WebDriverWait(self.driver, 30, 0.05).until(
                lambda _: self.run("return document.documentElement.dataset.charts") == "drawn"
            )
        except TimeoutException:
            raise AssertionError(f"{path}: the charts were not drawn; the console says {self.console()}") from None
        self.frames()

    def frames(self):
        """Waits until what was asked for has been drawn."""
        self.driver.execute_async_script(AFTER_TWO_FRAMES)

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def size(self, width, height, density=1, mobile=False):
        self.cdp(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=density, mobile=mobile
        )
        self.frames()

    def usual_size(self):
        self.cdp("Emulation.clearDeviceMetricsOverride")
        self.frames()

    def dark(self, on):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])
        self.frames()

    def print_to_pdf(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def charts(self):
        return self.run("return [...document.querySelectorAll('figure.chart')].map((figure) => figure.id)")

    def colours(self, chart):
        return self.run(COLOURS, chart)

    def picture(self, chart):
        """A fingerprint of what a chart shows: the same for the same pixels."""
        image = self.run("return document.querySelector(`#${arguments[0]} .plot canvas`).toDataURL()", chart)
        return hashlib.sha256(image.encode()).hexdigest()

    def data(self, chart, name):
        return self.run("return document.getElementById(arguments[0]).dataset[arguments[1]]", chart, name)

    def seen(self, chart="chart-timeline"):
        """The part of the step that a chart over time shows, in ms."""
        return float(self.data(chart, "from")), float(self.data(chart, "to"))

    def highlighted(self):
        return [int(each) for each in self.run("return document.documentElement.dataset.highlighted || ''").split()]

    def focus(self, selector):
        self.run(
            "const one = document.querySelector(arguments[0]); one.scrollIntoView({ block: 'center' }); one.focus()",
            selector,
        )
        self.frames()

    def keys(self, *keys, shift=False):
        chain = ActionChains(self.driver)
        if shift:
            chain.key_down(Keys.SHIFT)
        chain.send_keys(*keys)
        if shift:
            chain.key_up(Keys.SHIFT)
        chain.perform()
        self.frames()

    def press(self, chart, label):
        self.run("document.querySelector(`#${arguments[0]} [aria-label='${arguments[1]}']`).click()", chart, label)
        self.frames()

    def plot_box(self, chart):
        """The plotting area in the window, once it is in view: left, top, width, height."""
        self.run("document.querySelector(`#${arguments[0]} .plot`).scrollIntoView({ block: 'center' })", chart)
        return self.run(
            "const box = document.querySelector(`#${arguments[0]} .u-over`).getBoundingClientRect();"
            "return [box.left, box.top, box.width, box.height]",
            chart,
        )

    def mouse(self, kind, x, y, **more):
        self.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, chart, left, top):
        """Moves the pointer to a place of the plot; gives the tooltip's lines."""
        box = self.plot_box(chart)
        self.frames()
        self.mouse("mouseMoved", box[0] + left, box[1] + top)
        self.frames()
        return self.tip()

    def leave(self):
        self.mouse("mouseMoved", 2, 2)
        self.frames()

    def tip(self):
        return self.run(
            "const tip = document.getElementById('tip');"
            "return tip.hidden ? [] : [...tip.children].map((line) => line.textContent)"
        )

    def click(self, chart, left, top, clicks=1):
        box = self.plot_box(chart)
        self.mouse("mouseMoved", box[0] + left, box[1] + top)
        for count in range(1, clicks + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, box[0] + left, box[1] + top, button="left", clickCount=count)
        self.frames()

    def drag(self, chart, begin, end, top):
        box = self.plot_box(chart)
        x, y = [box[0] + begin, box[0] + (begin + end) / 2, box[0] + end], box[1] + top
        self.mouse("mouseMoved", x[0], y)
        self.mouse("mousePressed", x[0], y, button="left", buttons=1, clickCount=1)
        for at in x[1:]:
            self.mouse("mouseMoved", at, y, button="left", buttons=1)
        self.mouse("mouseReleased", x[2], y, button="left", clickCount=1)
        self.frames()
