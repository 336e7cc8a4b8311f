"""Render the template as a person sees it: python tests/render.py [FOLDER] writes a PNG per page, and docs/audit.png.

Needs LibreOffice with python3-uno, and pdftoppm (poppler-utils).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from office import Office

from workbook.build import build

ON_THE_PAGE = ("Load in tokens", "Seed prints", "TPOT check")  # of the audit's steps
PICTURE = Path(__file__).parent.parent / "docs" / "audit.png"


def render(folder: Path) -> None:
    """Pages of the workbook, calculated by LibreOffice with the add-in."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Office(addin=True) as office:
        pdf = Path(scratch) / "capacity.pdf"
        office.open(build(Path(scratch) / "capacity.xlsx"))
        office.recalculate()
        office.pdf(pdf)
        subprocess.run(["pdftoppm", "-r", "110", "-png", pdf, folder / "page"], check=True)
        PICTURE.parent.mkdir(exist_ok=True)
        number = str(page_with(pdf, ON_THE_PAGE))
        page = ["-f", number, "-l", number, "-singlefile"]
        crop = ["-x", "50", "-y", "65", "-W", "1655", "-H", "960"]  # the table without the margins of the paper
        subprocess.run(["pdftoppm", "-r", "150", "-png", *page, *crop, pdf, PICTURE.with_suffix("")], check=True)


def page_with(pdf: Path, words: tuple[str, ...]) -> int:
    """The number of the first page that has all these words."""
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True).stdout
    return next(n for n, page in enumerate(text.split("\f"), 1) if all(word in page for word in words))


if __name__ == "__main__":
    render(Path(sys.argv[1] if len(sys.argv) > 1 else "pages"))
