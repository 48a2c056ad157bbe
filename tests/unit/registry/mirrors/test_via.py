"""The header `Via`: which appliances a request came through."""

import pytest

from tinkbox.registry.mirrors.via import new_hop, read_via, via_header

ONE, OTHER = new_hop("0123456789abcdef" * 2), new_hop("f" * 32)


@pytest.mark.parametrize("via", [(), (ONE,), (ONE, OTHER)])
def test_what_one_appliance_tells_the_next_one_reads(via: tuple[str, ...]) -> None:
    assert read_via([*via_header(via).values()]) == via


@pytest.mark.parametrize(
    ("headers", "via"),
    [
        (["1.1 proxy.lab.example (squid/5.7)"], ()),
        ([f"1.0 fred, 1.1 {ONE}, 1.1 proxy (a comment)"], (ONE,)),
        ([f"1.1 {ONE}", f"HTTP/1.1 {OTHER}"], (ONE, OTHER)),
        (["", ",", "1.1", f"{ONE}", f"1.1 {ONE}x", "1.1 tinkbox-"], ()),
    ],
)
def test_other_proxies_are_passed_over(headers: list[str], via: tuple[str, ...]) -> None:
    assert read_via(headers) == via
