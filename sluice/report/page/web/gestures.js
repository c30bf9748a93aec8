// Zoom and pan of charts over time: dragging, the wheel, keys, buttons. The wheel zooms once the chart has been clicked
// or while Ctrl is held: otherwise the page could not be scrolled past it.
const ZOOM = 1.5;

function instantAt(frame, clientX) {
  const box = frame.plot.over.getBoundingClientRect();
  return range.from + ((clientX - box.left) / box.width) * (range.to - range.from);
}

function msPerPixel(frame) {
  return (range.to - range.from) / frame.plot.over.clientWidth;
}

function connectTime(frame) {
  connectDrag(frame);
  connectWheel(frame);
  frame.figure.addEventListener("keydown", (event) => zoomByKey(frame, event));
  onRange(() => showRange(frame));
  showRange(frame);
}

function showRange(frame) {
  frame.figure.dataset.from = range.from;
  frame.figure.dataset.to = range.to;
  refreshSoon(frame);
}

function connectDrag(frame) {
  const { host, figure } = frame;
  host.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    frame.dragging = { x: event.clientX, from: event.clientX };
    frame.dragged = false;
    host.setPointerCapture(event.pointerId);
    figure.focus({ preventScroll: true });
  });
  host.addEventListener("pointermove", (event) => {
    if (!frame.dragging) return;
    if (Math.abs(event.clientX - frame.dragging.from) > 3) frame.dragged = true;
    if (!frame.dragged) return;
    hideTip();
    pan((frame.dragging.x - event.clientX) * msPerPixel(frame));
    frame.dragging.x = event.clientX;
  });
  for (const end of ["pointerup", "pointercancel"])
    host.addEventListener(end, () => {
      frame.dragging = null;
    });
}

function connectWheel(frame) {
  frame.host.addEventListener(
    "wheel",
    (event) => {
      const chosen = document.activeElement === frame.figure || event.ctrlKey;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!chosen && !sideways) return;
      event.preventDefault();
      if (sideways) pan(event.deltaX * msPerPixel(frame));
      else
        zoom(
          ZOOM ** (Math.sign(event.deltaY) * Math.min(1, Math.abs(event.deltaY) / 100)),
          instantAt(frame, event.clientX),
        );
    },
    { passive: false },
  );
}

function zoomByKey(frame, event) {
  if (event.target !== frame.figure || event.ctrlKey || event.altKey || event.metaKey) return;
  const around = frame.current >= 0 ? frame.items.instant(frame.current) : undefined;
  const span = range.to - range.from;
  if (event.key === "+" || event.key === "=") zoom(1 / ZOOM, around);
  else if (event.key === "-" || event.key === "_") zoom(ZOOM, around);
  else if (event.key === "0") wholeStep();
  else if (event.shiftKey && event.key === "ArrowLeft") pan(-span / 5);
  else if (event.shiftKey && event.key === "ArrowRight") pan(span / 5);
  else return;
  event.preventDefault();
  hideTip();
  say(`${instantText(range.from, span)} to ${instantText(range.to, span)}`);
}

// The buttons of a chart over time, and what part of the step is seen.
function addTimeTools(frame) {
  const seen = element("output", { class: "seen" });
  const tell = () => {
    const span = range.to - range.from;
    seen.textContent =
      span >= range.length * 0.9999 ? "" : `${instantText(range.from, span)} – ${instantText(range.to, span)}`;
  };
  frame.tools.append(
    seen,
    button("◀", "Earlier", () => pan((range.from - range.to) / 2)),
    button("▶", "Later", () => pan((range.to - range.from) / 2)),
    button("+", "Zoom in", () => zoom(1 / ZOOM)),
    button("−", "Zoom out", () => zoom(ZOOM)),
    button("Whole", "Show the whole step", wholeStep),
  );
  onRange(tell);
  tell();
}
