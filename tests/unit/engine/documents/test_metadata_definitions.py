"""`metadata:` and `until:` of a template: what is accepted, and what is said of everything else."""

import pytest

from tests.unit.engine.template_texts import MAC
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.model.actions.action import Until
from tinkbox.model.errors import Invalid
from tinkbox.model.metadata import MAX_USER_DATA, Metadata

HEAD = 'version: "0.1"\nname: n\n'
TASKS = f"tasks: [{{name: t, worker: '{MAC}', actions: [{{name: a, image: x}}]}}]\n"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDcf ann@lab"


def metadata(text: str) -> Metadata:
    return read_definition(f"{HEAD}metadata:\n{text}\n{TASKS}").metadata


def problems(text: str) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        read_definition(text)
    return [str(each) for each in refusal.value.problems]


def of_metadata(text: str) -> list[str]:
    return problems(f"{HEAD}metadata:\n{text}\n{TASKS}")


def test_everything_is_read() -> None:
    told = metadata(
        f"  hostname: node7.lab\n  ssh_keys: ['{KEY}', '{KEY}', '']\n  user_data: |\n    #cloud-config\n    packages: [curl]\n"
        "  vendor_data: '#!/bin/sh'\n  network: {version: 2, ethernets: {eth0: {dhcp4: true}}}"
    )
    assert told == Metadata(
        hostname="node7.lab",
        ssh_keys=(KEY,),
        user_data="#cloud-config\npackages: [curl]\n",
        vendor_data="#!/bin/sh",
        network={"version": 2, "ethernets": {"eth0": {"dhcp4": True}}},
    )


def test_a_key_that_user_data_has_twice_is_told_by_the_lines_of_the_template() -> None:
    text = "  user_data: |\n    #cloud-config\n    locale: a\n    locale: b"
    (note,) = read_definition(f"{HEAD}metadata:\n{text}\n{TASKS}").ignored
    assert str(note).startswith("line 7, metadata.user_data.locale: key locale is given twice")


def test_nothing_is_needed() -> None:
    assert metadata("") == metadata("  hostname:\n  ssh_keys:\n  user_data: ''\n  network: ''") == Metadata()


@pytest.mark.parametrize(
    "text", ["|\n    network:\n      version: 1\n      config: []", "{network: {version: 1, config: []}}"]
)
def test_a_network_config_may_be_text_and_loses_the_key_around_it(text: str) -> None:
    assert metadata(f"  network: {text}").network == {"version": 1, "config": []}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("  hostname: 'a b'", "line 4, metadata.hostname: expected a host name"),
        ("  ssh_keys: x", "line 4, metadata.ssh_keys: expected a list such as ['x']"),
        ("  ssh_keys: [nonsense]", "line 4, metadata.ssh_keys[0]: expected a public key"),
        (
            "  ssh_keys: [ssh-ed25519 AAAA… me@here]",
            "line 4, metadata.ssh_keys[0]: put your own public key in place of 'ssh-ed25519 AAAA… me@here'",
        ),
        ("  network: {ethernets: {}}", "line 4, metadata.network: expected version: 1 or version: 2, not 'None'"),
        ("  network: '{'", "line 4, metadata.network: not valid YAML"),
        ("  network: [1]", "line 4, metadata.network: expected a network-config"),
        ("  usr_data: x", "line 4, metadata.usr_data: unknown key usr_data; did you mean user_data"),
        (
            "  user_data: |\n    #cloud-config\n    packages: curl",
            "line 6, metadata.user_data.packages: expected a list",
        ),
        ("  vendor_data: H4sIAAAA", "line 4, metadata.vendor_data: its gzip is damaged: its end is missing"),
        ("  user_data: 'packages: [curl]'", "line 4, metadata.user_data: the first line must be #cloud-config"),
        (f"  user_data: '{'x' * (MAX_USER_DATA - 500)}{'x' * 600}'", "line 4, metadata.user_data: at most 256 KiB"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, problem: str) -> None:
    (told,) = of_metadata(text)
    assert told.startswith(problem)


def until(actions: str) -> str:
    return f"{HEAD}tasks: [{{name: t, worker: '{MAC}', actions: [{actions}]}}]\n"


def test_the_last_action_of_a_task_waits_for_the_system() -> None:
    text = until("{name: a, image: x}, {name: b, image: x, reboot: true, until: phone-home}")
    assert [each.until for each in read_definition(text).tasks[0].actions] == [Until.SEEN, Until.PHONE_HOME]


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ("{name: a, image: x, until: phone-home}", "only an action with `reboot: true`"),
        ("{name: a, image: x, reboot: false, until: phone-home}", "only an action with `reboot: true`"),
        ("{name: a, image: x, reboot: true, until: tomorrow}", "expected phone-home, not 'tomorrow'"),
        ("{name: a, image: x, reboot: true, until: phone-home}, {name: b, image: x}", "only the last action of a task"),
    ],
)
def test_no_other_action_does(actions: str, problem: str) -> None:
    (told,) = problems(until(actions))
    assert problem in told
