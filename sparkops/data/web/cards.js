// What stands on the page all the time: problems, deployments, nodes.

import { copied, gib, known, make, shortly, value } from "./dom.js";

const STATES = { serving: "good", starting: "warn", degraded: "warn", failed: "bad", unreachable: "bad" };

// Advice: its commands stand in backquotes.
export function advice(text) {
  return make("span", { class: "row" }, ...text.split("`").map((part, at) => (at % 2 ? copied(part) : part.trim() && make("span", { text: part.trim() }))).filter(Boolean));
}

export function problem(one) {
  return make("li", { class: one.grave ? "grave" : "" },
    make("div", { class: "row" },
      make("strong", { class: one.grave ? "bad" : "warn", text: one.grave ? "grave" : "warning" }),
      make("strong", { text: one.node ?? one.deployment ?? "fleet" }), make("span", { text: one.text }),
      make("span", { class: "soft", text: one.id })),
    advice(one.next));
}

function rank(one, open) {
  return make("div", {},
    make("div", { class: "row" }, make("span", { text: `${one.node} ${one.role}` }),
      make("span", { class: "soft", text: one.phase ? one.phase.text : one.state }),
      make("button", { type: "button", text: "log", "aria-label": `log of ${one.container}`, onclick: () => open(one) })),
    one.phase && make("progress", { max: 100, value: one.phase.percent, "aria-label": `boot of ${one.node}` }));
}

// `about` has the command that reaches these nodes, the changes that are allowed, and what the buttons do.
export function deployment(one, about) {
  const name = /^[\w.-]+$/.test(one.name) ? one.name : `'${one.name.replaceAll("'", "'\\''")}'`;
  const status = `${about.command} status ${name}`;
  const { tokens_per_second: speed, requests, energy } = one;
  const token = energy.joules_per_token;
  return make("article", { class: `card ${one.state === "failed" ? "wrong" : ""}`, "data-name": one.name },
    make("div", { class: "row" }, make("h3", { text: one.name }), value(one.state, status, STATES[one.state] ?? "soft"),
      make("button", { type: "button", text: "charts", "aria-label": `charts of ${one.name}`, onclick: () => about.open(`deployment/${one.name}`) })),
    make("div", { class: "soft", text: `${one.model}, ${one.topology}` }),
    make("div", { class: "row number" },
      value(`${known(speed.written, shortly)} tokens/s out, ${known(speed.read, shortly)} in`, status),
      value(`${requests.running} running, ${requests.waiting} waiting, ${requests.failed} failed`, status),
      value(`KV cache ${Math.round(100 * one.kv_cache)} %`, `${about.command} memory`),
      one.accepted === null ? null : value(`${Math.round(100 * one.accepted)} % of speculated tokens held`, status)),
    token === null ? null : make("div", { class: "soft", text: `${token.toPrecision(2)} J per token: ${energy.left_out}` }),
    ...one.ranks.map((each) => rank(each, (found) => about.open(`deployment/${one.name}`, found.node, found.container))),
    make("div", { class: "row" }, ...about.changes.map((verb) => make("button", { type: "button", text: verb,
      "aria-label": `${verb} ${one.name}`, onclick: () => about.ask(verb, one.name) }))));
}

const holder = (one) => one.owner ?? "processes and kernel";

const look = (one, at) => (one.owner === "page cache" ? "cache" : `k${at % 4}`);

function bar(memory) {
  const slices = memory.owners.map((one, at) => make("i", { class: look(one, at), title: `${holder(one)} ${gib(one.used_kib)}`,
    width: `${Math.max(0, Math.min(100, (100 * one.used_kib) / memory.total_kib))}%` }));
  const label = memory.owners.map((one) => `${holder(one)} ${gib(one.used_kib)}`).join(", ");
  return make("div", { class: "bar", role: "img", "aria-label": `memory: ${label}` }, ...slices);
}

export function node(one, about) {
  const on = (verb) => `${about.command} ${verb} --limit ${one.name}`;
  const head = make("div", { class: "row" }, make("h3", { text: one.name }),
    make("button", { type: "button", text: "charts", "aria-label": `charts of ${one.name}`, onclick: () => about.open(one.name) }));
  const wrong = one.problem ? value(one.problem, on("preflight --only ssh,host-key"), "bad") : null;
  if (!one.memory) return make("article", { class: "card wrong", "data-name": one.name }, head, wrong);
  const { memory, gpu, bits_per_second: bits } = one;
  const link = one.links.find((each) => each.active);
  return make("article", { class: `card ${one.problem ? "wrong" : ""}`, "data-name": one.name }, head, wrong, bar(memory),
    make("div", { class: "row number" },
      value(`${gib(memory.total_kib - memory.available_kib)} of ${gib(memory.total_kib)} used`, on("memory")),
      value(`page cache ${gib(memory.page_cache_kib)}`, on("cache status"))),
    make("div", { class: "row number" },
      value(gpu ? `GPU ${known(gpu.utilization_percent)} %, ${known(gpu.clock_mhz)} MHz, ${known(gpu.power_watts, shortly)} W, ${known(gpu.temperature_celsius)} °C` : "GPU –", on("preflight --only gpu-clock,thermals,driver")),
      value(link ? `link ${link.gbits} Gb/s${bits ? `: ${(bits.received / 1e9).toFixed(1)} in, ${(bits.sent / 1e9).toFixed(1)} out` : ""}` : "no link", `${about.command} fabric`)),
    make("ul", { class: "legend soft" }, ...memory.owners.map((each, at) => (each.used_kib > 0 ? make("li", {}, make("i", { class: look(each, at) }), ` ${holder(each)} ${gib(each.used_kib)}`) : null))),
    one.jobs.length ? value(`${one.jobs.length} job${one.jobs.length === 1 ? "" : "s"}`, on("jobs")) : null);
}
