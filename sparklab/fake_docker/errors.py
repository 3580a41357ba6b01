"""How the engine refuses: the message goes to stderr as Docker writes it."""


class DockerError(Exception):
    """`code` is docker's exit status: 1, for `run` 125, 126 or 127."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def daemon_says(message: str) -> DockerError:
    return DockerError(f"Error response from daemon: {message}")
