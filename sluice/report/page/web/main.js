// Starts the page: reads the document and draws every chart whose figure and data are there, after the page's first
// paint and in turns, so that none is in the way of reading.
const report = JSON.parse(document.getElementById("report-data").textContent);

const KEYS_TIME =
  "Arrow keys go from item to item, plus and minus zoom, shift with left or right pans, 0 shows the whole step, " +
  "Home and End go to the ends, Enter pins, Escape clears.";
const KEYS_PLAIN = "Arrow keys go from item to item, Home and End to the ends, Escape clears.";

function chartsToDraw() {
  const charts = [];
  if (report.timeline) {
    startRange(report.timeline.step_ms);
    charts.push(...(report.memory || []).map((memory, i) => () => drawMemory(memory, i)), drawTimelineChart);
  }
  if (report.comparison) charts.push(drawPlanners);
  if (report.sweep && report.sweep.models.length) charts.push(drawCurve);
  if (report.step) charts.push(drawBreakdown);
  return charts;
}

async function start() {
  document.body.append(
    tip,
    liveRegion,
    element("p", { id: "keys-time", class: "heard", text: KEYS_TIME }),
    element("p", { id: "keys-plain", class: "heard", text: KEYS_PLAIN }),
  );
  readTheme();
  for (const draw of chartsToDraw()) {
    await new Promise((next) => {
      requestAnimationFrame(() => setTimeout(next));
    });
    draw();
  }
  connectRows();
  onThemeChange(drawAll);
  connectPrinting();
  addEventListener("scroll", tipAfterScroll, { passive: true });
  document.documentElement.dataset.charts = "drawn";
}

start();
