"""The few options of curl that launchers use, for machines that have none; where there is a real one it is found first."""

import shlex
import sys
import urllib.error
import urllib.request

from sparklab.tools.say import fail

REFUSED, TIMED_OUT = 7, 28
WITH_VALUE = frozenset({"-m", "--max-time", "-o", "--output", "-w", "--write-out", "-H", "--header", "-d", "--data"})
IGNORED_VALUE = frozenset({"--noproxy", "--connect-timeout", "-X", "--request"})
LONG = {"--max-time": "-m", "--output": "-o", "--write-out": "-w", "--header": "-H", "--data": "-d"}


class Wish:
    def __init__(self, words: list[str]) -> None:
        self.url, self.body, self.output, self.form = "", "", "", ""
        self.headers: dict[str, str] = {}
        self.patience = 300.0
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word in WITH_VALUE:
                self._take(LONG.get(word, word), rest.pop(0))
            elif word in IGNORED_VALUE:
                rest.pop(0)
            elif word in ("-K", "--config"):
                rest.pop(0)
                self._configure(sys.stdin.read())
            elif not word.startswith("-"):
                self.url = word

    def _take(self, name: str, value: str) -> None:
        match name:
            case "-m":
                self.patience = float(value)
            case "-o":
                self.output = value
            case "-w":
                self.form = value
            case "-d":
                self.body = value
            case "-H":
                key, _, text = value.partition(":")
                self.headers[key.strip()] = text.strip()

    def _configure(self, text: str) -> None:
        for line in text.splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "header":
                self._take("-H", shlex.split(value)[0])


def main(name: str, words: list[str]) -> int:
    wish = Wish(words)
    data = wish.body.encode() if wish.body else None
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(wish.url, data, wish.headers), timeout=wish.patience) as answer:
            return _write(wish, answer.status, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return _write(wish, error.code, error.read())
    except OSError as error:
        slow = isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError)
        sys.stdout.write(wish.form.replace("%{http_code}", "000").replace("\\n", "\n"))
        told = (
            f"curl: ({TIMED_OUT}) Operation timed out" if slow else f"curl: ({REFUSED}) Failed to connect to {wish.url}"
        )
        return fail(told, TIMED_OUT if slow else REFUSED)


def _write(wish: Wish, code: int, body: bytes) -> int:
    if wish.output:
        with open(wish.output, "wb") as stream:
            stream.write(body)
    else:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
    sys.stdout.write(wish.form.replace("%{http_code}", str(code)).replace("\\n", "\n"))
    return 0
