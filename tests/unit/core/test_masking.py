"""A command line without its secrets."""

from sparkops.core.masking import typed

SHOWN = {
    ("deploy", "--set", "args.max-num-batched-tokens=8192"): "deploy --set args.max-num-batched-tokens=8192",
    ("deploy", "--", "--tokenizer", "acme/tiny"): "deploy -- --tokenizer acme/tiny",
    ("deploy", "--", "--hf-overrides", '{"num_tokens": 4}'): """deploy -- --hf-overrides '{"num_tokens": 4}'""",
    ("deploy", "--", "--hf-overrides", '{"pad_token": "x"}'): """deploy -- --hf-overrides '{"pad_token": "x"}'""",
    ("image", "pull", "ghcr.io/a/token:1.2"): "image pull ghcr.io/a/token:1.2",
    ("deploy", "--no-api-key", "--alongside"): "deploy --no-api-key --alongside",
    ("stop", "--ask-become-pass", "tiny"): "stop --ask-become-pass tiny",
    ("play", "x.yml", "-e", "n=1"): "play x.yml -e n=1",
}
MASKED = {
    ("deploy", "--set", "env.HF_TOKEN=a b"): "deploy --set 'env.HF_TOKEN=***'",
    ("play", "-e", "db_password=x y", "-e", "n=1"): "play -e 'db_password=***' -e n=1",
    ("run", "--", "docker", "-e", "MY_SECRET_V2=x"): "run -- docker -e 'MY_SECRET_V2=***'",
    ("run", "--", "docker", "-e", "PASSWD_OF_ANN=x"): "run -- docker -e 'PASSWD_OF_ANN=***'",
    ("play", "-e", "Credential.file=x"): "play -e 'Credential.file=***'",
    ("deploy", "--", "--api-key", "hush", "--seed", "7"): "deploy -- --api-key *** --seed 7",
    ("deploy", "--", "--api-key", "-x", "--seed", "7"): "deploy -- --api-key *** --seed 7",
    ("deploy", "--", "--api-key=-x"): "deploy -- '--api-key=***'",
    ("deploy", "--", "--kv", '{"a_password": "x \\" y", "port": 1}'): (
        """deploy -- --kv '{"a_password": ***, "port": 1}'"""
    ),
    ("deploy", "--", "--kv", '{"secret_store": {"id": "x"}, "port": 1}'): """deploy -- --kv '{"secret_store": ***'""",
    ("deploy", "--set", "args.kv={port: 1, token: 7}"): "deploy --set 'args.kv={port: 1, token: ***}'",
    ("play", "https://me:hush@host/x"): "play 'https://***@host/x'",
    ("play", "https://ghp_abcdefghijklmnopqrstuvwxyz@host/x"): "play 'https://***@host/x'",
    ("play", "hf_abcdefghijklmnopqrstuvwxyz"): "play ***",
}


def test_a_command_line_is_kept_without_its_secrets_and_with_all_else() -> None:
    wrong = {words: typed(words) for words, told in {**SHOWN, **MASKED}.items() if typed(words) != f"sparkops {told}"}
    assert wrong == {}


def test_a_long_command_line_is_cut() -> None:
    assert len(typed(["x" * 5000])) == 1000
