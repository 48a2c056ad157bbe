"""Parameters that are given to a template."""

from tinkbox.engine.templates.parameters import needless

TEXT = "worker: {{.device_1}}\nimage: {{.image}}\ndisk: {{.disk}}\n"


def test_a_parameter_that_is_not_used_is_told_with_the_name_that_was_meant() -> None:
    assert needless("ubuntu", TEXT, ["disk", "imgae", "foo"]) == [
        "template ubuntu does not use the parameter imgae: did you mean image?",
        "template ubuntu does not use the parameter foo",
    ]
    assert needless("ubuntu", TEXT, ["disk", "image"]) == []


def test_a_name_that_is_given_already_was_not_meant() -> None:
    assert needless("ubuntu", TEXT, ["image", "imgae"]) == ["template ubuntu does not use the parameter imgae"]
