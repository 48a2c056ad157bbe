"""What is bound before anything is served, in a network namespace with two provisioning interfaces."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.lab.network import Network

# Binds as the appliance does, and tells what there is, or why there is nothing.
BIND = """
import json, sys
from pathlib import Path
from tinkbox.listening import bound
from tinkbox.model.errors import Refusal
from tinkbox.settings import load
named = ("node", "tftp", "dhcp", "boot_server", "syslog")
try:
    with bound(load(Path(sys.argv[1])), None) as sockets:
        told = [{"name": each.interface.name, "url": each.url, "registry": each.registry,
                 "names": [end.getsockname() for end in each.names or ()],
                 **{name: getattr(each, name) and getattr(each, name).getsockname() for name in named}}
                for each in sockets.networks]
        print(json.dumps({"networks": told, "first": sockets.first.interface.name,
                          "subnets": [[str(each.network), each.interface] for each in sockets.subnets]}))
except Refusal as refusal:
    print(json.dumps({"refused": str(refusal), "problems": [each.text for each in getattr(refusal, "problems", ())]}))
"""
OPERATOR = "operator: {listen: '127.0.0.1:0'}\n".replace(":0'", ":17080'")


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network() as made:
        made.run(["ip", "link", "add", "second", "type", "bridge"])
        made.run(["ip", "address", "add", "172.31.0.1/24", "dev", "second"])
        made.run(["ip", "link", "set", "second", "up"])
        yield made


def binding(network: Network, work: Path, configuration: str) -> dict[str, Any]:
    file = work / "tinkbox.yaml"
    file.write_text(f"data: {work}\n{OPERATOR}{configuration}")
    answer: dict[str, Any] = json.loads(network.run([sys.executable, "-c", BIND, str(file)]))
    return answer


def test_every_interface_has_doors_of_its_own_on_its_own_address(network: Network, tmp_path: Path) -> None:
    told = binding(network, tmp_path, "interface: [second, lab]\nnode: {http_port: 8080}")
    assert told["first"] == "second"
    assert told["subnets"] == [["172.31.0.0/24", "second"], ["172.30.0.0/24", "lab"]]
    for found, name, address in zip(told["networks"], ("second", "lab"), ("172.31.0.1", "172.30.0.1"), strict=True):
        assert found == {
            "name": name,
            "url": f"http://{address}:8080",
            "registry": f"{address}:8080",
            "names": [[address, 53], [address, 53]],
            "node": [address, 8080],
            "tftp": [address, 69],
            "dhcp": ["0.0.0.0", 67],
            "boot_server": [address, 4011],
            "syslog": [address, 514],
        }


def test_what_is_turned_off_is_not_listened_on(network: Network, tmp_path: Path) -> None:
    configuration = "interface: lab\ndhcp: {mode: off}\nnode: {syslog_port: 0}\nservices: {names: off}"
    (found,) = binding(network, tmp_path, configuration)["networks"]
    assert (found["dhcp"], found["boot_server"], found["syslog"], found["names"]) == (None, None, None, [])
    assert found["url"] == "http://172.30.0.1"


@pytest.mark.parametrize(
    ("configuration", "why"),
    [
        ("interface: [lab, third]", "there is no interface third: check `interface:`"),
        ("data: /proc/none\ninterface: lab", "too long for a unix socket"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(
    network: Network, tmp_path: Path, configuration: str, why: str
) -> None:
    if "too long" in why:
        deep = tmp_path / ("d" * 100)
        deep.mkdir()
        configuration, work = "interface: lab", deep
    else:
        work = tmp_path
    assert why in binding(network, work, configuration)["refused"]


def test_a_pool_that_is_not_of_the_interfaces_network_is_refused_before_anything_is_served(
    network: Network, tmp_path: Path
) -> None:
    told = binding(network, tmp_path, "interface: lab\ndhcp: {mode: pool, pool: 172.29.0.5-172.29.0.9}")
    (problem,) = told["problems"]
    assert "pool 172.29.0.5-172.29.0.9 is not within 172.30.0.0/24" in problem


@pytest.mark.parametrize(
    ("configuration", "problem"),
    [
        ("services: {subnets: 172.30.0.0/16}", "172.30.0.0/16 has 172.30.0.1, the appliance's own address"),
        ("operator: {listen: '172.30.0.1:80'}", "172.30.0.1:80 is what node.http_port takes already"),
    ],
)
def test_settings_that_do_not_fit_this_host_are_refused_before_anything_is_bound(
    network: Network, tmp_path: Path, configuration: str, problem: str
) -> None:
    own = "" if "operator" in configuration else OPERATOR
    file = tmp_path / "tinkbox.yaml"
    file.write_text(f"data: {tmp_path}\n{own}interface: lab\n{configuration}")
    told = json.loads(network.run([sys.executable, "-c", BIND, str(file)]))
    assert [problem in each for each in told["problems"]] == [True]
    assert not (tmp_path / "operator.sock").exists()


def test_whoever_holds_the_port_is_named(network: Network, tmp_path: Path) -> None:
    holder = network.start(
        [sys.executable, "-c", ("import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); "
         "s.bind(('0.0.0.0', 67)); print('bound', flush=True); sys.stdin.read()")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == b"bound\n"
    try:
        refused = binding(network, tmp_path, "interface: lab")["refused"]
    finally:
        holder.stdin.close()
        holder.wait(60)
        holder.stdout.close()
    assert f":67/udp is taken by {Path(sys.executable).name} (pid {holder.pid})" in refused
