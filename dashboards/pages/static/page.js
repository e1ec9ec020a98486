// What every page does: the theme's switch, moments in the reader's own zone, and the status line.

import { errorWords } from "./words.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The theme that is shown now. */
export function theme() {
  return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

/** Show words in the status line; none hides it. `kind` is "lost", "fault" or "". */
export function say(words, kind = "") {
  const line = document.getElementById("status");
  if (line.textContent !== words) line.textContent = words;
  line.className = `status ${kind}`;
}

/** JSON from an address of this server. Throws an Error with the server's own words. */
export async function ask(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, { headers: { Accept: "application/json" }, ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer; it is asked again when something changes.");
  }
  const value = await answer.json().catch(() => null);
  if (answer.ok && value !== null) return value;
  const error = value?.error;
  throw new Error(error ? errorWords(error) : `The server answered ${answer.status}.`);
}

function localMoments() {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (time.dateTime && !Number.isNaN(moment.valueOf())) {
      time.title = time.dateTime;
      time.textContent = format.format(moment);
    }
  }
}

function switchTheme() {
  const next = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("sweeper-theme", next);
  } catch {
    // it is kept until the page is left
  }
  document.dispatchEvent(new Event("theme"));
}

if (!document.documentElement.dataset.ready) {
  document.documentElement.dataset.ready = "yes";
  document.getElementById("theme").addEventListener("click", switchTheme);
  dark.addEventListener("change", () => document.dispatchEvent(new Event("theme")));
  localMoments();
}
