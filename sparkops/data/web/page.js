// The page of `sparkops watch --web`.

import { SECTIONS, section } from "./answers.js";
import { deployment, node, problem } from "./cards.js";
import { ask } from "./changes.js";
import { open, refresh, repaint, shut } from "./charts.js";
import { asked, by, make, patchAll } from "./dom.js";

const state = new Map(); // the newest
const view = { shown: state, paused: "", filter: "", heard: "" };
const about = { command: "sparkops", changes: [], keeps: false, open, ask };

const now = () => new Date().toTimeString().slice(0, 8);
const parts = (kind) => (view.shown.get("order") ?? []).filter((key) => key.startsWith(`${kind}/`)).map((key) => view.shown.get(key));
const texts = (one) => (one !== null && typeof one === "object" ? Object.values(one).map(texts).join(" ") : `${one}`);
const fits = (one) => view.filter === "" || texts(one).toLowerCase().includes(view.filter);
const none = (all, what) => make("p", { class: "soft", text: all.length ? `no ${what} has “${view.filter}”` : `no ${what}` });

function fill(id, kind, draw) {
  const all = parts(kind), shown = all.filter(fits);
  patchAll(by(id), shown.length ? shown.map(draw) : [none(all, kind)]);
}

function draw() {
  const alerts = view.shown.get("alerts") ?? [], nodes = parts("node");
  const live = nodes.filter((one) => !one.problem).length;
  const fine = alerts.length ? `${alerts.length} problem${alerts.length === 1 ? "" : "s"}, none has “${view.filter}”` : live ? "nothing is wrong" : "nothing is known yet";
  const wrong = alerts.filter(fits).map(problem);
  patchAll(by("problems"), wrong.length ? wrong : [make("li", { class: alerts.length || !live ? "" : "fine", text: fine })]);
  fill("deployments", "deployment", (one) => deployment(one, about));
  fill("nodes", "node", (one) => node(one, about, alerts.filter((each) => each.node === one.name)));
  const found = alerts.length ? `${alerts.length} problem${alerts.length === 1 ? "" : "s"}` : live ? "nothing is wrong" : "connecting…";
  tell(`${view.paused}${live} of ${nodes.length} nodes, ${found}`);
  document.title = alerts.length ? `(${alerts.length}) sparkops watch` : "sparkops watch";
}

function tell(text, bad = false) {
  by("state").className = bad ? "bad" : "";
  if (by("state").textContent !== text) by("state").textContent = text;
}

function take(news) {
  for (const [key, value] of Object.entries(news)) state.set(key, value);
  const there = new Set([...(state.get("order") ?? []), "alerts", "order"]);
  for (const key of [...state.keys()]) if (!there.has(key)) state.delete(key);
  view.heard = now();
  draw();
}

function follow() {
  const events = new EventSource("/api/events");
  events.addEventListener("message", (event) => take(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    const next = events.readyState === EventSource.CLOSED ? "open the link that sparkops printed last" : "trying again";
    tell(`no connection to sparkops since ${view.heard}: ${next}`, true);
  });
}

by("filter").addEventListener("input", (event) => { view.filter = event.target.value.trim().toLowerCase(); draw(); });
by("pause").addEventListener("click", (event) => {
  view.paused = view.paused ? "" : `paused at ${now()}: `;
  view.shown = view.paused ? new Map(state) : state;
  event.target.textContent = view.paused ? "go on" : "pause";
  draw();
});
by("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = localStorage.theme = dark ? "light" : "dark";
  repaint();
});
by("span").addEventListener("change", refresh);
by("close").addEventListener("click", shut);
by("ask-no").addEventListener("click", () => by("ask").close());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !by("ask").open) shut();
  if (event.key === "/" && event.target.tagName !== "INPUT") { event.preventDefault(); by("filter").focus(); }
});

if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme;
try {
  Object.assign(about, await asked("/api/about"));
} catch (error) {
  tell(error.message, true);
}
if (!about.keeps) by("span").options[2].remove(); // a day is there only where it is kept
follow();
setInterval(() => { if (!view.paused) refresh(); }, 2000);

// An answer costs the nodes a command, so it is asked for when somebody comes to it.
const reached = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (isIntersecting) section(target.id, about.command);
  }
});
for (const name of SECTIONS) reached.observe(by(name));
