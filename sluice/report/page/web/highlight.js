// Which tensors are highlighted: everywhere at once, in charts and tables. What is pinned stays when the pointer has
// left.
const highlight = { hovered: [], pinned: [] };

function highlightedTensors() {
  return highlight.hovered.length ? highlight.hovered : highlight.pinned;
}

function tellHighlight() {
  const now = new Set(highlightedTensors());
  document.documentElement.dataset.highlighted = [...now].join(" ");
  for (const row of document.querySelectorAll("tr[data-tensor]"))
    row.classList.toggle("highlighted", now.has(Number(row.dataset.tensor)));
  refreshSoon();
}

function hoverTensors(tensors) {
  if (tensors.join() === highlight.hovered.join()) return;
  highlight.hovered = tensors;
  tellHighlight();
}

function pinTensors(tensors) {
  highlight.pinned = tensors;
  tellHighlight();
}

// Rows of tables that stand for a tensor highlight it, by pointer and by keys.
function connectRows() {
  for (const row of document.querySelectorAll("tr[data-tensor]")) {
    const tensors = [Number(row.dataset.tensor)];
    row.tabIndex = 0;
    for (const event of ["mouseenter", "focus"]) row.addEventListener(event, () => hoverTensors(tensors));
    for (const event of ["mouseleave", "blur"]) row.addEventListener(event, () => hoverTensors([]));
    row.addEventListener("click", () => pinTensors(highlight.pinned.join() === tensors.join() ? [] : tensors));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") row.click();
      if (event.key === "Escape") pinTensors([]);
    });
  }
}
