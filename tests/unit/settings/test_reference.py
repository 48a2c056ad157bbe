"""The reference of all settings; tests/test_house_rules.py compares it with docs/operating.md."""

from tinkbox.settings.reference import markdown


def test_each_key_has_its_default_what_it_takes_and_its_meaning() -> None:
    lines = markdown().splitlines()
    assert lines[:2] == ["| key | default | takes | meaning |", "|---|---|---|---|"]
    assert all(line.count(" | ") == 3 for line in lines[2:])
    (syslog,) = (line for line in lines if line.startswith("| `node.syslog_port` |"))
    assert syslog.startswith("| `node.syslog_port` | `514` | a port from 0 to 65535 | UDP port of syslog")


def test_defaults_are_written_as_in_the_file() -> None:
    defaults = dict(line.removeprefix("| ").split(" | ")[:2] for line in markdown().splitlines()[2:])
    assert defaults["`services.names`"] == "`on`"
    assert (defaults["`dhcp.lease`"], defaults["`discovery.forget`"]) == ("`1h`", "`7d`")
    assert (defaults["`operator.listen`"], defaults["`data`"]) == ("`127.0.0.1:7080`", "`/var/lib/tinkbox`")
    assert defaults["`dhcp.subnets[].pool`"] == ""


def test_keys_at_the_top_of_the_file_come_first() -> None:
    keys = [line.split("`")[1] for line in markdown().splitlines()[2:]]
    tops = [key for key in keys if "." not in key]
    assert keys[: len(tops)] == tops == ["data", "name", "unknown_machines", "tpm", "interface", "address", "docker"]
