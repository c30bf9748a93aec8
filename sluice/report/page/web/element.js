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
const liveRegion = element("div", { class: "heard", "aria-live": "polite", id: "said" });

function say(text) {
  liveRegion.textContent = text;
}
