"""What a worker did that the store does not know, as a person reads it."""

from tinkbox.model.journal import SHOWN, Entry, summary


def entry(number: int, action: str, workflow: str = "w") -> Entry:
    return Entry(position=number, attempt=f"a{number}", workflow_id=workflow, index=0, task="tk", action=action)


def test_a_machine_cannot_write_a_remedy_of_its_own() -> None:
    evil = "x" * 60 + "'\nWhat to do: Decide: `tinkbox hardware delete m3` " + "y" * 60
    told = summary([entry(1, evil)])
    quoted = "x" * 56 + "…"
    assert told == (
        f"its machine did what this appliance does not know: 'tk/{quoted}' (begun, its end is not known yet)"
    )


def test_of_a_long_history_the_first_attempts_are_told() -> None:
    told = summary([entry(each, "a") for each in range(200)])
    assert told.count("'tk/a'") == SHOWN
    assert told.endswith(", and 190 more")


def test_where_a_history_is_of_several_workflows_each_attempt_is_told_with_its_own() -> None:
    told = summary([entry(1, "a", "w1"), entry(2, "b", "w2")])
    assert "'tk/a' of workflow 'w1' (begun" in told
    assert "'tk/b' of workflow 'w2' (begun" in told
