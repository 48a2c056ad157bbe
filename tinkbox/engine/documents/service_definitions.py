"""The services of a rendered template: proposal 0014's keys, and the rest in Docker Compose's words."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.engine.documents.container_definitions import ContainerReader
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.services import (
    DEFAULT_READY_SECONDS,
    MAX_RESTARTS,
    HealthCheck,
    Resources,
    Restart,
    RestartPolicy,
    Service,
)
from tinkbox.model.sizes import parse_size, show_size
from tinkbox.model.template import HEALTHCHECK_KEYS, MAX_CHECKS, MAX_READY_SECONDS, SERVICE_KEYS
from tinkbox.model.workflow import DATA_FOLDER
from tinkbox.wire.routing.labels import read_labels
from tinkbox.yaml_nodes import is_null, path

OWN_FOLDER = PurePosixPath(DATA_FOLDER)
_NEEDED = "a service needs its worker: the appliance's name or address, or the address or agentID of known hardware"
_PORT = re.compile(r"[0-9]{1,5}")
_CPUS = re.compile(r"[0-9]{1,4}(\.[0-9]{1,3})?")
LEAST_CPUS, LEAST_MEMORY, MAX_PIDS = 0.01, 6 * 1024 * 1024, 1_000_000
_ON_FAILURE = re.compile(r"on-failure:([0-9]{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A label, or a URL by the name of `urls[0]`, and where it is."""

    node: Node
    key: str
    name: str
    value: str

    @property
    def label(self) -> tuple[str, str]:
        return self.name, self.value

    def problems(self) -> Sequence[Problem]:
        """What is said of this label alone."""
        try:
            read_labels([self.label])
        except Invalid as error:
            return error.problems
        return ()


class ServiceReader(ContainerReader):
    """Reads services, and notes what does not fit."""

    def services(self, node: Node | None) -> tuple[Service, ...]:
        services = self.items(node, "services", self._service)
        names = [service.name for service in services]
        self.unique(names, node, "services", "two services in a template cannot have same name")
        return services

    def _service(self, node: Node, key: str) -> Service:
        fields = self.fields(node, key, SERVICE_KEYS)
        labels, urls = self._labels(fields, key), self._urls(fields, key)
        self._check_routes(labels, urls)
        return Service(
            name=self.name(fields, node, key),
            worker=self.worker(fields, node, key, _NEEDED),
            image=self.image(fields, node, key),
            command=self.command(fields, key),
            environment=self.environment(fields, key),
            volumes=self._volumes(fields, key),
            labels=tuple(each.label for each in labels),
            urls=tuple(each.value for each in urls),
            health=self._health(fields, key),
            restart=self._restart(fields, key),
            ports=self.items(fields.get("ports"), path(key, "ports"), self._port),
            timeout=self.duration(
                fields, "timeout", key, absent=DEFAULT_READY_SECONDS, least=1, most=MAX_READY_SECONDS
            ),
            resources=self._resources(fields, key),
            secrets=self.secrets(fields, key),
        )

    def _resources(self, fields: Mapping[str, Node], key: str) -> Resources:
        memory, cpus, pids = (self.text(fields, name, key) for name in ("mem_limit", "cpus", "pids_limit"))
        found = Resources()
        if memory:
            found = replace(found, memory=self._memory(memory, fields["mem_limit"], path(key, "mem_limit")))
        if cpus and not (_CPUS.fullmatch(cpus) and float(cpus) >= LEAST_CPUS):
            self.refuse(fields["cpus"], path(key, "cpus"), f"expected processors, such as 1.5, not {cpus[:40]!r}")
        elif cpus:
            found = replace(found, cpus=float(cpus))
        if pids:
            most = self.number(fields["pids_limit"], path(key, "pids_limit"), "processes and threads", MAX_PIDS)
            found = replace(found, pids=most)
        return found

    def _memory(self, text: str, node: Node, key: str) -> int:
        try:
            memory = parse_size(text)
        except Invalid as error:
            self.refuse(node, key, str(error))
            return 0
        if memory < LEAST_MEMORY:
            self.refuse(
                node, key, f"expected at least {show_size(LEAST_MEMORY)}, as the container engine does, not {text[:40]}"
            )
        return memory

    def _volumes(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        # Of the appliance's own folders, which have no engine's names.
        volumes = self.parsed_volumes(fields, key, shortest=1)
        times = Counter(each.target for _, each in volumes)
        for volume, each in volumes:
            target = PurePosixPath(each.target)
            if times[each.target] > 1:
                self.refuse(
                    fields["volumes"], path(key, "volumes"), f"{volume!r}: another volume is at {target} as well"
                )
            if target.is_relative_to(OWN_FOLDER) or OWN_FOLDER.is_relative_to(target):
                text = f"{volume!r}: {OWN_FOLDER} is the service's own folder, which becomes the workflow's data"
                self.refuse(fields["volumes"], path(key, "volumes"), text)
        return tuple(text for text, _ in volumes)

    def _labels(self, fields: Mapping[str, Node], key: str) -> tuple[_Said, ...]:
        node, place = fields.get("labels"), path(key, "labels")
        if not isinstance(node, MappingNode):
            return self.items(node, place, self._label)
        return tuple(
            _Said(node=name, key=(at := path(place, name.value)), name=name.value, value=self.scalar(value, at))
            for name, value in self.pairs(node, place)
        )

    def _label(self, node: Node, key: str) -> _Said:
        name, _, value = node.value.partition("=") if isinstance(node, ScalarNode) else ("", "", "")
        if not name:
            self.refuse(node, key, "expected name=value, quoted where it has a colon and a space")
        return _Said(node=node, key=key, name=name, value=value)

    def _urls(self, fields: Mapping[str, Node], key: str) -> tuple[_Said, ...]:
        node, urls = fields.get("urls"), self.texts(fields, "urls", key)
        nodes = node.value if isinstance(node, SequenceNode) else []
        return tuple(
            _Said(node=each, key=path(key, f"urls[{index}]"), name=f"urls[{index}]", value=url)
            for index, (each, url) in enumerate(zip(nodes, urls, strict=True))
        )

    def _check_routes(self, labels: Sequence[_Said], urls: Sequence[_Said]) -> None:
        """Note what labels and URLs say that is not honoured, each where it is said."""
        try:
            read_labels([each.label for each in labels], [each.value for each in urls])
        except Invalid as error:
            # A router may have several rules, all under one name: it is the next of which the same is said alone.
            alone: dict[Problem, list[_Said]] = {}
            for each in labels:
                for problem in each.problems():
                    alone.setdefault(problem, []).append(each)
            named = {each.name: each for each in (*labels, *urls)}
            for problem in error.problems:
                said = alone[problem].pop() if alone.get(problem) else named[problem.key]
                self.refuse(said.node, said.key, problem.text)

    def _port(self, node: Node, key: str) -> int:
        text = self.scalar(node, key)
        if _PORT.fullmatch(text) and 0 < int(text) < 65_536:
            return int(text)
        published = "; nothing is published: routes lead to it" if ":" in text else ""
        self.refuse(
            node, key, f"expected the port that the container listens on, 1 to 65535, not {text[:40]!r}{published}"
        )
        return 0

    def _checks(self, told: Mapping[str, Node], key: str) -> int:
        if "retries" not in told:
            return 0
        return self.number(told["retries"], path(key, "retries"), "failed checks in a row", MAX_CHECKS)

    def _health(self, fields: Mapping[str, Node], key: str) -> HealthCheck | None:
        node, place = fields.get("healthcheck"), path(key, "healthcheck")
        if node is None or is_null(node):
            return None
        told = self.fields(node, place, HEALTHCHECK_KEYS)
        test = self._test(told.get("test"), path(place, "test"))
        if "disable" in told and self.flag(told["disable"], path(place, "disable")):
            if test and test != ("NONE",):
                self.refuse(
                    told["disable"], path(place, "disable"), "a check that is disabled has no test: leave one out"
                )
            test = ("NONE",)
        return HealthCheck(
            test=test,
            interval=self.duration(told, "interval", place, most=MAX_READY_SECONDS),
            timeout=self.duration(told, "timeout", place, most=MAX_READY_SECONDS),
            start_period=self.duration(told, "start_period", place, most=MAX_READY_SECONDS),
            retries=self._checks(told, place),
        )

    def _test(self, node: Node | None, key: str) -> tuple[str, ...]:
        if isinstance(node, ScalarNode):
            return ("CMD-SHELL", node.value) if node.value and not is_null(node) else ()
        test = self.items(node, key, self.scalar)
        match test:
            case () | ("NONE",) | ("CMD-SHELL", _) | ("CMD", _, *_):
                return test
        assert node is not None
        text = 'expected a text for the shell, ["CMD", "word", ...], ["CMD-SHELL", "text"] or ["NONE"]'
        self.refuse(node, key, text)
        return ()

    def _restart(self, fields: Mapping[str, Node], key: str) -> Restart:
        text = self.text(fields, "restart", key)
        limited = _ON_FAILURE.fullmatch(text)
        if limited is not None and 0 < int(limited[1]) <= MAX_RESTARTS:
            return Restart(policy=RestartPolicy.ON_FAILURE, limit=int(limited[1]))
        match text:
            case "" | "on-failure":
                return Restart()
            # What reads YAML 1.1 and writes it again makes `false` of a bare `no`.
            case "no" | "false":
                return Restart(policy=RestartPolicy.NO, limit=0)
            case "always":
                return Restart(policy=RestartPolicy.ALWAYS, limit=MAX_RESTARTS)
            case "unless-stopped":
                said = "unless-stopped has no meaning here, as nobody stops a service by hand: write always"
            case _:
                said = f"expected no, on-failure, on-failure:N with N from 1 to {MAX_RESTARTS}, or always, not {text[:40]!r}"
        self.refuse(fields["restart"], path(key, "restart"), said)
        return Restart()
