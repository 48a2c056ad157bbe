"""Publishers of the internet in the lab, over HTTPS and HTTP, each under its own name: `python publisher.py ADDRESS FOLDER PEM`.

FOLDER has a folder for each host name; PEM is the certificate of all of them and its key.
"""

import ssl
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class _Handler(SimpleHTTPRequestHandler):
    def translate_path(self, path: str) -> str:
        host = self.headers.get("Host", "").partition(":")[0]
        return super().translate_path(f"/{host}{path}")


def serve(address: str, folder: str, certificate: str) -> None:
    handler = partial(_Handler, directory=folder)
    plain = ThreadingHTTPServer((address, 80), handler)
    secure = ThreadingHTTPServer((address, 443), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    sys.stdout.write("serving\n")
    sys.stdout.flush()
    secure.serve_forever()


if __name__ == "__main__":
    serve(*sys.argv[1:])
