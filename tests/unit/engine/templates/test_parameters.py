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


def test_of_many_parameters_the_first_are_told() -> None:
    text = "".join(f"{{{{.a{number}}}}}" for number in range(20_000))
    told = needless("ubuntu", text, [f"b{number}" for number in range(20_000)])
    assert told[0] == "template ubuntu does not use the parameter b0"
    assert (len(told), told[-1]) == (21, "template ubuntu does not use 19980 more parameters")


def test_a_name_of_several_words_stands_as_a_whole() -> None:
    text = '{{ index . "a-b" }}{{ index . "b-c" }}'
    assert needless("ubuntu", text, ["a-b", "b-c", "a", "index"]) == []
    assert [each.split()[-1] for each in needless("ubuntu", text, ["a-c", "c-b", "aa"])] == ["a-c", "c-b", "aa"]
