"""What a template says of any container of its, be it an action or a service."""

from collections.abc import Mapping, Sequence

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.engine.documents.secret_definitions import SecretReader
from tinkbox.model.actions.volumes import Volume, parse_volume
from tinkbox.model.duration import parse_duration, show_duration
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import parse_reference
from tinkbox.model.secret import NamedSecret, SecretUse
from tinkbox.model.template import MAX_NAME, OTHER_WORDS
from tinkbox.yaml_nodes import NodeReader, is_null, path


class ContainerReader(NodeReader):
    """Reads the keys that actions and services have in common; `named_secrets` are those that they ask for by `secrets:`."""

    def __init__(self) -> None:
        super().__init__()
        self.named_secrets: list[NamedSecret] = []

    def secrets(self, fields: Mapping[str, Node], key: str) -> tuple[SecretUse, ...]:
        """The secrets that it is given."""
        reader = SecretReader()
        uses = reader.uses(fields, key)
        self.problems += reader.problems
        self.named_secrets += reader.named
        return uses

    def meant_by(self, name: str, known: Sequence[str]) -> str:
        other = OTHER_WORDS.get(name)
        return f"here it is {other}" if other in known else super().meant_by(name, known)

    def name(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        name = self.text(fields, "name", key)
        if isinstance(node, MappingNode) and not 0 < len(name.encode()) < MAX_NAME:
            text = f"name cannot be empty or have more than {MAX_NAME - 1} bytes"
            self.refuse(fields.get("name", node), path(key, "name"), text)
        elif "`" in name:
            self.refuse(
                fields["name"],
                path(key, "name"),
                "name cannot have a backquote: what stands between those is a command to type",
            )
        return name

    def unique(self, names: Sequence[str], node: Node | None, key: str, text: str) -> None:
        """Refuse the second of those in a list that have the same name."""
        places: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            places.setdefault(name, []).append(place)
        for name, found in places.items():
            if name and len(found) > 1:
                assert isinstance(node, SequenceNode)
                self.refuse(node.value[found[1]], key, f"{text}: {name}")

    def worker(self, fields: Mapping[str, Node], node: Node, key: str, needed: str) -> str:
        worker = self.text(fields, "worker", key)
        if not worker and isinstance(node, MappingNode):
            self.refuse(fields.get("worker", node), path(key, "worker"), needed)
        return worker

    def image(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        image = self.text(fields, "image", key)
        if isinstance(node, MappingNode):
            try:
                parse_reference(image)
            except Invalid as error:
                self.refuse(fields.get("image", node), path(key, "image"), str(error))
        return image

    def command(self, fields: Mapping[str, Node], key: str, name: str = "command") -> tuple[str, ...]:
        return self.texts(fields, name, key, 'of words, such as ["sh", "-c", {!r}]')

    def texts(self, fields: Mapping[str, Node], name: str, key: str, such: str = "such as [{!r}]") -> tuple[str, ...]:
        """A list of texts; `such` says how to make one of a single text."""
        node = fields.get(name)
        if isinstance(node, ScalarNode) and not is_null(node):
            self.refuse(node, path(key, name), f"expected a list {such.format(node.value[:40])}")
            return ()
        return self.items(node, path(key, name), self.scalar)

    def environment(self, fields: Mapping[str, Node], key: str) -> dict[str, str]:
        node, place = fields.get("environment"), path(key, "environment")
        if node is None or is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self.refuse(node, place, "expected names with values")
            return {}
        return {name.value: self.scalar(value, path(place, name.value)) for name, value in self.pairs(node, place)}

    def volumes(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        """Those that an engine takes, as they are written."""
        return tuple(text for text, _ in self.parsed_volumes(fields, key))

    def parsed_volumes(self, fields: Mapping[str, Node], key: str, *, shortest: int = 2) -> list[tuple[str, Volume]]:
        """The same, each with what it means; `shortest` is as `parse_volume` has it."""
        volumes = []
        for text in self.texts(fields, "volumes", key):
            try:
                volumes.append((text, parse_volume(text, shortest=shortest)))
            except Invalid as error:
                self.refuse(fields["volumes"], path(key, "volumes"), f"{text[:80]!r}: {error}")
        return volumes

    def duration(
        self, fields: Mapping[str, Node], name: str, key: str, *, absent: int = 0, least: int = 0, most: int
    ) -> int:
        """The seconds that `90s`, `1h30m` or a plain number mean."""
        text = self.text(fields, name, key)
        try:
            seconds = parse_duration(text) if text else absent
        except Invalid as error:
            self.refuse(fields[name], path(key, name), str(error))
            return absent
        if not least <= seconds <= most:
            expected = f"expected {show_duration(least)} to {show_duration(most)}, not {text[:40]}"
            self.refuse(fields[name], path(key, name), expected)
        return seconds
