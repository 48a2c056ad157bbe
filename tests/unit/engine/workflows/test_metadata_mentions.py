"""Which actions ask for metadata by address."""

import pytest

from tests.unit.model.flows import action, status, workflow
from tinkbox.engine.workflows.metadata_mentions import Mention, gap_lines, mentions
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.workflow import State, Workflow


def asking(*, command: str = "", state: State = State.PENDING, **environment: str) -> Workflow:
    """A workflow whose action has this."""
    planned = action(environment=environment, command=(command,) if command else ())
    return workflow(State.PENDING, [status(state, action=planned)])


def found(flow: Workflow) -> list[Mention]:
    return [mention for each in mentions(flow).values() for mention in each]


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("http://172.30.0.1:50061/metadata", "172.30.0.1", 50061),
        ("metadata_urls: ['http://172.30.0.1:7172']", "172.30.0.1", 7172),
        ("curl -s http://boot.lab/2009-04-04/meta-data/hostname", "boot.lab", 80),
        ("http://172.30.0.1/metadata", "172.30.0.1", 80),
        ("http://172.30.0.1/latest/user-data", "172.30.0.1", 80),
        ("http://169.254.169.254/openstack", "169.254.169.254", 80),
        ("datasource at 169.254.169.254", "169.254.169.254", 80),
    ],
)
def test_urls_of_hegel_tootles_and_clouds_are_mentions(text: str, host: str, port: int) -> None:
    for flow in (asking(CONTENTS=f"x\n{text}\ny"), asking(command=text)):
        (mention,) = found(flow)
        assert (mention.host, mention.port) == (host, port)


@pytest.mark.parametrize(
    "text",
    [
        "http://172.30.0.1/images/debian.raw",
        f"http://172.30.0.1/metadata/{'a' * 64}/user-data",
        "http://172.30.0.1:8080/2009-04-041",
        "http://mirror/latest/debian.iso",
        "10.169.254.169.2541",
        "a metadata service",
    ],
)
def test_other_urls_are_none(text: str) -> None:
    assert found(asking(IMG_URL=text)) == []


def test_actions_of_2020_ask_hegel_at_their_mirror_host() -> None:
    (mention,) = found(asking(MIRROR_HOST="192.168.1.1"))
    assert mention == Mention(text="MIRROR_HOST 192.168.1.1", host="192.168.1.1", port=50061)
    assert found(asking(MIRROR_HOST="")) == []
    (mention,) = found(asking(HEGEL_URL="http://172.30.0.1:50061"))
    assert (mention.host, mention.port) == ("172.30.0.1", 50061)


def test_each_host_and_port_is_told_once_and_a_skipped_action_asks_nothing() -> None:
    asked = {"MIRROR_HOST": "172.30.0.1", "A": "http://172.30.0.1:50061/metadata", "B": "http://172.30.0.1:7172"}
    assert [each.port for each in found(asking(**asked))] == [50061, 7172]
    assert found(asking(state=State.SKIPPED, **asked)) == []


def test_a_long_text_is_looked_through_and_shown_short() -> None:
    (mention,) = found(asking(A="http:/ " * 20_000 + f"http://{'a' * 200}.lab:50061/{'b' * 10_000}"))
    assert len(mention.text) <= 80


def test_machines_with_the_same_gap_are_told_together() -> None:
    machines = [
        parse_hardware(
            f'{{"id": "00000000-0000-0000-0000-00000000000{number}", "network": {{"interfaces": [{{"dhcp": {{"mac": '
            f'"08:00:27:00:00:0{number}", "hostname": "m{number}"}}}}]}}}}'
        )
        for number in range(1, 8)
    ]
    (line,) = gap_lines({("http://x", "why"): machines})
    assert line == "7 machines (m1, m2, m3, m4, m5 and 2 more) ask for metadata at http://x: why"
    (line,) = gap_lines({("http://x", "why"): machines[:1]})
    assert line == "machine m1 asks for metadata at http://x: why"
