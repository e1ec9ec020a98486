"""Figures as files."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from dashboards.figures.drawing.figure_file import default_path, format_of, render, write_figure
from dashboards.figures.heatmap.drawing import draw_heatmap
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.store import Store
from tests.dashboards.sweeps import curve, run


@pytest.fixture
def figure(store: Store) -> Figure:
    """A small heatmap whose name has what XML must escape."""
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0), name='a -- "b" <c> & 实 $x$')
    return draw_heatmap(trial_table(store, sweep))


def test_png_has_its_signature(figure: Figure) -> None:
    assert render(figure, "png").startswith(b"\x89PNG\r\n\x1a\n")


def test_svg_is_xml(figure: Figure) -> None:
    assert ElementTree.fromstring(render(figure, "svg")).tag == "{http://www.w3.org/2000/svg}svg"


def test_pdf_is_whole(figure: Figure) -> None:
    content = render(figure, "pdf")
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize("file_format", ["png", "svg", "pdf"])
def test_the_same_sweep_gives_the_same_bytes(store: Store, file_format: str) -> None:
    sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(1.0, 1.0))
    one, other = (render(draw_heatmap(trial_table(store, sweep)), file_format) for _ in range(2))
    assert one == other


def test_threads_draw_the_same_as_one(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(1.0, 1.0))
    table = trial_table(store, sweep)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: render(draw_heatmap(table), "svg"), range(4)))
    assert set(drawn) == {render(draw_heatmap(table), "svg")}


def test_a_file_replaces_the_one_before_and_leaves_nothing_else(figure: Figure, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "heatmap.PNG"
    write_figure(figure, path)
    first = path.read_bytes()
    path.write_bytes(b"something else")
    write_figure(figure, path)
    assert path.read_bytes() == first
    assert [entry.name for entry in path.parent.iterdir()] == ["heatmap.PNG"]


def test_a_file_has_the_permissions_of_any_new_file(figure: Figure, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    write_figure(figure, tmp_path / "heatmap.png")
    assert (tmp_path / "heatmap.png").stat().st_mode == other.stat().st_mode


def test_a_place_that_cannot_be_written_is_an_error(figure: Figure, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FigureError, match=r"file/heatmap\.png: cannot be written .*; name another file with -o"):
        write_figure(figure, tmp_path / "file" / "heatmap.png")


def test_a_folder_of_that_name_is_an_error_and_stays(figure: Figure, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FigureError, match="cannot be written"):
        write_figure(figure, tmp_path / "folder.png")
    assert os.listdir(tmp_path / "folder.png") == []
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.png.gz", ".png", ""])
def test_other_suffixes_are_refused_with_the_three(name: str) -> None:
    with pytest.raises(FigureError, match=r"its name must end in one of \.png, \.svg, \.pdf"):
        format_of(Path(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cifar10-alexnet", "cifar10-alexnet-heatmap.png"),
        ('实验 #1/日本 "x" <b>', "实验-1-日本-x-b-heatmap.png"),
        ("../../etc/passwd", "etc-passwd-heatmap.png"),
        ("...", "abcd-heatmap.png"),
        ("/", "abcd-heatmap.png"),
    ],
)
def test_default_names_are_safe(name: str, expected: str) -> None:
    assert default_path(name, "abcd", "heatmap") == Path(expected)


def test_default_names_fit_any_file_system() -> None:
    name = default_path("実" * 200, "abcd", "histogram").name
    assert len(name.encode()) < 200
    assert name.startswith("実")
