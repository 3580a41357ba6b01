// The page of `sparkops watch --web`.

import { SECTIONS, section } from "./answers.js";
import { deployment, node, problem } from "./cards.js";
import { ask } from "./changes.js";
import { open, refresh, shut } from "./charts.js";
import { asked, by, make, patchAll } from "./dom.js";

const state = new Map();
const view = { paused: false, filter: "" };
const about = { command: "sparkops", changes: [], open, ask };

const parts = (kind) => (state.get("order") ?? []).filter((key) => key.startsWith(`${kind}/`)).map((key) => state.get(key));
const fits = (one) => view.filter === "" || JSON.stringify(one).toLowerCase().includes(view.filter);

function draw() {
  const alerts = state.get("alerts") ?? [];
  const wrong = alerts.filter(fits).map(problem);
  patchAll(by("problems"), wrong.length ? wrong : [make("li", { class: "fine", text: "nothing is wrong" })]);
  patchAll(by("deployments"), parts("deployment").filter(fits).map((one) => deployment(one, about)));
  const nodes = parts("node");
  patchAll(by("nodes"), nodes.filter(fits).map((one) => node(one, about)));
  const live = nodes.filter((one) => !one.problem).length;
  tell(`${live} of ${nodes.length} nodes, ${alerts.length === 0 ? "nothing is wrong" : `${alerts.length} problem${alerts.length === 1 ? "" : "s"}`}`);
  document.title = alerts.length ? `(${alerts.length}) sparkops watch` : "sparkops watch";
}

function tell(text) {
  if (by("state").textContent !== text) by("state").textContent = text;
}

function take(news) {
  for (const [key, value] of Object.entries(news)) state.set(key, value);
  const there = new Set([...(state.get("order") ?? []), "alerts", "order"]);
  for (const key of [...state.keys()]) if (!there.has(key)) state.delete(key);
  if (!view.paused) draw();
}

function follow() {
  const events = new EventSource("/api/events");
  events.addEventListener("message", (event) => take(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    tell(events.readyState === EventSource.CLOSED ? "sparkops lets nobody in any more: open the link that it printed last" : "the connection to sparkops is lost; it is tried again");
  });
}

by("filter").addEventListener("input", (event) => { view.filter = event.target.value.trim().toLowerCase(); draw(); });
by("pause").addEventListener("click", (event) => {
  view.paused = !view.paused;
  event.target.setAttribute("aria-pressed", String(view.paused));
  if (!view.paused) draw();
});
by("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
by("span").addEventListener("change", refresh);
by("close").addEventListener("click", shut);
by("ask-no").addEventListener("click", () => by("ask").close());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !by("ask").open) shut();
  if (event.key === "/" && event.target.tagName !== "INPUT") { event.preventDefault(); by("filter").focus(); }
});

try {
  Object.assign(about, await asked("/api/about"));
} catch (error) {
  tell(error.message);
}
follow();
setInterval(() => { if (!view.paused) refresh(); }, 2000);

// An answer costs the nodes a command, so it is asked for when somebody comes to it.
const reached = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    reached.unobserve(target);
    section(target.id, about.command);
  }
});
for (const name of SECTIONS) reached.observe(by(name));
