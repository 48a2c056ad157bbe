"""The built-in catalogue against its publishers: each entry leads to an image, and its checksums are proven.

    make campaign PART=tests/online/test_catalogue.py

Nothing large is fetched.  Without the internet all of it is skipped, and says so.
"""

import socket
from datetime import UTC, datetime
from urllib.parse import urlsplit

import aiohttp
import pytest

from tinkbox.catalogue.entries import Entry, Fixed, Stream, Sums
from tinkbox.catalogue.layers import built_in
from tinkbox.catalogue.resolving import Resolver
from tinkbox.catalogue.transport import Web

ENTRIES = built_in().entries
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def host_of(entry: Entry) -> str:
    match entry.resolver:
        case Sums(sums=url) | Stream(page=url) | Fixed(file=url):
            return urlsplit(url).hostname or ""
        case listing:
            return urlsplit(listing.page).hostname or ""


@pytest.fixture(scope="session")
def internet() -> None:
    """Skips where no name of a publisher can be looked up and no proxy does that."""
    if aiohttp.helpers.proxies_from_env():
        return
    reasons = []
    for host in sorted({host_of(entry) for entry in ENTRIES.values()}):
        try:
            socket.create_connection((host, 443), timeout=5).close()
        except OSError as error:
            reasons.append(f"{host}: {error}")
        else:
            return
        if len(reasons) == 3:
            break
    pytest.skip(f"no internet here, so no publisher can be asked: {'; '.join(reasons)}")


@pytest.mark.usefixtures("internet")
@pytest.mark.parametrize("name", ENTRIES)
async def test_an_entry_leads_to_an_image(name: str) -> None:
    async with Web() as web:
        resolver = Resolver(web, datetime.now(UTC))
        found = await resolver.told(await resolver.newest(ENTRIES[name]))
    assert found.url.startswith("https://"), found
    assert found.size > 1 << 20, f"{found.url} has {found.size} bytes"
    promised = "sums" if found.image_signature else ENTRIES[name].proof
    assert str(found.verified) == promised
