"""Draw the rooms of the code into docs/rooms.svg: names and first lines from the code, layers from pyproject.toml.

Run it after a room was added, moved or described anew: `python scripts/draw_rooms.py`. With `--check` it writes nothing
and fails where the picture is out of date.
"""

from __future__ import annotations

import argparse
import ast
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "rooms.svg"
WIDTH, MARGIN, GAP, LINE, PADDING = 1000, 16, 10, 15, 10
CHARACTER = 6.3  # average width of a letter of the small text
STYLE = """
  text { font-family: system-ui, sans-serif; fill: #1f2933; }
  .package { font-size: 17px; font-weight: 700; }
  .room { font-size: 14px; font-weight: 700; }
  .what { font-size: 12px; fill: #52606d; }
"""
COLOURS = {"dashboards": "#e8f1fb", "sweeper": "#eef6ec", "engine": "#fdf3e3", "cuda_ext": "#f6ecf7"}


@dataclass(frozen=True)
class Room:
    """A folder or a module: its name, and what it says it is for."""

    name: str
    what: str


def described(module: str) -> Room:
    """A room by its dotted name; raises FileNotFoundError where there is none."""
    place = ROOT / module.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(file.read_text())) or ""
    paragraph = " ".join(doc.split("\n\n")[0].split())
    name = module.rpartition(".")[2] if "." in module else module
    return Room(name + ("/" if place.is_dir() else ".py"), paragraph.rstrip("."))


def layers() -> list[list[Room]]:
    """The rooms of `sweeper`, a layer a list, as import-linter holds them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (rooms,) = [one["layers"] for one in contracts if one["name"].startswith("The rooms of sweeper")]
    names = [layer.replace("|", " ").replace(":", " ").split() for layer in rooms]
    return [[described(name) for name in layer] for layer in names]


def folders(package: str) -> list[list[Room]]:
    """The rooms of another package, three beside each other."""
    found = [
        described(f"{package}.{place.name}")
        for place in sorted((ROOT / package).iterdir())
        if (place / "__init__.py").is_file()
    ]
    return [found[start : start + 3] for start in range(0, len(found), 3)]


def drawn_rows(rows: list[list[Room]], top: float) -> tuple[list[str], float]:
    """Rooms row by row from `top` on, and where they end."""
    drawn: list[str] = []
    for row in rows:
        width = (WIDTH - 4 * MARGIN - GAP * (len(row) - 1)) / len(row)
        lines = [textwrap.wrap(room.what, int((width - 2 * PADDING) / CHARACTER)) for room in row]
        height = 2 * PADDING + LINE * (1 + max(map(len, lines)))
        for number, (room, words) in enumerate(zip(row, lines, strict=True)):
            left = 2 * MARGIN + number * (width + GAP)
            drawn.append(
                f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6" fill="#ffffff" '
                'stroke="#9aa5b1"/>'
            )
            at = f'x="{left + PADDING:.0f}"'
            drawn.append(f'<text {at} y="{top + PADDING + 11:.0f}" class="room">{escape(room.name)}</text>')
            for place, text in enumerate(words, 1):
                y = top + PADDING + 11 + LINE * place
                drawn.append(f'<text {at} y="{y:.0f}" class="what">{escape(text)}</text>')
        top += height + GAP
    return drawn, top


def picture() -> str:
    """The whole as SVG."""
    body: list[str] = []
    top = float(MARGIN)
    for package, colour in COLOURS.items():
        rows = layers() if package == "sweeper" else folders(package)
        drawn, bottom = drawn_rows(rows, top + 56)
        body.append(
            f'<rect x="{MARGIN}" y="{top:.0f}" width="{WIDTH - 2 * MARGIN}" height="{bottom - top + 2:.0f}" rx="10" '
            f'fill="{colour}" stroke="#9aa5b1"/>'
        )
        body.append(f'<text x="{2 * MARGIN}" y="{top + 24:.0f}" class="package">{package}/</text>')
        body.append(f'<text x="{2 * MARGIN}" y="{top + 44:.0f}" class="what">{escape(described(package).what)}</text>')
        body += drawn
        top = bottom + 14
    size = f'width="{WIDTH}" height="{top:.0f}" viewBox="0 0 {WIDTH} {top:.0f}"'
    heading = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="The rooms of the code">'
    return "\n".join([heading, f"<style>{STYLE}</style>", *body, "</svg>", ""])


def main() -> int:
    """Write the picture, or check it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the picture is out of date")
    given = parser.parse_args()
    drawn = picture()
    if given.check:
        fresh = PICTURE.is_file() and PICTURE.read_text() == drawn
        sys.stderr.write("" if fresh else "docs/rooms.svg is out of date: run python scripts/draw_rooms.py\n")
        return 0 if fresh else 1
    PICTURE.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
