"""Render the template as a person sees it: python tests/render.py [FOLDER] writes a PNG per page, and the README's.

Needs LibreOffice with python3-uno, and pdftoppm (poppler-utils).
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from office import Office

from workbook.build import build

DOCS = Path(__file__).parent.parent / "docs"


class Picture(NamedTuple):
    """A page of the workbook, without the margins of the paper."""

    words: tuple[str, ...]  # which together stand on no page behind it
    dpi: int
    crop: tuple[int, int, int, int]  # left, top, width, height


PICTURES = {
    "plan": Picture(("What you plan for", "GPUs by decode batch"), 120, (45, 55, 925, 1215)),
    "audit": Picture(("Load in tokens", "Seed prints", "TPOT check"), 150, (50, 65, 1655, 960)),
    "sensitivity": Picture(("What moves the answer most?", "GPUs, USD/h or USD"), 120, (45, 60, 905, 700)),
    "mix": Picture(("Which requests are the work?", "Share of requests and share of work"), 120, (45, 60, 1340, 790)),
    "compare": Picture(("Which GPU, and how many", "The ten cheapest"), 120, (45, 60, 905, 545)),
    "budget": Picture(("Budget by month", "not submitted"), 150, (50, 60, 1660, 840)),
    "buy": Picture(("Buy the tokens, or run the fleet?", "Load factor [fraction]"), 120, (45, 60, 905, 1170)),
}


def render(folder: Path) -> None:
    """Pages of the workbook, calculated by LibreOffice with the add-in."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Office(addin=True) as office:
        pdf = Path(scratch) / "capacity.pdf"
        office.open(build(Path(scratch) / "capacity.xlsx"))
        office.recalculate()
        office.pdf(pdf)
        subprocess.run(["pdftoppm", "-r", "110", "-png", pdf, folder / "page"], check=True)
        DOCS.mkdir(exist_ok=True)
        for name, picture in PICTURES.items():
            number = str(page_with(pdf, picture.words))
            page = ["-f", number, "-l", number, "-singlefile"]
            crop = [x for pair in zip(("-x", "-y", "-W", "-H"), map(str, picture.crop), strict=True) for x in pair]
            subprocess.run(["pdftoppm", "-r", str(picture.dpi), "-png", *page, *crop, pdf, DOCS / name], check=True)


def page_with(pdf: Path, words: tuple[str, ...]) -> int:
    """The number of the last page that has all these words: LibreOffice puts a chart's onto the page before, too."""
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True).stdout
    return max(n for n, page in enumerate(text.split("\f"), 1) if all(word in page for word in words))


if __name__ == "__main__":
    render(Path(sys.argv[1] if len(sys.argv) > 1 else "pages"))
