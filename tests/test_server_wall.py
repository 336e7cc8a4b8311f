"""xlwings Server behind our wall: no file outside the folder's static files, and no other host's name."""

import os
from pathlib import Path

import pytest
from conftest import found
from office.own_server import Server, serving, xlwings_server

from addin.server import build

SECRET = "XLWINGS_SECRET_KEY=this-is-secret"
OUTSIDE = [
    "/static/../.env",
    "/static/%2e%2e/.env",
    "/static/..%2f.env",
    "/static/%2E%2E%2F.env",
    "/static/..%5c.env",
    "/static/..\\.env",
    "/static/images/../../.env",
    "/static/./../.env",
    "/static/.%2e/.env",
    "/../.env",
    "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/C:/Windows/win.ini",
    "/static/..%20/.env",
    "/static/%00.env",
    "/static/../certs/localhost-key.pem",
    "/static/../custom_functions/__init__.py",
]


@pytest.fixture(scope="module")
def guarded(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server with a secret in its folder, a link to it, and names that a team gives."""
    found("xlwings-server", xlwings_server())
    folder = build(tmp_path_factory.mktemp("guarded") / "project", project / "static/capacity.xlsx")
    (folder / ".env").write_text(f"{SECRET}\nXLWINGS_HOSTNAME=capacity.example.com\n")
    (folder / "static/own.txt").write_text("a file of the team's own")
    if os.name == "posix":
        (folder / "static/link.txt").symlink_to(folder / ".env")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPACITY_HOSTS", "planner.example.com, [fd00::1]:8443")
        with serving(folder, workers=1) as server:
            yield server


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", OUTSIDE)
def test_no_file_outside_is_handed_out(guarded: Server, path: str, method: str) -> None:
    status, body, _ = guarded.request(method, path)
    assert status == 404
    assert body == (b"" if method == "HEAD" else b"there is nothing at this address")


def test_the_static_files_are_confined_without_the_wall(guarded: Server, tmp_path: Path) -> None:
    """A link in the folder leads nowhere; what is in either folder is there, the team's own first."""
    assert guarded.request("GET", "/static/own.txt")[1] == b"a file of the team's own"
    assert guarded.request("GET", "/static/images/icons/xlwings-16.png")[0] == 200
    assert guarded.request("GET", "/static/link.txt")[0] == 404

    from addin.server.wall import Confined

    own, packaged = tmp_path / "own", tmp_path / "packaged"
    for folder in (own, packaged):
        folder.mkdir()
        (folder / "both.txt").write_text("here")
    (packaged / "one.txt").write_text("here")
    (tmp_path / "secret.txt").write_text(SECRET)
    files = Confined(own, packaged)
    assert files.lookup_path("both.txt")[0] == str((own / "both.txt").resolve())
    assert files.lookup_path("one.txt")[0] == str((packaged / "one.txt").resolve())
    for path in ("../secret.txt", "../own/../secret.txt", str(tmp_path / "secret.txt")):
        assert files.lookup_path(path)[0] == "", path


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "capacity.example.com", "[FD00::1]"]
)
def test_a_name_of_the_server(guarded: Server, host: str) -> None:
    assert guarded.request("GET", "/health", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "a@localhost"]
)
def test_a_foreign_name_is_refused(guarded: Server, host: str) -> None:
    """Whose page has its name lead here could read and call everything otherwise."""
    for method, path in (("GET", "/manifest/download"), ("GET", "/health"), ("POST", "/xlwings/custom-functions-call")):
        status, body, _ = guarded.request(method, path, b"{}", Host=host)
        assert (status, body.decode()) == (400, f"the header Host must be a name of this server, and not '{host}'")


def test_the_manifest_has_the_teams_name(guarded: Server) -> None:
    for host in ("localhost", "planner.example.com"):
        manifest = guarded.request("GET", "/manifest/download", Host=host)[1]
        assert b"https://capacity.example.com/taskpane.html" in manifest


def test_whoever_is_refused_leaves_no_trace(guarded: Server) -> None:
    guarded.request("GET", "/static/../.env")
    guarded.request("GET", "/", Host="evil.example")
    assert "Traceback" not in guarded.logged()
