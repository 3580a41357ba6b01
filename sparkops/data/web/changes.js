// A change: what it would do is shown first, with its command.

import { by, make } from "./dom.js";

async function send(verb, deployment, check) {
  const body = JSON.stringify({ verb, deployment, check });
  const answer = await fetch("/api/change", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function shown({ lines, ok }) {
  by("ask-plan").textContent = lines.join("\n");
  by("ask-plan").className = ok ? "" : "bad";
}

async function run(verb, deployment, check) {
  by("ask-yes").disabled = true;
  try {
    const told = await send(verb, deployment, check);
    by("ask-command").textContent = told.command;
    shown(told);
    by("ask-yes").disabled = !check || !told.ok;
  } catch (error) {
    shown({ lines: [error.message], ok: false });
  }
}

export function ask(verb, deployment) {
  by("ask-title").textContent = `${verb} ${deployment}`;
  by("ask-plan").textContent = "asking what it would do…";
  by("ask-yes").replaceWith(make("button", { type: "button", id: "ask-yes", text: verb, onclick: () => {
    by("ask-plan").textContent = "it runs…";
    run(verb, deployment, false);
  } }));
  by("ask").showModal();
  run(verb, deployment, true);
}
