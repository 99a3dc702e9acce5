"""Paper, ink and pens: one look for all pictures, drawn on figures of their own and never through pyplot's global state."""

import io
import re
from typing import TYPE_CHECKING, Any

from hullabaloo.errors import library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, darkened until text in them can be read on white; the page gives each its dark-mode twin.
INK, MUTED, GRID, PAPER = "#1b1c20", "#5b5f66", "#d9dce1", "#fefefe"
BLUE, ORANGE, PALE = "#0067a5", "#b34a00", "#a9c8de"
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "rule", PAPER: "paper", BLUE: "blue", ORANGE: "orange", PALE: "pale"}

WIDTH = 4.4  # inches: about the width of a phone, where type then keeps its size; a desktop page shows it larger
SIZE, SMALL = 11.5, 10.5


def new_figure(height: float, width: float = WIDTH) -> "tuple[Figure, Axes]":
    """An empty figure with one pair of axes, on the Agg canvas."""
    figures = library("matplotlib.figure", "hullabaloo[report]", "A picture")
    agg = library("matplotlib.backends.backend_agg", "hullabaloo[report]", "A picture")
    figure: Figure = figures.Figure(figsize=(width, height), facecolor=PAPER, layout="constrained")
    agg.FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(colors=MUTED, labelsize=SMALL, length=3, labelcolor=INK)
    return figure, axes


def frame(
    axes: "Axes", text: str, below: str = "", *, x: str = "", y: str = "", grid: str = "both", **given: Any
) -> None:
    """The grid, the names of both axes, and the heading."""
    colour, place = given.pop("colour", MUTED), given.pop("place", "center")
    size = SIZE if given.pop("large", False) else SMALL
    axes.grid(axis=grid, color=GRID, lw=0.6)  # type: ignore[arg-type]
    axes.set_xlabel(x, fontsize=size, color=INK, loc=place)
    axes.set_ylabel(y, fontsize=size, color=INK, **given)
    heading(axes, text, below, colour=colour)


def line(axes: "Axes", x: Any, y: Any, colour: str, width: float, above: float = 2, **given: Any) -> None:
    """A line; the larger `above`, the further in front."""
    axes.plot(x, y, color=colour, lw=width, zorder=above, **given)


def dots(axes: "Axes", x: Any, y: Any, colour: str, size: float, above: float, **given: Any) -> None:
    """Points."""
    axes.plot(x, y, "o", color=colour, ms=size, zorder=above, **given)


def note(axes: "Axes", text: str, at: Any, to: Any, *, colour: str, strong: bool = False, **given: Any) -> None:
    """Words at a point, `to` points away from it."""
    look = {"fontsize": SIZE, "fontweight": "bold"} if strong else {"fontsize": SMALL}
    axes.annotate(text, at, to, **{"textcoords": "offset points", "color": colour, **look, **given})


def heading(axes: "Axes", text: str, below: str = "", *, colour: str = MUTED) -> None:
    """What the picture shows, flush left at the figure's edge, and lines of explanation under it."""
    figure: Any = axes.get_figure(root=True)
    height = float(figure.get_figheight())
    lines = below.count("\n") + 1 if below else 0
    figure.text(0.012, 1.0 - 0.07 / height, text, fontsize=SIZE + 1, fontweight="bold", color=INK, va="top")
    if below:
        figure.text(0.012, 1.0 - 0.31 / height, below, fontsize=SMALL, color=colour, va="top", linespacing=1.3)
    figure.set_layout_engine("constrained", rect=(0.0, 0.0, 1.0, 1.0 - (0.32 + 0.2 * lines) / height))


def inline_svg(figure: "Figure", name: str, label: str) -> str:
    """A figure as SVG to put inside a page: the same bytes every time, text as text, colours plain, as printers' programs know no other, but on a dark screen variables of the page.

    `name` must differ between the pictures of a page. The page's style defines the variables of `VARIABLES`
    (`--ink`, `--muted`, `--rule`, `--paper`, `--blue`, `--orange`, `--pale`).
    """
    from xml.sax.saxutils import quoteattr

    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": f"hullabaloo {name}", "svg.image_inline": True}):
        metadata: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=metadata, facecolor="none")
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(href="|url\()#', rf"\1#{name}-", text)
    text = re.sub(r"(font(?:-family)?: [^;\"]*?)'[^;\"]*", r"\1system-ui, sans-serif", text)
    painted = ((part, colour, name) for colour, name in VARIABLES.items() for part in ("fill", "stroke"))
    rules = "".join(f'[style*="{part}: {colour}"]{{{part}:var(--{name})!important}}' for part, colour, name in painted)
    box = re.findall(r'viewBox="([^"]+)"', text)[0]
    opening = f'<svg role="img" aria-label={quoteattr(label)} viewBox="{box}" preserveAspectRatio="xMinYMin meet">'
    opening += f"<style>@media screen and (prefers-color-scheme: dark){{{rules}}}</style>"
    return re.sub(r"<svg [^>]*>", lambda _: opening, text, count=1)
