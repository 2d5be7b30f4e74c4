
"use strict";
const search = document.getElementById("search");
const said = document.getElementById("said");
const found = document.getElementById("found");
const differs = document.getElementById("differs");
const pairs = Array.from(document.querySelectorAll(".pair"));
const events = Array.from(document.querySelectorAll(".event"));
function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const event of events) {
    const text = words.length ? event.textContent.toLowerCase() : "";
    const wanted = words.every((word) => text.includes(word));
    event.hidden = !wanted || (said.checked && !event.classList.contains("said"));
    count += event.hidden ? 0 : 1;
  }
  for (const pair of pairs) {
    const shown = Array.from(pair.querySelectorAll(".event")).some((event) => !event.hidden);
    pair.hidden = !shown || (differs.checked && pair.classList.contains("same"));
  }
  found.textContent = `${count} of ${events.length} events`;
}
search.addEventListener("input", show);
said.addEventListener("change", show);
differs.addEventListener("change", show);
document.getElementById("differing").hidden = !pairs.length;
show();

const run = document.getElementById("run");
const loop = document.getElementById("loop");
const evident = document.getElementById("evident");
const save = document.getElementById("save");
const labels = new Map();
for (const id of new Set(events.map((event) => event.dataset.run).filter(Boolean))) {
  run.add(new Option(id, id));
}
document.getElementById("labels").hidden = !run.options.length || pairs.length > 0;
for (const event of events.filter((one) => one.dataset.call)) {
  event.addEventListener("toggle", () => {
    if (event.open) {
      run.value = event.dataset.run;
      evident.value = event.dataset.call;
    }
  });
}
document.getElementById("label").addEventListener("click", () => {
  const holds = loop.value === "true";
  labels.set(run.value, {
    path: document.body.dataset.file,
    id: run.value,
    loop: holds,
    evident_at: holds && evident.value !== "" ? Number(evident.value) : null,
    confidence: document.getElementById("borderline").checked ? "borderline" : "clear",
  });
  const lines = Array.from(labels.values(), (label) => `${JSON.stringify(label)}\n`).join("");
  document.getElementById("lines").textContent = lines;
  URL.revokeObjectURL(save.href);
  save.href = URL.createObjectURL(new Blob([lines], { type: "application/jsonl" }));
  save.hidden = false;
});
