"""What machines are called in documents about something else."""

from tinkbox.wire.messages.named_machines import machine_name, machines_of


def test_a_machine_is_called_by_the_first_name_that_it_has() -> None:
    names = {"name": "node7", "hostname": "n", "mac": "08:00:27:00:00:01", "id": "0eba0bf8-3772"}
    called = []
    for name in names:
        called.append(machine_name(names))
        names = {**names, name: ""}
    assert called == ["node7", "n", "08:00:27:00:00:01", "0eba0bf8"]


def test_several_machines_of_a_workflow_are_counted() -> None:
    node = {"name": "node7", "hostname": "", "mac": "", "id": "0eba0bf8-3772"}
    assert [machines_of({"machines": [node] * number}) for number in range(3)] == ["", "node7", "2 machines"]
