// Answers of other commands: cables, checks, benchmarks.

import { cabling, speedOf } from "./cabling.js";
import { advice } from "./cards.js";
import { asked, by, copied, make } from "./dom.js";

function table(heads, rows) {
  const cell = (each) => (each instanceof Node ? make("td", {}, each) : make("td", { text: each ?? "–" }));
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col", text: head })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}

const code = (text) => make("code", { text });
const gbits = (mbps) => (mbps ? `${mbps / 1000} Gb/s` : "–");
const clock = (seconds) => new Date(Date.now() - seconds * 1000).toTimeString().slice(0, 8);

const DRAW = {
  preflight(told) {
    const found = [...(told.cluster ?? []).map((check) => ["all", check]),
      ...(told.nodes ?? []).flatMap((one) => (one.checks ?? []).map((check) => [one.name, check]))];
    const wrong = found.filter(([, check]) => ["fail", "warn"].includes(check.status));
    wrong.sort(([, a], [, b]) => (a.status === b.status ? 0 : a.status === "fail" ? -1 : 1));
    const passed = make("p", { class: wrong.length ? "soft" : "good", text: `${found.length - wrong.length} of ${found.length} results are good` });
    if (wrong.length === 0) return [passed];
    return [passed, table(["node", "check", "finding", "cure"], wrong.map(([where, check]) => [where,
      make("span", { class: check.status === "fail" ? "bad" : "warn", text: `${check.id}: ${check.status}` }), check.message, advice(check.hint ?? "")]))];
  },
  fabric(told) {
    const { kind, order = [], segments = [], ports = [] } = told.fabric ?? {};
    const form = make("p", { text: kind ?? "unknown" });
    const speeds = speedOf(ports);
    const rows = segments.map((one) => [one.switch ? "switch" : "cable", one.ends.map((end) => `${end.node} ${end.port}`).join(one.switch ? ", " : " – "),
      [...new Set(one.ends.map((end) => gbits(speeds(end) ?? one.speed_mbps)))].join(", "), one.heard ? "both ends were seen" : "the subnets fit"]);
    const at = new Set(segments.flatMap((one) => one.ends.map((end) => `${end.node} ${end.port}`)));
    const loose = ports.filter((port) => port.up && !at.has(`${port.node} ${port.port}`)).map((port) => ["port", `${port.node} ${port.port}`, gbits(port.speed_mbps), "leads nowhere"]);
    const drawing = told.fabric ? cabling(told.fabric) : null;
    const key = make("p", { class: "soft", text: "whole line: 200 Gb/s; dashed: slower; dotted: unknown" });
    return [form, ...(drawing ? [drawing, key] : []), table(["what", "between", "speed", "how it is known"], [...rows, ...loose])];
  },
  benchmarks(told, command) {
    const rows = (told.records ?? []).map((one) => [code(one.id), `${one.label}${one.lab ? " (lab)" : ""}`, one.model, one.suite, one.state, copied(`${command} bench show ${one.id}`)]);
    return rows.length ? [table(["run", "label", "model", "suite", "state", "show it"], rows)] : [make("p", { text: "no benchmark is kept" })];
  },
};

export const SECTIONS = Object.keys(DRAW);

export async function section(name, command, anew = false) {
  const box = by(name);
  box.setAttribute("aria-busy", "true");
  try {
    const told = await asked(`/api/shown/${name}${anew ? "?anew" : ""}`);
    const { error } = told.document;
    const wrong = error ? [make("p", { class: "bad", text: `${error.message}${error.hint ? `; ${error.hint}` : ""}` })] : [];
    const drawn = error && !told.document.nodes ? [] : DRAW[name](told.document, command);
    box.replaceChildren(make("div", { class: "row" }, copied(told.command), make("span", { class: "soft", text: `asked at ${clock(told.age)}` }),
      make("button", { type: "button", text: "ask again", "aria-label": `ask again: ${name}`, onclick: () => section(name, command, true) })), ...wrong, ...drawn);
  } catch (error) {
    box.replaceChildren(make("p", { class: "bad", text: `not answered: ${error.message}` }));
  }
  box.setAttribute("aria-busy", "false");
}
