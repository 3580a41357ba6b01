"""What the emulated Open WebUI does with a request."""

from collections.abc import Callable
from typing import Any

from sparklab.engine.http import Handler
from sparklab.engine.webui_endpoint import Endpoint, Unreachable, say
from sparklab.engine.webui_users import User, Users, switched

PAGE = '<!doctype html>\n<html lang="en"><head><title>Open WebUI</title></head><body></body></html>\n'
SIGN_IN, SIGN_UP = "/api/v1/auths/signin", "/api/v1/auths/signup"
MODELS = ("/api/models", "/api/v1/models")
CHAT = ("/api/chat/completions", "/api/v1/chat/completions")
WRONG_PASSWORD = "The email or password provided is incorrect. Please check for typos and try logging in again."
TAKEN = "Uh-oh! This email is already registered. Sign in with your existing account or choose another email."
PROHIBITED = "You do not have permission to access this resource. Please contact your administrator for assistance."
NO_CONNECTION = "Open WebUI: Server Connection Error"


class Refused(Exception):
    """A request that is answered with this status and reason."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def handler(users: Users, endpoint: Endpoint) -> type[Handler]:
    return type("WebuiHandler", (WebuiHandler,), {"users": users, "endpoint": endpoint})


class WebuiHandler(Handler):
    users: Users
    endpoint: Endpoint

    def do_GET(self) -> None:
        if self.route == "/health":
            self.reply(200, {"status": True})
        elif self.route in MODELS:
            self._answer(self._models)
        elif self.route in (SIGN_IN, SIGN_UP, *CHAT):
            self.reply(405, {"detail": "Method Not Allowed"})
        else:
            self.reply(200, PAGE, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        answers = {SIGN_IN: self._sign_in, SIGN_UP: self._sign_up, **dict.fromkeys(CHAT, self._chat)}
        body = self.body()
        if self.route not in answers:
            self.reply(405, {"detail": "Method Not Allowed"})
        elif body is None:
            self.reply(422, {"detail": [{"type": "json_invalid", "loc": ["body"], "msg": "JSON decode error"}]})
        else:
            self._answer(answers[self.route], body)

    def _answer(self, answer: Callable[..., None], *given: dict[str, Any]) -> None:
        try:
            answer(*given)
        except Refused as refusal:
            self.reply(refusal.status, {"detail": refusal.detail})

    def _sign_in(self, body: dict[str, Any]) -> None:
        email, password = _fields(body, "email", "password")
        self._welcome(self.users.signed_in(email, password), WRONG_PASSWORD)

    def _sign_up(self, body: dict[str, Any]) -> None:
        name, email, password = _fields(body, "name", "email", "password")
        if self.users.all() and not switched("ENABLE_SIGNUP", usual=False):  # usually true until there is a user
            raise Refused(403, PROHIBITED)
        self._welcome(self.users.add(email, password, name), TAKEN)

    def _welcome(self, user: User | None, otherwise: str) -> None:
        if user is None:
            raise Refused(400, otherwise)
        shown = {name: user[name] for name in ("id", "email", "name", "role")}
        self.reply(200, {"token": self.users.token(user), "token_type": "Bearer", **shown})

    def _models(self) -> None:
        """All models for the admin. Nobody shares a model here, so others see them only without access control."""
        user, found = self._user(), self.endpoint.models()
        sees = user["role"] == "admin" or switched("BYPASS_MODEL_ACCESS_CONTROL", usual=False)
        self.reply(200, {"data": found if sees else []})

    def _chat(self, body: dict[str, Any]) -> None:
        self._user()
        try:
            answer = self.endpoint.chat(body)
        except Unreachable as error:
            say("ERROR", "routers.openai:generate_chat_completion", str(error))
            raise Refused(400, NO_CONNECTION) from error
        self.reply(answer.status, answer.text, answer.kind)

    def _user(self) -> User:
        """The user who asks. The admin must first approve a user with the role `pending`."""
        if not self.bearer:
            raise Refused(401, "Not authenticated")
        user = self.users.of(self.bearer)
        if user is None:
            raise Refused(401, "401 Unauthorized")
        if user["role"] not in ("user", "admin"):
            raise Refused(401, PROHIBITED)
        return user


def _fields(body: dict[str, Any], *names: str) -> list[str]:
    """The texts of a form; a missing one is refused as FastAPI does."""
    missing = [name for name in names if not isinstance(body.get(name), str)]
    if missing:
        raise Refused(422, [{"type": "missing", "loc": ["body", name], "msg": "Field required"} for name in missing])
    return [body[name] for name in names]
