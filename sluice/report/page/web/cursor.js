// The cursor of a chart: on one of its items, by pointer or by keys; what it is on is shown beside it, and said.
//
// frame.items, made when the chart is drawn; places are CSS pixels from the plot's corner:
//   find(left, top)    the item there, or -1
//   at(item)           { left, top, width, height, lines }; lines are what the tooltip says, the title first
//   step(item, key)    the item that "ArrowLeft", ..., "Home", "End" leads to from `item` (-1: from none)
//   enter(item), pin(item), reveal(item)
//                      where the chart has them: the cursor is on it, it was chosen, it must be in view
const STEP_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

function placeMark(frame) {
  const { mark, items, current } = frame;
  if (!mark) return;
  mark.hidden = current < 0 || !items;
  if (mark.hidden) return;
  const { left, top, width, height } = items.at(current);
  const from = Math.max(left, 0);
  const to = Math.min(left + width, frame.plot.over.clientWidth);
  mark.hidden = to < from;
  Object.assign(mark.style, {
    left: `${from - 2}px`,
    top: `${top - 2}px`,
    width: `${to - from + 4}px`,
    height: `${height + 4}px`,
  });
}

function setCurrent(frame, item) {
  if (frame.current === item) return;
  frame.current = item;
  frame.figure.dataset.item = item < 0 ? "" : frame.items.at(item).lines[0];
  if (frame.items.enter) frame.items.enter(item);
  placeMark(frame);
}

function moveByPointer(frame, event) {
  if (!frame.items) return;
  const box = frame.plot.over.getBoundingClientRect();
  const item = frame.items.find(event.clientX - box.left, event.clientY - box.top);
  setCurrent(frame, item);
  frame.byKeys = false;
  if (item < 0) hideTip();
  else showTip(event.clientX, event.clientY, frame.items.at(item).lines);
}

function moveByKey(frame, key) {
  const item = frame.items.step(frame.current, key);
  if (item < 0) return;
  if (frame.items.reveal) frame.items.reveal(item);
  frame.current = -1; // said again, and marked, although it may be the same
  setCurrent(frame, item);
  frame.byKeys = true;
  showAtItem(frame);
  say(frame.items.at(item).lines.join(". "));
}

// The tooltip beside the item that the keys lead to.
function showAtItem(frame) {
  const box = frame.plot.over.getBoundingClientRect();
  const { left, top, width, height, lines } = frame.items.at(frame.current);
  if (box.bottom < 0 || box.top > innerHeight) {
    hideTip();
    return;
  }
  const middle = Math.max(0, Math.min(left + width / 2, box.width));
  showTip(box.left + middle, box.top + top + height, lines);
}

// What the pointer was on has moved away from it; what the keys lead to keeps its tooltip.
function tipAfterScroll() {
  const frame = frames.find((one) => one.byKeys && one.current >= 0 && one.figure === document.activeElement);
  if (frame) showAtItem(frame);
  else hideTip();
}

function clearCursor(frame) {
  if (frame.items) setCurrent(frame, -1);
  hideTip();
}

function connectCursor(frame) {
  const { figure, host } = frame;
  host.addEventListener("pointermove", (event) => {
    if (!frame.dragging) moveByPointer(frame, event);
  });
  host.addEventListener("pointerleave", () => clearCursor(frame));
  host.addEventListener("click", (event) => {
    if (frame.dragged || !frame.items) return;
    moveByPointer(frame, event); // a finger has not moved here before, and has already left
    if (frame.items.pin) frame.items.pin(frame.current);
  });
  figure.addEventListener("blur", () => clearCursor(frame));
  figure.addEventListener("keydown", (event) => {
    if (event.target !== figure || event.ctrlKey || event.altKey || event.metaKey || !frame.items) return;
    if (STEP_KEYS.includes(event.key) && !event.shiftKey) moveByKey(frame, event.key);
    else if (event.key === "Enter" && frame.items.pin && frame.current >= 0) frame.items.pin(frame.current);
    else if (event.key === "Escape") {
      clearCursor(frame);
      pinTensors([]);
    } else return;
    event.preventDefault();
  });
}
