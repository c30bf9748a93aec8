// Which tensors are highlighted: everywhere at once, in charts and tables. What is pinned stays when the pointer has
// left.
const highlight = { hovered: [], pinned: [], watchers: [] };

function highlightedTensors() {
  return highlight.hovered.length ? highlight.hovered : highlight.pinned;
}

function tellWatchers() {
  document.documentElement.dataset.highlighted = highlightedTensors().join(" ");
  for (const watcher of highlight.watchers) watcher();
}

function hoverTensors(tensors) {
  if (tensors.join() === highlight.hovered.join()) return;
  highlight.hovered = tensors;
  tellWatchers();
}

function pinTensors(tensors) {
  highlight.pinned = tensors;
  tellWatchers();
}

function onHighlight(watcher) {
  highlight.watchers.push(watcher);
}

// Rows of tables that stand for a tensor: they highlight it, and are marked when it is highlighted elsewhere.
function connectRows() {
  const rows = [...document.querySelectorAll("tr[data-tensor]")];
  for (const row of rows) {
    const tensors = [Number(row.dataset.tensor)];
    row.tabIndex = 0;
    row.addEventListener("pointerenter", () => hoverTensors(tensors));
    row.addEventListener("pointerleave", () => hoverTensors([]));
    row.addEventListener("focus", () => hoverTensors(tensors));
    row.addEventListener("blur", () => hoverTensors([]));
    row.addEventListener("click", () => pinTensors(highlight.pinned.join() === tensors.join() ? [] : tensors));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") row.click();
      if (event.key === "Escape") pinTensors([]);
    });
  }
  onHighlight(() => {
    const now = new Set(highlightedTensors());
    for (const row of rows) row.classList.toggle("highlighted", now.has(Number(row.dataset.tensor)));
  });
}
