// Elements, made and copied from.

export const $ = (selector, within = document) => within.querySelector(selector);

// make("a.link", {href}, "text", otherElement): children that are null are left out.
export function make(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A text that can be copied with one click.
export function copyable(text, label) {
  const button = make("button.copy", { type: "button", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Select it and press Ctrl C";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return make("div.copyable", {}, make("code", { tabindex: "0" }, text), button);
}

// Browsers offer the clipboard to secure pages only; elsewhere an old way still works.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea.offscreen", {}, text);
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function askForToken(dialog, remember) {
  const form = $("form", dialog);
  if (!dialog.open) dialog.showModal();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    remember(new FormData(form).get("token").trim());
    location.reload();
  }, { once: true });
}

export const grouped = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
export const times = (values) => values.map((v) => grouped(v)).join(" × ");
