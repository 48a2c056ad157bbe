import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.worker.host.addresses import address_of, addressed, own_address


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("http://172.30.0.1", "172.30.0.1"),
        ("http://172.30.0.1:7171", "172.30.0.1"),
        ("http://localhost:8080", "127.0.0.1"),
    ],
)
async def test_the_appliance_is_where_its_url_says(server: str, address: str) -> None:
    assert await address_of(server) == address


async def test_a_name_without_an_address_is_the_appliance(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {"w.lab": "", "other.lab": "10.0.0.9"}
    assert await addressed(hosts, "http://172.30.0.1") == {"w.lab": "172.30.0.1", "other.lab": "10.0.0.9"}
    monkeypatch.delattr("tinkbox.worker.host.addresses.address_of")
    assert await addressed({"other.lab": "10.0.0.9"}, "http://172.30.0.1") == {"other.lab": "10.0.0.9"}
    assert await addressed({}, "http://172.30.0.1") == {}


async def test_this_machine_has_the_address_that_leads_there() -> None:
    assert await own_address("http://127.0.0.9:7171") == "127.0.0.1"


async def test_an_appliance_that_cannot_be_found_may_be_found_later() -> None:
    for server in ("http://[::1]:80", "http://a..b"):
        with pytest.raises(Unavailable, match=r"the address of the appliance, (::1|a\.\.b), is not known"):
            await address_of(server)
    with pytest.raises(Unavailable, match=r"no way to the appliance, 255\.255\.255\.255"):
        await own_address("http://255.255.255.255")
