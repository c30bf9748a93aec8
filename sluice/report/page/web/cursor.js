// The cursor of a chart: on one of its items, by pointer or by keys; what it is on is shown beside it and said, and its
// tensors are highlighted.
const SLACK = 3; // CSS pixels around an item that count as it

function placeMark({ plot, spec, current, mark }) {
  mark.hidden = current < 0;
  if (mark.hidden) return;
  const { left, top, width, height } = spec.items.at(plot, current);
  const from = Math.max(left, 0);
  const to = Math.min(left + width, plot.over.clientWidth);
  mark.hidden = to < from;
  mark.style.cssText = `left:${from - 2}px;top:${top - 2}px;width:${to - from + 4}px;height:${height + 4}px`;
}

function setCurrent(chart, item) {
  const { items } = chart.spec;
  chart.current = item;
  chart.figure.dataset.item = item < 0 ? "" : items.lines(item)[0];
  hoverTensors(item >= 0 && items.tensors ? items.tensors(item) : []);
  placeMark(chart);
}

function clearCursor(chart) {
  setCurrent(chart, -1);
  hideTip();
}

// The item at a place of the plot, the smallest where several are there; -1: none.
function itemAt({ plot, spec: { items } }, left, top) {
  let [best, least] = [-1, Infinity];
  for (let i = 0; i < items.count; ++i) {
    const at = items.at(plot, i);
    const across = Math.max(at.left - left, left - at.left - at.width, 0);
    const along = Math.max(at.top - top, top - at.top - at.height, 0);
    const badness = at.width * at.height + 1e6 * (across + along);
    if (across <= SLACK && along <= SLACK && badness < least) [best, least] = [i, badness];
  }
  return best;
}

function moveByPointer(chart, event) {
  const box = chart.plot.over.getBoundingClientRect();
  const item = itemAt(chart, event.clientX - box.left, event.clientY - box.top);
  if (item !== chart.current) setCurrent(chart, item);
  if (item < 0) hideTip();
  else showTip(event.clientX, event.clientY, chart.spec.items.lines(item));
}

// From the first that is seen, left and right go through the items in their order, up and down to the nearest above or
// below.
function itemByKey({ plot, spec: { items }, current }, key) {
  if (key === "Home") return 0;
  if (key === "End") return items.count - 1;
  if (current < 0) {
    let first = 0;
    while (first + 1 < items.count && items.at(plot, first).left < 0) ++first;
    return first;
  }
  if (key === "ArrowLeft") return Math.max(0, current - 1);
  if (key === "ArrowRight") return Math.min(items.count - 1, current + 1);
  const middle = ({ left, top, width, height }) => [left + width / 2, top + height / 2];
  const [x, y] = middle(items.at(plot, current));
  let [best, least] = [current, Infinity];
  for (let i = 0; i < items.count; ++i) {
    const [left, top] = middle(items.at(plot, i));
    const down = key === "ArrowDown" ? top - y : y - top;
    const away = 4 * down + Math.abs(left - x);
    if (down > 1 && away < least) [best, least] = [i, away];
  }
  return best;
}

function moveByKey(chart, key) {
  const { plot, spec } = chart;
  if (spec.time) refresh(chart); // a key before may have zoomed
  const item = itemByKey(chart, key);
  const at = spec.items.at(plot, item);
  const middle = plot.posToVal(at.left + at.width / 2, "x");
  if (spec.time && (middle < range.from || middle > range.to)) {
    setRange(middle - (range.to - range.from) / 2, middle + (range.to - range.from) / 2);
    refresh(chart);
  }
  setCurrent(chart, item);
  const { left, top, width, height } = spec.items.at(plot, item);
  const box = plot.over.getBoundingClientRect();
  const lines = spec.items.lines(item);
  showTip(box.left + Math.max(0, Math.min(left + width / 2, box.width)), box.top + top + height, lines);
  said.textContent = lines.join(". ");
}

function pinCurrent({ spec: { items }, current }) {
  if (items.tensors) pinTensors(current < 0 ? [] : items.tensors(current));
}

function connectCursor(chart) {
  const { figure, host } = chart;
  host.addEventListener("mousemove", (event) => (event.buttons ? hideTip() : moveByPointer(chart, event)));
  host.addEventListener("mouseleave", () => clearCursor(chart));
  host.addEventListener("click", () => pinCurrent(chart));
  host.addEventListener("wheel", (event) => chart.spec.time && zoomByWheel(chart, event), { passive: false });
  figure.addEventListener("blur", () => clearCursor(chart));
  figure.addEventListener("keydown", (event) => {
    const { key } = event;
    if (event.target !== figure || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!zoomByKey(chart, event)) {
      if (/^(Arrow.*|Home|End)$/.test(key)) moveByKey(chart, key);
      else if (key === "Enter") pinCurrent(chart);
      else if (key === "Escape") {
        clearCursor(chart);
        pinTensors([]);
      } else return;
    }
    event.preventDefault();
  });
}
