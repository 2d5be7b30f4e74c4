
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const STATES = { o: "ok", e: "error", p: "parallel", w: "waiting", t: "text only" };
const SVG = "http://www.w3.org/2000/svg";
const AROUND = 4;
const FIRST_ROWS = 300;
const colours = new Map(data.providers.map((one, n) => [one.name, `var(--p${n % 8})`]));
const colourOf = (name) => colours.get(name) || "var(--p7)";
const twins = new Map();
const places = new Map();
data.runs.forEach((run, n) => {
  run.order = n;
  twins.set(run.id, (twins.get(run.id) || 0) + 1);
  const place = `${run.id}\n${run.path}`;
  run.nth = places.get(place) || 0;
  places.set(place, run.nth + 1);
});

// Text enters the page as text nodes and attributes only, never as markup.
function make(tag, facts = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) {
    if (name === "onclick" || name === "oninput") element[name] = value;
    else if (name === "colour" || name === "nth") element.style.setProperty(`--${name}`, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
function draw(tag, facts, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(facts)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const number = (value) => value.toLocaleString("en");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const matches = (run, word) => `${run.title}\n${run.id}\n${run.path}\n${run.reader}`.toLowerCase().includes(word);

// Filters and the list of runs.
const state = { word: "", provider: "", reader: "", spoken: true, sort: "order", shown: FIRST_ROWS };
const list = make("section", { id: "runs", "aria-label": "runs" });
const count = make("p", { class: "faint", id: "count", "aria-live": "polite" });

const SORTS = {
  order: ["as read", (a, b) => a.order - b.order],
  nudges: ["most nudges first", (a, b) => b.nudges.length - a.nudges.length || a.order - b.order],
  calls: ["most calls first", (a, b) => b.calls - a.calls || a.order - b.order],
  errors: ["most errors first", (a, b) => errors(b) - errors(a) || a.order - b.order],
};
const errors = (run) => run.strip.split("e").length - 1;

function wanted() {
  const word = state.word.toLowerCase();
  const found = data.runs.filter((run) =>
    (!word || matches(run, word)) &&
    (!state.reader || run.reader === state.reader) &&
    (!state.provider || run.nudges.some((nudge) => nudge.provider === state.provider)) &&
    (!state.spoken || run.nudges.length > 0));
  return found.sort(SORTS[state.sort][1]);
}

function refresh() {
  const found = wanted();
  const shown = found.slice(0, state.shown);
  count.textContent = `${plural(found.length, "run")} of ${number(data.runs.length)}`;
  list.replaceChildren(...shown.map(runRow));
  if (!found.length) list.append(make("p", { class: "empty" }, "No run fits these filters."));
  if (found.length > shown.length) list.append(more(found.length - shown.length));
  for (const card of document.querySelectorAll(".card")) {
    card.setAttribute("aria-pressed", String(card.dataset.provider === state.provider));
  }
}
function more(left) {
  const grow = () => { state.shown += 1000; refresh(); };
  return make("p", { class: "empty" }, make("button", { onclick: grow }, `Show ${number(left)} more`));
}
function change(facts) {
  Object.assign(state, { shown: FIRST_ROWS }, facts);
  document.getElementById("spoken").checked = state.spoken;
  document.getElementById("provider").value = state.provider;
  refresh();
}

// One run in the list.
function runRow(run) {
  const open = make("button", { class: "row", "aria-expanded": "false", onclick: () => toggle(box, run) },
    make("span", { class: "name", title: `${run.id}\n${run.path}` }, run.title || run.id,
      make("small", {}, [run.started && began(run), run.reader, tail(run.path)].filter(Boolean).join(" · "))),
    make("span", { class: "sizes" }, said(run), make("br"), plural(run.calls, "call")),
    strip(run));
  const box = make("article", { class: "run", "data-order": run.order }, open);
  return box;
}
const began = (run) => run.started.slice(0, 16).replace("T", " ");
const clock = (at) => at ? ` at ${at.slice(11, 19)} UTC` : "";
const tail = (path) => path.split("/").slice(-2).join("/");
function said(run) {
  const count = run.nudges.length;
  return make("b", { class: count ? null : "quiet" }, count ? plural(count, "nudge") : "quiet");
}
function strip(run) {
  const turns = Math.max(1, run.strip.length);
  const label = `${plural(run.strip.length, "turn")}, ${plural(errors(run), "error")}`;
  const picture = draw("svg", { class: "strip", role: "img", "aria-label": label });
  for (const [from, to, letter] of stretches(run.strip)) {
    const place = { x: `${100 * from / turns}%`, width: `${100 * (to - from) / turns}%`, y: 12, height: 12 };
    picture.append(draw("rect", { class: letter, ...place }));
  }
  const seen = new Map();
  for (const nudge of run.nudges) {
    const nth = seen.get(nudge.turn) || 0;
    seen.set(nudge.turn, nth + 1);
    picture.append(arrow(nudge, turns, nth));
  }
  return picture;
}
function stretches(letters) {
  const found = [];
  for (let from = 0; from < letters.length;) {
    let to = from + 1;
    while (to < letters.length && letters[to] === letters[from]) to += 1;
    found.push([from, to, letters[from]]);
    from = to;
  }
  return found;
}
function arrow(nudge, turns, nth) {
  const x = `${100 * (Math.max(0, nudge.turn) + .5) / turns}%`;
  const shape = draw("path", { class: "arrow", d: "M-5,2 L5,2 L0,11 Z", transform: `translate(${7 * nth} 0)` });
  shape.style.fill = colourOf(nudge.provider);
  const tip = draw("title", {}, `${nudge.provider}, call ${nudge.call}`);
  return draw("svg", { x, overflow: "visible" }, shape, tip);
}

// One run in full.
function toggle(box, run, call = null) {
  const old = box.querySelector(".detail");
  if (old) old.remove();
  const open = !old || call !== null;
  box.firstChild.setAttribute("aria-expanded", String(open));
  if (!open) { link(null); return null; }
  const made = detail(run);
  box.append(made);
  link(run, call);
  if (call !== null) choose(made, run, call);
  return made;
}
function detail(run) {
  const calls = make("div", { class: "looked-at", "aria-live": "polite" });
  const box = make("div", { class: "detail" },
    make("p", { class: "faint" }, facts(run)),
    turnCells(run, calls), calls,
    run.said.length ? saidThen(run) : null,
    run.said.length ? make("h2", {}, "What the providers of today would say") : null,
    ...run.nudges.map((nudge, n) => nudgeCard(run, nudge, n)));
  if (run.notes.length) box.append(notes(run));
  return box;
}
function saidThen(run) {
  const words = { delivered: "said", "in shadow": "in shadow: would have been said" };
  const cards = run.said.map((one) =>
    make("section", { class: one.state === "delivered" ? "nudge" : "nudge unsaid", colour: colourOf(one.provider) },
      make("p", {}, make("span", { class: "who" }, one.provider), ` · turn ${one.turn}, after call ${one.call}${clock(one.at)} · `,
        make("b", {}, words[one.state] || one.state), one.text ? null : ` (${one.reason})`),
      one.text ? make("blockquote", {}, one.text) : null));
  return make("details", { open: "" }, make("summary", {}, "What was said when it ran"), ...cards);
}
function facts(run) {
  const parts = [run.id, run.path, plural(run.strip.length, "turn"), plural(run.calls, "call")];
  if (run.started) parts.push(`began ${began(run)} UTC`);
  return parts.join(" · ");
}
function turnCells(run, calls) {
  const box = make("div", { class: "turns" });
  [...run.strip].forEach((letter, turn) => {
    const said = run.nudges.filter((nudge) => Math.max(0, nudge.turn) === turn);
    const title = `turn ${turn}: ${STATES[letter]}` + said.map((nudge) => `, ${nudge.provider} speaks`).join("");
    const cell = make("button", { class: `turn ${letter}`, title, "aria-label": title, "data-turn": turn,
      onclick: () => lookAt(box, cell, run, turn, calls, said) });
    said.forEach((nudge, nth) => cell.append(make("i", { colour: colourOf(nudge.provider), nth })));
    box.append(cell);
  });
  return box;
}
function lookAt(box, cell, run, turn, calls, said) {
  for (const other of box.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  cell.setAttribute("aria-current", "true");
  const steps = run.steps.filter((step) => step[1] === turn);
  calls.replaceChildren(make("h2", {}, `Turn ${turn}, ${STATES[run.strip[turn]]}`),
    steps.length ? callTable(steps, null) : make("p", { class: "faint" }, "No calls in this turn."));
  if (said.length) choose(box.parentNode, run, said[0].call);
  else if (steps.length) link(run, steps[steps.length - 1][0]);
}
function nudgeCard(run, nudge, n) {
  const how = [nudge.kind, nudge.point && `at ${nudge.point}`, nudge.level && `level ${nudge.level}`,
    nudge.severity, nudge.confidence !== null && `confidence ${nudge.confidence}`, `≈ ${plural(nudge.tokens, "token")}`];
  const where = nudge.call < 0 ? "before the first call" : `turn ${nudge.turn}, after call ${nudge.call}${clock(nudge.at)}`;
  return make("section", { class: "nudge", colour: colourOf(nudge.provider), "data-call": nudge.call, "data-n": n },
    make("p", {}, make("span", { class: "who" }, nudge.provider), ` · ${where} · `,
      make("span", { class: "faint" }, how.filter(Boolean).join(", ")), " · ",
      make("a", { href: address(run, nudge.call) }, "link")),
    nudge.reason ? make("p", { class: "reason" }, `Why: ${nudge.reason}`) : null,
    make("blockquote", {}, nudge.text),
    around(run, nudge));
}
function around(run, nudge) {
  let at = -1;
  run.steps.forEach((step, n) => { if (step[0] <= nudge.call) at = n; });
  const steps = run.steps.slice(Math.max(0, at - AROUND), at + AROUND + 1);
  if (!steps.length) return null;
  return make("details", { open: "" }, make("summary", { class: "faint" }, "The calls around it"),
    callTable(steps, at < 0 ? null : run.steps[at][0]));
}
function callTable(steps, here) {
  return make("table", { class: "calls" }, make("tbody", {}, ...steps.map((step) => callRow(step, here))));
}
// What scrolls can be reached by keyboard, and nothing else is a stop on the way.
const reach = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollHeight > target.clientHeight) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
});
function lines(text) {
  const shown = make("pre", {}, text);
  reach.observe(shown);
  return shown;
}
function callRow([call, , tool, outcome, params, result], here) {
  const name = make("td", {}, data.tools[tool]);
  if (outcome !== "ok") name.append(make("div", { class: "bad" }, outcome));
  const said = make("td", {}, lines(params));
  if (result) said.append(lines(result));
  return make("tr", { class: call === here ? "here" : null }, make("td", {}, `call ${call}`), name, said);
}
function notes(run) {
  const lines = run.notes.map(([what, provider, reason, call, times]) =>
    make("li", {}, `${what} ${times > 1 ? `${number(times)} times, first ` : ""}after call ${call}: ${provider}: ${reason}`));
  return make("details", {}, make("summary", { class: "faint" }, "What did not reach the agent, and why"),
    make("ul", { class: "notes" }, ...lines));
}
function choose(box, run, call) {
  for (const other of box.querySelectorAll(".chosen")) other.classList.remove("chosen");
  const card = [...box.querySelectorAll(".nudge")].find((one) => Number(one.dataset.call) === call);
  if (card) {
    card.classList.add("chosen");
    card.scrollIntoView({ block: "nearest" });
  }
  link(run, call);
}

// Links to a run and a call.
function address(run, call = null) {
  const parts = new URLSearchParams({ run: run.id });
  if (twins.get(run.id) > 1) parts.set("path", run.path);
  if (run.nth) parts.set("nth", run.nth);
  if (call !== null) parts.set("call", call);
  return `#${parts}`;
}
function link(run, call = null) {
  history.replaceState(null, "", run ? address(run, call) : location.pathname + location.search);
}
function follow() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (data.runs.length === 1 && !parts.has("run")) {
    toggle(list.querySelector("[data-order]"), data.runs[0]);
    return;
  }
  const [id, path, nth] = [parts.get("run"), parts.get("path"), Number(parts.get("nth") || 0)];
  const run = data.runs.find((one) => one.id === id && (!path || one.path === path) && one.nth === nth);
  if (!run) return;
  const call = parts.has("call") ? Number(parts.get("call")) : null;
  if (!wanted().slice(0, state.shown).includes(run)) {
    document.getElementById("word").value = run.id;
    change({ word: run.id, provider: "", reader: "", spoken: false });
  }
  const box = list.querySelector(`[data-order="${run.order}"]`);
  const made = box.querySelector(".detail") || toggle(box, run);
  if (call === null) { box.scrollIntoView(); return; }
  const step = run.steps.find((one) => one[0] === call);
  const cell = step && made.querySelector(`[data-turn="${step[1]}"]`);
  if (cell) cell.click();
  choose(made, run, call);
}

// The page.
function options(values, label) {
  return [make("option", { value: "" }, label), ...values.map((value) => make("option", { value }, value))];
}
function card(one) {
  const pick = () => change({ provider: state.provider === one.name ? "" : one.name, spoken: true });
  const rate = data.calls ? (100 * one.nudges / data.calls).toFixed(2) : "–";
  const button = make("button", { class: "card", colour: colourOf(one.name), "data-provider": one.name, onclick: pick },
    make("b", {}, one.name), make("span", { class: "count" }, plural(one.nudges, "nudge")),
    make("small", {}, `in ${plural(one.runs, "run")}, ${rate} per 100 calls`),
    make("small", {}, one.first === null ? "never spoke" : `first after call ${number(one.first)} (median), ≈ ${plural(one.tokens, "token")}`));
  return button;
}
function filters() {
  const readers = [...new Set(data.runs.map((run) => run.reader))].sort();
  const spoken = make("input", { type: "checkbox", id: "spoken", checked: state.spoken ? "" : null, oninput: () => change({ spoken: spoken.checked }) });
  const word = make("input", { type: "search", id: "word", placeholder: "id, path or reader", "aria-label": "search", oninput: () => change({ word: word.value }) });
  const provider = make("select", { id: "provider", "aria-label": "provider", oninput: () => change({ provider: provider.value }) },
    ...options(data.providers.map((one) => one.name), "every provider"));
  const reader = make("select", { id: "reader", "aria-label": "reader", oninput: () => change({ reader: reader.value }) }, ...options(readers, "every reader"));
  const sort = make("select", { id: "sort", "aria-label": "order", oninput: () => change({ sort: sort.value }) },
    ...Object.entries(SORTS).map(([value, [label]]) => make("option", { value }, label)));
  return make("div", { class: "filters" }, word, provider, reader, sort,
    make("label", {}, spoken, " only runs with nudges"), count);
}
function legend() {
  const states = Object.entries(STATES).map(([letter, name]) =>
    make("span", {}, make("i", { class: `swatch ${letter}` }), name));
  return make("div", { class: "legend" }, make("span", {}, "turns:"), ...states,
    make("span", {}, make("i", { class: "swatch mark" }), "someone speaks"));
}
function unread() {
  if (!data.skipped.length) return null;
  return make("details", {}, make("summary", {}, `${plural(data.skipped.length, "part")} of the input not read`),
    make("ul", { class: "notes mono" }, ...data.skipped.map((line) => make("li", {}, line))));
}

function silent() {
  const names = data.providers.filter((one) => !one.nudges).map((one) => one.name);
  return names.length ? make("p", { class: "faint" }, `Silent: ${names.join(", ")}`) : null;
}

const touched = data.runs.filter((run) => run.nudges.length).length;
state.spoken = touched > 0 && data.runs.length > 1;
document.getElementById("head").append(
  make("h1", {}, data.title),
  make("p", { class: "faint" }, `${plural(data.runs.length, "recorded run")}, ${plural(data.calls, "call")}; ` +
    `someone would have spoken in ${number(touched)}.`),
  make("div", { class: "cards" }, ...data.providers.filter((one) => one.nudges).sort((a, b) => b.nudges - a.nudges).map(card)),
  ...[silent()].filter(Boolean));
document.getElementById("main").append(...[unread(), filters(), legend(), list].filter(Boolean));
refresh();
follow();
addEventListener("hashchange", follow);
