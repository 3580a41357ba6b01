"""How two revisions differ, in words that a person reads before a deploy."""

from sparkops.core.revision_changes import in_words


def member(name: str, role: str, port: int | None = 8000, **more: object) -> dict[str, object]:
    return {"name": name, "role": role, "address": f"10.0.0.{name[-1]}", "rank": 0, "port": port, **more}


def image(reference: str, fingerprint: str = "f0") -> dict[str, str]:
    return {"reference": reference, "fingerprint": fingerprint}


TWO = [member("node1", "server", 8001), member("node2", "server", 8001), member("node1", "proxy")]
CLUSTER = [member("node1", "head", link={"address": "198.51.100.1"}), member("node2", "worker", None)]


def test_members_are_told_by_role_and_an_equal_member_by_what_changed() -> None:
    assert in_words({"members": TWO}, {"members": [member("node1", "server")]}) == (
        "servers: node1, node2 -> node1",
        "port of the server on node1: 8001 -> 8000",
        "proxy: node1 -> none",
    )
    moved = [{**CLUSTER[0], "link": {"address": "198.51.100.9"}}, CLUSTER[1]]
    assert in_words({"members": CLUSTER}, {"members": moved}) == (
        "fabric address of the head on node1: 198.51.100.1 -> 198.51.100.9",
    )


def test_images_mounts_and_keys_have_words_and_settings_their_names() -> None:
    old = {
        "image": image("vllm:1"),
        "mounts": ["~/a:/a", "~/b:/b"],
        "args": {"max-model-len": 4096, "compilation-config": {"mode": 3}},
        "executor": "ray",
        "models": {"org/draft": "c0ffee"},
    }
    new = {
        "image": image("vllm:1", "f1"),
        "proxy_image": image("litellm:2"),
        "mounts": ["~/b:/b", "~/c:/c"],
        "args": {"max-model-len": 8192, "compilation-config": {"mode": 0}},
        "without_key": True,
        "proxy_metrics": True,
        "model_revision": "abc",
        "models": {"org/draft": "beef"},
    }
    assert in_words(old, new) == (
        "args.compilation-config.mode 3 -> 0",
        "args.max-model-len 4096 -> 8192",
        "executor: ray -> unset",
        "image: another build of vllm:1",
        "revision of the model: unset -> abc",
        "revision of org/draft c0ffee -> beef",
        "mount removed: ~/a:/a",
        "mount added: ~/c:/c",
        "proxy image: none -> litellm:2",
        "proxy's metrics: off -> on",
        "API key: required -> not required",
    )
    assert in_words(new, new) == ()


def test_a_label_that_sparkops_did_not_write_is_told_as_far_as_it_can_be_read() -> None:
    assert in_words({"members": "?", "mounts": 1, "args": []}, {"members": [7, member("node1", "server")]}) == (
        "servers: none -> node1",
    )
