"""Receives the webhooks of Parley and prints each event once. Python 3.9 or later, standard library alone.

    WEBHOOK_SECRET='the secret of the registration' PORT=8000 python3 receiver.py
"""

import hashlib
import hmac
import json
import os
import sqlite3
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
MAX_BODY_BYTES = 1024 * 1024

# A delivery may arrive more than once: each event is kept under its id, so that it takes effect once.
database = sqlite3.connect(os.environ.get("DATABASE", "messages.sqlite"), check_same_thread=False, isolation_level=None)
database.execute("create table if not exists events (id text primary key, envelope text not null)")


def is_signed(body: bytes, signature: str) -> bool:
    """X-Service-Signature is the HMAC-SHA256 of the body's bytes, in hexadecimal."""
    expected = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


def handle(envelope: dict) -> None:
    """The work of the shop; what it does here is print the event."""
    if envelope["event"] != "whatsapp.message.received":
        return print(f"{envelope['event']}: {envelope['change']} {envelope['data']['id']}", flush=True)
    message = envelope["message"]
    print(f"{envelope['contact']['phone']}: {message['text'] or message['type']}", flush=True)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY_BYTES:
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_signed(body, self.headers.get("X-Service-Signature", "")):
            return self.answer(401)
        envelope = json.loads(body)
        row = (self.headers["X-Service-Delivery"], body.decode())
        # Parley repeats a delivery until it is answered with 2xx: answer after the event is stored.
        is_new = database.execute("insert or ignore into events values (?, ?)", row).rowcount == 1
        self.answer(204)
        if is_new:
            handle(envelope)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Receiver)
    print(f"Listens on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
