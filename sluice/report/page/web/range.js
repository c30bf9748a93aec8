// The part of the step that is seen: one for the timeline and the memory charts, so that they show the same time. It is
// chosen by dragging over a chart, by buttons, by keys, and by the wheel with Ctrl (a pinch on a touchpad).
const range = { from: 0, to: 1, length: 1 };
const ZOOM = 1.5;

function startRange(length) {
  range.length = range.to = Math.max(length, 1e-6);
}

function setRange(from, to) {
  const span = Math.min(range.length, Math.max(to - from, range.length / 1e5));
  range.from = Math.min(Math.max(from, 0), range.length - span);
  range.to = range.from + span;
  refreshSoon();
}

function pan(share) {
  const by = share * (range.to - range.from);
  setRange(range.from + by, range.to + by);
}

// Factor below 1: closer. The instant `around` stays where it is.
function zoom(factor, around = (range.from + range.to) / 2) {
  setRange(around - (around - range.from) * factor, around + (range.to - around) * factor);
}

function wholeStep() {
  setRange(0, range.length);
}

function rangeText() {
  const span = range.to - range.from;
  return `${instantText(range.from, span)} – ${instantText(range.to, span)}`;
}

// What a key does to the range; false where it is another chart's or no such key.
function zoomByKey(chart, event) {
  if (!chart.spec.time) return false;
  if (event.key === "+" || event.key === "=") zoom(1 / ZOOM);
  else if (event.key === "-") zoom(ZOOM);
  else if (event.key === "0") wholeStep();
  else if (event.shiftKey && event.key === "ArrowLeft") pan(-0.2);
  else if (event.shiftKey && event.key === "ArrowRight") pan(0.2);
  else return false;
  hideTip();
  said.textContent = rangeText();
  return true;
}

function zoomByWheel(chart, event) {
  if (!event.ctrlKey) return;
  event.preventDefault();
  const left = event.clientX - chart.plot.over.getBoundingClientRect().left;
  zoom(ZOOM ** Math.max(-1, Math.min(1, event.deltaY / 100)), chart.plot.posToVal(left, "x"));
}

// The buttons of a chart over time, and what part of the step is seen.
function timeTools() {
  return element("div", { class: "tools", role: "group", "aria-label": "View" }, [
    element("output", { class: "seen" }),
    button("◀", "Earlier", () => pan(-0.5)),
    button("▶", "Later", () => pan(0.5)),
    button("+", "Zoom in", () => zoom(1 / ZOOM)),
    button("−", "Zoom out", () => zoom(ZOOM)),
    button("Whole", "Show the whole step", wholeStep),
  ]);
}
