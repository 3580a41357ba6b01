"""The few options of curl that launchers use, for machines that have none; where there is a real one it is found first."""

import getopt
import re
import sys
import urllib.error
import urllib.request

from sparklab.tools.say import fail

REFUSED, TIMED_OUT = 7, 28
LONG = {"--max-time": "-m", "--output": "-o", "--write-out": "-w", "--header": "-H", "--data": "-d", "--config": "-K"}
IGNORED = ["noproxy=", "connect-timeout=", "request=", "silent", "show-error"]


def main(name: str, words: list[str]) -> int:
    given, urls = getopt.gnu_getopt(words, "sSfm:o:w:H:d:K:X:", [*IGNORED, *(f"{word[2:]}=" for word in LONG)])
    pairs = [(LONG.get(word, word), value) for word, value in given]
    options = dict(pairs)
    lines = [value for word, value in pairs if word == "-H"]
    lines += re.findall(r'(?m)^header = "(.*)"$', sys.stdin.read()) if "-K" in options else []
    headers = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    request = urllib.request.Request(urls[-1], options["-d"].encode() if "-d" in options else None, headers)
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=float(options.get("-m", 300))) as answer:
            return _write(options, answer.status, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return _write(options, error.code, error.read())
    except OSError as error:
        _report(options, "000")
        if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
            return fail(f"curl: ({TIMED_OUT}) Operation timed out", TIMED_OUT)
        return fail(f"curl: ({REFUSED}) Failed to connect to {urls[-1]}", REFUSED)


def _write(options: dict[str, str], code: int, body: bytes) -> int:
    if "-o" in options:
        with open(options["-o"], "wb") as stream:
            stream.write(body)
    else:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
    _report(options, str(code))
    return 0


def _report(options: dict[str, str], code: str) -> None:
    sys.stdout.write(options.get("-w", "").replace("%{http_code}", code).replace("\\n", "\n"))
