// A page with figures: a sweep's, a trial's, or that of two sweeps.

import { addPoints } from "./curves.js";
import { figuresInSight } from "./figures.js";
import { Live } from "./live.js";
import { ask } from "./page.js";
import { fillBest, fillSure, ranking } from "./ranking.js";

const { sweep, live, section, trials } = document.body.dataset;
const chosen = trials ? trials.split(",") : [];
const figures = figuresInSight();
const curves = figures.find((figure) => figure.kind === "curves");
const form = document.getElementById("view");

function askAll(query) {
  for (const figure of figures) figure.ask(query);
  fillBest(sweep, query);
  fillSure(sweep, query, drawSure);
  fillCost(query);
}

/** Draw the figures anew that show how sure the answer is. */
function drawSure() {
  for (const figure of figures) if (["heatmap", "candidates"].includes(figure.kind)) figure.ask();
}

async function fillCost(query) {
  const place = document.getElementById("cost");
  if (!place || (!place.dataset.rate && !query.includes("dollars_per_worker_hour"))) return;
  const { dollars } = await ask(`/sweeps/${sweep}/cost.json${query}`).catch(() => ({ dollars: null }));
  place.textContent = dollars ? `cost so far ${dollars}` : "";
}

const query = form ? ranking(form, section, chosen, askAll) : null;
if (query) fillCost(query());
if (query && !document.getElementById("best")?.dataset.sure) fillSure(sweep, query(), drawSure);
if (section) document.getElementById(section)?.scrollIntoView();

if (live === "yes") {
  const stream = new Live(sweep, {
    changed: () =>
      Promise.all([
        ...figures.map((figure) => figure.ask()),
        ...(query ? [fillBest(sweep, query()), fillCost(query())] : []),
      ]).then(() => query && fillSure(sweep, query(), drawSure)),
    points: (news) => curves && addPoints(curves, news),
  });
  const follow = () => {
    const drawn = curves?.value?.panels[0]?.live?.trials ?? {};
    stream.follow(chosen.length ? chosen : Object.keys(drawn), drawn);
  };
  follow();
  curves?.plots.addEventListener("drawn", () => {
    for (const news of curves.held.splice(0)) addPoints(curves, news);
    follow();
  });
}
