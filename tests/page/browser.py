"""Headless Chromium for the tests of the page: opening, emulating, reading what was drawn and what it cost."""
import base64
import hashlib
import statistics
import time

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

# Counts of a canvas' pixels: how many colours, and what share is not the commonest.
PIXELS = """
const canvas = document.querySelector(`#${arguments[0]} .plot canvas`);
if (!canvas) return [0, 0];
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
const pixels = new Uint32Array(data.buffer), counts = new Map();
for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
return [counts.size, 1 - Math.max(...counts.values()) / pixels.length];
"""
AFTER_TWO_FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"


class Browser:
    def __init__(self, driver_path, width=1200, height=900):
        options = webdriver.ChromeOptions()
        # Without a sandbox: Chromium refuses to have one as root, and the pages are our own.
        for argument in [
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            f"--window-size={width},{height}",
            "--hide-scrollbars",
        ]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver_path), options=options)
        self.driver.set_script_timeout(60)
        self.cdp("Network.enable")
        self.offline(True)

    def close(self):
        self.driver.quit()

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def offline(self, on):
        self.cdp("Network.emulateNetworkConditions", offline=on, latency=0, downloadThroughput=-1, uploadThroughput=-1)

    def open(self, path):
        self.driver.get_log("browser")
        self.driver.get(f"file://{path}")
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
        self.cdp(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}],
        )
        self.frames()

    def print_to(self, path):
        pdf = base64.b64decode(self.cdp("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        with open(path, "wb") as file:
            file.write(pdf)
        return pdf

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def charts(self):
        return self.run("return [...document.querySelectorAll('figure.chart')].map((figure) => figure.id)")

    def pixels(self, chart):
        return self.run(PIXELS, chart)

    def picture(self, chart):
        """A fingerprint of what a chart shows: the same for the same pixels."""
        image = self.run("return document.querySelector(`#${arguments[0]} .plot canvas`).toDataURL()", chart)
        return hashlib.sha256(image.encode()).hexdigest()

    def data(self, chart, name):
        return self.run("return document.getElementById(arguments[0]).dataset[arguments[1]]", chart, name)

    def seen(self, chart="chart-timeline"):
        return float(self.data(chart, "from")), float(self.data(chart, "to"))

    def focus(self, selector):
        self.run("document.querySelector(arguments[0]).focus()", selector)
        self.run("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
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

    def plot_box(self, chart):
        """The plotting area in the window, once it is in view: left, top, width, height."""
        self.run("document.querySelector(`#${arguments[0]} .plot`).scrollIntoView({ block: 'center' })", chart)
        return self.run(
            "const { left, top, width, height } = document.querySelector(`#${arguments[0]} .u-over`).getBoundingClientRect();"
            "return [left, top, width, height]",
            chart,
        )

    def mouse(self, kind, x, y, **more):
        self.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, chart, left, top):
        """Moves the pointer to a place of the plot; gives the tooltip's lines."""
        box = self.plot_box(chart)
        self.mouse("mouseMoved", box[0] + left, box[1] + top)
        self.frames()
        return self.tip()

    def tip(self):
        return self.run(
            "const tip = document.getElementById('tip'); return tip.hidden ? [] : [...tip.children].map((line) => line.textContent)"
        )

    def click(self, chart, left, top):
        box = self.plot_box(chart)
        self.mouse("mouseMoved", box[0] + left, box[1] + top)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, box[0] + left, box[1] + top, button="left", clickCount=1)
        self.frames()

    def drag(self, chart, pixels):
        box = self.plot_box(chart)
        x, y = box[0] + box[2] / 2, box[1] + box[3] - 3
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseMoved", x + pixels / 2, y, button="left", buttons=1)
        self.mouse("mouseMoved", x + pixels, y, button="left", buttons=1)
        self.mouse("mouseReleased", x + pixels, y, button="left", clickCount=1)
        self.frames()

    def touch(self, chart, *places):
        """A finger down at the first place of the plot, moved along the others, and lifted."""
        box = self.plot_box(chart)
        self.frames()
        points = [{"x": box[0] + left, "y": box[1] + top} for left, top in places]
        self.cdp("Input.dispatchTouchEvent", type="touchStart", touchPoints=points[:1])
        for point in points[1:]:
            self.cdp("Input.dispatchTouchEvent", type="touchMove", touchPoints=[point])
        self.cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        time.sleep(0.4)  # a tap is known as one when no second follows
        self.frames()

    def wheel(self, chart, delta):
        box = self.plot_box(chart)
        self.mouse("mouseWheel", box[0] + box[2] / 2, box[1] + 10, deltaX=0, deltaY=delta)
        time.sleep(0.1)
        self.frames()

    def task_ms(self):
        """What tasks of the page's main thread have taken so far, all of them together: its own time, whatever else the machine does."""
        metrics = {metric["name"]: metric["value"] for metric in self.cdp("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"] * 1e3

    def cost_of_events(self, act, count):
        """Main-thread ms of an event, its drawing included: of `count` events, and of as many times nothing."""
        self.cdp("Performance.enable", timeDomain="threadTicks")
        costs, idle = [], []
        for number in range(count):
            before = self.task_ms()
            act(number)
            self.frames()
            between = self.task_ms()
            self.frames()
            costs.append(between - before)
            idle.append(self.task_ms() - between)
        self.cdp("Performance.disable")
        return statistics.median(costs), max(costs), statistics.median(idle)
