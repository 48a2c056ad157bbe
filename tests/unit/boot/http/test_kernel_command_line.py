"""What the OSIE is told on its kernel's command line."""

from dataclasses import replace

import pytest

from tinkbox.boot.http.kernel_command_line import kernel_arguments, syslog
from tinkbox.model.boot import Boot, ConsoleAccess, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.netboot import Netboot

PLAN = Plan(boot=Boot.OSIE, hardware_id="h", interface=Interface(mac=MacAddress("08:00:27:00:00:01")))
SERVER, OWN = "tinkbox.server=http://172.30.0.1:8080", "tinkbox.mac=08:00:27:00:00:01"


def told(plan: Plan, dns: str = "", syslog_port: int = 0) -> tuple[str, ...]:
    return kernel_arguments(plan, "http://172.30.0.1:8080", dns=dns, syslog_port=syslog_port)


def test_a_machine_is_told_where_we_are_who_it_is_and_where_to_speak() -> None:
    assert told(PLAN) == (SERVER, OWN, "console=tty0", "console=ttyS0,115200")


def test_console_without_a_shell_is_said_before_the_words_of_the_hardware_document() -> None:
    own = replace(
        PLAN, interface=replace(PLAN.interface, netboot=Netboot(kernel_parameters=("tinkbox.console=shell",)))
    )
    said = kernel_arguments(own, "http://172.30.0.1:8080", console=ConsoleAccess.NONE)
    assert [each for each in said if "tinkbox.console" in each] == ["tinkbox.console=none", "tinkbox.console=shell"]


def test_words_of_the_hardware_document_are_the_last() -> None:
    own = Netboot(kernel_parameters=("console=ttyS1,9600", "nomodeset"))
    plan = replace(PLAN, interface=replace(PLAN.interface, netboot=own))
    assert told(plan) == (*told(PLAN), "console=ttyS1,9600", "nomodeset")


def test_it_is_told_of_names_of_the_log_and_of_its_vlan_where_there_are_such() -> None:
    tagged = replace(PLAN, interface=replace(PLAN.interface, vlan_id=20))
    assert told(tagged, "172.30.0.7", 514)[:5] == (
        SERVER,
        "tinkbox.dns=172.30.0.7",
        "tinkbox.syslog=172.30.0.1",
        OWN,
        "vlan_id=20",
    )


@pytest.mark.parametrize(
    ("architecture", "last"),
    [("aarch64", "console=ttyAMA0,115200"), ("x86_64", "console=ttyS0,115200"), ("riscv64", "console=ttyS0,115200")],
)
def test_the_console_is_the_architectures(architecture: str, last: str) -> None:
    assert told(replace(PLAN, interface=replace(PLAN.interface, architecture=architecture)))[-1] == last


@pytest.mark.parametrize(("port", "where"), [(514, "172.30.0.1"), (5514, "172.30.0.1:5514")])
def test_the_port_of_the_log_is_said_when_it_is_not_the_usual_one(port: int, where: str) -> None:
    assert syslog("http://172.30.0.1", port) == where
