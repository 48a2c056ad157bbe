"""The section `audit`, and how long what it is about is kept."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.model.audit_places import SyslogServer


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("logs.example", SyslogServer(host="logs.example")),
        ("udp://192.0.2.7:1514", SyslogServer(host="192.0.2.7", port=1514)),
        ("tcp://logs.example:601", SyslogServer(host="logs.example", port=601, tcp=True)),
        ("'[2001:db8::1]:514'", SyslogServer(host="2001:db8::1")),
    ],
)
def test_syslog_server_is_a_host_with_a_port_and_a_protocol(tmp_path: Path, written: str, read: SyslogServer) -> None:
    assert loaded(tmp_path, f"audit: {{syslog: {written}}}").audit.syslog == read


@pytest.mark.parametrize("written", ["'logs:0'", "'logs:65536'", "http://logs", "'a b'", "12", "[logs]"])
def test_what_can_be_no_syslog_server_is_refused(tmp_path: Path, written: str) -> None:
    (problem,) = problems_of(tmp_path, f"audit: {{syslog: {written}}}")
    assert problem.startswith("audit.syslog: expected ")


def test_file_of_lines_is_named_by_a_whole_path(tmp_path: Path) -> None:
    assert loaded(tmp_path, "audit: {file: /var/log/audit.jsonl}").audit.file == "/var/log/audit.jsonl"
    assert problems_of(tmp_path, "audit: {file: audit.jsonl}") == [
        "audit.file: expected a path from / on, not 'audit.jsonl'"
    ]


def test_audit_and_recordings_have_ages_of_their_own_or_none(tmp_path: Path) -> None:
    kept = loaded(tmp_path, "").retention.of
    assert (kept.audit, kept.recordings) == (timedelta(days=730), None)
    kept = loaded(tmp_path, "retention: {audit: never, recordings: 30d}").retention.of
    assert (kept.audit, kept.recordings) == (None, timedelta(days=30))
    kept = loaded(tmp_path, "retention: {audit: 365d, recordings: workflow}").retention.of
    assert (kept.audit, kept.recordings) == (timedelta(days=365), None)
    for wrong in ("90", "1h", "forever"):
        (problem,) = problems_of(tmp_path, f"retention: {{audit: {wrong}}}")
        assert problem.startswith("retention.audit: expected ")
