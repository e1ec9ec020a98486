// The form that says how to rank: a threshold that re-ranks while it is moved, and the axis.

import { ask, say } from "./page.js";

const WAIT_MS = 120;
const SURE_MS = 600; // without another question, until the server is asked how sure the answer is

/** Calls `apply(query)` whenever the form says something else, and keeps the page's address. */
export function ranking(form, section, trials, apply) {
  const number = form.querySelector("#threshold");
  const slider = form.querySelector("#threshold-slider");
  const own = new URLSearchParams(new FormData(form));
  let timer = null;

  const query = () => {
    const now = new URLSearchParams(location.search);
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      // What was the sweep's own and is not changed stays out of the address.
      if (value !== "" && (now.has(name) || value !== own.get(name) || form.dataset.touched?.includes(name))) {
        asked.set(name, value);
      }
    }
    if (trials.length) asked.set("trials", trials.join(","));
    return asked;
  };
  const changed = (name) => {
    form.dataset.touched = `${form.dataset.touched ?? ""} ${name}`;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const asked = query();
      const text = asked.toString() ? `?${asked}` : "";
      const shown = new URLSearchParams(asked);
      if (section) shown.set("section", section);
      history.replaceState(null, "", `${location.pathname}${shown.toString() ? `?${shown}` : ""}${location.hash}`);
      apply(text);
    }, WAIT_MS);
  };
  slider?.addEventListener("input", () => {
    number.value = slider.value;
    changed("threshold");
  });
  number.addEventListener("input", () => {
    if (slider && number.value !== "") slider.value = number.value;
    if (number.value === "" || number.checkValidity()) changed("threshold");
  });
  number.addEventListener("change", () => {
    // Left empty it is the sweep's own, as on the command line.
    if (number.value !== "" || !number.dataset.own) return;
    number.value = number.dataset.own;
    if (slider) slider.value = number.value;
  });
  const rate = form.querySelector("#rate");
  const dollars = form.querySelector('[name=over][value="dollars"]');
  rate.addEventListener("input", () => {
    dollars.disabled = rate.value === "";
    if (!dollars.disabled || !dollars.checked) return;
    form.querySelector("[name=over]").checked = true;
    changed("over");
  });
  for (const input of form.querySelectorAll("[name=over], [name=oversubscribed], #rate")) {
    input.addEventListener("change", () => changed(input.name));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    changed("threshold");
  });
  return () => (query().toString() ? `?${query()}` : "");
}

let asking = null;

/** Fill the table of the best of each group. */
export async function fillBest(sweep, query) {
  const table = document.getElementById("best");
  if (!table) return;
  asking?.abort();
  asking = new AbortController();
  try {
    const answer = await ask(`/sweeps/${sweep}/best.json${query}`, { signal: asking.signal });
    showBest(table, answer);
    if (document.getElementById("status").classList.contains("fault")) say("");
  } catch (problem) {
    if (problem.name !== "AbortError") say(problem.message, "fault");
  }
}

let pause = null;
let computing = null;

/** Say what is recommended and how sure that is, which takes the server seconds; then call `told`. */
export function fillSure(sweep, query, told) {
  const table = document.getElementById("best");
  clearTimeout(pause);
  computing?.abort();
  if (!table) return;
  computing = new AbortController();
  const { signal } = computing;
  pause = setTimeout(async () => {
    try {
      const answer = await ask(`/sweeps/${sweep}/best.json${query ? `${query}&` : "?"}sure=true`, { signal });
      if (!answer.sure) return; // trials are running
      showBest(table, answer);
      told();
    } catch (problem) {
      if (problem.name !== "AbortError") say(problem.message, "fault");
    }
  }, SURE_MS);
}

function showBest(table, { columns, rows, notes }) {
  const cell = (kind, text, scope) => {
    const made = document.createElement(kind);
    made.textContent = text;
    if (scope) made.scope = scope;
    return made;
  };
  const head = document.createElement("tr");
  head.append(...columns.map((column) => cell("th", column, "col")));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(
    ...rows.map(({ cells, href }) => {
      const row = document.createElement("tr");
      row.append(
        ...cells.map((text, i) => {
          if (i === 0) return cell("th", text, "row");
          if (i !== 1) return cell("td", text);
          const made = cell("td", href ? "" : text);
          made.className = "words";
          if (href) {
            const link = document.createElement("a");
            link.href = href;
            link.textContent = text;
            made.append(link);
          }
          return made;
        }),
      );
      return row;
    }),
  );
  document.getElementById("best-notes").replaceChildren(...notes.map((note) => cell("li", note)));
}
