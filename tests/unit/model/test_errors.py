"""Problems name their place."""

from tinkbox.model.errors import Problem


def test_a_problem_names_line_and_key_as_far_as_they_are_known() -> None:
    assert str(Problem(text="unknown", line=3, key="tasks[0].imag")) == "line 3, tasks[0].imag: unknown"
    assert str(Problem(text="unknown", key="tasks")) == "tasks: unknown"
    assert str(Problem(text="unknown")) == "unknown"
