"""Our areas beside the paper's, by batch size and rate: two panels, each with the range of colours of its own areas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from dashboards.figures.drawing import style
from dashboards.figures.drawing.colour_scale import Colour, ColourScale, luminance
from dashboards.figures.tables import Outcome
from dashboards.figures.words.numbers import number
from experiments.cifar10_sweep.published import SETTINGS, WINNERS, PublishedGrid
from experiments.cifar10_sweep.recorded import Grid, Reference, Setting, words

_BATCHES = sorted({batch for batch, _ in SETTINGS})
_RATES = sorted({rate for _, rate in SETTINGS})
_WITHOUT_AREA = {Outcome.AT_CHANCE: ("#f2e6d5", "----", "#d5bd9b"), Outcome.DIVERGED: ("white", "xxxx", "#9a9fa6")}
_NOT_RUN = ("#f7f7f7", "..", "#c9ccd0")
_ABOVE = "////"  # over the colour of a cell above the threshold
_PALER = 0.45  # of the way to white
_MIDDLE = 0.29  # relative luminance of a mid-green


@dataclass(frozen=True)
class _Panel:
    title: str
    areas: Mapping[Setting, float]
    outcome: Callable[[Setting], Outcome]
    winner: Setting | None

    @property
    def ratios(self) -> dict[Setting, float]:
        """Each area over the winner's, or over the smallest where nobody won."""
        kept = {one: area for one, area in self.areas.items() if self.outcome(one) not in _WITHOUT_AREA}
        least = self.areas.get(self.winner) if self.winner else min(kept.values(), default=None)
        return {one: area / least for one, area in kept.items()} if least else {}


@style.drawing()
def draw_beside(reference: Reference, paper: PublishedGrid) -> Figure:
    """Our grid of seed 0 and the paper's. Colour is the area over the winner's, the text is the area itself.

    Ratios differ by much more in one panel than in the other, so each has its own range.
    """
    grid = reference.grid()
    panels = [_ours(reference.words, grid), _theirs(grid.workers, paper)]
    figure = style.new_figure(13.4, 4.4)
    for axes, panel in zip(figure.subplots(1, 2), panels, strict=True):
        scale = ColourScale.of(list(panel.ratios.values()))
        _draw(axes, panel, scale)
        scale.draw_bar(figure, [axes], "area over the winner's")
    figure.legend(handles=_legend(), loc="outside lower left", ncols=5, handlelength=2.2, handleheight=1.3)
    return figure


def _ours(name: str, grid: Grid) -> _Panel:
    areas = {one: area for one in grid.trials if (area := grid.area(one)) is not None}
    winner = grid.winner()
    return _Panel(f"ours, {name}: loss × {grid.over}; winner {words(winner)}", areas, grid.outcome, winner)


def _theirs(workers: int, paper: PublishedGrid) -> _Panel:
    title = f"the paper, {workers} K80: loss × seconds; winner {words(WINNERS[workers])}"
    return _Panel(title, paper.areas, paper.outcome, WINNERS[workers])


def _draw(axes: Axes, panel: _Panel, scale: ColourScale) -> None:
    axes.set_title(panel.title)
    axes.set(xlim=(-0.5, len(_RATES) - 0.5), ylim=(len(_BATCHES) - 0.5, -0.5))
    axes.set(xlabel="learning rate", ylabel="batch size per worker")
    axes.set_xticks(range(len(_RATES)), [f"{rate:g}" for rate in _RATES])
    axes.set_yticks(range(len(_BATCHES)), [str(batch) for batch in _BATCHES])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    ratios = panel.ratios
    for batch, rate in SETTINGS:
        x, y = _RATES.index(rate), _BATCHES.index(batch)
        _draw_cell(axes, (x, y), (batch, rate), panel, ratios, scale)
    if panel.winner:
        _mark_winner(axes, _RATES.index(panel.winner[1]), _BATCHES.index(panel.winner[0]))


def _draw_cell(
    axes: Axes,
    place: tuple[int, int],
    setting: Setting,
    panel: _Panel,
    ratios: Mapping[Setting, float],
    scale: ColourScale,
) -> None:
    x, y = place
    corner, outcome = (x - 0.5, y - 0.5), panel.outcome(setting)
    above = outcome is Outcome.ABOVE_THRESHOLD
    if setting not in ratios:
        face, hatch, line = _WITHOUT_AREA.get(outcome, _NOT_RUN)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=face, edgecolor=line, hatch=hatch, linewidth=0))
    else:
        fill = scale.colour(ratios[setting])
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=fill, linewidth=0))
        if above:
            shade = to_rgba("white", 0.55)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=shade, hatch=_ABOVE, linewidth=0))
        text, ground = _short(panel.areas[setting]), _ground(fill) if above else fill
        patch = {"boxstyle": "round,pad=0.25", "facecolor": ground, "edgecolor": "none"} if above else None
        axes.text(x, y, text, ha="center", va="center", color=_ink(ground), fontsize=9, bbox=patch)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=1.2))


def _ink(fill: Colour) -> str:
    """White or dark. Up to a mid-green white reads better, although dark ink has more contrast in WCAG's formula."""
    return "white" if luminance(fill) < _MIDDLE else style.INK


def _ground(fill: Colour) -> Colour:
    """What a text in a hatched cell stands on, without the hatch: the cell's colour, paler where the text is dark."""
    if _ink(fill) == "white":
        return fill
    red, green, blue, alpha = fill
    return (_paler(red), _paler(green), _paler(blue), alpha)


def _paler(part: float) -> float:
    return part + _PALER * (1 - part)


def _short(area: float) -> str:
    """An area with three significant digits, zeros among them."""
    return number(area, 3) if area >= 100 else f"{area:#.3g}".removesuffix(".")


def _mark_winner(axes: Axes, x: int, y: int) -> None:
    outline = Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=style.WINNER, linewidth=2.6, zorder=3)
    outline.set_clip_on(False)
    axes.add_patch(outline)


def _legend() -> list[Patch | Line2D]:
    above = Patch(facecolor="#2a788e", edgecolor="white", hatch=_ABOVE, linewidth=0, label="above the threshold")
    rest = [
        Patch(facecolor=face, hatch=hatch, edgecolor=line, linewidth=0, label=label)
        for label, (face, hatch, line) in {
            "at chance, never learnt": _WITHOUT_AREA[Outcome.AT_CHANCE],
            "diverged; in the paper also left out": _WITHOUT_AREA[Outcome.DIVERGED],
        }.items()
    ]
    winner = Line2D([], [], linestyle="none", marker="s", markersize=10, markerfacecolor="none", label="winner")
    winner.set(markeredgecolor=style.WINNER, markeredgewidth=2.2)
    qualified = Patch(facecolor="#2a788e", linewidth=0, label="qualified")
    return [qualified, above, *rest, winner]
