// The one tooltip: beside what it explains, never over the pointer, never out of the window.
const tip = element("div", { class: "tip", role: "tooltip", id: "tip", hidden: "" });

// `x`, `y`: the point in the window; lines: the first is the title.
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map((line, i) => element(i ? "div" : "strong", { text: line })));
  tip.hidden = false;
  const gap = 14;
  const { width, height } = tip.getBoundingClientRect();
  const page = document.documentElement;
  const left = x + gap + width <= page.clientWidth ? x + gap : x - gap - width;
  const below = y + gap + height <= page.clientHeight;
  tip.style.left = `${Math.max(4, Math.min(left, page.clientWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, below ? y + gap : y - gap - height)}px`;
}

function hideTip() {
  tip.hidden = true;
}
