"""The doctor's page: what was found, and what a clean bill rests on."""

from tests.unit.view.snapshots import NOW, TROUBLED
from tinkbox.view.lines import plain
from tinkbox.view.pages import doctor_page, machine_page
from tinkbox.view.rows import rows_of

FOUND = {
    "gravity": "fault",
    "rule": "WorkflowFailed",
    "machine": "",
    "cause": "It failed.",
    "evidence": ["seen"],
    "remedy": "Retry.",
}


def page(**document: object) -> list[str]:
    return [plain(each) for each in doctor_page({"diagnoses": [], **document}, 80)]


def test_a_clean_bill_says_what_was_examined_and_what_was_not() -> None:
    assert page(
        examined=["the appliance (disk)", "3 machines by their boots"],
        unexamined=[{"what": "other DHCP servers", "why": "no right to ask"}],
        unasked="no right to ask",
    ) == [
        "Nothing wrong was found.",
        "Examined: the appliance (disk), 3 machines by their boots.",
        "Not examined: other DHCP servers (no right to ask).",
    ]


def test_what_an_earlier_appliance_tells_is_understood() -> None:
    assert page(unasked="no right") == ["Nothing wrong was found.", "Other DHCP servers were not asked for: no right"]
    assert page(diagnoses=[FOUND])[0] == "FAULT  WorkflowFailed"


def test_a_diagnosis_of_a_workflow_names_it() -> None:
    assert page(diagnoses=[{**FOUND, "workflow": "a8984b09-3772-4b4a"}])[0] == "FAULT  WorkflowFailed  a8984b09"


def test_the_page_of_a_machine_has_what_the_doctors_rounds_found() -> None:
    rows = {each.name: each for each in rows_of(TROUBLED, {}).values()}
    told = {
        name: "\n".join(plain(each) for each in machine_page(row, (), None, (), NOW, 100, 24))
        for name, row in rows.items()
    }
    assert "silent for 1:46: The machine lost its power, or its cable is out." in told["node1"]
    assert "doctor: The disk that the workflow's action writes to is not in the machine." in told["node4"]
    assert "doctor" not in told["node5"]
