"""What the environment says."""

import os
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.settings.environment import (
    ClientTarget,
    default_cache,
    default_data,
    named_server,
    output_format,
    own_configuration,
    terminal_kind,
    wants_colours,
)


def test_a_server_without_a_scheme_is_https(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", "other:7080")
    monkeypatch.delenv("TINKBOX_TOKEN", raising=False)
    assert named_server() == ClientTarget(url="https://other:7080", variable="TINKBOX_SERVER")


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("box", "https://box:7080"),
        ("box/", "https://box:7080"),
        ("172.30.0.1", "https://172.30.0.1:7080"),
        ("[fd00::1]", "https://[fd00::1]:7080"),
        ("box:443", "https://box:443"),
        ("https://box", "https://box"),
        ("proxy/tinkbox", "https://proxy/tinkbox"),
        ("fd00::1", "https://fd00::1"),
    ],
)
def test_a_host_alone_is_asked_where_login_asks(monkeypatch: pytest.MonkeyPatch, server: str, url: str) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", server)
    assert named_server() == ClientTarget(url=url, token="", variable="TINKBOX_SERVER")


@pytest.mark.parametrize("server", ["unix:///srv/tinkbox/operator.sock", "unix:/srv/tinkbox/operator.sock"])
def test_a_server_can_be_a_socket(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", server)
    monkeypatch.setenv("TINKBOX_TOKEN", "secret")
    socket = Path("/srv/tinkbox/operator.sock")
    assert named_server() == ClientTarget(socket=socket, variable="TINKBOX_SERVER")


@pytest.mark.parametrize(
    "server", ["unix:", "unix:operator.sock", "unix://", "unix://operator.sock", "unix://./operator.sock"]
)
def test_a_socket_without_its_whole_path_is_refused(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", server)
    with pytest.raises(Invalid, match=f"TINKBOX_SERVER={server} names no socket: write its whole path"):
        named_server()


def test_a_path_is_no_server_and_is_told_how_a_socket_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", "/srv/operator.sock")
    with pytest.raises(
        Invalid, match=r"TINKBOX_SERVER=/srv/operator\.sock is a path: write unix:/srv/operator\.sock for a"
    ):
        named_server()


def test_authorities_that_are_not_there_are_told_before_a_server_with_tls_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authorities = tmp_path / "ca.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(authorities))
    monkeypatch.setenv("TINKBOX_SERVER", "https://lab.example")
    with pytest.raises(Invalid, match=f"^SSL_CERT_FILE={authorities} is not there, so no certificate can be checked"):
        named_server()
    authorities.touch()
    assert named_server() is not None
    authorities.unlink()
    monkeypatch.setenv("TINKBOX_SERVER", "http://lab.example")
    assert named_server() is not None


def test_the_format_of_output_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINKBOX_FORMAT", raising=False)
    assert output_format() == ""
    monkeypatch.setenv("TINKBOX_FORMAT", "tink")
    assert output_format() == "tink"


def test_without_the_variable_no_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", "")
    assert named_server() is None


def test_data_is_kept_below_the_state_home_of_who_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data() == Path("/var/lib/tinkbox")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_data() == Path("/state/tinkbox")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/tinkbox")
    assert default_data() == Path("/var/lib/tinkbox")
    monkeypatch.delenv("STATE_DIRECTORY")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/anna")
    assert default_data() == Path("/home/anna/.local/state/tinkbox")


def test_a_terminal_may_have_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "screen")
    assert terminal_kind() == "screen"
    monkeypatch.setenv("TERM", "")
    assert terminal_kind() == ""
    monkeypatch.delenv("TERM")
    assert terminal_kind() == ""


def test_colours_are_left_out_where_no_color_has_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, wanted in (("1", False), ("", True)):
        monkeypatch.setenv("NO_COLOR", value)
        assert wants_colours() is wanted


def test_what_can_be_fetched_again_is_kept_below_the_cache_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/anna")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert (default_cache(), own_configuration()) == (Path("/var/cache/tinkbox"), Path("/etc/tinkbox"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_cache() == Path("/home/anna/.cache/tinkbox")
    assert own_configuration() == Path("/home/anna/.config/tinkbox")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    for user in (0, 1000):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert (default_cache(), own_configuration()) == (Path("/cache/tinkbox"), Path("/config/tinkbox"))
