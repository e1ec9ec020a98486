// A sweep as it goes on: its progress, and new points of the curves that are drawn.

import { say } from "./page.js";
import { errorWords, timeLeft } from "./words.js";

const NOT_OFTENER_MS = 2000;
const SHARE = 10; // of the time, at most one part in so many is spent on asking anew
const NOT_SELDOMER_MS = 15000;

/** Follows a sweep by server-sent events for as long as it goes on. */
export class Live {
  /** `changed` is called when a trial has ended; `points` with new points by trial. */
  constructor(sweep, { changed, points }) {
    Object.assign(this, { sweep, changed, points });
    this.trials = "";
    this.known = document.body.dataset.changed ? Number(document.body.dataset.changed) : null;
    this.next = 0;
    this.last = false;
    this.timer = null;
    this.source = null;
  }

  /** Follow these trials' curves too, each from the last step that is `drawn`. */
  follow(trials, drawn) {
    const ids = [...trials].sort();
    const wanted = ids.join(",");
    if (this.source && wanted === this.trials) return;
    this.trials = wanted;
    this.source?.close();
    const from = ids.map((id) => (drawn[id] ? `${id}:${drawn[id].step}` : id)).join(",");
    this.source = new EventSource(`/api/v1/sweeps/${this.sweep}/events?trials=${encodeURIComponent(from)}`);
    this.source.addEventListener("open", () => say(""));
    this.source.addEventListener("progress", (event) => this.progress(JSON.parse(event.data)));
    this.source.addEventListener("points", (event) => this.points(JSON.parse(event.data).trials));
    this.source.addEventListener("fault", (event) => {
      say(errorWords(JSON.parse(event.data).error), "fault");
    });
    this.source.addEventListener("error", () => this.lost());
  }

  lost() {
    if (this.source.readyState === EventSource.CLOSED) {
      say("The server refused the live connection; reload the page.", "fault");
    } else {
      say("Connection lost; trying again…", "lost");
    }
  }

  progress(news) {
    const line = document.getElementById("status");
    if (line.classList.contains("fault") || line.classList.contains("lost")) say("");
    showProgress(news);
    showProblem(news.problem);
    if (this.known !== null && news.changed !== this.known) {
      this.last = news.ended === news.total; // it is shown at once: no later change would bring it
      if (this.last) this.next = 0;
      this.soon();
    }
    this.known = news.changed;
  }

  /** Tell of a change, at most once in two seconds and for a small part of the time; one more that comes meanwhile after it. */
  soon() {
    if (this.busy) {
      this.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), Math.max(0, this.next - Date.now()));
  }

  async refresh() {
    const begun = Date.now();
    Object.assign(this, { timer: null, busy: true, again: false });
    try {
      await this.changed();
    } finally {
      this.busy = false;
      const rest = Math.min((SHARE - 1) * (Date.now() - begun), NOT_SELDOMER_MS);
      this.next = this.last ? 0 : Math.max(begun + NOT_OFTENER_MS, Date.now() + rest);
      if (this.again) this.soon();
    }
  }
}

function showProblem(problem) {
  const place = document.getElementById("problem");
  if (!place || place.hidden === !problem) return;
  place.hidden = !problem;
  const words = problem ? errorWords(problem) : "";
  place.querySelector(".message").textContent = words && `This sweep cannot be run: ${words}`;
}

const ORDER = ["completed", "pruned", "diverged", "failed", "cancelled", "running", "pending"];

function showProgress({ state, states, total, ended, running, ...left }) {
  const place = document.getElementById("state");
  if (!place) return;
  const badge = place.querySelector(".badge");
  badge.className = `badge state-${state.replaceAll(" ", "-")}`;
  badge.textContent = state;
  const shares = ORDER.filter((one) => states[one]).map((one) => [one, states[one]]);
  document.getElementById("counts").textContent = [
    `${ended} of ${total} ended`,
    ...shares.map(([name, count]) => `${count} ${name}`),
  ].join(" · ");
  document.getElementById("left").textContent = timeLeft(left);
  document.getElementById("running").textContent = running.length ? `${running.length} running now` : "";
  const bar = document.querySelector("#bar .bar");
  bar.setAttribute("aria-label", `Progress: ${ended} of ${total} trials ended`);
  bar.replaceChildren(
    ...shares.map(([name, count]) => {
      const part = document.createElement("span");
      part.className = `state-${name}`;
      part.style.width = `${(100 * count) / (total || 1)}%`;
      return part;
    }),
  );
}
