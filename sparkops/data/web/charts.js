// What is opened: charts of a node or deployment, and the log of a container.

import { asked, by, known, make, shortly } from "./dom.js";

const CHARTS = [
  ["Memory in use, %", ["memory", "cache"]], ["GPU load, %", ["gpu"]], ["GPU power, W", ["watts"]],
  ["GPU temperature, °C", ["celsius"]], ["Links, Gb/s", ["received", "sent"]], ["Tokens per second", ["written", "read"]],
  ["Requests", ["running", "waiting"]], ["KV cache, %", ["kv"]],
];
const SPANS = { hour: 3600, day: 86400 };
const view = { opened: null, charts: [], back: null, now: 0 };

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function chart(title, names, past) {
  const last = make("figcaption", { class: "soft number" });
  const box = make("figure", {}, last);
  by("charts").append(box);
  const axis = { stroke: colour("--text"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  const series = names.map((name, at) => ({ label: name, stroke: colour(["--a", "--b"][at]), width: 1.5, dash: at ? [6, 3] : [] }));
  const options = { width: Math.max(240, box.clientWidth), height: 180, axes: [axis, axis], series: [{}, ...series],
    legend: { show: false }, cursor: { show: false }, scales: { x: { range: () => [view.now - SPANS[by("span").value], view.now] }, y: { range: (u, low, high) => [0, Math.max(1, high * 1.1)] } } };
  view.charts.push({ plot: new uPlot(options, rows(names, past), box), names, title, last });
}

const rows = (names, past) => [past.times, ...names.map((name) => past.values[name] ?? past.times.map(() => null))];

function caption({ names, title, last }, past) {
  const told = names.map((name) => `${names.length > 1 ? `${name} ` : ""}${known(past.values[name]?.at(-1), shortly)}`);
  last.textContent = `${title}: ${told.join(", ")}`;
}

export async function refresh() {
  const { opened } = view;
  if (opened === null) return;
  const span = by("span").value;
  const past = await asked(`/api/history?of=${encodeURIComponent(opened.of)}&span=${span}`);
  if (view.opened !== opened) return;
  view.now = past.now;
  const there = CHARTS.map(([title, names]) => [title, names.filter((name) => past.values[name])]).filter(([, names]) => names.length);
  if (there.length !== view.charts.length) empty();
  if (view.charts.length === 0) for (const [title, names] of there) chart(title, names, past);
  for (const each of view.charts) {
    each.plot.setData(rows(each.names, past));
    caption(each, past);
  }
  if (opened.container) await tail(opened);
}

async function tail(opened) {
  const told = await asked(`/api/log?node=${encodeURIComponent(opened.node)}&container=${encodeURIComponent(opened.container)}`);
  if (view.opened !== opened) return;
  const log = by("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = told.lines.join("\n");
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function empty() {
  for (const { plot } of view.charts) plot.destroy();
  view.charts = [];
  by("charts").replaceChildren();
}

export function shut() {
  if (view.opened === null) return;
  empty();
  view.opened = null;
  by("log").textContent = "";
  by("detail").hidden = true;
  view.back?.focus();
}

export function open(of, node = null, container = null) {
  const back = view.opened === null ? document.activeElement : view.back;
  empty();
  view.opened = { of, node, container };
  view.back = back;
  by("detail").hidden = false;
  by("h-detail").textContent = of.replace("deployment/", "");
  by("h-log").hidden = by("log").hidden = container === null;
  by("h-log").textContent = container ? `Log of ${container} on ${node}` : "Log";
  by("detail").scrollIntoView();
  by("close").focus();
  refresh();
}
