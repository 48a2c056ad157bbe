"""The section `services`: names, folders and networks of workflow services on the appliance."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of


@pytest.mark.parametrize(("word", "answers"), [("on", True), ("off", False), ("'on'", True), ("'off'", False)])
def test_dns_for_workflows_is_switched_by_on_and_off(tmp_path: Path, word: str, *, answers: bool) -> None:
    assert loaded(tmp_path, f"services: {{names: {word}}}").services.names is answers


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("names: maybe", "expected on or off"),
        ("domain: under_score.lab", "expected a domain such as workflows.tinkbox.internal"),
        ("domain: .lab", "expected a domain such as"),
        ("domain: lab..internal", "expected a domain such as"),
        ("domain: 10.0.0.1", "expected a domain such as"),
        ("domain: 7", "expected text"),
        (f"domain: {'a.' * 108}b", "at most 216 characters"),
        (f"domain: {'a' * 64}", "expected a domain such as"),
        ("volumes: /srv", "expected names with folders, such as {isos: '/srv/isos:ro'}"),
        ("volumes.a: srv/tinkbox", "expected an absolute path"),
        ("volumes.a: /srv/../etc", "expected an absolute path"),
        ("volumes.a: /", "expected a folder below /"),
        ("volumes.a: ''", "expected a folder below /"),
        ("volumes.a: /srv:rw", "expected a folder below /"),
        ("volumes.a: 7", "expected text"),
        ("volumes./srv: /srv", "a volume's name is up to 63 letters"),
        ("paths: /srv", "it is gone: name each folder that services may mount under services.volumes"),
        ("cpus: '1.5'", "expected processors, such as 1.5, not '1.5': write it without quotes"),
        ("cpus: 0", "expected processors, such as 1.5, not 0"),
        ("pids: true", "expected a number between 1 and 1000000, not True"),
        ("subnets: 10.213.0.0", "is too small: every workflow with services takes a /28"),
        ("subnets: 10.213.0.0/29", "is too small"),
        ("subnets: 10.213.0.1/16", "expected an IPv4 network such as 10.213.0.0/16"),
        ("subnets: fd00::/64", "expected an IPv4 network"),
        (
            "subnets: 127.0.0.0/8",
            "127.0.0.0/8 has addresses of 127.0.0.0/8, which is not for networks of hosts: name a private",
        ),
        ("subnets: 239.1.0.0/16", "239.1.0.0/16 has addresses of 224.0.0.0/3, which is not for networks of hosts"),
        ("subnets: 255.255.255.0/24", "has addresses of 224.0.0.0/3"),
        ("subnets: 0.0.0.0/0", "has addresses of 0.0.0.0/8"),
        ("subnets: some", "expected an IPv4 network"),
    ],
)
def test_a_wrong_setting_of_services_is_named_with_what_is_expected(tmp_path: Path, setting: str, problem: str) -> None:
    key, _, value = setting.partition(": ")
    above, _, below = key.partition(".")
    written = f"{above}: {{'{below}': {value}}}" if below else setting
    (found,) = problems_of(tmp_path, f"services: {{{written}}}")
    assert found.startswith(f"services.{setting.split(':')[0]}: ")
    assert problem in found


def test_the_longest_domain_and_the_smallest_network_are_taken(tmp_path: Path) -> None:
    domain = "a." * 107 + "bc"
    services = loaded(tmp_path, f"services: {{domain: {domain}, subnets: 10.213.0.0/28}}").services
    assert (services.domain, str(services.subnets)) == (domain, "10.213.0.0/28")
