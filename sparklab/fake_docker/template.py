"""The part of Go templates that people use with docker: `{{.A.B}}`, `{{json .A}}`, `{{index .A "k"}}`."""

import json
import re
from typing import Any

from sparklab.fake_docker.errors import DockerError
from sparklab.tools.say import err, out

ACTION = re.compile(r"\{\{\s*(.*?)\s*\}\}")
WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')


def table(options: dict[str, Any], rows: list[dict[str, Any]], columns: str, titles: dict[str, str]) -> int:
    """Print rows as `ps` and `images` do: IDs only, by a template, or in columns under titles; the exit code."""
    form, quiet = options.get("format"), "quiet" in options
    if not form and not quiet:
        out(columns.format(**titles))
    for row in rows:
        out(row["ID"] if quiet else render(form, row) if form else columns.format(**row))
    return 0


def show(options: dict[str, Any], found: list[dict[str, Any]], errors: list[str]) -> int:
    """Print what `inspect` found, then the errors; the exit code."""
    if "format" in options:
        for value in found:
            out(render(options["format"], value))
    else:
        out(json.dumps(found, indent=4))
    for error in errors:
        err(error)
    return 1 if errors else 0


def render(form: str, value: Any) -> str:
    if form == "json":
        form = "{{json .}}"
    text = form.replace("\\t", "\t").replace("\\n", "\n")
    return ACTION.sub(lambda match: _action(WORDS.findall(match[1]), value), text)


def _action(words: list[str], value: Any) -> str:
    match words:
        case ["json", path]:
            return json.dumps(_field(path, value), separators=(",", ":"))
        case ["index", path, *keys]:
            found = _field(path, value)
            for key in keys:
                found = found[int(key)] if isinstance(found, list) else (found or {}).get(key.strip('"'))
            return "" if found is None else _plain(found)
        case [path] if path.startswith("."):
            return _plain(_field(path, value))
    raise DockerError(f'template parsing error: template: :1: function "{words[0]}" not defined', 64)


def _field(path: str, value: Any) -> Any:
    for key in filter(None, path.split(".")):
        if not isinstance(value, dict) or key not in value:
            raise DockerError(f'template: :1:2: executing "" at <{path}>: map has no entry for key "{key}"')
        value = value[key]
    return value


def _plain(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "<no value>"
        case dict():
            return "map[" + " ".join(f"{key}:{_plain(item)}" for key, item in sorted(value.items())) + "]"
        case list():
            return "[" + " ".join(map(_plain, value)) + "]"
    return str(value)
