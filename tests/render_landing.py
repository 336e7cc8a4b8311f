"""A picture of the server's landing page as a person sees it: python tests/render_landing.py writes docs/server.png.

Needs Chromium.
"""

import tempfile
from pathlib import Path

from office.browser import Browser, chromium

from addin.server.landing import page

PICTURE = Path(__file__).parent.parent / "docs" / "server.png"


def render() -> None:
    """The page with a search typed in, and one function's arguments open."""
    program = chromium()
    if program is None:
        raise SystemExit("Chromium is not installed")
    with tempfile.TemporaryDirectory() as folder, Browser(program, width=1100, height=1180) as browser:
        index = Path(folder) / "index.html"
        index.write_text(page("capacity.xlsx"), "utf-8")
        browser.open(index.as_uri())
        browser.click("#find")
        browser.type("batch")
        browser.click("#STEP_GB summary")
        browser.picture(PICTURE)


if __name__ == "__main__":
    render()
