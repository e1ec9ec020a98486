// Figures: loaded when they come into sight, drawn by Plotly in the colours of the theme.

import { ask, say } from "./page.js";

const NARROW_NAME = 44; // letters of a line in a legend on a phone

let loading = null;

/** Plotly, loaded once, when it is first needed. */
function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("Plotly's script could not be loaded; reload the page."));
    };
    document.head.append(script);
  });
  return loading;
}

/** Replace every "var(--name)" in a value, at any depth, by the style sheet's colour. */
export function coloured(value, style = getComputedStyle(document.documentElement)) {
  if (typeof value === "string") {
    const name = /^var\((--[\w-]+)\)$/.exec(value)?.[1];
    return name ? style.getPropertyValue(name).trim() : value;
  }
  if (Array.isArray(value)) return value.map((one) => coloured(one, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, coloured(one, style)]));
  }
  return value;
}

function themed(panel, narrow) {
  const layout = coloured(panel.layout);
  const style = getComputedStyle(document.documentElement);
  const line = style.getPropertyValue("--line").trim();
  const ink = style.getPropertyValue("--ink").trim();
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickfont: { size: narrow ? 10 : 12 } };
  return {
    ...layout,
    xaxis: { ...axis, ...layout.xaxis },
    yaxis: { ...axis, ...layout.yaxis },
    height: panel.height + (narrow && layout.showlegend ? 26 * panel.data.length : 0), // names take several lines there
    margin: { l: 46, r: 12, t: layout.xaxis?.side === "top" ? 30 : 12, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: style.getPropertyValue("--font").trim(), size: 12, color: ink },
    hoverlabel: { bgcolor: style.getPropertyValue("--panel").trim(), bordercolor: line, font: { color: ink } },
    colorway: [1, 2, 3, 4, 5, 6, 7].map((n) => style.getPropertyValue(`--series-${n}`).trim()),
    dragmode: false,
  };
}

/** One figure of the page: its place, what it shows, and how it is asked for anew. */
export class Figure {
  constructor(element) {
    this.element = element;
    this.kind = element.dataset.kind;
    this.address = element.dataset.figure;
    this.plots = element.querySelector(".plots");
    this.query = new URL(element.querySelector("[data-download]").href).search;
    this.seen = false;
    this.busy = false; // asked for, and not drawn yet
    this.held = []; // what has come meanwhile
    this.value = null;
    this.asking = null;
    element.querySelector("details.as-table").addEventListener("toggle", (event) => {
      if (event.target.open) this.fillTable();
    });
  }

  /** Ask for the figure by another query, now where it is in sight, else once it is. */
  async ask(query = this.query) {
    this.query = query;
    for (const link of this.element.querySelectorAll("[data-download]")) {
      link.href = `${this.address}.${link.dataset.download}${query}`;
    }
    if (this.seen) await this.load();
  }

  async load() {
    this.asking?.abort();
    this.asking = new AbortController();
    this.busy = true;
    try {
      this.value = await ask(`${this.address}.json${this.query}`, { signal: this.asking.signal });
      if (this.value.problem) this.showProblem(this.value.problem);
      else await this.draw();
    } catch (problem) {
      if (problem.name !== "AbortError") this.showProblem(problem.message);
    }
  }

  showProblem(words) {
    window.Plotly && this.plots.querySelectorAll(".plot").forEach((plot) => window.Plotly.purge(plot));
    const line = document.createElement("p");
    line.className = "placeholder";
    line.textContent = words;
    this.plots.replaceChildren(line);
    this.plots.setAttribute("aria-busy", "false");
    this.value = null;
    this.busy = false;
  }

  async draw() {
    const lib = await plotly();
    const { panels, note } = this.value;
    const places = [...this.plots.querySelectorAll(":scope > .one")];
    if (places.length !== panels.length) {
      this.plots.querySelectorAll(".plot").forEach((plot) => lib.purge(plot));
      this.plots.replaceChildren(...panels.map(() => emptyPanel()));
    }
    const found = [...this.plots.children];
    await Promise.all(panels.map((panel, i) => this.drawPanel(lib, found[i], panel)));
    this.element.querySelector(".note").textContent = note;
    this.plots.setAttribute("aria-busy", "false");
    this.busy = false;
    this.plots.dispatchEvent(new Event("drawn"));
    if (this.element.querySelector("details.as-table").open) this.fillTable();
  }

  async drawPanel(lib, place, panel) {
    const [title, plot] = place.children;
    title.textContent = panel.title;
    title.hidden = !panel.title;
    plot.hidden = !panel.data.length;
    if (!panel.data.length) return;
    plot.setAttribute("aria-label", panel.title || this.element.querySelector("h2").textContent);
    const narrow = this.plots.clientWidth < 500;
    const fresh = !plot.classList.contains("js-plotly-plot");
    const crowded = (plot.clientWidth - 130) / (panel.columns ?? 1) < 36; // too narrow for a number in each cell
    const data = coloured(panel.data).map((trace) => ({
      ...trace,
      ...(crowded && trace.texttemplate ? { texttemplate: "" } : {}),
      ...(narrow && trace.name ? { name: inLines(trace.name) } : {}),
    }));
    await lib.react(plot, data, themed(panel, narrow), { responsive: true, displayModeBar: false });
    plot.panel = panel;
    if (fresh) plot.on("plotly_click", (event) => follow(plot.panel, event.points[0]));
  }

  /** Draw again in the colours of another theme. */
  redraw() {
    if (this.value) this.draw();
  }

  async fillTable() {
    const place = this.element.querySelector("details.as-table > div");
    try {
      const { columns, rows, more } = await ask(`${this.address}.rows${this.query}`);
      place.replaceChildren(table(columns, rows, more));
    } catch (problem) {
      place.textContent = problem.message;
    }
  }
}

/** A long name in several lines, broken behind commas; what it says is escaped already. */
function inLines(name) {
  const lines = [""];
  for (const part of name.split(/(?<=, )/)) {
    if (lines.at(-1) && (lines.at(-1) + part).length > NARROW_NAME) lines.push("");
    lines[lines.length - 1] += part;
  }
  return lines.join("<br>");
}

function emptyPanel() {
  const place = document.createElement("div");
  place.className = "one";
  const title = document.createElement("h3");
  const plot = document.createElement("div");
  plot.className = "plot";
  plot.setAttribute("role", "img");
  place.append(title, plot);
  return place;
}

function follow(panel, point) {
  if (panel.cells) {
    const [row, column] = point.pointIndex;
    const { href, x, xs, y, ys } = panel.cells;
    location.assign(`${href}&${new URLSearchParams({ [y]: ys[row], [x]: xs[column] })}`);
  } else if (point.customdata && String(point.customdata).startsWith("/trials/")) {
    location.assign(point.customdata);
  }
}

function table(columns, rows, more) {
  const made = document.createElement("table");
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const one = document.createElement(kind);
      one.textContent = cell;
      if (kind === "th") one.scope = "col";
      row.append(one);
    }
    return row;
  };
  const head = document.createElement("thead");
  head.append(line(columns, "th"));
  const body = document.createElement("tbody");
  body.append(...rows.map((row) => line(row, "td")));
  if (more) body.append(line([`and ${more} more; the CSV has them all`], "td"));
  made.append(head, body);
  return made;
}

/** All figures of the page, each asked for when it comes into sight. */
export function figuresInSight() {
  const figures = [...document.querySelectorAll("[data-figure]")].map((element) => new Figure(element));
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const figure = figures.find((one) => one.element === entry.target);
        if (entry.isIntersecting && !figure.seen) {
          figure.seen = true;
          watch.unobserve(entry.target);
          figure.load().catch((problem) => say(problem.message, "fault"));
        }
      }
    },
    { rootMargin: "300px" },
  );
  for (const figure of figures) watch.observe(figure.element);
  document.addEventListener("theme", () => figures.forEach((figure) => figure.redraw()));
  return figures;
}
