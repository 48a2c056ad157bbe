from tinkbox.gotemplate import errors, values


def test_a_writer_of_functions_finds_all_he_needs_here() -> None:
    assert values.GoError is errors.GoError
    assert values.text(None) == "<no value>"
    assert values.sprintf("%d %q", 5, "x") == '5 "x"'
    assert values.sprint(1, None) == "1 <nil>"
    assert values.sprintln("a", 1) == "a 1\n"
    assert values.quote("a\n") == '"a\\n"'
    assert values.MAX_TEXT == 256 * 1024
    assert values.joined(values.from_bytes(b"\xc3") + values.from_bytes(b"\xa9")) == "é"
    assert (values.kind({}), values.type_name(1), values.truth([])) == ("map", "int", False)
    assert values.byte_length("é") == len(values.to_bytes("é")) == 2
    assert values.sorted_items({"b": 1, "a": 2}) == [("a", 2), ("b", 1)]
    assert all(hasattr(values, name) for name in values.__all__)
