"""Render the template as a person sees it: python tests/render.py [FOLDER] writes a PNG per page, and docs/audit.png.

Needs LibreOffice with python3-uno, and pdftoppm (poppler-utils).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from office import Office

from workbook.build import build

AUDIT_PAGE = 5  # the page of the steps
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
        page = ["-f", str(AUDIT_PAGE), "-l", str(AUDIT_PAGE), "-singlefile"]
        crop = ["-x", "50", "-y", "65", "-W", "1655", "-H", "960"]  # the table without the margins of the paper
        subprocess.run(["pdftoppm", "-r", "150", "-png", *page, *crop, pdf, PICTURE.with_suffix("")], check=True)


if __name__ == "__main__":
    render(Path(sys.argv[1] if len(sys.argv) > 1 else "pages"))
