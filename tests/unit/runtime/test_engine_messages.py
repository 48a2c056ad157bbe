"""What Docker 20.10 and 28 say, and what it means; tests/integration/runtime provokes most of it."""

import pytest

from tinkbox.model.reasons import Reason, hint
from tinkbox.runtime.engine_messages import MAX_WORDS, meaning

RUNC = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
PULLS = [
    ("manifest for r/a:v1 not found: manifest unknown: manifest unknown", "ImageNotFound"),
    ("error parsing HTTP 404 response body: invalid character '<' looking for beginning of value", "ImageNotFound"),
    ("unauthorized: authentication required", "ImageNotAllowed"),
    (
        "pull access denied for r/a, repository does not exist or may require 'docker login': denied: no",
        "ImageNotAllowed",
    ),
    ("error parsing HTTP 403 response body: invalid character '<'", "ImageNotAllowed"),
    ("filesystem layer verification failed for digest sha256:f5db", "ImageCorrupt"),
    ("error pulling image configuration: image config verification failed for digest sha256:466e", "ImageCorrupt"),
    ("failed to register layer: Error processing tar file(exit status 1): unexpected EOF", "ImageCorrupt"),
    ("unknown blob", "ImageCorrupt"),
    ("failed to register layer: write /usr/lib/x: no space left on device", "NoSpace"),
    ("no matching manifest for linux/amd64 in the manifest list entries", "WrongPlatform"),
    ('Get "http://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused', "RegistryUnreachable"),
    ('Get "https://r/v2/": dial tcp: lookup r on 10.0.0.1:53: no such host', "RegistryUnreachable"),
    ("received unexpected HTTP status: 503 Service Unavailable", "RegistryUnreachable"),
    ('Get "https://r/v2/": net/http: TLS handshake timeout', "RegistryUnreachable"),
    ("unexpected EOF", "RegistryUnreachable"),
    ('Get "https://172.30.0.1/v2/": dial tcp 172.30.0.1:443: connect: connection refused', "RegistryUnreachable"),
    ('Get "https://r:8080/v2/": http: server gave HTTP response to HTTPS client', "ImagePullFailed"),
    ('Get "https://r/v2/": x509: certificate signed by unknown authority', "ImagePullFailed"),
    (
        'Get "https://r/v2/": x509: certificate has expired or is not yet valid: current time 1970-01-01',
        "ImagePullFailed",
    ),
    (
        'Get "https://r/v2/": tls: failed to verify certificate: x509: certificate is valid for a, not r',
        "ImagePullFailed",
    ),
    ("toomanyrequests: You have reached your pull rate limit", "ImagePullFailed"),
    (
        "error parsing HTTP 403 response body: invalid character '<' looking for beginning of value: \"<html><title>ERROR</title>\"",
        "ImagePullFailed",
    ),
    ("invalid reference format: repository name must be lowercase", "ImagePullFailed"),
]
CREATIONS = [
    ("No such image: r/a:v1", "ImageNotFound"),
    ("No such container: other", "CreateFailed"),
    ("No command specified", "BadCommand"),
    ("invalid mode: rx", "MountFailed"),
    ("Duplicate mount point: /dev/reason", "MountFailed"),
    ("invalid volume specification: '/a:b': invalid mount config for type \"bind\": invalid mount path", "MountFailed"),
    ('invalid mount config for type "bind": bind source path does not exist: /nosuch', "MountFailed"),
    ('create rel: "rel" includes invalid characters for a local volume name', "MountFailed"),
    (
        "privileged mode is incompatible with user namespaces.  You must run the container in the host namespace",
        "NotPrivileged",
    ),
    ("Cannot mkdir: /bin/busybox is not a directory", "CreateFailed"),
]
STARTS = [
    (RUNC + 'exec: "nothing": executable file not found in $PATH: unknown', "BadCommand"),
    (RUNC + 'error during container init: error mounting "/a" to rootfs at "/b": not a directory', "MountFailed"),
    ("error while creating mount source path '/proc/a': mkdir /proc/a: no such file or directory", "MountFailed"),
    ("path /dev is mounted on /dev but it is not a shared mount", "MountFailed"),
    ("error while creating mount source path '/a': mkdir /a: no space left on device", "NoSpace"),
    ("container init was OOM-killed (memory limit too low?): unknown", "OutOfMemory"),
    (RUNC + "unable to apply caps: operation not permitted: unknown", "NotPrivileged"),
    ("unable to find user nobody99: no matching entries in passwd file", "StartFailed"),
]


@pytest.mark.parametrize(
    ("asked", "text", "reason"),
    [
        (asked, text, reason)
        for asked, rows in (("ImagePullFailed", PULLS), ("CreateFailed", CREATIONS), ("StartFailed", STARTS))
        for text, reason in rows
    ],
)
def test_the_engines_words_have_a_reason_and_stay_readable(asked: str, text: str, reason: str) -> None:
    error = meaning(asked, 500, text)
    assert error.reason == reason
    assert reason in set(Reason)
    assert "OCI runtime" not in str(error)
    assert not str(error).endswith(": unknown")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ('"": executable file not found in $PATH', "the command is empty"),
        (
            '"nothing": executable file not found in $PATH',
            "the image has no program nothing in the folders of its PATH",
        ),
        ('"/bin/no": stat /bin/no: no such file or directory', "the image has no program /bin/no"),
        ('"/bin": permission denied', "/bin may not be executed: it is a folder, or a file without the permission"),
        ('"/bin/x": input/output error', "/bin/x cannot be executed: input/output error"),
    ],
)
def test_a_command_that_cannot_run_is_named_with_what_is_wrong_with_it(program: str, message: str) -> None:
    error = meaning("StartFailed", 400, f"{RUNC}exec: {program}: unknown")
    assert error.reason == "BadCommand"
    assert str(error).startswith(message)


@pytest.mark.parametrize("text", [text for text, _ in PULLS if "https://172.30.0.1" in text or "HTTPS client" in text])
def test_a_registry_of_plain_http_is_told_with_the_engines_setting(text: str) -> None:
    assert "insecure-registries of the engine's /etc/docker/daemon.json" in str(meaning("ImagePullFailed", 500, text))


def test_an_engine_that_gives_no_privileges_has_one_hint_the_workers_flag() -> None:
    error = meaning("StartFailed", 500, RUNC + "unable to apply caps: operation not permitted")
    assert "--no-privileged" not in str(error)
    assert "--no-privileged" in hint(error.reason)


def test_words_of_one_request_say_nothing_of_another() -> None:
    assert meaning("EngineFailed", 500, "unauthorized").reason == "EngineFailed"
    assert meaning("ContainerLost", 404, "No such container: c1").reason == "ContainerLost"
    assert meaning("ImagePullFailed", 404, "what?").reason == "ImageNotFound"


def test_an_essay_is_cut() -> None:
    assert len(str(meaning("StartFailed", 500, "x" * 100_000))) <= MAX_WORDS


def test_what_stands_between_the_engine_and_a_registry_or_keeps_it_from_privileges_is_named() -> None:
    page = "error parsing HTTP 403 response body: invalid character '<': \"<!DOCTYPE html>\\n<p>Access Denied</p>\""
    assert "no-proxy" in str(meaning(Reason.IMAGE_PULL_FAILED, 500, page))
    maps = "privileged mode is incompatible with user namespaces"
    assert "take userns-remap out of its /etc/docker/daemon.json" in str(meaning(Reason.CREATE_FAILED, 400, maps))


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("certificate has expired or is not yet valid: current time 1970-01-01T00:00:09Z is before 2026-11-30", "compare `date`"),
        ("certificate is valid for registry.lab, not 10.0.0.1", "name the registry in the image as its certificate does"),
        ("cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs", "name the registry in the image"),
        ("certificate relies on legacy Common Name field, use SANs instead", "have the certificate made anew"),
        ("certificate signed by unknown authority", "have the appliance fetch it"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_registrys_certificate_has_its_own_way_out(words: str, way: str) -> None:
    error = meaning(
        Reason.IMAGE_PULL_FAILED, 500, f'Get "https://10.0.0.1/v2/": tls: failed to verify certificate: x509: {words}'
    )
    assert way in hint(error.reason, str(error))


def test_pull_that_a_mirror_of_the_appliance_keeps_from_it_is_not_tried_on_another_machine() -> None:
    words = "unknown: mirror.lab.example:5000 cannot be asked for manifest tools/wipe, v1: certificate verify failed: self-signed certificate"
    failed = meaning(Reason.IMAGE_PULL_FAILED, 500, words)
    assert failed.reason is Reason.IMAGE_PULL_FAILED
    advice = hint(failed.reason, str(failed))
    assert advice.startswith(
        "`tinkbox doctor` says why the appliance does not reach the registry that the message names"
    )
