// What is opened: charts of a node or deployment, and the log of a container.

import { asked, by, make, say, shortly } from "./dom.js";

// Title, the names of its values and how they are called, and the top of its scale if that is fixed.
const CHARTS = [
  ["Memory, %", { memory: "in use", cache: "page cache" }, 100], ["GPU load, %", { gpu: "load" }, 100],
  ["GPU power, W", { watts: "power" }], ["GPU temperature, °C", { celsius: "temperature" }, 100],
  ["Links, Gb/s", { received: "in", sent: "out" }], ["Tokens per second", { written: "out", read: "in" }],
  ["Requests", { running: "running", waiting: "waiting" }], ["KV cache, %", { kv: "in use" }, 100],
];
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const view = { opened: null, charts: [], drawn: "", back: null, now: 0 };

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const two = (number) => String(number).padStart(2, "0");
const clock = (seconds) => { const at = new Date(seconds * 1000); return `${two(at.getHours())}:${two(at.getMinutes())}`; };

function chart([title, names, top], past) {
  const box = make("figure", {}, make("figcaption", { text: title }));
  by("charts").append(box);
  const axis = { stroke: colour("--text"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  const value = (plot, at) => (at === null || at === undefined ? "–" : shortly(at));
  const series = Object.values(names).map((label, at) => ({ label, value, stroke: colour(["--a", "--b"][at]), width: 1.5, dash: at ? [6, 3] : [] }));
  const span = () => Number(by("span").value);
  const options = {
    width: Math.max(240, box.clientWidth), height: 180, series: [{ label: "at", value: (plot, at) => (at ? clock(at) : "–") }, ...series],
    axes: [{ ...axis, values: (plot, splits) => splits.map(clock) }, title === "Requests" ? { ...axis, incrs: WHOLE } : axis],
    scales: { x: { range: () => [view.now - span(), view.now] }, y: { range: (plot, low, high) => [0, top ?? Math.max(1, high * 1.1)] } },
  };
  view.charts.push({ plot: new uPlot(options, rows(names, past), box), names });
}

const rows = (names, past) => [past.times, ...Object.keys(names).map((name) => past.values[name] ?? past.times.map(() => null))];

// Below the pointer, else the newest.
function legend(plot, past) {
  if (plot.cursor.idx === null || plot.cursor.idx === undefined) plot.setLegend({ idx: past.times.length - 1 });
}

export async function refresh() {
  const { opened } = view;
  if (opened === null) return;
  try {
    const span = by("span").value;
    const past = await asked(`/api/history?of=${encodeURIComponent(opened.of)}&span=${span}`);
    if (view.opened !== opened || span !== by("span").value) return;
    draw(past);
    if (opened.container) await tail(opened);
  } catch (error) {
    say(`no charts: ${error.message}`);
  }
}

function draw(past) {
  view.now = past.now;
  const there = CHARTS.filter(([, names]) => Object.keys(names).some((name) => past.values[name]));
  const drawn = JSON.stringify(there);
  if (drawn !== view.drawn) empty();
  by("no-charts").hidden = there.length > 0;
  if (view.charts.length === 0) for (const each of there) chart(each, past);
  view.drawn = drawn;
  for (const { plot, names } of view.charts) {
    plot.setData(rows(names, past));
    legend(plot, past);
  }
}

async function tail(opened) {
  const told = await asked(`/api/log?node=${encodeURIComponent(opened.node)}&container=${encodeURIComponent(opened.container)}`);
  const log = by("log"), text = told.lines.join("\n");
  if (view.opened !== opened || log.textContent === text) return; // else what is selected is lost
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = text;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function empty() {
  for (const { plot } of view.charts) plot.destroy();
  view.charts = [];
  view.drawn = "";
  by("charts").replaceChildren();
}

// Once more with the colours of the theme.
export function repaint() {
  empty();
  refresh();
}

export function shut() {
  if (view.opened === null) return;
  empty();
  view.opened = null;
  by("detail").hidden = true;
  view.back?.focus();
}

// `of` names the history, `title` is what a person calls it.
export function open(of, title, node = null, container = null) {
  const back = view.opened === null ? document.activeElement : view.back;
  empty();
  view.opened = { of, node, container };
  view.back = back;
  by("detail").hidden = false;
  by("h-detail").textContent = title;
  by("h-log").hidden = by("log").hidden = container === null;
  by("h-log").textContent = `Log of ${container} on ${node}`;
  by("log").textContent = "asking…";
  by("detail").scrollIntoView();
  by("close").focus();
  refresh();
}
