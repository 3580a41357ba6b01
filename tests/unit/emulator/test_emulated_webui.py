"""The emulated Open WebUI: pulled by digest, its users outlive its container, and it chats with an engine."""

import contextlib
import io
import json
import os
import signal
import subprocess
import time
from unittest.mock import patch

import pytest

from sparklab import files
from sparklab.engine import http, webui
from sparklab.fake_docker import rootfs, store
from support.emulated import opened
from support.serving import GPT, SMALL, STOCK, ask

IMAGE = "ghcr.io/open-webui/open-webui:v0.11.4"
DIGEST = "sha256:9591b13f13843c7721c2b8eaf7382846c81b3ffe126526d1888d1fed50c6a33f"
PINNED = f"{IMAGE}@{DIGEST}"
PORT = 3000
ADMIN, PASSWORD = "admin@localhost", "sk-page"
GIVEN = {"PORT": str(PORT), "WEBUI_ADMIN_EMAIL": ADMIN, "WEBUI_ADMIN_PASSWORD": PASSWORD}
KEPT = {"WEBUI_SECRET_KEY_FILE": "/app/backend/data/.webui_secret_key"}
SIGN_IN, SIGN_UP, MODELS, CHAT = "/api/v1/auths/signin", "/api/v1/auths/signup", "/api/models", "/api/chat/completions"


class Page:
    """Containers of the image on the first node, one at a time and with one volume."""

    def __init__(self, nodes):
        self.nodes, self.log = nodes, io.StringIO()

    def create(self, *words, env):
        pairs = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
        made = self.nodes.docker("create", "-v", "chat:/app/backend/data", *pairs, PINNED, *words)
        assert made.code == 0, made.on(2)
        return store.Container(self.nodes.one, made.on(1).strip())

    @contextlib.contextmanager
    def runs(self, **env):
        """A new container, with its program in this process."""
        environment = rootfs.environment(self.create(env=GIVEN | env))
        with patch.dict(os.environ, environment), contextlib.redirect_stdout(self.log):
            servers = http.listen(self.nodes.one, self.nodes.one.address, PORT, webui.started())
            with opened(servers):
                yield

    def ask(self, path, body=None, token=None):
        """Status and value of an answer."""
        status, text = ask(self.nodes.one.address, path, body, token, port=PORT)
        return status, json.loads(text)

    def sign_in(self, password=PASSWORD):
        return self.ask(SIGN_IN, {"email": ADMIN, "password": password})

    def sign_up(self, email, **more):
        return self.ask(SIGN_UP, {"name": "Ann", "email": email, "password": "secret"} | more)


@pytest.fixture
def page(nodes):
    assert nodes.docker("pull", PINNED).code == 0
    yield Page(nodes)
    assert nodes.docker("rmi", "-f", PINNED).code == 0
    files.clear(nodes.one.path("docker", "volumes", "chat"))


@pytest.fixture
def engine(nodes):
    """What lets a page reach an engine on the second node."""
    with nodes.serves(STOCK, GPT, *SMALL, "--api-key", "sk-backend", node=nodes.two):
        yield {"OPENAI_API_BASE_URL": f"http://{nodes.two.address}:8000/v1", "OPENAI_API_KEY": "sk-backend"}


def test_its_image_is_pulled_by_its_digest_and_by_no_other(nodes):
    assert nodes.docker("image", "inspect", IMAGE).code == 1
    wrong = nodes.docker("pull", f"{IMAGE}@sha256:{'0' * 64}")
    assert (wrong.code, "manifest unknown" in wrong.on(2)) == (1, True)
    assert nodes.docker("image", "inspect", PINNED).code == 1
    told = nodes.docker("pull", PINNED)
    assert (told.code, f"Digest: {DIGEST}" in told.on(1)) == (0, True)
    (image,) = json.loads(nodes.docker("image", "inspect", PINNED).on(1))
    assert (image["RepoTags"], image["RepoDigests"]) == ([], [f"{IMAGE.rpartition(':')[0]}@{DIGEST}"])
    assert (image["Architecture"], image["Config"]["Entrypoint"]) == ("arm64", None)
    assert nodes.docker("image", "inspect", PINNED, node=nodes.two).code == 1
    assert nodes.docker("rmi", PINNED).code == 0


def test_its_image_is_pulled_by_its_tag_too(nodes):
    assert nodes.docker("pull", IMAGE).code == 0
    assert nodes.docker("image", "inspect", "--format", "{{.RepoTags}}", PINNED).on(1) == f"[{IMAGE}]\n"
    assert nodes.docker("rmi", IMAGE).code == 0


def test_a_container_runs_the_command_of_the_image_with_its_variables_and_the_given_ones(nodes, page):
    made = page.create(env={"PORT": "3000"})
    (found,) = json.loads(nodes.docker("inspect", made.id).on(1))
    assert (found["Config"]["Entrypoint"], found["Config"]["Cmd"]) == (None, ["bash", "start.sh"])
    assert [entry for entry in found["Config"]["Env"] if entry.startswith(("PORT=", "ENV="))] == [
        "ENV=prod",
        "PORT=3000",
    ]


def test_every_path_that_is_no_api_is_the_page(nodes, page):
    with page.runs():
        assert page.ask("/health") == (200, {"status": True})
        for path in ("/", "/c/some-chat"):
            status, text = ask(nodes.one.address, path, port=PORT)
            assert (status, "<title>Open WebUI</title>" in text) == (200, True)
        assert page.ask("/nowhere", {})[0] == 405
        assert page.ask(SIGN_IN)[0] == 405


def test_the_admin_is_there_before_anybody_can_sign_up(page):
    with page.runs():
        status, session = page.sign_in()
        assert (status, session["role"], session["email"]) == (200, "admin", ADMIN)
        status, refusal = page.sign_in("wrong")
        assert (status, "password provided is incorrect" in refusal["detail"]) == (400, True)
        status, refusal = page.sign_up("ann@example.org")
        assert (status, "do not have permission" in refusal["detail"]) == (403, True)
        assert page.sign_in()[1]["token"] == session["token"]


def test_without_an_admin_the_first_to_sign_up_is_one(page):
    with page.runs(WEBUI_ADMIN_EMAIL="", ENABLE_SIGNUP="true"):
        assert page.sign_in()[0] == 400
        status, first = page.sign_up("Ann@example.org")
        assert (status, first["role"], first["email"]) == (200, "admin", "ann@example.org")
        assert page.sign_up("ann@example.org")[0] == 400
        assert page.sign_up("bob@example.org", name=None)[0] == 422
        status, second = page.sign_up("bob@example.org")
        assert (status, second["role"]) == (200, "pending")
        assert page.ask(MODELS, token=first["token"])[0] == 200
        assert page.ask(MODELS, token=second["token"])[0] == 401


def test_users_outlive_the_container_and_so_do_tokens_if_their_secret_is_in_the_volume(page):
    with page.runs(**KEPT):
        token = page.sign_in()[1]["token"]
    with page.runs(**KEPT, WEBUI_ADMIN_PASSWORD="sk-new"):
        assert page.sign_in("sk-new")[0] == 400
        assert page.sign_in()[0] == 200
        assert page.ask(MODELS, token=token)[0] == 200
    with page.runs():
        assert page.sign_in()[0] == 200
        assert page.ask(MODELS, token=token)[0] == 401


def test_the_passwords_are_not_in_the_volume_or_the_log(nodes, page):
    with page.runs(OPENAI_API_KEY="sk-of-the-endpoint", ENABLE_PERSISTENT_CONFIG="False"):
        page.sign_in()
    folder = nodes.one.path("docker", "volumes", "chat")
    texts = [files.read(os.path.join(folder, name)) for name in os.listdir(folder)] + [page.log.getvalue()]
    assert ADMIN in "".join(texts)
    assert [text for text in texts if PASSWORD in text or "sk-of-the-endpoint" in text] == []


def test_it_lists_the_models_of_the_endpoint_and_hands_chats_on(page, engine):
    said = {"model": GPT, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4}
    with page.runs(**engine):
        for token in (None, "sk-backend"):
            assert page.ask(MODELS, token=token)[0] == page.ask(CHAT, said, token)[0] == 401
        token = page.sign_in()[1]["token"]
        status, listed = page.ask(MODELS, token=token)
        assert (status, [model["id"] for model in listed["data"]]) == (200, [GPT])
        status, answer = page.ask(CHAT, said, token)
        assert (status, answer["choices"][0]["message"]["role"]) == (200, "assistant")
        assert page.ask(CHAT, said | {"model": "other"}, token)[0] == 404


def test_a_user_who_is_no_admin_sees_models_only_without_access_control(page, engine):
    for more, ids in {(): [], (("BYPASS_MODEL_ACCESS_CONTROL", "True"),): [GPT]}.items():
        with page.runs(**engine, ENABLE_SIGNUP="True", DEFAULT_USER_ROLE="user", **dict(more)):
            token = page.sign_up(f"{len(ids)}@example.org")[1]["token"]
            assert [model["id"] for model in page.ask(MODELS, token=token)[1]["data"]] == ids


def test_without_its_endpoint_it_has_no_models_and_says_so_in_its_log(nodes, page, engine):
    wrong_key = engine | {"OPENAI_API_KEY": "sk-wrong"}
    nobody = {"OPENAI_API_BASE_URL": f"http://{nodes.two.address}:8001/v1"}
    for env, code in ((wrong_key, 401), (nobody, 400), ({}, 400)):
        with page.runs(**env, ENABLE_PERSISTENT_CONFIG="False"):
            token, before = page.sign_in()[1]["token"], len(page.log.getvalue())
            assert page.ask(MODELS, token=token) == (200, {"data": []})
            assert "| ERROR    | open_webui" in page.log.getvalue()[before:]
            assert page.ask(CHAT, {"model": GPT, "messages": []}, token)[0] == code


def test_the_endpoint_of_the_first_start_stays_unless_its_settings_are_not_kept(page, engine):
    first = {"OPENAI_API_BASE_URL": "http://127.0.0.1:9/v1"}
    for env, ids in ((first, []), (engine, []), (engine | {"ENABLE_PERSISTENT_CONFIG": "False"}, [GPT])):
        with page.runs(**env):
            listed = page.ask(MODELS, token=page.sign_in()[1]["token"])[1]["data"]
            assert [model["id"] for model in listed] == ids, env


def test_its_url_may_be_the_loopback_of_the_node(nodes, page):
    class Models(http.Handler):
        def do_GET(self):
            self.reply(200, {"data": [{"id": self.bearer}]})

    local = {"OPENAI_API_BASE_URL": "http://localhost:8000/v1/", "OPENAI_API_KEY": "sk-mine"}
    with opened(http.listen(nodes.one, "127.0.0.1", 8000, Models)), page.runs(**local):
        (model,) = page.ask(MODELS, token=page.sign_in()[1]["token"])[1]["data"]
    assert (model["id"], model["owned_by"]) == ("sk-mine", "openai")


def test_bash_start_sh_runs_it_in_its_image_until_sigterm(page):
    """A script before it finds Python, and any other use of bash is the machine's own."""
    first = """python3 -IS -c 'print("probe")' && bash -c 'echo "[[ $1 ]]"' - word && exec "$@" """
    container = page.create("sh", "-c", first, "entry", "bash", "start.sh", env=GIVEN)
    words, environment = rootfs.words(container), rootfs.environment(container)
    program = subprocess.Popen(
        words,
        env=environment,
        cwd=container.path("rootfs"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while program.poll() is None and ask(page.nodes.one.address, "/health", port=PORT)[0] != 200:
            time.sleep(0.05)
        assert page.sign_in()[0] == 200
        program.terminate()
        log, _ = program.communicate(timeout=60)
    finally:
        program.kill()
        program.wait()
    assert (program.returncode, log.splitlines()[:2]) == (0, ["probe", "[[ word ]]"])
    assert f"INFO:     Uvicorn running on http://0.0.0.0:{PORT} (Press CTRL+C to quit)" in log


def test_on_a_port_that_is_taken_it_does_not_start(nodes, page, capsys):
    environment, before = rootfs.environment(page.create(env=GIVEN)), signal.getsignal(signal.SIGTERM)
    try:
        with opened(http.listen(nodes.one, "0.0.0.0", PORT, http.Handler)), patch.dict(os.environ, environment):
            assert webui.main("webui", []) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "address already in use" in capsys.readouterr().err
