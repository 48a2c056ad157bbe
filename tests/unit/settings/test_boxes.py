"""What `tinkbox login` keeps."""

import stat
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.settings import ClientTarget, client_target, with_login
from tinkbox.settings.boxes import KeptBox, KeptBoxes, box_url, read_boxes, write_boxes

URL = "https://box:7080"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("TINKBOX_SERVER", "TINKBOX_TOKEN", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config/tinkbox/boxes.json"


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("box", URL),
        ("BOX.", URL),
        ("box:7080", URL),
        ("https://box:7080/", URL),
        ("HTTPS://Box:7080", URL),
        ("https://box", "https://box"),
        ("172.30.0.1", "https://172.30.0.1:7080"),
        ("https://[FD00::1]:7080", "https://[fd00::1]:7080"),
        ("https://proxy/tinkbox/", "https://proxy/tinkbox"),
    ],
)
def test_box_has_one_url_however_it_is_typed(typed: str, url: str) -> None:
    assert box_url(typed) == url


def test_file_is_its_owners_alone_also_when_it_was_wider(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("{}")
    home.chmod(0o644)
    assert write_boxes(KeptBoxes().with_box(URL, KeptBox("PEM", "token"))) == home
    assert stat.S_IMODE(home.stat().st_mode) == 0o600
    assert read_boxes() == KeptBoxes(URL, {URL: KeptBox("PEM", "token")})


def test_link_in_the_place_of_the_new_file_is_not_followed(home: Path, tmp_path: Path) -> None:
    home.parent.mkdir(parents=True)
    home.with_name("boxes.json.new").symlink_to(tmp_path / "elsewhere")
    write_boxes(KeptBoxes())
    assert not (tmp_path / "elsewhere").exists()


def test_folder_that_takes_no_file_is_told(home: Path) -> None:
    home.parent.parent.write_text("no folder")
    with pytest.raises(Unavailable, match=f"cannot write {home}"):
        write_boxes(KeptBoxes())


def test_commands_speak_to_the_box_of_the_last_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_boxes(KeptBoxes().with_box("https://old:7080", KeptBox()).with_box(URL, KeptBox("PEM", "kept")))
    wanted = ClientTarget(url=URL, token="kept", variable="tinkbox login", authority="PEM")
    assert client_target() == wanted
    assert client_target(tmp_path) == ClientTarget(socket=tmp_path / "operator.sock")
    monkeypatch.setenv("TINKBOX_TOKEN", "given")
    assert client_target().token == "given"
    monkeypatch.setenv("TINKBOX_SERVER", "https://old:7080")
    assert client_target() == ClientTarget(url="https://old:7080", token="given", variable="TINKBOX_SERVER")


def test_kept_token_goes_to_no_other_box_and_to_none_unencrypted() -> None:
    write_boxes(KeptBoxes().with_box(URL, KeptBox("PEM", "kept")))
    for other in (
        "https://box",
        "https://box:7081",
        "https://box.evil:7080",
        "http://box:7080",
        "https://evil@box:7080",
    ):
        assert with_login(ClientTarget(url=other)) == ClientTarget(url=other)


def test_logout_leaves_the_other_boxes() -> None:
    kept = KeptBoxes().with_box("https://old:7080", KeptBox()).with_box(URL, KeptBox())
    assert kept.without(URL) == KeptBoxes("", {"https://old:7080": KeptBox()})
    assert kept.without("https://old:7080").current == URL


@pytest.mark.parametrize("typed", ["http://box", "unix:/x", "https://", "", " ", "https://a b", "box?x"])
def test_what_is_no_box_is_refused(typed: str) -> None:
    with pytest.raises(Invalid, match=r"names no box|is not encrypted"):
        box_url(typed)


@pytest.mark.parametrize("typed", ["https://u:secret@box:7080", "u:secret@box", "http://u:secret@box:7080"])
def test_a_box_is_named_without_a_user_and_the_password_is_not_told(typed: str) -> None:
    with pytest.raises(Invalid) as refused:
        box_url(typed)
    assert str(refused.value) == (
        "the URL has a user in it, and an appliance knows people by their tokens alone: write https://box:7080"
    )
