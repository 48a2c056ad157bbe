"""The configuration file, and which appliance the commands speak to."""

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.settings import ClientTarget, Settings, client_target, load

EXAMPLE = """
data: /srv/tinkbox
name: box-1.lab
interface: eth1
address: 172.30.0.1
operator:
  listen: 127.0.0.1:7081
  people: {anna: [look, attach], bert@lab: [operate]}
node:
  http_port: 8080
  tftp_port: 6969
  dns_port: 5353
dhcp:
  mode: off
unknown_machines: ignore
docker: unix:///run/other.sock
services:
  domain: Flows.Lab.
  names: off
  paths: /srv/opened
  subnets: 10.99.0.0/20
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tinkbox.yaml"
    path.write_text(text)
    return path


def problems_of(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, text))
    return [str(problem) for problem in refusal.value.problems]


def test_every_key_is_read(tmp_path: Path) -> None:
    assert load(written(tmp_path, EXAMPLE)) == Settings(
        data=Path("/srv/tinkbox"),
        name="box-1.lab",
        interfaces=("eth1",),
        address=IPv4Address("172.30.0.1"),
        operator_host="127.0.0.1",
        operator_port=7081,
        people={"anna": frozenset({Right.LOOK, Right.ATTACH}), "bert@lab": frozenset({Right.OPERATE})},
        http_port=8080,
        tftp_port=6969,
        dns_port=5353,
        dhcp_mode="off",
        docker="unix:///run/other.sock",
        services_domain="flows.lab",
        services_names=False,
        services_paths=Path("/srv/opened"),
        services_subnets=IPv4Network("10.99.0.0/20"),
    )


def test_every_key_has_a_default(tmp_path: Path) -> None:
    settings = load(written(tmp_path, ""), data=tmp_path)
    assert settings == Settings(data=tmp_path)
    assert (settings.http_port, settings.tftp_port, settings.operator_port) == (80, 69, 7080)
    assert (settings.dns_port, settings.name, settings.services_paths) == (53, "provisioner", None)
    assert (settings.services_domain, settings.services_names) == ("workflows.tinkbox.internal", True)
    assert settings.services_subnets == IPv4Network("10.213.0.0/16")


def test_several_interfaces_are_a_list_and_have_their_own_addresses(tmp_path: Path) -> None:
    assert load(written(tmp_path, "interface: [eth1, eth1.20]"), data=tmp_path).interfaces == ("eth1", "eth1.20")
    (problem,) = problems_of(tmp_path, "interface: [eth1, eth2]\naddress: 172.30.0.1")
    assert problem.startswith("address: which of the interfaces is it on?")
    assert problems_of(tmp_path, "interface: [eth1, 5]") == [
        "interface: expected text or a list of texts, not ['eth1', 5]"
    ]


def test_port_0_turns_the_syslog_receiver_off_and_no_other_door(tmp_path: Path) -> None:
    assert load(written(tmp_path, "node: {syslog_port: 0}"), data=tmp_path).syslog_port == 0
    assert problems_of(tmp_path, "node: {tftp_port: 0}") == [
        "node.tftp_port: expected a port between 1 and 65535, not 0"
    ]


def test_the_command_line_beats_the_file(tmp_path: Path) -> None:
    assert load(written(tmp_path, EXAMPLE), data=tmp_path / "d").data == tmp_path / "d"


def test_an_unknown_key_names_the_nearest_known_one(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "interfase: eth1") == ["interfase: unknown key; did you mean interface?"]
    for section, key, near in (
        ("node", "htp_port", "http_port"),
        ("dhcp", "mod", "mode"),
        ("operator", "lisen", "listen"),
        ("services", "domian", "domain"),
    ):
        assert problems_of(tmp_path, f"{section}: {{{key}: 1}}") == [
            f"{section}.{key}: unknown key; did you mean {near}?"
        ]


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    text = "address: nowhere\nnode: {http_port: 99999}\noperator: {listen: here}\ndhcp: {mode: maybe}\ndocker: 5"
    found = problems_of(tmp_path, text)
    assert [problem.split(":")[0] for problem in found] == [
        "operator.listen",
        "dhcp.mode",
        "address",
        "node.http_port",
        "docker",
    ]


def test_every_problem_of_the_people_is_named_at_once(tmp_path: Path) -> None:
    people = "{../x: [look], operator: [look], a: look, b: [], c: [look, fly], d: [1], 5: [look], ok: [look]}"
    found = problems_of(tmp_path, f"operator: {{people: {people}}}")
    names = ["../x", "operator", "a", "b", "c", "d", "5"]
    assert [problem.split(": ")[0] for problem in found] == [f"operator.people.{name}" for name in names]
    assert found[4] == "operator.people.c: expected a list of look, operate, attach, not ['look', 'fly']"
    assert "such as {anna: [look, attach]}" in problems_of(tmp_path, "operator: {people: [anna]}")[0]


@pytest.mark.parametrize("port", ["0", "65536", "-1", "true", "eighty", "80.5"])
def test_a_port_is_a_number_that_can_be_one(tmp_path: Path, port: str) -> None:
    assert "node.http_port: expected a port" in problems_of(tmp_path, f"node: {{http_port: {port}}}")[0]
    assert "operator.listen: expected ADDRESS:PORT" in problems_of(tmp_path, f'operator: {{listen: "a:{port}"}}')[0]


def test_a_port_with_more_digits_than_a_number_may_have_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, f"operator: {{listen: 'a:{'1' * 5000}'}}")
    assert "operator.listen: expected ADDRESS:PORT" in problems[0]


def test_the_first_and_the_last_port_are_ports(tmp_path: Path) -> None:
    settings = load(written(tmp_path, 'node: {http_port: 1, tftp_port: 65535}\noperator: {listen: ":65535"}'))
    assert (settings.http_port, settings.tftp_port) == (1, 65_535)
    assert (settings.operator_host, settings.operator_port) == ("127.0.0.1", 65_535)


def test_nobody_has_to_listen_to_what_machines_say(tmp_path: Path) -> None:
    assert load(written(tmp_path, "")).syslog_port == 514
    assert load(written(tmp_path, "node: {syslog_port: 0}")).syslog_port == 0
    for wrong in ("-1", "65536", "true", "off"):
        assert "node.syslog_port: expected a port" in problems_of(tmp_path, f"node: {{syslog_port: {wrong}}}")[0]
    assert "node.tftp_port: expected a port" in problems_of(tmp_path, "node: {tftp_port: 0}")[0]


@pytest.mark.parametrize("text", ["a: [", "\tx: 1", "- a", "just text"])
def test_what_is_no_mapping_is_refused_naming_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(Invalid, match=r"tinkbox\.yaml"):
        load(written(tmp_path, text))


def test_what_is_no_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, "interface: lab\n  dhcp: {mode: pool\n"))
    assert (
        str(refusal.value) == f"{tmp_path}/tinkbox.yaml is not valid YAML: line 2: mapping values are not allowed here"
    )


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.yaml"):
        load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(("word", "answers"), [("on", True), ("off", False), ("'on'", True), ("'off'", False)])
def test_whether_names_are_answered_is_said_by_on_and_off(tmp_path: Path, word: str, *, answers: bool) -> None:
    assert load(written(tmp_path, f"services: {{names: {word}}}")).services_names is answers


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("names: maybe", "expected on or off"),
        ("domain: under_score.lab", "expected a domain such as"),
        ("domain: .lab", "expected a domain such as"),
        ("domain: lab..internal", "expected a domain such as"),
        ("domain: 10.0.0.1", "expected a domain such as"),
        ("domain: 7", "expected text"),
        (f"domain: {'a.' * 108}b", "at most 216 characters"),
        (f"domain: {'a' * 64}", "expected a domain such as"),
        ("paths: srv/tinkbox", "expected an absolute path"),
        ("paths: /srv/../etc", "expected an absolute path"),
        ("subnets: 10.213.0.0", "is too small: every workflow with services takes a /28"),
        ("subnets: 10.213.0.0/29", "is too small"),
        ("subnets: 10.213.0.1/16", "expected an IPv4 network such as 10.213.0.0/16"),
        ("subnets: fd00::/64", "expected an IPv4 network"),
        ("subnets: some", "expected an IPv4 network"),
    ],
)
def test_what_cannot_be_a_setting_of_services_is_named(tmp_path: Path, setting: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"services: {{{setting}}}")
    assert found.startswith(f"services.{setting.split(':')[0]}: ")
    assert problem in found


def test_the_longest_domain_and_the_smallest_network_are_taken(tmp_path: Path) -> None:
    domain = "a." * 107 + "bc"
    settings = load(written(tmp_path, f"services: {{domain: {domain}, subnets: 10.213.0.0/28}}"))
    assert (settings.services_domain, str(settings.services_subnets)) == (domain, "10.213.0.0/28")


@pytest.mark.parametrize("name", ["my appliance", "-a", "a/b", "x" * 64, "0c:c4:7a:00:00:01"])
def test_a_name_of_the_appliance_is_one_word(tmp_path: Path, name: str) -> None:
    assert "name: a name is up to 63 letters" in problems_of(tmp_path, f"name: {name}")[0]


def test_commands_speak_to_the_named_appliance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", "http://other:7080/")
    monkeypatch.setenv("TINKBOX_TOKEN", "secret")
    assert client_target() == ClientTarget(url="http://other:7080", token="secret")
    assert client_target(tmp_path) == ClientTarget(socket=tmp_path / "operator.sock")


def test_a_server_without_a_scheme_is_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", "other:7080")
    assert client_target().url == "http://other:7080"
