"""A service that counts the bytes of what it is sent, and keeps none of them.

    python -m tests.integration.proxy.sink FOLDER ADDRESS PORT

The port it listens on is in FOLDER/sink as soon as it does; PORT may be 0.  One request at a time, with a length.
"""

import re
import socket
import sys
from pathlib import Path

PIECE = 1024 * 1024
LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


def serve(listening: socket.socket) -> None:
    space = memoryview(bytearray(PIECE))
    while True:
        connection, _ = listening.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (piece := connection.recv(65536)):
                    break
                head += piece
            else:
                head, _, rest = head.partition(b"\r\n\r\n")
                length = LENGTH.search(head)
                missing = int(length[1]) - len(rest) if length else 0
                while missing and (taken := connection.recv_into(space, min(PIECE, missing))):
                    missing -= taken
                answer = f"{int(length[1]) if length else 0} bytes, {missing} missing\n"
                connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n{answer}".encode())


if __name__ == "__main__":
    folder, address, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with socket.create_server((address, port)) as bound:
        fresh = folder / "sink.new"
        fresh.write_text(str(bound.getsockname()[1]))
        fresh.rename(folder / "sink")
        serve(bound)
