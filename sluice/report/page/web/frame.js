// A chart's place on the page: legend and buttons above, the plot, what is pinned below. It is drawn anew when its
// width or the colours change, and refreshed, once a frame of the screen, when the range or the highlight does.
//
// make(frame, width) draws into frame.host and returns the uPlot; it sets frame.items, what the cursor can be on.
const frames = [];
const waiting = new Set(); // to be refreshed: those in view with the next frame, others when they come into view
let refreshAsked = false;
const onPaper = 680; // CSS pixels of a chart's width in print

function openFrame(id, { make, time = false, label }) {
  const figure = document.getElementById(id);
  if (!figure) return null;
  const legend = element("ul", { class: "legend" });
  const tools = element("div", { class: "tools", role: "group", "aria-label": "View" });
  const host = element("div", { class: "plot" });
  const below = element("div", { class: "below" });
  const frame = {
    figure,
    legend,
    tools,
    host,
    below,
    make,
    time,
    plot: null,
    items: null,
    current: -1,
    width: 0,
    inView: true,
  };
  const top = element("div", { class: "above" }, [legend, tools]);
  if (report.emulated) top.prepend(element("span", { class: "emulated", text: report.emulated }));
  figure.replaceChildren(top, host, below);
  figure.setAttribute("role", "application");
  figure.setAttribute("aria-roledescription", "chart");
  figure.setAttribute("aria-describedby", time ? "keys-time" : "keys-plain");
  if (label && !figure.hasAttribute("aria-label")) figure.setAttribute("aria-label", label);
  frames.push(frame);
  connectCursor(frame);
  if (time) connectTime(frame);
  drawFrame(frame);
  watchFrame(frame);
  return frame;
}

function watchFrame(frame) {
  new ResizeObserver(() => {
    if (!theme.printing && frame.host.clientWidth !== frame.width) drawFrame(frame);
  }).observe(frame.host);
  new IntersectionObserver(
    ([entry]) => {
      frame.inView = entry.isIntersecting;
      if (frame.inView && waiting.has(frame)) refreshSoon(frame);
    },
    { rootMargin: "100px" },
  ).observe(frame.host);
}

function drawFrame(frame) {
  const width = theme.printing ? onPaper : frame.host.clientWidth;
  if (width < 50) return;
  if (frame.plot) frame.plot.destroy();
  frame.width = width;
  frame.plot = frame.make(frame, width);
  frame.mark = element("div", { class: "mark", hidden: "" });
  frame.plot.over.append(frame.mark);
  placeMark(frame);
}

function drawAll() {
  readTheme();
  for (const frame of frames) drawFrame(frame);
}

function refreshSoon(frame) {
  waiting.add(frame);
  if (refreshAsked) return;
  refreshAsked = true;
  requestAnimationFrame(() => {
    refreshAsked = false;
    for (const one of [...waiting]) {
      if (!one.inView && !theme.printing) continue;
      waiting.delete(one);
      refresh(one);
    }
  });
}

function refresh(frame) {
  const plot = frame.plot;
  if (!plot) return;
  if (frame.time && (plot.scales.x.min !== range.from || plot.scales.x.max !== range.to)) {
    plot.setScale("x", { min: range.from, max: range.to });
  } else {
    plot.redraw(false, false);
  }
  placeMark(frame);
}

// Paper: light, at the page's width, everything unfolded; afterwards as it was.
function connectPrinting() {
  let opened = [];
  const set = (printing) => {
    theme.printing = printing;
    document.documentElement.classList.toggle("printing", printing);
    drawAll();
  };
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
    hideTip();
    set(true);
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    set(false);
  });
}
