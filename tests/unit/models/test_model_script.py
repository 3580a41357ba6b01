"""What a node makes of a hub that serves well, badly, or not at all; what verify finds; what prune leaves."""

import ast
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import sparkops

FIRST, SECOND, MODEL = "1" * 40, "2" * 40, "acme/tiny"
SHARD = "model-00002-of-00003.safetensors"
TOKEN, STRANGER = "hf_of_a_person_who_accepted_it", "hf_of_a_person_who_did_not"


def test_a_model_is_fetched_as_the_hub_s_own_library_lays_it_out(home: Any) -> None:
    found = home.result("fetch", MODEL)
    names = {str(path.relative_to(home.snapshot())) for path in home.snapshot().rglob("*") if not path.is_dir()}
    assert found["revision"] == FIRST
    assert names == {
        "config.json", "model.safetensors.index.json", "sub folder/tokenizer.json",
        "model-00001-of-00003.safetensors", SHARD, "model-00003-of-00003.safetensors",
    }  # fmt: skip
    assert (home.folder / "refs/main").read_text() == FIRST
    assert os.readlink(home.snapshot() / SHARD).startswith("../../blobs/")
    assert os.readlink(home.snapshot() / "sub folder/tokenizer.json").startswith("../../../blobs/")
    assert home.blob(SHARD).name == hashlib.sha256(home.blob(SHARD).read_bytes()).hexdigest()
    assert home.result("verify", MODEL)["problems"] == []


def test_fetching_what_is_there_downloads_nothing(home: Any) -> None:
    home.result("fetch", MODEL)
    assert len(home.hub.asked) == 3
    home.hub.seen.clear()
    assert home.result("fetch", MODEL)["fetched"] == 0
    assert [path for _, path in home.hub.seen] == [f"/api/models/{MODEL}/revision/main"]


def test_connections_that_drop_in_the_middle_are_taken_up_again(home: Any) -> None:
    home.hub.drop_after, home.hub.drops = 70_000, 8
    home.result("fetch", MODEL)
    assert home.hub.drops == 0
    assert home.result("verify", MODEL)["problems"] == []


def test_a_hub_that_knows_no_ranges_is_asked_for_the_whole_file(home: Any) -> None:
    home.hub.drop_after, home.hub.drops, home.hub.no_ranges = 70_000, 1, True
    home.result("fetch", MODEL)
    assert home.result("verify", MODEL)["problems"] == []


def test_a_mirror_without_hashes_in_its_listing_is_asked_file_by_file(home: Any) -> None:
    home.hub.plain_listing = True
    home.result("fetch", MODEL)
    assert home.result("verify", MODEL)["hashed"] == 6


def damage(home: Any, kind: str) -> None:
    blob = home.blob(SHARD)
    content = blob.read_bytes()
    new = {"corrupt": b"\xff" + content[1:], "truncated": content[:-7], "empty": b""}[kind]
    blob.write_bytes(new)


def test_damage_of_every_kind_is_found_and_mended(home: Any) -> None:
    home.result("fetch", MODEL)
    for kind in ("corrupt", "truncated", "empty"):
        damage(home, kind)
        found = home.result("verify", MODEL)["problems"]
        assert [one["file"] for one in found] == [SHARD]
        assert found[0]["problem"].startswith(kind)
        home.result("fetch", MODEL)
        assert home.result("verify", MODEL)["problems"] == []


def test_a_truncated_file_costs_its_rest_only(home: Any) -> None:
    home.result("fetch", MODEL)
    damage(home, "truncated")
    home.hub.asked.clear()
    home.result("fetch", MODEL)
    assert home.hub.asked == [(home.blob(SHARD).name, 300_001 - 7)]


def test_a_flipped_byte_that_kept_its_time_is_found_by_verify_and_then_mended(home: Any) -> None:
    home.result("fetch", MODEL)
    stat = home.blob(SHARD).stat()
    damage(home, "corrupt")
    os.utime(home.blob(SHARD), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert home.result("verify", MODEL)["problems"]
    home.result("fetch", MODEL)
    assert home.result("verify", MODEL)["problems"] == []


def test_missing_files_broken_links_and_lost_shards_are_found(home: Any) -> None:
    home.result("fetch", MODEL)
    (home.snapshot() / "config.json").unlink()
    home.blob(SHARD).unlink()
    (home.snapshot() / "model-00003-of-00003.safetensors").unlink()
    (home.folder / ".sparkops.json").unlink()  # as if another tool had fetched it
    found = {one["file"]: one["problem"] for one in home.result("verify", MODEL)["problems"]}
    assert found == {
        "config.json": "missing",
        SHARD: "broken link",
        "model-00003-of-00003.safetensors": "missing",
    }


def test_what_another_tool_fetched_is_taken_over_after_one_look(home: Any) -> None:
    home.result("fetch", MODEL)
    (home.folder / ".sparkops.json").unlink()
    home.hub.asked.clear()
    assert home.result("fetch", MODEL)["fetched"] == 0
    assert home.hub.asked == []


def test_a_file_that_is_not_what_was_announced_is_refused(home: Any) -> None:
    blob = hashlib.sha256(home.hub.models[MODEL]["main"][1][SHARD]).hexdigest()
    home.hub.tampered[blob] = b"<html>please log in</html>".ljust(300_001)
    assert f"{SHARD} was downloaded twice with the hash" in home.error("fetch", MODEL)
    assert not home.snapshot().exists()
    assert not list(home.folder.glob(f"blobs/{blob}*"))


def test_a_changed_revision_is_fetched_beside_the_old_one(home: Any) -> None:
    home.result("fetch", MODEL)
    files = dict(home.hub.models[MODEL]["main"][1])
    files["config.json"] = b'{"changed": true}'
    home.hub.add(MODEL, SECOND, files)
    found = home.result("fetch", MODEL)
    assert (found["revision"], found["fetched"]) == (SECOND, 17)
    assert (home.folder / "refs/main").read_text() == SECOND
    assert home.snapshot(FIRST).is_dir()
    assert home.result("verify", f"{MODEL}@{FIRST}")["problems"] == []


def test_a_revision_may_be_named_by_branch_or_commit(home: Any) -> None:
    home.hub.add(MODEL, SECOND, {"config.json": b"{}", "model.safetensors": bytes(2000)}, name="refs/pr/7")
    assert home.result("fetch", f"{MODEL}@refs/pr/7")["revision"] == SECOND
    assert home.result("verify", f"{MODEL}@refs/pr/7")["files"] == 2
    assert home.result("fetch", f"{MODEL}@{FIRST}")["revision"] == FIRST
    assert not (home.folder / "refs" / FIRST).exists()


def test_refusals_say_which_licence_token_or_name(home: Any) -> None:
    home.hub.gated.add(MODEL)
    assert "acme/tiny is gated: you must accept its licence" in home.error("fetch", MODEL)
    assert f"accept the licence at {home.hub.endpoint}/acme/tiny" in home.error("fetch", MODEL)
    home.environment["HF_TOKEN"] = STRANGER
    assert "this token's account has no access to it" in home.error("fetch", MODEL)
    home.environment["HF_TOKEN"] = TOKEN
    home.result("fetch", MODEL)
    assert "has no model acme/none" in home.error("fetch", "acme/none")
    assert "has no revision v9" in home.error("fetch", f"{MODEL}@v9")


def test_a_private_model_needs_a_token_and_nothing_tells_that_it_exists(home: Any) -> None:
    home.hub.private.add(MODEL)
    assert "if the model is private" in home.error("fetch", MODEL)
    home.environment["HF_TOKEN"] = TOKEN
    home.result("fetch", MODEL)


def asked(home: Any, **keys: Any) -> str:
    path = home.path / "ask.json"
    path.write_text(json.dumps(keys))
    path.chmod(0o600)
    return str(path)


def test_the_token_comes_from_a_file_that_is_gone_then(home: Any) -> None:
    home.hub.gated.add(MODEL)
    ask = asked(home, token=TOKEN)
    home.result("fetch", MODEL, "--ask", ask)
    assert not Path(ask).exists()
    assert TOKEN in home.hub.tokens


def test_a_proxy_is_used_and_named_when_it_does_not_answer(home: Any) -> None:
    home.environment |= {"https_proxy": "http://me:secret@127.0.0.1:9", "HF_ENDPOINT": "https://hub.invalid"}
    said = home.error("fetch", MODEL)
    assert "https://hub.invalid cannot be reached" in said
    assert "used the proxy http://***@127.0.0.1:9" in said
    assert "secret" not in said


def test_a_proxy_of_the_node_or_of_the_person_is_what_the_hub_is_reached_through(home: Any) -> None:
    home.environment |= {"http_proxy": home.hub.endpoint, "HF_ENDPOINT": "http://hub.invalid"}
    home.result("fetch", MODEL)
    del home.environment["http_proxy"], home.environment["HF_ENDPOINT"]
    home.hub.add(MODEL, SECOND, {"config.json": b"{}", "model.safetensors": bytes(2000)})
    given = asked(home, endpoint="http://hub.invalid", proxies={"http_proxy": home.hub.endpoint})
    assert home.result("fetch", MODEL, "--ask", given)["revision"] == SECOND


def test_the_disk_is_looked_at_before(home: Any) -> None:
    home.hub.models[MODEL]["main"][1]["huge.safetensors"] = Sparse(10**15)
    said = home.error("fetch", MODEL)
    assert "need 931322.6 GiB, have" in said
    assert not list(home.folder.glob("blobs/*"))


class Sparse(bytes):
    """Content that claims to be long."""

    def __new__(cls, length: int) -> "Sparse":
        made = super().__new__(cls, b"x" * 2000)
        made.length = length
        return made

    length: int

    def __len__(self) -> int:
        return self.length


def test_offline_asks_nobody_and_lists_what_is_missing(home: Any) -> None:
    home.hub.seen.clear()
    assert "acme/tiny@main is not complete, and --offline forbids the download: * (not in the cache)" in home.error(
        "fetch", MODEL, "--offline"
    )
    assert home.hub.seen == []
    home.result("fetch", MODEL)
    home.hub.seen.clear()
    assert home.result("fetch", MODEL, "--offline")["fetched"] == 0
    home.blob(SHARD).unlink()
    words = home.path / "words"
    told = home.error("fetch", MODEL, "--offline", "--vocabulary", str(words))
    for missing in (
        f"{SHARD} (broken link)",
        f"{words}/o200k_base.tiktoken (missing)",
        "cl100k_base.tiktoken (missing)",
    ):
        assert missing in told
    assert home.hub.seen == []


def test_a_cache_of_root_is_named_with_the_cure(home: Any) -> None:
    if os.getuid() == 0:
        return
    home.folder.mkdir(parents=True)
    home.folder.chmod(0o500)
    assert "sudo chown -R $USER" in home.error("fetch", MODEL)


def test_the_list_tells_what_is_there_what_is_half_and_what_was_proven(home: Any) -> None:
    home.result("fetch", MODEL)
    (home.folder / "blobs/abc.incomplete").write_bytes(bytes(10))
    found = home.result("list")["models"]
    assert [(one["model"], one["half"]) for one in found] == [(MODEL, 10)]
    assert [(r["revision"], r["refs"], r["files"], r["verified"]) for r in found[0]["revisions"]] == [
        (FIRST, ["main"], 6, True)
    ]


def test_a_model_with_a_file_lost_or_written_since_is_not_called_verified(home: Any) -> None:
    home.result("fetch", MODEL)
    blob = home.blob(SHARD)
    os.utime(blob, (1, 1))
    (written,) = home.result("list")["models"][0]["revisions"]
    blob.unlink()
    (lost,) = home.result("list")["models"][0]["revisions"]
    assert [(one["verified"], one["missing"]) for one in (written, lost)] == [(False, []), (False, [SHARD])]
    (home.snapshot() / SHARD).unlink()
    assert home.result("list")["models"][0]["revisions"][0]["missing"] == [SHARD]
    found = home.result("verify", MODEL)
    assert (found["hashed"], found["files"]) == (5, 6)


def test_prune_keeps_the_blobs_that_another_revision_needs(home: Any) -> None:
    home.result("fetch", MODEL)
    home.hub.add(MODEL, SECOND, {**home.hub.models[MODEL]["main"][1], "config.json": b'{"changed": true}'})
    home.result("fetch", MODEL)
    home.result("prune", f"{MODEL}@{FIRST}")
    assert not home.snapshot(FIRST).exists()
    assert home.result("verify", MODEL)["problems"] == []
    home.result("prune", f"{MODEL}@{SECOND}")
    assert not home.folder.exists()


def test_prune_of_a_model_alone_takes_its_half_downloads(home: Any) -> None:
    home.result("fetch", MODEL)
    (home.folder / "blobs/abc.incomplete").write_bytes(bytes(10))
    assert home.result("prune", f"{MODEL}@")["freed"] == 10
    assert home.result("verify", MODEL) | {"half": []} == home.result("verify", MODEL)


def test_no_two_modules_that_travel_together_have_a_name_in_common() -> None:
    """On the node they are one text."""
    names: dict[str, str] = {}
    for path in Path(sparkops.__file__).parent.glob("node/model*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert names.setdefault(node.name, path.name) == path.name


def test_a_revision_that_was_asked_for_by_its_commit_is_pinned(home: Any) -> None:
    home.result("fetch", f"{MODEL}@{FIRST}")
    home.hub.add(MODEL, SECOND, {"config.json": b"{}", "model.safetensors": bytes(2000)})
    home.result("fetch", MODEL)
    found = home.result("list")["models"][0]["revisions"]
    assert {one["revision"]: (one["refs"], one["pinned"]) for one in found} == {
        FIRST: ([], True), SECOND: (["main"], False),
    }  # fmt: skip


def test_a_model_without_a_config_json_is_whole_when_all_that_the_hub_has_is_here(home: Any) -> None:
    home.hub.add(MODEL, FIRST, {"params.json": b"{}", "consolidated.safetensors": bytes(2000)})
    home.result("fetch", MODEL)
    assert home.result("verify", MODEL)["problems"] == []
