"""Tinkerbell's own functions, and the functions that are not for templates."""

import pytest

from tests.unit.sprig.around import around
from tinkbox.engine.templates.go_dialect import (
    LIMITS,
    MAX_YAML,
    NAMES,
    GoTemplate,
    Yaml,
    format_partition,
    netmask_to_prefix_length,
)
from tinkbox.gotemplate import GoError
from tinkbox.model.errors import Invalid
from tinkbox.sprig import FUNCTIONS, REFUSED


def rendered(text: str, **data: object) -> str:
    return GoTemplate(text).render(data)


@pytest.mark.parametrize(
    ("device", "number", "partition"),
    [("/dev/sda", 1, "/dev/sda1"), ("/dev/nvme0n1", 2, "/dev/nvme0n1p2"), ("/dev/mmcblk0", 1, "/dev/mmcblk0p1"),
     ("/dev/disk/by-id/ata-1", 3, "/dev/disk/by-id/ata-1-part3"), ("/dev/vda", 10, "/dev/vda10")],
)  # fmt: skip
def test_a_partition_is_named_as_linux_names_it(device: str, number: int, partition: str) -> None:
    assert format_partition(device, number) == partition
    assert rendered("{{ formatPartition .d .n }}", d=device, n=number) == partition


@pytest.mark.parametrize("arguments", ['"/dev/sda" 1.0', '"/dev/sda" (int .float)', '"/dev/sda" ("1" | int)'])
def test_the_number_of_a_partition_may_be_what_go_makes_an_int(arguments: str) -> None:
    assert rendered(f"{{{{ formatPartition {arguments} }}}}", float=1.0) == "/dev/sda1"


@pytest.mark.parametrize(
    "arguments", ['"/dev/sda" "1"', '"/dev/sda" .float', '"/dev/sda" 1.5', '"/dev/sda" true', "5 1", '"/dev/sda" .nil']
)
def test_a_partition_of_other_kinds_is_refused_as_in_go(arguments: str) -> None:
    with pytest.raises(Invalid, match="cannot be rendered"):
        rendered(f"{{{{ formatPartition {arguments} }}}}", float=1.0, nil=None)


def test_a_digit_of_another_script_is_no_number_of_a_disk() -> None:
    assert format_partition("/dev/x\u0661", 1) == "/dev/x\u06611"


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
    assert rendered("{{ netmaskToCIDR .m }}", m=netmask) == length


@pytest.mark.parametrize("netmask", ["", "24", "255.255.255", "ffffff00", "::"])
def test_what_is_no_netmask_is_refused(netmask: str) -> None:
    with pytest.raises(GoError, match="invalid netmask"):
        netmask_to_prefix_length(netmask)


def test_yaml_is_written_in_blocks_and_read_again() -> None:
    value = {"b": [1, {"c": "0644"}], "a": None, "t": "yes", "s": "text"}
    assert Yaml().write(value) == 'a: null\nb:\n- 1\n- c: "0644"\ns: text\nt: "yes"'
    assert Yaml().read(Yaml().write(value)) == value
    assert Yaml().write("text") == "text"
    assert rendered('{{ (fromYaml "a: {b: 7}").a.b }}') == "7"


def test_what_is_there_twice_is_written_twice() -> None:
    assert rendered("{{ $l := list 1 }}{{ toYaml (list $l $l) }}") == "- - 1\n- - 1"


def test_only_the_last_line_end_of_yaml_is_left_out() -> None:
    assert rendered(r'{{ toYaml "a\n\n" }}.') == "|+\n  a\n."


def test_numbers_of_yaml_are_floats_in_go_and_whole_numbers_elsewhere() -> None:
    assert rendered('{{ printf "%T %v" (fromYaml "0644") (fromYaml "1000000") }}') == "float64 1e+06"
    assert [type(Yaml(floats=False).read(text)) for text in ("0644", "1.0", "true")] == [int, float, bool]


@pytest.mark.parametrize("text", ["", "a: [", "&a [*a]"])
def test_what_is_no_yaml_is_refused(text: str) -> None:
    with pytest.raises(GoError):
        Yaml().read(text)


@pytest.mark.parametrize(
    "text",
    ["{{ $x := repeat 2000 `- [a]\n` }}{{ range 90 }}{{ $y := fromYaml $x }}{{ end }}",
     "{{ $x := until 2000 }}{{ range 90 }}{{ $y := toYaml $x }}{{ end }}",
     "{{ $x := list 1 }}{{ range 40 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}",
     "{{ $x := dict `a` 1 }}{{ range 40 }}{{ $x = dict `a` $x `b` $x }}{{ end }}{{ toYaml $x }}"],
)  # fmt: skip
def test_there_is_only_so_much_yaml_in_one_rendering(text: str) -> None:
    # On a slow host it would take its two seconds of processor time first.
    with pytest.raises(Invalid) as refusal:
        GoTemplate(text, worked=lambda: 0.0).render({})
    assert f"more than {MAX_YAML // 1024} KiB of YAML" in str(refusal.value.problems[0])


def test_each_rendering_has_all_of_it() -> None:
    template = GoTemplate("{{ len (fromYaml .x) }}")
    for _ in range(3):
        assert template.render({"x": "- a\n" * (MAX_YAML // 5)}) == str(MAX_YAML // 5)


MACHINE = {
    "kind": "Hardware",
    "metadata": {"name": "machine1"},
    "spec": {
        "disks": [{"device": "/dev/sda"}],
        "interfaces": [
            {"dhcp": {"mac": "08:00:27:00:00:01", "lease_time": 1000000, "ip": {"address": "10.0.0.5"}, "uefi": False}},
        ],
        "metadata": {
            "facility": {"facility_code": "onprem"},
            "instance": {"storage": {"disks": [{"wipe_table": True}]}},
        },
    },
}


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (
            "{{ index .Hardware.Interfaces 0 | toYaml }}",
            'dhcp:\n  ip:\n    address: 10.0.0.5\n  lease_time: 1000000\n  mac: "08:00:27:00:00:01"',
        ),
        (
            "{{ index .Hardware.Interfaces 0 | toJson }}",
            '{"dhcp":{"mac":"08:00:27:00:00:01","lease_time":1000000,"ip":{"address":"10.0.0.5"}}}',
        ),
        ("{{ (index .Hardware.Interfaces 0).DHCP.IP | toPrettyJson }}", '{\n  "address": "10.0.0.5"\n}'),
        ("{{ (index .Hardware.Interfaces 0).Netboot | toRawJson }}", "null"),
        ("{{ (index .Hardware.Interfaces 0).DHCP.NameServers | toJson }}", "null"),
        ("{{ .Hardware.Metadata.Instance.Storage | toYaml }}", "disks:\n- wipe_table: true"),
        (
            "{{ toJson .Hardware }}",
            (
                '{"Disks":["/dev/sda"],"Interfaces":[{"dhcp":{"mac":"08:00:27:00:00:01","lease_time":1000000,'
                '"ip":{"address":"10.0.0.5"}}}],"UserData":"","Metadata":{"instance":{"storage":{"disks":[{"wipe_table":true}]}},'
                '"facility":{"facility_code":"onprem"}},"VendorData":""}'
            ),
        ),
        ("{{ (index .Hardware.Interfaces 0).DHCP.LeaseTime }}", "1000000"),
        ("{{ (index .hardware.spec.interfaces 0).dhcp.lease_time }}", "1e+06"),
        ('{{ printf "%.0f" (index .hardware.spec.interfaces 0).dhcp.lease_time }}', "1000000"),
        ("{{ (index .hardware.spec.interfaces 0).dhcp.lease_time | int }}", "1000000"),
        ("{{ eq (index .hardware.spec.interfaces 0).dhcp.lease_time 1e6 }}", "true"),
        ("{{ .hardware.status }} {{ .hardware.spec.auto }}", "map[] map[]"),
        ('{{ hasKey (index .hardware.spec.interfaces 0).dhcp "uefi" }}', "false"),
    ],
)
def test_a_machine_is_what_tinkerbell_makes_of_it(text: str, output: str) -> None:
    # Each of these is what real Go gave with the types of Tinkerbell's api/v1alpha1.
    assert rendered(text, hardware=MACHINE) == output


def test_every_function_of_the_language_has_its_name_known() -> None:
    assert {"index", "printf", "and", "upper", "regexMatch", "formatPartition", "now", "env"} <= NAMES
    assert not set(FUNCTIONS) & set(REFUSED)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_touches_the_world_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(Invalid) as refusal:
        GoTemplate(f"first\n{{{{ if false }}}}{{{{ {name} }}}}{{{{ end }}}}")
    (problem,) = refusal.value.problems
    assert str(problem) == f"line 2: {name} is not available: it {REFUSED[name]}"


def test_where_a_function_is_called_is_known_without_a_search_through_the_text() -> None:
    # A search for `{{ … env` would take the square of these braces: minutes, for 250 KB.
    with pytest.raises(Invalid) as refusal:
        GoTemplate("{{ `" + "{" * 250_000 + "\n` }}{{ env }}")
    assert "line 2: env" in str(refusal.value.problems[0])


def test_a_rendering_has_one_moment_and_each_has_its_own_bound_on_slow_work() -> None:
    template = GoTemplate('{{ now }}|{{ now }}{{ range until 2 }}{{ $x := genPrivateKey "dsa" }}{{ end }}', around())
    for _ in range(2):
        assert template.render({}) == "2026-07-30 15:10:10.123456 +0000 UTC|2026-07-30 15:10:10.123456 +0000 UTC"


def test_a_template_that_never_ends_is_stopped() -> None:
    with pytest.raises(Invalid) as refusal:
        rendered("{{ range 90000 }}{{ range 90000 }}{{ end }}{{ end }}")
    assert f"more than {LIMITS.steps} steps" in str(refusal.value.problems[0])


def test_a_rendering_ends_after_two_seconds_of_processor_time_and_what_its_keys_may_take() -> None:
    worked = 0.0

    def later() -> float:
        nonlocal worked
        worked += 0.5
        return worked

    slow = GoTemplate("{{ range until 100 }}{{ $_ := upper `a` }}{{ end }}", around(), later)
    with pytest.raises(Invalid) as refusal:
        slow.render({})
    assert "more than 2 seconds of processor time" in str(refusal.value.problems[0])
    # Each rendering has its own; a hash of bcrypt should take 60 ms.
    few = GoTemplate("{{ range until 3 }}{{ $_ := upper `a` }}{{ end }}", around(), later)
    assert [few.render({}), few.render({})] == ["", ""]
    keys = GoTemplate(
        "{{ $_ := genPrivateKey `rsa` }}{{ range until 3 }}{{ $_ := upper `a` }}{{ end }}", around(), later
    )
    assert keys.render({}) == ""


def test_all_searches_of_a_rendering_share_one_bound() -> None:
    # Each takes a tenth of a second.
    searches = '{{ $s := repeat 20000 "a" }}{{ range until 300 }}{{ regexMatch "(?:(?:a?){30}){30}b" $s }}{{ end }}'
    with pytest.raises(Invalid) as refusal:
        rendered(searches)
    assert "this would take more than" in str(refusal.value.problems[0])


def test_a_template_that_grows_is_stopped() -> None:
    with pytest.raises(Invalid) as refusal:
        rendered('{{ define "x" }}{{ repeat 9999 "y" }}{{ end }}{{ range 99 }}{{ template "x" }}{{ end }}')
    assert "longer than 262144 bytes" in str(refusal.value.problems[0])


def test_it_is_told_which_references_there_are() -> None:
    with pytest.raises(Invalid) as refused:
        rendered("{{ .references.secret.data }}", references={})
    (problem,) = refused.value.problems
    assert problem.text == (
        'at <.references.secret.data>: map has no entry for key "secret"; .references has the Secrets and the '
        "ConfigMaps that spec.references of the machine's document names, as far as they are there (`tinkbox secret list`, "
        "`tinkbox document list`): `tinkbox secret set NAME.KEY` sets a key of the Secret NAME"
    )
    with pytest.raises(Invalid) as refused:
        rendered("{{ .hardware.x }}{{ .references }}", hardware={})
    assert ".references has" not in refused.value.problems[0].text
