"""The doctor's rules about hardware documents that name a gateway or name server which is not there."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, OURS
from tests.unit.engine.doctor.rules.test_work import FAILED, found, patient
from tests.unit.engine.presences import presence_where
from tinkbox.engine.doctor.case import Way, Work
from tinkbox.engine.doctor.presence import NEIGHBOURS, NEIGHBOURS_KEPT
from tinkbox.engine.doctor.rules.document import refused_at
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import Interface
from tinkbox.model.workflow import State

GATEWAY, SERVER, OTHER = IPv4Address("172.30.0.245"), IPv4Address("172.30.0.35"), IPv4Address("10.0.0.53")
CARD = Interface(mac=MAC, gateway=GATEWAY, name_servers=(SERVER, IPv6Address("fe80::1"), OTHER))
NO_ROUTE = replace(FAILED, message="http://10.50.0.10/disk.img.zst: no connection ([Errno 113] No route to host)")
NO_NAME = replace(FAILED, message="exit code 6", tail=("curl: (6) Could not resolve host: files.lab",))


def rules(work: Work, *silent: IPv4Address, **more: object) -> list[str]:
    way = Way(gateway=GATEWAY, name_servers=(SERVER, OTHER), silent=frozenset(silent))
    return [each.rule for each in found(patient(replace(work, way=way), **more))]


def test_a_gateway_that_is_not_there_stands_before_the_failure_that_it_explains() -> None:
    way = Way(gateway=GATEWAY, silent=frozenset({GATEWAY}))
    gateway, failed = found(patient(replace(NO_ROUTE, way=way)))
    assert (gateway.rule, gateway.gravity, failed.rule) == ("GatewayAway", Gravity.FAULT, "WorkflowFailed")
    assert gateway.cause == (
        "Nobody answers at 172.30.0.245, the gateway that the hardware document of node7 names: what lies behind it cannot be reached."
    )
    assert "No route to host" in gateway.evidence[1]
    assert "--gateway IP" in gateway.remedy


def test_workflow_that_another_one_overtook_is_nowhere_to_be_retried() -> None:
    later = "workflow 5d3f0a11 (os) ran since: SUCCESS. Where this one is wanted all the same, `tinkbox workflow create -t os vm1` makes it anew"
    gone = Way(gateway=GATEWAY, name_servers=(SERVER,), silent=frozenset({GATEWAY, SERVER}))
    port = Way(gateway=OTHER, refused=(OURS, 8080, frozenset()))
    for way in (gone, Way(reserved=True), port):
        told = replace(FAILED, message="network is unreachable", tail=(NO_NAME.tail[0],), way=way)
        for work, offered in ((told, True), (replace(told, overtaken=later), False)):
            *own, failed = found(patient(work))
            assert own
            for each in (*own, failed):
                assert ("workflow retry" in each.remedy, f"It is not retried: {later}" in each.remedy) == (
                    offered,
                    not offered,
                )


def test_a_name_server_that_is_not_there_is_told_where_a_name_was_not_resolved() -> None:
    assert rules(NO_NAME, SERVER) == ["NameServerAway", "WorkflowFailed"]
    assert rules(NO_NAME, SERVER, GATEWAY) == ["NameServerAway", "GatewayAway", "WorkflowFailed"]
    assert rules(NO_ROUTE, SERVER) == ["WorkflowFailed"]


@pytest.mark.parametrize(
    ("failed", "rule", "cause"),
    [
        (
            NO_NAME,
            "NameServerAway",
            "The machine was told no name server: the hardware document of node7 names none, so it can resolve no name of your network.",
        ),
        (
            replace(FAILED, message="[Errno 101] Network is unreachable"),
            "GatewayAway",
            "The machine was told no gateway: the hardware document of node7 names none, so what is in other networks cannot be reached.",
        ),
    ],
)
def test_what_no_document_names_is_told_where_an_action_missed_it(failed: Work, rule: str, cause: str) -> None:
    told = replace(failed, way=Way(reserved=True))
    missing, _ = found(patient(told))
    assert (missing.rule, missing.cause) == (rule, cause)
    assert [each.rule for each in found(patient(told, mode="proxy"))] == ["WorkflowFailed"], "another server tells it"
    assert [each.rule for each in found(patient(replace(failed, way=Way())))] == ["WorkflowFailed"], "a pool tells it"
    old = timedelta(days=2).total_seconds()
    assert [*found(patient(told, surveyed=True, after=old))] == []


def test_this_host_as_a_gateway_that_forwards_nothing_is_told() -> None:
    way = Way(gateway=OURS, forwards=False)
    failed = replace(FAILED, message="exit code 1", tail=("nc: timed out",))
    _, gateway = found(patient(replace(failed, way=way)))
    assert (gateway.rule, gateway.gravity) == ("GatewayAway", Gravity.SUSPECT), "a lab of one network needs no router"
    assert gateway.cause == (
        f"The gateway that the hardware document of node7 names, {OURS}, is the appliance's own host, which forwards nothing: what is in "
        "other networks cannot be reached."
    )
    assert "sysctl -w net.ipv4.ip_forward=1" in gateway.remedy
    for healthy in (replace(failed, way=replace(way, forwards=True)), replace(NO_NAME, way=way)):
        assert [each.rule for each in found(patient(healthy))] == ["WorkflowFailed"]


REFUSED = replace(
    FAILED,
    message="exit code 1",
    tail=("Connecting to 172.30.0.1:8080", "wget: can't connect to remote host: Connection refused"),
)


LOOPBACK = IPv4Address("127.0.0.1")


@pytest.mark.parametrize(
    ("at", "cause"),
    [
        ({LOOPBACK}, "what listens on that port here does so at 127.0.0.1 alone."),
        ({LOOPBACK, IPv6Address("::1")}, "what listens on that port here does so at 127.0.0.1 and ::1 alone."),
        (set(), "nothing listens on that port here."),
    ],
)
def test_a_server_of_this_host_that_is_not_where_it_was_asked_is_told(
    at: set[IPv4Address | IPv6Address], cause: str
) -> None:
    refused, _ = found(patient(replace(REFUSED, way=Way(refused=(OURS, 8080, frozenset(at))))))
    assert refused.rule == "RefusedHere"
    assert (
        refused.cause
        == f"install/write asked 172.30.0.1 for port 8080, as its output says, which is this host, and {cause}"
    )
    assert "Connecting to 172.30.0.1:8080" in str(refused.evidence)
    (once,) = (
        each
        for each in found(
            patient(
                replace(REFUSED, message=f"it printed: {REFUSED.tail[1]}", way=Way(refused=(OURS, 8080, frozenset(at))))
            )
        )
        if each.rule == "RefusedHere"
    )
    assert len([each for each in once.evidence if "Connection refused" in each]) == 1


def test_a_refusal_says_nothing_of_the_way() -> None:
    way = Way(gateway=GATEWAY, name_servers=(SERVER,), silent=frozenset({GATEWAY, SERVER}), forwards=False)
    assert [each.rule for each in found(patient(replace(REFUSED, way=way)))] == ["WorkflowFailed"]


def test_a_server_that_listens_by_now_or_of_another_host_is_not_told() -> None:
    for address in (OURS, IPv4Address(0), IPv6Address(0)):
        way = Way(refused=(OURS, 8080, frozenset({address})))
        assert [each.rule for each in found(patient(replace(REFUSED, way=way)))] == ["WorkflowFailed"]
    assert [each.rule for each in found(patient(replace(REFUSED, way=Way())))] == ["WorkflowFailed"]


@pytest.mark.parametrize(
    ("tail", "found_at"),
    [
        (REFUSED.tail, (OURS, 8080)),
        (("curl: (7) Failed to connect to 172.30.0.1 port 8080 after 0 ms: Connection refused",), (OURS, 8080)),
        (("dial tcp 172.30.0.1:8080: connect: connection refused",), (OURS, 8080)),
        (("connect to host 172.30.0.1: Connection refused",), None),
        (("172.30.0.1:99999: Connection refused",), None),
        (("999.30.0.1:80: Connection refused",), None),
        (("172.30.0.1:8080: 404 Not Found",), None),
    ],
)
def test_where_an_action_was_refused_is_read_of_its_words(
    tail: tuple[str, ...], found_at: tuple[IPv4Address, int] | None
) -> None:
    assert refused_at(replace(REFUSED, tail=tail)) == found_at


def test_what_answers_or_cannot_be_asked_is_not_told() -> None:
    assert rules(NO_NAME) == rules(NO_ROUTE) == ["WorkflowFailed"]


def test_of_an_old_failure_a_survey_says_nothing() -> None:
    assert rules(NO_ROUTE, GATEWAY, surveyed=True) == ["GatewayAway", "WorkflowFailed"]
    assert rules(NO_ROUTE, GATEWAY, surveyed=True, after=timedelta(days=2).total_seconds()) == []


async def test_only_where_a_failure_speaks_of_the_way_its_neighbours_are_asked_and_seldom() -> None:
    asked: list[IPv4Address] = []
    now = [BEGIN]

    async def one(_: IPv4Address, __: object) -> bool | None:
        return None

    async def anybody(address: IPv4Address) -> bool | None:
        asked.append(address)
        return None if address == OTHER else address != SERVER

    async def one_more(_: IPv4Address) -> bool | None:
        return None

    presence = presence_where(
        ask=one,
        ask_anybody=anybody,
        ask_relay=one_more,
        forwards=lambda address: False if address == OURS else None,
        clock=lambda: now[0],
    )
    for each in (FAILED, replace(NO_NAME, state=State.RUNNING, ended_at=None), replace(NO_NAME, state=State.SUCCESS)):
        assert await presence.with_way(each, CARD) is each
    assert await presence.with_way(NO_NAME, None) is NO_NAME
    await presence.with_way(REFUSED, CARD)
    assert asked == [], "a refusal came from somewhere"
    way = (await presence.with_way(NO_NAME, CARD)).way
    assert way == Way(gateway=GATEWAY, name_servers=(SERVER, OTHER), silent=frozenset({SERVER}))
    assert (await presence.with_way(NO_NAME, CARD)).way == way
    assert asked == [GATEWAY, SERVER, OTHER]
    for number in range(2 * NEIGHBOURS):
        await presence.with_way(NO_NAME, replace(CARD, gateway=IPv4Address(number), name_servers=()))
    assert len(asked) == NEIGHBOURS
    now[0] += NEIGHBOURS_KEPT
    await presence.with_way(NO_NAME, CARD)
    assert asked[NEIGHBOURS:] == [GATEWAY, SERVER, OTHER]
    reserved = (await presence.with_way(NO_NAME, replace(CARD, address=IPv4Address("172.30.0.21")))).way
    assert reserved == replace(way, reserved=True)
    ours = (await presence.with_way(NO_ROUTE, replace(CARD, gateway=OURS))).way
    assert ours is not None
    assert ours.forwards is False


@pytest.mark.parametrize(
    "words",
    [
        "curl: (6) Could not resolve host: files.lab",
        "wget: bad address 'files.lab'",
        "dial tcp: lookup files.lab on 172.30.0.35:53: no such host",
        "[Errno -3] Temporary failure in name resolution",
        "getaddrinfo failed: Name or service not known",
    ],
)
def test_the_words_of_common_programs_are_known(words: str) -> None:
    assert rules(replace(FAILED, message=words, tail=()), SERVER) == ["NameServerAway", "WorkflowFailed"]
