"""Which spelling of an image's host leads to the appliance."""

import pytest

from tinkbox.registry.own_names import OwnNames

NAMES = OwnNames(addresses={"172.30.0.1"}, domain="workflows.tinkbox.internal", ports={80, 8080})


@pytest.mark.parametrize(
    "host",
    [
        "172.30.0.1", "172.30.0.1:80", "172.30.0.1:080", "172.30.0.1:8080",
        "x.workflows.tinkbox.internal", "X.Workflows.Tinkbox.Internal.:80", "workflows.tinkbox.internal",
    ],
)  # fmt: skip
def test_every_spelling_of_the_appliance_is_its_own(host: str) -> None:
    assert NAMES.has(host)


@pytest.mark.parametrize(
    "host",
    [
        "docker.io",
        "localhost:80",
        "127.0.0.1:80",
        "172.30.0.10",
        "172.30.0.1:5000",
        "xworkflows.tinkbox.internal",
        "tinkbox.internal",
    ],
)
def test_others_are_not(host: str) -> None:
    assert not NAMES.has(host)
