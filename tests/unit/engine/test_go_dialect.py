"""Tinkerbell's own functions, and the functions that are not for templates."""

import pytest

from tinkbox.engine.go_dialect import (
    LIMITS,
    NAMES,
    format_partition,
    from_yaml,
    netmask_to_prefix_length,
    parse_go,
    render_go,
    to_yaml,
)
from tinkbox.gotemplate import GoError
from tinkbox.model.errors import Invalid
from tinkbox.sprig import FUNCTIONS, REFUSED


def rendered(text: str, **data: object) -> str:
    return render_go(parse_go(text), data)


@pytest.mark.parametrize(
    ("device", "number", "partition"),
    [("/dev/sda", 1, "/dev/sda1"), ("/dev/nvme0n1", 2, "/dev/nvme0n1p2"), ("/dev/mmcblk0", 1, "/dev/mmcblk0p1"),
     ("/dev/disk/by-id/ata-1", 3, "/dev/disk/by-id/ata-1-part3"), ("/dev/vda", 10, "/dev/vda10")],
)  # fmt: skip
def test_a_partition_is_named_as_linux_names_it(device: str, number: int, partition: str) -> None:
    assert format_partition(device, number) == partition
    assert rendered("{{ formatPartition .d .n }}", d=device, n=number) == partition


@pytest.mark.parametrize(
    ("netmask", "length"),
    [
        ("255.255.255.0", "24"),
        ("255.255.255.255", "32"),
        ("0.0.0.0", "0"),
        ("255.255.255.248", "29"),
        ("255.0.255.0", "0"),
    ],
)
def test_a_netmask_has_the_length_of_its_prefix(netmask: str, length: str) -> None:
    assert netmask_to_prefix_length(netmask) == length


@pytest.mark.parametrize("netmask", ["", "24", "255.255.255", "ffffff00", "::"])
def test_what_is_no_netmask_is_refused(netmask: str) -> None:
    with pytest.raises(GoError, match="invalid netmask"):
        netmask_to_prefix_length(netmask)


def test_yaml_is_written_in_blocks_and_read_again() -> None:
    value = {"b": [1, {"c": "0644"}], "a": None, "t": "yes", "s": "text"}
    assert to_yaml(value) == "a: null\nb:\n- 1\n- c: '0644'\ns: text\nt: 'yes'"
    assert from_yaml(to_yaml(value)) == value
    assert to_yaml("text") == "text"
    assert rendered('{{ (fromYaml "a: {b: 7}").a.b }}') == "7"


@pytest.mark.parametrize("text", ["", "  ", "a: [", "a: 1\na: 2", "&a [*a]"])
def test_what_is_no_yaml_is_refused(text: str) -> None:
    with pytest.raises(GoError):
        from_yaml(text)


def test_every_function_of_the_language_has_its_name_known() -> None:
    assert {"index", "printf", "and", "upper", "regexMatch", "formatPartition", "now", "env"} <= NAMES
    assert not set(FUNCTIONS) & set(REFUSED)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_hermetic_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_go(f"first\n{{{{ if false }}}}{{{{ {name} }}}}{{{{ end }}}}")
    (problem,) = refusal.value.problems
    assert str(problem) == f"line 2: {name} is not available: it {REFUSED[name]}"


def test_a_template_that_never_ends_is_stopped() -> None:
    with pytest.raises(Invalid) as refusal:
        rendered("{{ range 90000 }}{{ range 90000 }}{{ end }}{{ end }}")
    assert f"more than {LIMITS.steps} steps" in str(refusal.value.problems[0])


def test_a_template_that_grows_is_stopped() -> None:
    with pytest.raises(Invalid) as refusal:
        rendered('{{ define "x" }}{{ repeat 9999 "y" }}{{ end }}{{ range 99 }}{{ template "x" }}{{ end }}')
    assert "longer than 262144 bytes" in str(refusal.value.problems[0])
