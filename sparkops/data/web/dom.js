// Elements of the page. All that nodes say goes into it as text, never as markup.

export const by = (id) => document.getElementById(id);

export function make(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") made.textContent = value;
    else if (name === "onclick") made.does = value;
    else if (name === "width") made.style.width = value;
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  if (made.does) made.addEventListener("click", (event) => event.currentTarget.does(event));
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Change `old` into `made` and keep every element that stays, so that focus and pointer stay where they are.
function patch(old, made) {
  if (old.nodeType !== made.nodeType || old.nodeName !== made.nodeName || Boolean(old.does) !== Boolean(made.does)) {
    old.replaceWith(made);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes) {
    if (old.getAttribute(name) === value) continue;
    if (name === "style") old.style.cssText = value; // as an attribute, the page's policy forbids it
    else old.setAttribute(name, value);
  }
  old.does = made.does;
  patchAll(old, [...made.childNodes]);
}

// Children with a `data-key` are matched by it, so that nobody presses the button of a card that took another's place.
export function patchAll(box, children) {
  const key = (node) => node.dataset?.key;
  const wanted = new Set(children.map(key));
  for (const old of [...box.childNodes]) if (key(old) !== undefined && !wanted.has(key(old))) old.remove();
  children.forEach((child, at) => {
    const there = box.childNodes[at] ?? null;
    const same = key(child) === undefined ? there : [...box.childNodes].find((old) => key(old) === key(child));
    if (!same || key(same) !== key(child)) box.insertBefore(child, there);
    else {
      if (same !== there) box.insertBefore(same, there);
      patch(same, child);
    }
  });
  [...box.childNodes].slice(children.length).forEach((child) => child.remove());
}

export const gib = (kib) => `${(kib / 1048576).toFixed(1)} GiB`;
export const known = (value, text = String) => (value === null || value === undefined ? "–" : text(value));
export const shortly = (value) => (value < 100 ? value.toFixed(1) : Math.round(value).toString());

export function say(text) {
  by("said").textContent = text;
}

async function copy(command) {
  try {
    await navigator.clipboard.writeText(command);
    say(`copied: ${command}`);
  } catch {
    say(command); // without TLS, or not allowed: it can be selected there
  }
}

// A value, and the command that shows it, which a click copies.
export function value(text, command, look = "") {
  return make("button", { type: "button", class: `value ${look}`, text, title: `copy: ${command}`,
    "aria-label": `${text}; copy the command ${command}`, onclick: () => copy(command) });
}

export function copied(command) {
  return make("span", { class: "row" }, make("code", { text: command }),
    make("button", { type: "button", text: "copy", "aria-label": `copy ${command}`, onclick: () => copy(command) }));
}

export async function asked(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(answer.status === 403 ? "open the link that sparkops printed last" : `${answer.status}`);
  return answer.json();
}
