"""Workers as tests play them: what one begins with that holds a credential."""

import hashlib
import http.client
from contextlib import closing
from dataclasses import replace

from tinkbox.client.node import NodeDoor
from tinkbox.wire.messages.session import Opening, encode
from tinkbox.wire.messages.worker import Credential, decode_credential
from tinkbox.wire.messages.worker import encode as encode_credential


def opening(ticket: str, boot_id: str = "boot-1", instance: str = "1-process") -> Opening:
    """What a worker sends that holds this boot ticket: always the same, as if it had kept its session's secret."""
    secret = hashlib.sha256(ticket.encode()).hexdigest()
    return Opening(secret=secret, boot_id=boot_id, instance=instance, version="0")


def door_of(credential: Credential, boot_id: str = "boot-1", instance: str = "1-process") -> NodeDoor:
    """The node door of the worker that holds this credential."""
    return NodeDoor(credential, opening(credential.token, boot_id, instance))


def plain(credential: str) -> str:
    """The same credential for plain HTTP, as workers of earlier releases have it: for what stands between and reads along."""
    given = decode_credential(credential)
    server = given.url_for_others
    return encode_credential(
        replace(given, server=server, registry=server.partition("://")[2], authority="", http_server="")
    )


def begin(port: int, ticket: str, source: str = "127.0.0.1", boot_id: str = "boot-1") -> str:
    """Exchange a boot ticket at a node door on loopback, asked from an address; returns the session's secret.

    It is of no named process, so that a request needs no more than the secret.
    """
    wanted = opening(ticket, boot_id, instance="")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))
    with closing(connection):
        connection.request("POST", "/worker/session", encode(wanted), {"Authorization": f"Bearer {ticket}"})
        answer = connection.getresponse()
        said = answer.read()
    assert answer.status == 200, said
    return wanted.secret
