// A chart: legend and buttons above, uPlot's plot below. It is drawn anew when its width or the colours change, and
// refreshed, once a frame of the screen, when the range of time or the highlight does.
//
// What a chart shows is its spec, which layers.js, boxes.js, rows.js and lines.js make:
//   time         whether x is the step's time, of which `range` is seen
//   legend       [{ text, colour, line, glyph }]: a box in a colour, a line ("solid", "dashed", "dotted") or a sign
//   plot(width)  uPlot's options and data, and draw(plot), which draws over its series in canvas pixels
//   items        what pointer and keys can be on: { count, at(plot, i), lines(i), tensors(i) }; at() gives { left, top,
//                width, height } in CSS pixels from the plot's corner, lines what the tooltip says, the title first
const charts = [];
const PAPER = 900; // CSS pixels that a chart is drawn with for print, and then shrunk to the page
let printing = false;
let refreshAsked = false;

function openChart(figure, spec) {
  if (!figure) return;
  const legend = spec.legend.map(({ text, colour, line, glyph }) => {
    const sign = element("i", { class: line ? `sample ${line}` : "sample", text: glyph });
    if (colour) sign.style.setProperty(line || glyph ? "color" : "background", `var(--${colour})`);
    return element("li", {}, [sign, element("span", { text })]);
  });
  const above = element("div", { class: "above" }, [element("ul", { class: "legend" }, legend)]);
  if (emulated) above.prepend(element("span", { class: "emulated", text: emulated }));
  if (spec.time) above.append(timeTools());
  const host = element("div", { class: "plot" });
  figure.replaceChildren(above, host);
  figure.setAttribute("role", "application");
  figure.setAttribute("aria-roledescription", "chart");
  figure.setAttribute("aria-describedby", "keys");
  figure.dataset.points = spec.items.count;
  const chart = { figure, spec, host, current: -1, width: 0, mark: element("div", { class: "mark", hidden: "" }) };
  charts.push(chart);
  connectCursor(chart);
  drawChart(chart);
  new ResizeObserver(() => !printing && host.clientWidth !== chart.width && drawChart(chart)).observe(host);
}

function drawChart(chart) {
  const width = printing ? PAPER : chart.host.clientWidth;
  if (width < 50) return;
  if (chart.plot) chart.plot.destroy();
  chart.width = width;
  chart.plot = makePlot(chart.spec, chart.host, width);
  chart.plot.over.append(chart.mark);
  chart.figure.dataset.height = chart.plot.height;
  refresh(chart);
}

function drawAll() {
  readTheme();
  charts.forEach(drawChart);
}

function refreshSoon() {
  if (refreshAsked) return;
  refreshAsked = true;
  requestAnimationFrame(() => {
    refreshAsked = false;
    charts.filter((chart) => chart.spec.time).forEach(refresh);
  });
}

function refresh(chart) {
  const { plot, figure, spec } = chart;
  if (spec.time) {
    const { from, to, length } = range;
    if (plot.scales.x.min !== from || plot.scales.x.max !== to)
      plot.batch(() => plot.setScale("x", { min: from, max: to }));
    else plot.redraw(false, false);
    [figure.dataset.from, figure.dataset.to] = [from, to];
    figure.querySelector(".seen").textContent = to - from > length * 0.9999 ? "" : rangeText();
  }
  placeMark(chart);
}

function makePlot({ time = false, plot: options }, host, width) {
  const { draw, series, padding = [8, 10, 0, 0], data, ...more } = options(width);
  const selected = (plot) => {
    const { left, width: wide } = plot.select;
    if (wide > 3) setRange(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  };
  return new uPlot(
    {
      width,
      padding,
      legend: { show: false },
      series: [{}, ...series.map((one) => ({ points: { show: false }, ...one }))],
      cursor: {
        x: time,
        y: false,
        points: { show: false },
        drag: { x: time, y: false, setScale: false },
        bind: { dblclick: () => () => time && wholeStep() },
        sync: time ? { key: "step", scales: ["x", null], filters: { pub: (type) => /move|leave/.test(type) } } : {},
      },
      hooks: { draw: [(plot) => drawClipped(plot, draw)], setSelect: [selected] },
      ...more,
    },
    data,
    host,
  );
}

// Paper: light and at its width; afterwards as it was.
function connectPrinting() {
  const print = (on) => {
    printing = on;
    document.documentElement.classList.toggle("printing", on);
    hideTip();
    drawAll();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
}
