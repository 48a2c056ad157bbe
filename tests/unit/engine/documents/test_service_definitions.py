"""Services in a rendered template: what is accepted, and what is said of everything else."""

import pytest

from tests.unit.engine.template_texts import MAC, SMALL
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.model.errors import Invalid
from tinkbox.model.services import HealthCheck, Resources, Restart, RestartPolicy, Service

TASKS = SMALL[SMALL.index("tasks:") :].replace("{{ .device_1 }}", MAC)
FULL = """\
version: "0.1"
name: full
services:
  - name: serve boot files
    worker: provisioner
    image: osie-boot-files-server:v1.0.42
    command: ["--listen", ":8080"]
    environment: {LEVEL: debug}
    mem_limit: 512m
    cpus: 1.5
    pids_limit: 64
    volumes: ["isos:/files:ro"]
    labels:
      - "traefik.http.routers.files.rule=Path(`/kernel`)"
      - traefik.http.routers.files.rule=Path(`/initrd`)
      - "tinkbox.boot.ipxe=/auto.ipxe"
      - team
    urls: [http://0.workflows.tinkbox.internal/auto.ipxe]
    healthcheck: {test: [CMD, check, now], interval: 2s, timeout: 1m30s, start_period: 10, retries: 4}
    restart: on-failure:7
    ports: [8080, "9090"]
    timeout: 2m
"""
BARE = """\
version: "0.1"
name: bare
services:
  - {name: a, worker: w, image: x}
"""


def service_with(text: str) -> Service:
    (service,) = read_definition(BARE.replace("image: x", f"image: x, {text}") + TASKS).services
    return service


def problems_of(text: str) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        read_definition(text + TASKS)
    return [str(problem) for problem in refusal.value.problems]


def test_every_key_is_understood() -> None:
    (service,) = read_definition(FULL + TASKS).services
    assert service == Service(
        name="serve boot files",
        worker="provisioner",
        image="osie-boot-files-server:v1.0.42",
        command=("--listen", ":8080"),
        environment={"LEVEL": "debug"},
        volumes=("isos:/files:ro",),
        labels=(
            ("traefik.http.routers.files.rule", "Path(`/kernel`)"),
            ("traefik.http.routers.files.rule", "Path(`/initrd`)"),
            ("tinkbox.boot.ipxe", "/auto.ipxe"),
            ("team", ""),
        ),
        urls=("http://0.workflows.tinkbox.internal/auto.ipxe",),
        health=HealthCheck(test=("CMD", "check", "now"), interval=2.0, timeout=90.0, start_period=10.0, retries=4),
        restart=Restart(policy=RestartPolicy.ON_FAILURE, limit=7),
        ports=(8080, 9090),
        timeout=120,
        resources=Resources(memory=512 << 20, cpus=1.5, pids=64),
    )


def test_name_worker_and_image_are_enough() -> None:
    (service,) = read_definition(BARE + TASKS).services
    assert service == Service(name="a", worker="w", image="x")
    assert (service.restart, service.timeout) == (Restart(policy=RestartPolicy.ON_FAILURE, limit=5), 300)


@pytest.mark.parametrize("text", ["", "services:\n", "services: []\n"])
def test_a_template_needs_no_services(text: str) -> None:
    assert read_definition(BARE[: BARE.index("services:")] + text + TASKS).services == ()


def test_labels_may_be_names_with_values() -> None:
    labels = "labels: {team: , 'traefik.http.routers.r.rule': 'Path(`/a=b`)', n: 0644}"
    expected = (("team", ""), ("traefik.http.routers.r.rule", "Path(`/a=b`)"), ("n", "0644"))
    assert service_with(labels).labels == expected
    assert service_with("labels: [team, 'traefik.http.routers.r.rule=Path(`/a=b`)', n=0644]").labels == expected
    assert service_with("labels: ").labels == service_with("labels: []").labels == ()


@pytest.mark.parametrize(
    ("text", "health"),
    [
        ("healthcheck: ", None),
        ("healthcheck: {}", HealthCheck()),
        ("healthcheck: {disable: false, test: []}", HealthCheck()),
        ("healthcheck: {test: , interval: }", HealthCheck()),
        ("healthcheck: {test: ''}", HealthCheck()),
        (
            "healthcheck: {test: curl -f http://127.0.0.1/}",
            HealthCheck(test=("CMD-SHELL", "curl -f http://127.0.0.1/")),
        ),
        ("healthcheck: {test: [CMD-SHELL, 'a | b']}", HealthCheck(test=("CMD-SHELL", "a | b"))),
        ("healthcheck: {test: [CMD, true]}", HealthCheck(test=("CMD", "true"))),
        ("healthcheck: {test: [NONE]}", HealthCheck(test=("NONE",))),
        ("healthcheck: {disable: true}", HealthCheck(test=("NONE",))),
        ("healthcheck: {disable: true, test: [NONE]}", HealthCheck(test=("NONE",))),
        ("healthcheck: {interval: 1m, start_period: 0}", HealthCheck(interval=60.0)),
    ],
)
def test_a_health_check_is_written_as_in_compose(text: str, health: HealthCheck | None) -> None:
    assert service_with(text).health == health


@pytest.mark.parametrize(
    ("text", "policy", "limit"),
    [
        ("restart: no", RestartPolicy.NO, 0),
        ('restart: "no"', RestartPolicy.NO, 0),
        ("restart: false", RestartPolicy.NO, 0),
        ("restart: ", RestartPolicy.ON_FAILURE, 5),
        ("restart: on-failure", RestartPolicy.ON_FAILURE, 5),
        ("restart: on-failure:1", RestartPolicy.ON_FAILURE, 1),
        ("restart: on-failure:1000", RestartPolicy.ON_FAILURE, 1000),
        ("restart: always", RestartPolicy.ALWAYS, 1000),
    ],
)
def test_a_restart_policy_is_written_as_in_compose(text: str, policy: RestartPolicy, limit: int) -> None:
    assert service_with(text).restart == Restart(policy=policy, limit=limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mem_limit: lots", "mem_limit: 'lots' is no size: write 512MiB"),
        ("mem_limit: 1m", "mem_limit: expected at least 6MiB"),
        ("cpus: many", "cpus: expected processors, such as 1.5, not 'many'"),
        ("cpus: 0", "cpus: expected processors"),
        ("cpus: -1", "cpus: expected processors"),
        ("pids_limit: -1", "pids_limit: expected "),
        ("memory: 1g", "memory: unknown key memory; here it is mem_limit"),
        ("url: [http://a/b]", "url: unknown key url; here it is urls"),
        ("helth: {}", "helth: unknown key helth; did you mean healthcheck?"),
        ("actions: []", "actions: unknown key actions; known here: "),
        ("urls: http://a/b", "urls: expected a list such as ['http://a/b']"),
        ("labels: team", "labels: expected a list"),
        ("labels: [{team: a}]", "labels[0]: expected name=value"),
        ("labels: [ok, =a]", "labels[1]: expected name=value"),
        ("labels: {team: [a]}", "labels.team: expected text"),
        ("volumes: ['/a:/workflow']", "volumes: '/a:/workflow': /workflow is the service's own folder"),
        ("volumes: ['/a://x/../workflow/b:ro']", "volumes: '/a://x/../workflow/b:ro': /workflow is the service's own folder"),
        ("volumes: ['/a:/']", "volumes: '/a:/': the path in the container can't be /"),
        ("healthcheck: often", "healthcheck: expected keys with values: test, interval"),
        ("healthcheck: {tst: a}", "healthcheck.tst: unknown key tst; did you mean test?"),
        ("healthcheck: {test: [curl, x]}", 'healthcheck.test: expected a text for the shell, ["CMD", "word", ...]'),
        ("healthcheck: {test: [CMD]}", "healthcheck.test: expected a text for the shell"),
        ("healthcheck: {test: [CMD-SHELL, a, b]}", "healthcheck.test: expected a text for the shell"),
        ("healthcheck: {test: [NONE, a]}", "healthcheck.test: expected a text for the shell"),
        ("healthcheck: {test: {CMD: a}}", "healthcheck.test: expected a list"),
        ("healthcheck: {interval: 500ms}", "healthcheck.interval: '500ms' is no duration: write 90s"),
        ("healthcheck: {timeout: 8d}", "healthcheck.timeout: expected 0s to 7d, not 8d"),
        ("healthcheck: {start_period: -1}", "healthcheck.start_period: '-1' is no duration"),
        ("healthcheck: {retries: many}", "healthcheck.retries: expected failed checks in a row as a whole number"),
        ("healthcheck: {disable: maybe}", "healthcheck.disable: expected true or false"),
        ("healthcheck: {disable: true, test: a}", "healthcheck.disable: a check that is disabled has no test"),
        ("restart: unless-stopped", "restart: unless-stopped has no meaning here, as nobody stops a service by hand: write always"),
        ("restart: yes", "restart: expected no, on-failure, on-failure:N with N from 1 to 1000, or always, not 'yes'"),
        ("restart: on-failure:0", "restart: expected no, on-failure, on-failure:N"),
        ("restart: on-failure:1001", "restart: expected no, on-failure, on-failure:N"),
        ("restart: on-failure:-1", "restart: expected no, on-failure, on-failure:N"),
        ("restart: [always]", "restart: expected text"),
        ("ports: 8080", "ports: expected a list"),
        ("ports: [80, 0]", "ports[1]: expected the port that the container listens on, 1 to 65535, not '0'"),
        ("ports: [65536]", "ports[0]: expected the port"),
        ("ports: ['80:8080']", "ports[0]: expected the port that the container listens on, 1 to 65535, not '80:8080'; nothing is published"),
        ("ports: [80/tcp]", "ports[0]: expected the port"),
        ("ports: [a]", "ports[0]: expected the port"),
        ("timeout: soon", "timeout: 'soon' is no duration"),
        ("timeout: 0", "timeout: expected 1s to 7d, not 0"),
        ("timeout: 604801", "timeout: expected 1s to 7d, not 604801"),
    ],
)  # fmt: skip
def test_each_problem_names_its_line_its_key_and_the_way_out(text: str, said: str) -> None:
    (found,) = problems_of(BARE.replace("image: x", f"image: x, {text}"))
    assert found.startswith(f"line 4, services[0].{said}"), found


def test_a_service_needs_a_name_a_worker_and_an_image() -> None:
    found = problems_of(BARE.replace("{name: a, worker: w, image: x}", "{command: []}"))
    assert [each.split(":")[0] for each in found] == [
        "line 4, services[0].name",
        "line 4, services[0].worker",
        "line 4, services[0].image",
    ]
    assert "a service needs its worker: the appliance's name or address" in found[1]


def test_two_services_of_one_name_are_refused() -> None:
    found = problems_of(BARE + "  - {name: a, worker: v, image: y}\n")
    assert found == ["line 5, services: two services in a template cannot have same name: a"]


@pytest.mark.parametrize("text", ["services: {a: {image: x}}\n", "services: a\n", "services: [a]\n"])
def test_what_is_no_list_of_services_is_refused(text: str) -> None:
    (found,) = problems_of(BARE[: BARE.index("services:")] + text)
    assert found.startswith("line 3, services")


def test_problems_of_services_and_of_tasks_are_told_together() -> None:
    found = problems_of(BARE.replace("image: x", "imag: x") + "x: y\n")
    assert [each.split(":")[0] for each in found] == [
        "line 4, services[0].imag",
        "line 4, services[0].image",
        "line 5, x",
    ]


def test_a_label_that_is_not_honoured_is_refused_on_its_own_line() -> None:
    (found,) = problems_of(FULL.replace("Path(`/initrd`)", "Paht(`/initrd`)"))
    assert found.startswith("line 15, services[0].labels[1]: ")
    found = problems_of(FULL.replace("Path(", "Paht(").replace("- team", "- tinkbox.helo=1"))
    assert [each.split(": ")[0] for each in found] == [
        "line 14, services[0].labels[0]",
        "line 15, services[0].labels[1]",
        "line 17, services[0].labels[3]",
    ]
    as_mapping = BARE.replace("image: x", "image: x, labels: {a: b,\n    'traefik.http.routers.r.rule': 'Paht(`/a`)'}")
    (found,) = problems_of(as_mapping)
    assert found.startswith("line 5, services[0].labels.traefik.http.routers.r.rule: ")


def test_what_is_wrong_with_labels_only_together_is_said_of_one_of_them() -> None:
    labels = "labels: [a=b, traefik.http.routers.r.priority=1]"
    (found,) = problems_of(BARE.replace("image: x", f"image: x, {labels}"))
    assert found.startswith("line 4, services[0].labels[1]: router r has no rule")
    rule = "'traefik.http.routers.r.rule=Path(`/a`)'"
    labels = f"labels: [{rule}, traefik.http.routers.r.service=web]"
    (found,) = problems_of(BARE.replace("image: x", f"image: x, {labels}"))
    assert found.startswith("line 4, services[0].labels[1]: there is no service 'web'")


def test_a_url_that_is_not_honoured_is_refused_on_its_own_line() -> None:
    (found,) = problems_of(FULL.replace("urls: [http://", "urls: [http://a/b, \n      ftp://"))
    assert found.startswith("line 19, services[0].urls[1]: ")
