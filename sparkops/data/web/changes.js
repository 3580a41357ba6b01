// A change: what it would do is shown first, with its command.

import { by, make } from "./dom.js";

const EFFECTS = {
  restart: "Clients get no answer until the model is loaded again.",
  stop: "Clients get no answer until it is started again.",
  start: "It takes the memory of its nodes, and answers when the model is loaded.",
};
let asking = 0; // which dialog is open: an answer for an earlier one must not stand in this one

async function* told(verb, deployment, check) {
  const body = JSON.stringify({ verb, deployment, check });
  const answer = await fetch("/api/change", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!answer.ok) throw new Error(await answer.text());
  let rest = "";
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    yield* lines.map((line) => JSON.parse(line));
  }
}

function say(text, wrong = false) {
  by("ask-state").textContent = text;
  by("ask-state").className = wrong ? "bad" : "soft";
}

async function run(verb, deployment, check) {
  const mine = asking, lines = [];
  by("ask-yes").disabled = true;
  say(check ? "asking what it would do…" : "it runs; closing this does not stop it");
  try {
    for await (const one of told(verb, deployment, check)) {
      if (mine !== asking) return;
      if (one.command) by("ask-command").textContent = one.command;
      if (one.line !== undefined) lines.push(one.line);
      by("ask-plan").textContent = lines.join("\n");
      if (one.ok === undefined) continue;
      say(one.ok ? (check ? "nothing was changed yet" : "done") : "it failed", !one.ok);
      by("ask-yes").disabled = !check || !one.ok;
      by("ask-yes").hidden = !check;
    }
  } catch (error) {
    if (mine === asking) say(error.message, true);
  }
}

export function ask(verb, deployment) {
  asking += 1;
  by("ask-title").textContent = `${verb} ${deployment}`;
  by("ask-effect").textContent = EFFECTS[verb];
  by("ask-command").textContent = by("ask-plan").textContent = "";
  by("ask-yes").replaceWith(make("button", { type: "button", id: "ask-yes", class: "main", text: verb, onclick: () => run(verb, deployment, false) }));
  by("ask").showModal();
  run(verb, deployment, true);
}
