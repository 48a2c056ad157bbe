"""Commands in texts for people."""

import pytest

from tinkbox.model.command_lines import about, typable


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Build it again: `tinkbox osie build`.", "Build it again: `tinkbox --data /d osie build`."),
        ("`tinkbox doctor` says more", "`tinkbox --data /d doctor` says more"),
        ("`systemctl restart tinkbox`", "`systemctl restart tinkbox`"),
        ("`tinkbox.yaml` says so, and tinkbox goes on", "`tinkbox.yaml` says so, and tinkbox goes on"),
        ("look: `tinkbox workflow logs WORKFLOW`", "look: `tinkbox --data /d workflow logs WORKFLOW`"),
        (
            "`tinkbox export hardware/n | tinkbox hardware push`",
            "`tinkbox --data /d export hardware/n | tinkbox --data /d hardware push`",
        ),
        ("a template has: curl u | tinkbox hardware push -f -", "a template has: curl u | tinkbox hardware push -f -"),
        ("an action says: tinkbox workflow delete WORKFLOW", "an action says: tinkbox workflow delete WORKFLOW"),
    ],
)
def test_commands_reach_the_appliance_of_the_reader(text: str, typed: str) -> None:
    assert typable(text, "tinkbox --data /d") == typed


def test_commands_name_what_they_are_about_and_nothing_else_changes() -> None:
    text = "the WORKFLOW of a MACHINE: `tinkbox service logs WORKFLOW/SERVICE`, `tinkbox doctor MACHINE`"
    named = "the WORKFLOW of a MACHINE: `tinkbox service logs a8984b09/SERVICE`, `tinkbox doctor node7`"
    assert about(text, workflow="a8984b09", machine="node7") == named
    assert about(text) == text
    served = "the WORKFLOW of a MACHINE: `tinkbox service logs WORKFLOW/db`, `tinkbox doctor MACHINE`"
    assert about(text, service="db") == served


@pytest.mark.parametrize(
    ("template", "named"),
    [("os", "os"), ("my os", "'my os'"), ("a'b", "'a'\"'\"'b'"), ("a`b", "TEMPLATE"), ("", "TEMPLATE")],
)
def test_a_command_names_its_template_as_a_shell_takes_it(template: str, named: str) -> None:
    text = "TEMPLATE: `tinkbox workflow create -t TEMPLATE MACHINE`"
    typed = f"TEMPLATE: `tinkbox workflow create -t {named} node7`"
    assert about(text, machine="node7", template=template) == typed


@pytest.mark.parametrize(
    ("service", "key"),
    [
        ("db", "a8984b09/db"),
        ("boot files", "'a8984b09/boot files'"),
        ("WORKFLOW", "a8984b09/WORKFLOW"),
        ("a`b", "a8984b09/SERVICE"),
        ("a\x1b[2Jb", "a8984b09/SERVICE"),
    ],
)
def test_a_command_names_its_service_as_a_shell_takes_it(service: str, key: str) -> None:
    text = "SERVICE: `tinkbox service logs WORKFLOW/SERVICE`"
    named = f"SERVICE: `tinkbox service logs {key}`"
    assert about(text, workflow="a8984b09", service=service) == named
