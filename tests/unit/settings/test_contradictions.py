"""Settings that contradict each other: every refusal names both keys, and the way out."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.settings.all_settings import Settings
from tinkbox.settings.contradictions import lowered, on_disk, on_networks
from tinkbox.settings.doors import Endpoint, Operator

OWN = IPv4Address("172.30.0.1")
LAB = ("lab", IPv4Network("172.30.0.0/24"))
RULES = "discovery: {rules: [{match: {mac: '*'}}]}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "dhcp: {pool: 172.30.0.5-172.30.0.9}",
            "dhcp.pool: nothing of it is lent while dhcp.mode is reservation: set dhcp.mode to pool, or leave the pool out",
        ),
        (
            "dhcp: {mode: off, subnets: [{network: 10.0.0.0/24}, {network: 10.0.1.0/24, pool: 10.0.1.5-10.0.1.9}]}",
            "dhcp.subnets[1].pool: nothing of it is lent while dhcp.mode is off: set dhcp.mode to pool, or leave the pool out",
        ),
        (
            "boot: {https: enroll}\nnode: {https_port: 0}",
            "boot.https: machines that are enrolled boot by HTTPS alone, and node.https_port is 0: choose a port, or set boot.https: off",
        ),
        (
            RULES,
            "discovery.rules: none of them is tried while unknown_machines is ignore: set it to discover, or leave the rules out",
        ),
        (
            "discovery: {port_quota: 200}",
            "discovery.port_quota: 200 is more than discovery.quota, 128: lower it, or raise that",
        ),
        (
            "services: {memory: 8GiB}",
            "services.memory: 8GiB is more than services.most_memory, 4GiB: lower it, or raise that",
        ),
        ("services: {cpus: 8}", "services.cpus: 8.0 is more than services.most_cpus, 4.0: lower it, or raise that"),
        (
            "services: {pids: 5000}",
            "services.pids: 5000 is more than services.most_pids, 4096: lower it, or raise that",
        ),
        (
            "dhcp: {subnets: [{network: 10.213.7.0/24}]}",
            "dhcp.subnets[0].network: 10.213.7.0/24 lies in services.subnets, 10.213.0.0/16: name other addresses in one of the two",
        ),
        (
            "node: {http_port: 53}",
            "node.dns_port: node.http_port takes TCP port 53 already: choose another one for one of the two",
        ),
        (
            "node: {https_port: 80}",
            "node.https_port: node.http_port takes TCP port 80 already: choose another one for one of the two",
        ),
        (
            "node: {syslog_port: 69}",
            "node.syslog_port: node.tftp_port takes UDP port 69 already: choose another one for one of the two",
        ),
        (
            "node: {tftp_port: 67}",
            "node.tftp_port: dhcp.mode reservation takes UDP port 67 already: choose another one for one of the two",
        ),
    ],
)
def test_what_contradicts_another_setting_names_both_and_the_way_out(tmp_path: Path, text: str, problem: str) -> None:
    assert problems_of(tmp_path, text) == [problem]


@pytest.mark.parametrize(
    "text",
    [
        f"{RULES}\nunknown_machines: discover\ndhcp: {{mode: proxy}}",
        "discovery: {quota: 10}",
        "services: {most_memory: 256MiB, most_cpus: 0.5, most_pids: 100}",
        "node: {http_port: 53, tftp_port: 67}\nservices: {names: off}\ndhcp: {mode: off}",
        "node: {http_port: 69, syslog_port: 0}",
        "node: {http_port: 443}",
        "node: {https_port: 0}",
        "dhcp: {subnets: [{network: 10.0.0.0/8}]}",
    ],
)
def test_what_can_be_right_together_is_taken(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, text)


def test_a_default_that_follows_a_lower_cap_is_told(tmp_path: Path) -> None:
    assert list(lowered(loaded(tmp_path, ""))) == []
    assert list(lowered(loaded(tmp_path, "services: {memory: 64MiB, most_memory: 256MiB}"))) == []
    assert list(lowered(loaded(tmp_path, "services: {most_memory: 256MiB, most_cpus: 0.5, most_pids: 100}"))) == [
        "services.memory is lowered from 512MiB to 256MiB, which is services.most_memory",
        "services.cpus is lowered from 1.0 to 0.5, which is services.most_cpus",
        "services.pids is lowered from 512 to 100, which is services.most_pids",
    ]


def test_what_could_not_be_read_contradicts_nothing(tmp_path: Path) -> None:
    assert len(problems_of(tmp_path, "dhcp: {mode: pol, pool: 172.30.0.5-172.30.0.9}")) == 1
    assert len(problems_of(tmp_path, "services: {memory: 8GiB, most_memory: much}")) == 1
    assert len(problems_of(tmp_path, "node: {http_port: x, dns_port: 80}")) == 1
    assert len(problems_of(tmp_path, f"{RULES}\nunknown_machines: both")) == 1


def told(settings: Settings) -> list[str]:
    return [str(each) for each in on_networks(settings, [OWN], settings.dhcp.on([LAB]))]


def test_networks_of_services_leave_the_appliances_own_address_alone(tmp_path: Path) -> None:
    assert told(loaded(tmp_path, "services: {subnets: 172.30.0.0/16}")) == [
        "services.subnets: 172.30.0.0/16 has 172.30.0.1, the appliance's own address: name other addresses"
    ]
    assert told(loaded(tmp_path, "services: {subnets: 172.30.0.128/28}")) == [
        "services.subnets: 172.30.0.128/28 lies in 172.30.0.0/24, where machines are: name addresses that nothing else uses"
    ]


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("http://172.30.0.1", True),
        ("http://172.30.0.1:80/quay.io", True),
        ("http://172.30.0.1:5000", False),
        ("https://172.30.0.1", False),
        ("http://172.30.0.2", False),
    ],
)
def test_an_appliance_is_no_mirror_of_itself(tmp_path: Path, url: str, is_own: bool) -> None:
    why = f"registry.mirrors: {url} is this appliance, which has nothing to fetch from itself: name another registry for quay.io"
    assert told(loaded(tmp_path, f"registry: {{mirrors: {{quay.io: '{url}'}}}}")) == ([why] if is_own else [])


@pytest.mark.parametrize(
    ("host", "port", "key"),
    [
        ("172.30.0.1", 80, "node.http_port"),
        ("0.0.0.0", 80, "node.http_port"),
        ("172.30.0.1", 53, "node.dns_port"),
        ("127.0.0.1", 80, ""),
        ("172.30.0.1", 7080, ""),
    ],
)
def test_the_doors_of_people_and_of_machines_are_not_one(tmp_path: Path, host: str, port: int, key: str) -> None:
    settings = replace(loaded(tmp_path, ""), operator=Operator(listen=Endpoint(host, port)))
    why = f"operator.listen: {host}:{port} is what {key} takes already: choose another port for one of the two"
    assert told(settings) == ([why] if key else [])


@pytest.mark.parametrize(
    ("pool", "lends"),
    [
        ("pool: 172.30.0.0-172.30.0.1", False),
        ("pool: 172.30.0.253-172.30.0.255, gateway: 172.30.0.254, name_servers: 172.30.0.253", False),
        ("pool: 172.30.0.1-172.30.0.2", True),
        ("pool: 172.30.0.0-172.30.0.255", True),
    ],
)
def test_a_pool_has_an_address_to_lend(tmp_path: Path, pool: str, lends: bool) -> None:
    found = told(loaded(tmp_path, f"dhcp: {{mode: pool, {pool}}}"))
    assert [each.startswith("dhcp: the pool of 172.30.0.0/24 has no address to lend") for each in found] == [True] * (
        not lends
    )


def test_the_room_that_nobody_chose_to_keep_free_is_fitted_to_the_disk(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "")
    assert list(on_disk(settings, 4 << 20)) == []
    assert settings.retention.of.fitted(1 << 30).keep_free == 256 << 20
    assert settings.retention.of.fitted(4 << 30) == settings.retention.of
    chosen = loaded(tmp_path, "retention: {keep_free: 100MiB}")
    assert chosen.retention.of.fitted(128 << 20).keep_free == 100 << 20


@pytest.mark.parametrize("disk", [40 << 20, 64 << 20, 128 << 20, 600 << 20])
def test_history_goes_before_machines_are_refused_on_a_disk_of_any_size(tmp_path: Path, disk: int) -> None:
    assert loaded(tmp_path, "").retention.of.fitted(disk).keep_free >= LAST_ROOM


def test_the_room_to_keep_free_is_less_than_there_is(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "retention: {keep_free: 2GiB}")
    assert list(on_disk(settings, (2 << 30) + 1)) == []
    (problem,) = on_disk(settings, 2 << 30)
    assert str(problem).startswith(
        f"retention.keep_free: 2GiB can never be free: the disk of data ({tmp_path}) has 2GiB"
    )


def test_room_to_keep_free_with_which_machines_hand_in_nothing_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, "retention: {keep_free: 1MiB}")
    assert problem.startswith("retention.keep_free: expected at least 32MiB, not 1MiB: with less free machines hand in")


def test_the_reserve_of_images_is_less_than_there_is(tmp_path: Path) -> None:
    assert list(on_disk(loaded(tmp_path, ""), 40 << 20)) == []
    settings = loaded(tmp_path, "images: {reserve: 2GiB}")
    assert list(on_disk(settings, (2 << 30) + 1)) == []
    (problem,) = on_disk(settings, 2 << 30)
    assert str(problem).startswith("images.reserve: 2GiB can never be free: the disk of data")
