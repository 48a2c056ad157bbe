"""What the configuration file says of machines that nobody knows."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.model.discovery import Quotas, Rule
from tinkbox.settings.discovery import Discovery

POOL = "dhcp: {mode: pool, pool: 172.30.0.100-172.30.0.199}\n"


def test_nobody_is_let_in_by_default(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "")
    assert (settings.discovers, settings.discovery) == (False, Discovery(quotas=Quotas(), rules=()))


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        POOL + "unknown_machines: discover\n"
        "discovery:\n"
        "  quota: 32\n"
        "  port_quota: 8\n"
        "  forget: 2h\n"
        "  rules:\n"
        "    - match: {product: 'Standard PC*', memory: '>=2G', serial: '0017'}\n"
        "      name: 'vm-{{serial}}'\n"
        "      template: ubuntu\n"
        "      devices: {device_1: '{{mac}}'}\n"
        "    - {match: {mac: '*'}}\n",
    )
    assert settings.discovers
    assert settings.discovery.quotas == Quotas(all=32, port=8, forget=timedelta(hours=2))
    assert settings.discovery.rules == (
        Rule(
            match={"product": "Standard PC*", "memory": ">=2G", "serial": "0017"},
            name="vm-{{serial}}",
            template="ubuntu",
            devices={"device_1": "{{mac}}"},
        ),
        Rule(match={"mac": "*"}),
    )


def test_beside_another_server_they_can_be_let_in_as_well(tmp_path: Path) -> None:
    assert loaded(tmp_path, "dhcp: {mode: proxy}\nunknown_machines: discover").discovers


@pytest.mark.parametrize("mode", ["", "dhcp: {mode: reservation}\n", "dhcp: {mode: off}\n"])
def test_where_their_dhcp_is_not_answered_they_cannot_be_let_in(tmp_path: Path, mode: str) -> None:
    (problem,) = problems_of(tmp_path, mode + "unknown_machines: discover")
    assert problem.startswith("unknown_machines: discover needs their DHCP: set dhcp.mode to pool")


@pytest.mark.parametrize(
    ("discovery", "problem"),
    [
        ("{quota: 0}", "discovery.quota: expected a number between 1 and 10000, not 0"),
        ("{port_quota: many}", "discovery.port_quota: expected a number between 1 and 10000, not 'many'"),
        ("{forget: 1s}", "discovery.forget: expected a time of at least 1m"),
        ("{qouta: 3}", "discovery.qouta: unknown key; did you mean quota?"),
        ("{rules: x}", "discovery.rules: expected a list"),
        ("{rules: [{template: x}]}", "discovery.rules[0].match: a rule needs a condition"),
        ("{rules: [{match: {memory: 2G}}]}", "discovery.rules[0].match.memory: expected >= and a number"),
        ("{rules: [{match: {colour: red}}]}", "discovery.rules[0].match.colour: unknown; known here: mac,"),
        ("{rules: [{match: [mac]}]}", "discovery.rules[0].match: expected names with texts"),
        (
            "{rules: [{match: {mac: 52:54:00:12:34:56}}]}",
            "discovery.rules[0].match.mac: YAML reads it as the number 41135085296: put it in quotes",
        ),
        (
            "{rules: [{match: {mac: '*'}, template: t, devices: {a: 0017}}]}",
            "discovery.rules[0].devices.a: YAML reads it as the number 15: put it in quotes",
        ),
        ("{rules: [{match: {mac: '*'}, name: '{{x}}'}]}", "discovery.rules[0].name: {{x}} stands for nothing"),
        (
            "{rules: [{match: {mac: '*'}, template: t, devices: {a: '{{x}}'}}]}",
            "discovery.rules[0].devices.a: {{x}} stands for nothing",
        ),
        ("{rules: [{match: {mac: '*'}, devices: {a: b}}]}", "discovery.rules[0].devices: they are a template's"),
        ("{rules: [{match: {mac: '*'}, tmplate: t}]}", "discovery.rules[0].tmplate: unknown key"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(tmp_path: Path, discovery: str, problem: str) -> None:
    assert any(each.startswith(problem) for each in problems_of(tmp_path, f"discovery: {discovery}"))


def test_every_problem_of_a_rule_is_named_at_once_and_none_twice(tmp_path: Path) -> None:
    rule = "{match: {serial: 0017, colour: red}, name: '{{x}}', devices: {a: 0017, b: '{{y}}'}}"
    found = problems_of(tmp_path, f"discovery: {{rules: [{rule}]}}")
    assert [each.split(": ")[0] for each in found] == [
        f"discovery.rules[0].{key}"
        for key in ("match.serial", "match.colour", "name", "devices.a", "devices.b", "devices")
    ]
