"""What a recipe's `build` says, and that equal inputs have one digest."""

import base64
import gzip
import io
import shlex
import tarfile
from functools import partial
from pathlib import Path

import pytest
import yaml

from sparkops.core.build import BENCHY, KNOWN, job_id, read
from sparkops.core.image_sources import image_source
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.files.build_context import pack
from sparkops.node_commands import benchy
from sparkops.verbs.image.build_inputs import build_of, source_of
from sparkops.verbs.image.pull import references
from support import golden

HERE = Path(__file__).parent
COMMIT = "a" * 40
CATALOGUE = recipes.recipe_names()


def folder(path: Path, **files: str) -> Path:
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def test_the_mxfp4_image_is_known_by_a_whole_commit():
    build = read("vllm-node-mxfp4", KNOWN["vllm-node-mxfp4"], "known")
    assert "--exp-mxfp4" in build.words
    assert len(str(build.commit)) == 40


def test_the_image_that_measures_is_built_from_the_dockerfile_that_comes_with_us():
    source = source_of(build_of(BENCHY))
    assert source.build.image == benchy.IMAGE
    assert source.context.files == 1
    text = (Path(source.build.context) / "Dockerfile").read_text()
    assert f"llama-benchy=={benchy.IMAGE.partition(':')[2]}" in text


def command(line):
    build = read("x", yaml.safe_load(line.replace("COMMIT", COMMIT)), "r.yml")
    return f"{build.digest('of the context')[:12]} {shlex.join(build.words)}"


def test_a_build_becomes_the_command_that_its_file_says_or_a_mistake_with_its_key():
    golden.hold_lines(HERE / "builds.txt", partial(golden.refusal, command))


def test_an_image_is_pulled_by_its_digest_and_named_for_the_other_nodes():
    def told(name):
        return "pulled {}, called {}".format(*references(name))

    golden.hold_lines(HERE / "references.txt", partial(golden.refusal, told))


def test_equal_files_have_one_digest_wherever_and_whenever_they_are(tmp_path):
    one = folder(tmp_path / "a b", Dockerfile="FROM scratch\n", data="1")
    two = folder(tmp_path / "elsewhere", data="1", Dockerfile="FROM scratch\n")
    other = folder(tmp_path / "other", Dockerfile="FROM scratch\n", data="2")
    assert pack(one) == pack(two)
    assert pack(one).digest != pack(other).digest
    build, more = read("x", {"context": "."}, "r"), read("x", {"context": ".", "args": {"A": 1}}, "r")
    assert build.digest(pack(one).digest) == build.digest(pack(two).digest) != more.digest(pack(one).digest)


def test_what_dockerignore_names_is_not_sent(tmp_path):
    made = folder(tmp_path / "c", Dockerfile="FROM scratch\n", kept="1", **{".dockerignore": "*.log\nDockerfile\n"})
    (made / "big.log").write_text("x")
    content = gzip.decompress(base64.b64decode(pack(made).content))
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        assert tar.getnames() == [".dockerignore", "Dockerfile", "kept"]


def test_a_context_without_a_dockerfile_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        pack(folder(tmp_path / "c"))
    with pytest.raises(UsageError, match="no such directory"):
        pack(tmp_path / "none")


def test_an_image_is_built_as_the_recipe_that_runs_it_says():
    assert build_of("openai-gpt-oss-120b").image == "vllm-node-mxfp4"
    assert build_of("vllm-node-mxfp4:latest").words[:3] == ("./build-and-copy.sh", "-t", "vllm-node-mxfp4:latest")
    with pytest.raises(UsageError, match="does not know how to build no-such-image"):
        build_of("no-such-image")


def test_spark_vllm_dockers_default_image_and_its_variants_are_built_by_name_alone():
    for image, flags in {"vllm-node": (), "vllm-node-b12x": ("--exp-b12x",), "vllm-node-tf5": ("--tf5",)}.items():
        assert build_of(image).words == ("./build-and-copy.sh", "-t", image, *flags)


def test_every_image_of_the_catalogue_has_a_command_that_gets_it():
    found = {recipe.container: image_source(recipe.container, recipe) for recipe in map(recipes.recipe, CATALOGUE)}
    assert {image: source.way for image, source in found.items()} == {
        "vllm-node": "build",
        "vllm-node-mxfp4": "build",
        "nvcr.io/nvidia/vllm:25.09-py3": "pull",
        "nvcr.io/nvidia/vllm:26.03-py3": "pull",
    }
    assert {source.says for source in found.values()} == {
        f"sparkops image {source.way} {image}" for image, source in found.items()
    }
    for image, source in found.items():
        assert source.way == "pull" or build_of(image).image == image


def test_job_ids_are_names_that_a_node_takes():
    assert job_id("pull", "ghcr.io/berriai/litellm:main-stable") == "pull-ghcr.io-berriai-litellm-main-stable"
    assert job_id("build", "vllm-node-mxfp4", "0123456789abcdef") == "build-vllm-node-mxfp4-01234567"
