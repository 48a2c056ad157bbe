"""One example for each command: what a person would type."""

from collections.abc import Mapping
from typing import Final

from tinkbox.cli.reference.declarations import Command

# What a value may look like, by its name.
VALUES: Final[Mapping[str, str]] = {
    "MACHINE": "node7",
    "RETIRED-MACHINE": "node7",
    "MACHINE|WORKFLOW": "node7",
    "MAC": "08:00:27:00:00:01",
    "IP": "172.30.0.11",
    "TEMPLATE": "ubuntu",
    "WORKFLOW": "a8984b09",
    "ROLLOUT": "5d3f0a11",
    "SERVICE": "boot-files",
    "IMAGE": "debian-13",
    "NAME:TAG": "tools/wipe:v1",
    "ID": "debian-13",
    "FILE": "file.tar",
    "SESSION": "7f3a",
}
# Where more than the arguments is worth showing.
EXAMPLES: Final[Mapping[str, str]] = {
    "init": "tinkbox init --interface eth1 --address 172.30.0.1/24 --yes",
    "install": "tinkbox install debian-13 node7 --ssh-key ~/.ssh/id_ed25519.pub",
    "serve": "tinkbox serve --config /etc/tinkbox/tinkbox.yaml --check",
    "hardware add": "tinkbox hardware add 08:00:27:00:00:01 --name node7",
    "hardware push": "tinkbox hardware push --file hardware.json",
    "hardware import": "tinkbox hardware import machines.csv --dry-run",
    "hardware label": "tinkbox hardware label node7 rack=r1",
    "hardware note": "tinkbox hardware note node7 the fan is loud",
    "hardware accept": "tinkbox hardware accept 08:00:27:00:00:01 --name node7",
    "token create": "tinkbox token create anna --right look --right operate --expires 30d",
    "template create": "tinkbox template create -n ubuntu --file ubuntu.yaml",
    "template update": "tinkbox template update ubuntu --file ubuntu.yaml",
    "template validate": "tinkbox template validate ubuntu.yaml",
    "workflow create": 'tinkbox workflow create -t ubuntu -r \'{"device_1": "08:00:27:00:00:01"}\'',
    "workflow data": "tinkbox workflow data a8984b09 --save data",
    "workflow logs": "tinkbox workflow logs -f a8984b09",
    "workflow retry": "tinkbox workflow retry a8984b09 --from disk-image",
    "workflow plan": "tinkbox workflow plan -t ubuntu node7",
    "apply": "tinkbox apply -R -f site/ --dry-run",
    "export": "tinkbox export --dir site/",
    "breakpoint arm": "tinkbox breakpoint arm a8984b09 --before disk-image",
    "breakpoint continue": "tinkbox breakpoint continue a8984b09 --why 'the disk was wiped by hand'",
    "breakpoint retry": "tinkbox breakpoint retry a8984b09 --env DEBUG=1",
    "breakpoint extend": "tinkbox breakpoint extend a8984b09 2h",
    "breakpoint shell": "tinkbox breakpoint shell a8984b09 -- dmesg",
    "service logs": "tinkbox service logs -f a8984b09/boot-files",
    "image import": "tinkbox image import --id lab-debian lab-debian.qcow2",
    "image load": "tinkbox image load tools.tar",
    "image save": "tinkbox image save -o tools.tar tools/wipe:v1 quay.io/tools/image:v2",
    "image copy": "tinkbox image copy tools/wipe:v1 --to https://other:7080 --token-file other.token",
    "image export": "tinkbox image export --all /mnt/disk/images",
    "osie build": "tinkbox osie build --output osie",
    "login": "tinkbox login https://box:7080",
    "audit list": "tinkbox audit list --object node7 --since 2d",
    "audit export": "tinkbox audit export --after 1200",
    "audit verify": "tinkbox audit verify audit.jsonl",
    "events watch": "tinkbox events watch",
}


def example(command: Command) -> str:
    """What is in EXAMPLES, else the arguments that it must have; a key, where labels may select instead of one."""
    words = " ".join(command.path)
    if words in EXAMPLES:
        return EXAMPLES[words]
    selects = any(each.takes == "SELECTOR" for each in command.flags)
    needed = [
        VALUES.get(each.name, each.name.lower())
        for place, each in enumerate(command.arguments)
        if not each.optional or (selects and place == 0)
    ]
    return " ".join((command.line, *needed))
