// New points on curves that are drawn already.

const MOST_POINTS = 4000; // of a line, before the figure is asked for anew, thinned

/** Where a point `[step, images, seconds, loss]` stands on an axis. */
function position([step, images, seconds], over, perSecond) {
  return { steps: step, images, seconds, dollars: seconds * (perSecond ?? 0) }[over];
}

/** Add new points to a figure of curves; asks for it anew where an attempt began again or a line has become long. */
export function addPoints(figure, trials) {
  if (figure.busy) {
    figure.held.push(trials);
    return;
  }
  const plot = figure.plots.querySelector(".js-plotly-plot");
  const live = plot?.panel?.live;
  if (!live || !window.Plotly) return;
  const lines = [];
  const xs = [];
  const ys = [];
  for (const [trial, { attempt, points }] of Object.entries(trials)) {
    const known = live.trials[trial];
    if (!known) continue;
    const line = plot.data[known.line];
    if (attempt !== known.attempt || line.x.length > MOST_POINTS) {
      figure.load();
      return;
    }
    const places = points.map((point) => position(point, live.over, known.per_second));
    const last = line.x.length ? line.x[line.x.length - 1] : -Infinity;
    const fresh = places.map((_, i) => i).filter((i) => places[i] > last);
    if (!fresh.length) continue;
    lines.push(known.line);
    xs.push(fresh.map((i) => places[i]));
    ys.push(fresh.map((i) => points[i][3]));
  }
  if (lines.length) window.Plotly.extendTraces(plot, { x: xs, y: ys }, lines);
}
