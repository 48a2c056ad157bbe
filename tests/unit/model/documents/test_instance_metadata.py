"""Misspelt keys in the metadata of hardware documents."""

from collections.abc import Mapping
from typing import Any

import pytest

from tinkbox.model.documents.instance_metadata import misspelt_keys


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (
            {"instance": {"hostnme": "a"}},
            "metadata.instance.hostnme: nothing reads the key hostnme; did you mean hostname?",
        ),
        (
            {"instance": {"ssh_key": ["x"]}},
            "metadata.instance.ssh_key: nothing reads the key ssh_key; did you mean ssh_keys?",
        ),
        ({"bonding_mod": 1}, "metadata.bonding_mod: nothing reads the key bonding_mod; did you mean bonding_mode?"),
        (
            {"instance": {"userData": ""}},
            "metadata.instance.userData: nothing reads the key userData; did you mean userdata?",
        ),
        (
            {"instance": {"storage": {"disks": [{}, {"partitons": []}]}}},
            "metadata.instance.storage.disks[1].partitons: nothing reads the key partitons; did you mean partitions?",
        ),
    ],
)
def test_a_misspelt_key_is_told_with_the_one_that_was_meant(metadata: Mapping[str, Any], told: str) -> None:
    assert [str(each) for each in misspelt_keys(metadata, "metadata")] == [told]


@pytest.mark.parametrize(
    "metadata",
    [
        {"rack": "r1", "instance": {"owner": "ops", "ip": "x", "storage": "none", "ips": [{"rank": 1}, 3]}},
        {"instance": {"hostname": "a", "hostname2": "b"}},  # it has the one that is near
        {"instance": {"customdata": {"hostnme": 1}}},
    ],
)
def test_keys_of_ones_own_are_not_told(metadata: Mapping[str, Any]) -> None:
    assert not [*misspelt_keys(metadata, "metadata")]
