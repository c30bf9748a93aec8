// Starts the page: reads the document and draws the charts of its command, after the page's first paint and in turns,
// so that none is in the way of reading.
const report = JSON.parse(document.getElementById("report-data").textContent);
const emulated = report.emulated ?? (report.run && report.run.emulated ? "emulated" : "");

const KEYS =
  "Arrow keys go from item to item, Home and End to the first and last, Enter keeps an item's tensors highlighted, " +
  "Escape clears. In charts over time plus and minus zoom, shift with left or right pans, 0 shows the whole step.";
const HINT =
  "Drag over a part to zoom into it; a double click shows the whole step. A click keeps an item's tensors highlighted.";

const place = (id) => document.getElementById(`chart-${id}`);

function drawReport() {
  const { timeline, memory = [], comparison, sweep, step } = report;
  const turns = [];
  if (timeline) {
    startRange(timeline.step_ms);
    turns.push(...memory.map((one, i) => () => openChart(place(`memory-${i}`), memorySpec(one))));
    turns.push(() => {
      openChart(place("timeline"), timelineSpec(timeline));
      place("timeline").append(element("p", { class: "hint", text: HINT }));
    });
  }
  const results = comparison ? comparison.results : [];
  if (results.length) turns.push(() => openChart(place("planners"), plannersSpec(results, report.plan.planner)));
  if (sweep && sweep.models.length) turns.push(() => openChart(place("curve"), slowdownSpec(sweep.models.slice(0, 1))));
  const parts = [
    ...(step && step.parts_ms ? [{ name: "this step", parts: step.parts_ms }] : []),
    ...partsOfResults(results),
  ];
  if (parts.length) turns.push(() => openChart(place("breakdown"), breakdownSpec(parts)));
  return turns;
}

const PAGES = {
  sweep: drawSweepPage,
  characterize: drawCharacterizePage,
  compare: drawComparePage,
  plan: drawPlanPage,
  allocate: drawAllocatePage,
};

async function start() {
  document.body.append(tip, said, element("p", { id: "keys", class: "heard", text: KEYS }));
  readTheme();
  const draw = PAGES[report.command];
  for (const turn of draw ? [() => draw(report)] : drawReport()) {
    await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
    turn();
  }
  connectRows();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  connectPrinting();
  addEventListener("scroll", hideTip, { passive: true });
  document.documentElement.dataset.charts = "drawn";
}

start();
