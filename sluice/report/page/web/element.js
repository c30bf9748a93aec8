// Making elements of the page. Text is always text, never markup.
function element(tag, { text, ...attributes } = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(name, value);
  }
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

function button(text, label, action) {
  const made = element("button", { type: "button", text, "aria-label": label, title: label });
  made.addEventListener("click", action);
  return made;
}

// Said by screen readers, once somebody is in a chart.
const said = element("div", { class: "heard", "aria-live": "polite", id: "said" });

// The one tooltip: beside what it explains, never over the pointer, never out of the window.
const tip = element("div", { class: "tip", role: "tooltip", id: "tip", hidden: "" });

// `x`, `y`: the point in the window; lines: the first is the title.
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map((line, i) => element(i ? "div" : "strong", { text: line })));
  tip.hidden = false;
  const gap = 14;
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const left = x + gap + width <= clientWidth ? x + gap : x - gap - width;
  const top = y + gap + height <= clientHeight ? y + gap : y - gap - height;
  tip.style.left = `${Math.max(4, Math.min(left, clientWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  tip.hidden = true;
}
