"""Only maps that are made to be changed are changed."""

from types import MappingProxyType

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig import FUNCTIONS
from tinkbox.sprig.collections.changeable_maps import changeable


def test_a_dict_is_changed_in_place() -> None:
    target = {"a": 1}
    assert changeable(target) is target


@pytest.mark.parametrize(
    ("name", "arguments"), [("set", ("a", 2)), ("unset", ("a",)), ("merge", ({"b": 1},)), ("mergeOverwrite", ({},))]
)
def test_data_that_must_not_change_cannot_be_changed(name: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(GoError, match="cannot be changed"):
        FUNCTIONS[name](MappingProxyType({"a": 1}), *arguments)
