
"use strict";
const search = document.getElementById("search");
const said = document.getElementById("said");
const found = document.getElementById("found");
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
  found.textContent = `${count} of ${events.length} events`;
}
search.addEventListener("input", show);
said.addEventListener("change", show);
show();
