// What stands on the page all the time: problems, deployments, nodes.

import { copied, gib, known, make, shortly, value } from "./dom.js";

const STATES = { serving: "good", starting: "warn", degraded: "warn", failed: "bad" };
const CONNECTING = "connecting";
const MEASURED = ["starting", "serving", "degraded"];

// Advice: its commands stand in backquotes.
export function advice(text) {
  return make("span", { class: "row" }, ...text.split("`").map((part, at) => (at % 2 ? copied(part) : part.trim() && make("span", { text: part.trim() }))).filter(Boolean));
}

// Today's time, or the day and the time.
function moment(seconds) {
  const at = new Date(seconds * 1000), time = at.toTimeString().slice(0, 5);
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString()} ${time}`;
}

export function problem(one) {
  return make("li", { class: one.grave ? "grave" : "" },
    make("div", { class: "row" },
      make("strong", { class: one.grave ? "bad" : "warn", text: one.grave ? "grave" : "warning" }),
      make("strong", { text: one.node ?? one.deployment ?? "fleet" }), make("span", { text: one.text }),
      make("span", { class: "soft", text: one.id }), make("span", { class: "soft", text: `since ${moment(one.since)}` })),
    advice(one.next));
}

function rank(one, open) {
  return make("div", {},
    make("div", { class: "row" }, make("span", { text: `${one.node} ${one.role}` }),
      make("span", { class: "soft", text: one.phase ? one.phase.text : one.state }),
      make("button", { type: "button", text: "log", "aria-label": `log of ${one.container}`, onclick: () => open(one) })),
    one.phase && one.phase.percent > 0 && one.phase.percent < 100 && make("progress", { max: 100, value: one.phase.percent, "aria-label": `boot of ${one.node}` }));
}

// `about` has the command that reaches these nodes, the changes that are allowed, and what the buttons do.
export function deployment(one, about) {
  const name = /^[\w.-]+$/.test(one.name) ? one.name : `'${one.name.replaceAll("'", "'\\''")}'`;
  const status = `${about.command} status ${name}`;
  const { tokens_per_second: speed, requests, energy } = one;
  const token = energy.joules_per_token;
  const key = `deployment/${one.hash}`;
  const can = (verb) => (verb === "start") === (one.state === "stopped");
  return make("article", { class: `card ${one.state === "failed" ? "wrong" : ""}`, "data-key": key },
    make("div", { class: "row" }, make("h3", { text: one.name }), value(one.state, status, STATES[one.state] ?? "soft"),
      make("button", { type: "button", text: "charts", "aria-label": `charts of ${one.name}`, onclick: () => about.open(key, one.name) })),
    make("div", { class: "soft", text: `${one.model}, ${one.topology}` }),
    MEASURED.includes(one.state) && make("div", { class: "row number" },
      value(`${known(speed.written, shortly)} tokens/s out, ${known(speed.read, shortly)} in`, status),
      value(`${requests.running} running, ${requests.waiting} waiting, ${requests.failed} failed`, status),
      value(`KV cache ${Math.round(100 * one.kv_cache)} %`, `${about.command} memory`),
      one.accepted === null ? null : value(`${Math.round(100 * one.accepted)} % of speculated tokens held`, status)),
    token === null ? null : make("div", { class: "soft", text: `${token.toPrecision(2)} J per token: ${energy.left_out}` }),
    ...one.ranks.map((each) => rank(each, (found) => about.open(key, one.name, found.node, found.container))),
    make("div", { class: "row" }, ...about.changes.filter(can).map((verb) => make("button", { type: "button", text: verb,
      "aria-label": `${verb} ${one.name}`, onclick: () => about.ask(verb, one.name) }))));
}

const holder = (one) => one.owner ?? "processes and kernel";

// One owner has the same colour on all nodes, whatever else is there.
function look({ owner }) {
  if (owner === null || owner === "page cache") return owner === null ? "kernel" : "cache";
  return `k${[...owner].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 3}`;
}

function bar(memory) {
  const slices = memory.owners.map((one) => make("i", { class: look(one), title: `${holder(one)} ${gib(one.used_kib)}`,
    width: `${Math.max(0, Math.min(100, (100 * one.used_kib) / memory.total_kib))}%` }));
  const label = memory.owners.map((one) => `${holder(one)} ${gib(one.used_kib)}`).join(", ");
  return make("div", { class: "bar", role: "img", "aria-label": `memory: ${label}` }, ...slices);
}

// `found` are the alerts of this node.
export function node(one, about, found) {
  const on = (verb) => `${about.command} ${verb} --limit ${one.name}`;
  const head = make("div", { class: "row" }, make("h3", { text: one.name }),
    make("button", { type: "button", text: "charts", "aria-label": `charts of ${one.name}`, onclick: () => about.open(one.name, one.name) }),
    ...found.map((each) => make("span", { class: each.grave ? "bad" : "warn", text: each.id })));
  const connecting = one.problem === CONNECTING;
  const wrong = connecting ? make("p", { class: "soft", text: "connecting…" }) : one.problem ? value(one.problem, on("preflight --only ssh,host-key"), "bad") : null;
  const frame = (one.problem && !connecting) || found.some((each) => each.grave) ? "wrong" : found.length ? "warned" : "";
  if (!one.memory) return make("article", { class: `card ${frame}`, "data-key": one.name }, head, wrong);
  const { memory, gpu, bits_per_second: bits } = one;
  const link = one.links.find((each) => each.active);
  return make("article", { class: `card ${frame}`, "data-key": one.name }, head, wrong,
    wrong && make("p", { class: "soft", text: "what it told before:" }), bar(memory),
    make("div", { class: "row number" },
      value(`${gib(memory.total_kib - memory.available_kib)} of ${gib(memory.total_kib)} used`, on("memory"))),
    make("div", { class: "row number" },
      value(gpu ? `GPU ${known(gpu.utilization_percent)} %, ${known(gpu.clock_mhz)} MHz, ${known(gpu.power_watts, shortly)} W, ${known(gpu.temperature_celsius)} °C` : "GPU –", on("preflight --only gpu-clock,thermals,driver")),
      value(link ? `link ${link.gbits} Gb/s${bits ? `: ${(bits.received / 1e9).toFixed(1)} in, ${(bits.sent / 1e9).toFixed(1)} out` : ""}` : "no link", `${about.command} fabric`)),
    make("ul", { class: "legend soft" }, ...memory.owners.filter((each) => each.used_kib > 0).map((each) => make("li", {}, make("i", { class: look(each) }), " ",
      each.owner === "page cache" ? value(`page cache ${gib(each.used_kib)}`, on("cache status")) : `${holder(each)} ${gib(each.used_kib)}`))),
    one.jobs.length ? value(`${one.jobs.length} background job${one.jobs.length === 1 ? "" : "s"}`, on("jobs")) : null);
}
