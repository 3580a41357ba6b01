"""What is posted to servers of others: a status says enough, and nobody else gets what is in the headers."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sparkops.remote.network import Real


class Receives(BaseHTTPRequestHandler):
    """`/CODE` answers so; `/moved` sends elsewhere; `/endless` never ends its body."""

    def do_POST(self) -> None:
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        code = {"/moved": 302, "/endless": 200}.get(self.path) or int(self.path[1:])
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/200")
        if self.path == "/endless":
            self.send_header("Content-Length", "1000000")
        self.end_headers()
        if self.path == "/endless":
            self.server.closed.wait(30)

    do_GET = do_POST

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Receives)
    made.asked, made.closed = [], threading.Event()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.closed.set()
    made.shutdown()
    made.server_close()


def post(server, path):
    Real().post(f"http://127.0.0.1:{server.server_port}{path}", b"{}", {"Authorization": "Bearer x"})


@pytest.mark.parametrize("path", ["/200", "/204", "/endless"])
def test_what_is_taken_is_sent_once_and_its_answer_is_not_read(server, path):
    post(server, path)
    assert server.asked == [("POST", path, "Bearer x")]


@pytest.mark.parametrize(("path", "said"), [("/404", "HTTP 404"), ("/500", "HTTP 500"), ("/moved", "HTTP 302")])
def test_what_is_not_taken_is_an_error_and_nothing_goes_elsewhere(server, path, said):
    with pytest.raises(OSError, match=said):
        post(server, path)
    assert server.asked == [("POST", path, "Bearer x")]
