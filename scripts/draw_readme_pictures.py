"""Draw the pictures of README.md into docs/pictures/: a heatmap, a page, and what an area is.

make demo                                                     # a sweep to show
python scripts/draw_readme_pictures.py --sweep quickstart     # the page needs Chromium and the package playwright
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import sweeper
from dashboards.figures.drawing.figure_file import write_figure

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
THRESHOLD = 0.6
CURVES = {  # name: how far a curve falls, how fast, when it ends, its colour
    "falls late": (0.3, 0.28, 10.0, "#9aa5b1"),
    "stops early, above the threshold": (0.9, 1.6, 2.6, "#d9822b"),
    "falls early and far: the winner": (0.35, 1.1, 6.0, "#2b6cb0"),
}


def area_figure() -> Figure:
    """Three curves: one with a small area, one with a large one, one that does not qualify."""
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    axes = figure.subplots()
    for name, (floor, pace, end, colour) in CURVES.items():
        seconds = np.linspace(0, end, 80)
        losses = floor + (2.3 - floor) * np.exp(-pace * seconds)
        axes.plot(seconds, losses, color=colour, linewidth=2, label=name)
        axes.fill_between(seconds, losses, color=colour, alpha=0.15, linewidth=0)
        axes.plot(seconds[-1:], losses[-1:], "o", color=colour, markersize=5)
    axes.axhline(THRESHOLD, color="#1f2933", linestyle="--", linewidth=1)
    axes.text(9.9, THRESHOLD + 0.05, "threshold", ha="right", fontsize=9)
    axes.set(xlabel="training time, s", ylabel="loss", xlim=(0, 10.2), ylim=(0, 2.4))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], frameon=False, fontsize=9)
    return figure


def photograph(store: str, sweep_id: str, path: Path) -> None:
    """The page of a sweep, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed: leave the page out with --no-page")
    command = [sys.executable, "-m", "sweeper.cli", "serve", "--look-only", "--port", "0", "--store", store]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr
        found = re.search(r"at (http://\S+)", server.stderr.readline())
        assert found, "the server does not come up"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1320, "height": 940})
            page.goto(f"{found[1]}/sweeps/{sweep_id}")
            first = page.locator(".plots").first
            first.scroll_into_view_if_needed()  # figures are drawn when they come into sight
            page.wait_for_function("plots => plots.ariaBusy === 'false'", arg=first.element_handle(), timeout=60_000)
            page.wait_for_selector("#best-notes li:has-text('take ')", timeout=60_000)  # how sure, which takes seconds
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(1000)  # Plotly's own transitions
            page.screenshot(path=str(path))
            browser.close()
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Draw them all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", default="sqlite:///sweeper.db")
    parser.add_argument("--sweep", default="quickstart")
    parser.add_argument("--no-page", action="store_true", help="leave the page out")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "area", "svg.fonttype": "none"}):
        write_figure(area_figure(), FOLDER / "area.svg")
    sweep = sweeper.open(given.store).sweep(given.sweep)
    write_figure(sweep.figure("heatmap"), FOLDER / "heatmap.png")
    if not given.no_page:
        photograph(given.store, sweep.id, FOLDER / "page.png")


if __name__ == "__main__":
    main()
