"""Where the doors listen, and who may enter the operator door."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.settings.doors import Endpoint


def test_port_0_turns_the_syslog_receiver_off_and_no_other_door(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").node.syslog_port == 514
    assert loaded(tmp_path, "node: {syslog_port: 0}").node.syslog_port == 0
    for wrong in ("-1", "65536", "true", "off"):
        assert "node.syslog_port: expected a port" in problems_of(tmp_path, f"node: {{syslog_port: {wrong}}}")[0]
    assert problems_of(tmp_path, "node: {tftp_port: 0}") == [
        "node.tftp_port: expected a port between 1 and 65535, not 0"
    ]


@pytest.mark.parametrize("port", ["0", "65536", "-1", "true", "eighty", "80.5"])
def test_a_port_is_a_number_that_can_be_one(tmp_path: Path, port: str) -> None:
    assert "node.http_port: expected a port" in problems_of(tmp_path, f"node: {{http_port: {port}}}")[0]
    assert "operator.listen: expected ADDRESS:PORT" in problems_of(tmp_path, f'operator: {{listen: "a:{port}"}}')[0]


def test_a_port_with_more_digits_than_a_number_may_have_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, f"operator: {{listen: 'a:{'1' * 5000}'}}")
    assert "operator.listen: expected ADDRESS:PORT" in problems[0]


def test_the_first_and_the_last_port_are_ports(tmp_path: Path) -> None:
    settings = loaded(tmp_path, 'node: {http_port: 1, tftp_port: 65535}\noperator: {listen: ":65535"}')
    assert (settings.node.http_port, settings.node.tftp_port) == (1, 65_535)
    assert settings.operator.listen == Endpoint("127.0.0.1", 65_535)


def test_every_problem_of_the_people_is_named_at_once(tmp_path: Path) -> None:
    people = "{../x: [look], operator: [look], a: look, b: [], c: [look, fly], d: [1], 5: [look], ok: [look]}"
    found = problems_of(tmp_path, f"operator: {{people: {people}}}")
    names = ["../x", "operator", "a", "b", "c", "d", "5"]
    assert [problem.split(": ")[0] for problem in found] == [f"operator.people.{name}" for name in names]
    assert (
        found[4]
        == "operator.people.c: expected a list of look, operate, attach, push, secrets, audit, admin, such as [look]"
    )
    assert "such as {anna: [look, attach]}" in problems_of(tmp_path, "operator: {people: [anna]}")[0]


def test_the_operators_group_is_a_name_or_off(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").operator.group == "tinkbox"
    for text, found in (("admins", "admins"), ("off", "off"), ("'off'", "off")):
        assert loaded(tmp_path, f"operator: {{group: {text}}}").operator.group == found
    for text in ("1000", "'a b'", "''", "true", "[a]"):
        (problem,) = problems_of(tmp_path, f"operator: {{group: {text}}}")
        assert problem.startswith("operator.group: expected ")
