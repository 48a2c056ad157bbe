"""What actions and services have in common is read alike, and refused alike."""

import pytest

from tests.unit.engine.template_texts import MAC, SMALL
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.model.actions.action import Action
from tinkbox.model.errors import Invalid
from tinkbox.model.services import Service

BOTH = SMALL.replace("{{ .device_1 }}", MAC) + "services:\n  - {name: a, worker: appliance, image: x}\n"


def containers(text: str) -> list[Action | Service]:
    definition = read_definition(BOTH.replace("image: x", f"image: x, {text}"))
    return [definition.tasks[0].actions[0], definition.services[0]]


@pytest.mark.parametrize(
    ("text", "environment"),
    [("environment: {MODE: 0644, ON: yes, EMPTY: }", {"MODE": "0644", "ON": "yes", "EMPTY": ""}), ("environment:", {})],
)
def test_values_of_the_environment_keep_their_literal_text(text: str, environment: dict[str, str]) -> None:
    assert [each.environment for each in containers(text)] == [environment, environment]


def test_commands_and_volumes_are_lists() -> None:
    for each in containers('command: [sh, -c, "a b"], volumes: ["/a:/b", "/c:/d:ro"]'):
        assert (each.command, each.volumes) == (("sh", "-c", "a b"), ("/a:/b", "/c:/d:ro"))
    for each in containers("command: , volumes: ~"):
        assert (each.command, each.volumes) == ((), ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("image: x", "image: Bad Name"), "image: invalid image name 'Bad Name'"),
        (("image: x", "imag: x"), "image: invalid image name"),
        (("image: x", "image: x, environment: [A]"), "environment: expected names with values"),
        (("image: x", "image: x, command: echo hi"), "command: expected a list of words, such as [\"sh\", \"-c\", 'echo hi']"),
        (("image: x", "image: x, volumes: '/a:/b'"), "volumes: expected a list such as ['/a:/b']"),
        (("image: x", "image: x, volumes: [a/b:/b]"), "volumes: 'a/b:/b': 'a/b' is no absolute path"),
        (("name: a", f"name: {'n' * 200}"), "name: name cannot be empty or have more than 199 bytes"),
        (("name: a", f"name: {'ä' * 100}"), "name: name cannot be empty or have more than 199 bytes"),
        (("name: a, ", ""), "name: name cannot be empty or have more than 199 bytes"),
        (("name: a", "name: 'a `reboot`'"), "name: name cannot have a backquote"),
    ],
)  # fmt: skip
def test_the_same_is_said_of_either(change: tuple[str, str], said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_definition(BOTH.replace(*change))
    found = [str(problem) for problem in refusal.value.problems]
    for place in ("line 7, tasks[0].actions[0].", "line 9, services[0]."):
        assert any(problem.startswith(place + said) for problem in found), found


def test_a_service_may_name_folders_of_the_appliance_by_one_letter_and_an_action_may_not() -> None:
    text = BOTH.replace(
        "worker: appliance, image: x", "worker: appliance, image: x, volumes: ['i:/b', 'a.b-c_1:/d:ro']"
    )
    assert read_definition(text).services[0].volumes == ("i:/b", "a.b-c_1:/d:ro")
    with pytest.raises(Invalid) as refusal:
        read_definition(SMALL.replace("{{ .device_1 }}", MAC).replace("image: x", "image: x, volumes: ['i:/b']"))
    assert "'i:/b': 'i' is no absolute path, and no name of a volume" in str(refusal.value.problems[0])


@pytest.mark.parametrize("second", ["b:/x", "a:/x/", "/c://x/."])
def test_two_volumes_of_a_service_are_not_at_one_folder(second: str) -> None:
    text = BOTH.replace("worker: appliance, image: x", f"worker: appliance, image: x, volumes: ['a:/x', '{second}']")
    with pytest.raises(Invalid) as refusal:
        read_definition(text)
    assert "another volume is at /x as well" in str(refusal.value.problems[0])
