"""What a door for machines says of where the operator door is."""

import pytest

from tinkbox.wire.operator_door import is_on_loopback, read_operator_door, url_of


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("172.16.0.1:7080", "172.16.0.1:7080"),
        ("0.0.0.0:1", "0.0.0.0:1"),
        ("lab.example:65535", "lab.example:65535"),
        ("[::1]:7080", "[::1]:7080"),
        ("::1:7080", "[::1]:7080"),
    ],
)
def test_an_address_or_a_name_with_a_port_is_read(told: str, read: str) -> None:
    assert str(read_operator_door(told)) == read


@pytest.mark.parametrize(
    "told",
    [
        "",
        "172.16.0.1",
        ":7080",
        "172.16.0.1:0",
        "172.16.0.1:65536",
        "172.16.0.1:+80",
        "172.16.0.1:\u0668\u0660",
        f"lab:{'9' * 5000}",
        "evil; rm -rf ~:80",
        "$(reboot):80",
        "fe80::1%x;reboot:80",
        "[fe80::1%$(reboot)]:80",
        "lab\nexample:80",
    ],
)
def test_anything_else_is_no_door(told: str) -> None:
    assert read_operator_door(told) is None


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("http://127.1.2.3", True),
        ("http://box", False),
        ("http://127.example.org", False),
        ("http://0.0.0.0", False),
    ],
)
def test_loopback_is_no_network(url: str, is_here: bool) -> None:
    assert is_on_loopback(url) is is_here


def test_scheme_is_read_however_it_is_written() -> None:
    assert url_of("HTTPS://box/Path") == "https://box/Path"


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("https://box:7080/v1", "https://box:7080"),
        ("https://proxy/box/v1/", "https://proxy/box"),
        ("box/v1", "https://box:7080"),
        ("https://v1", "https://v1"),
        ("https://box/v10", "https://box/v10"),
    ],
)
def test_the_place_of_the_api_belongs_to_no_box(typed: str, url: str) -> None:
    assert url_of(typed) == url
