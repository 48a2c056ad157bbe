import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.variables import Variables


def test_the_dollar_is_the_data() -> None:
    assert Variables(5).value("$") == 5


def test_the_last_declaration_of_a_name_counts_until_its_block_ends() -> None:
    variables = Variables(None)
    variables.declare("$x", 1)
    mark = variables.mark()
    variables.declare("$x", 2)
    variables.declare("$y", 3)
    assert (variables.value("$x"), variables.value("$y")) == (2, 3)
    variables.release(mark)
    assert variables.value("$x") == 1
    with pytest.raises(GoError, match=r"undefined variable: \$y"):
        variables.value("$y")


def test_an_assignment_outlives_the_block_that_made_it() -> None:
    variables = Variables(None)
    variables.declare("$x", 1)
    mark = variables.mark()
    variables.assign("$x", 2)
    variables.release(mark)
    assert variables.value("$x") == 2


def test_what_was_never_declared_cannot_be_assigned() -> None:
    with pytest.raises(GoError, match=r"undefined variable: \$x"):
        Variables(None).assign("$x", 1)
