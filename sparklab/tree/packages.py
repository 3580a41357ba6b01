"""The Python packages of the emulated images, as the installers' records that `importlib.metadata` reads."""

from pathlib import Path

from sparklab import files

PACKAGES = {
    "vllm-mxfp4": {
        "vllm": "0.1.dev12777+mxfp4",
        "nvidia-nccl-cu13": "2.28.9",
        "flashinfer-python": "0.6.1",
        "ray": "2.53.0",
        "torch": "2.11.0.dev20260105+cu130",
    },
    "vllm": {
        "vllm": "0.32.0",
        "nvidia-nccl-cu13": "2.30.4",
        "flashinfer-python": "0.7.2",
        "ray": "2.56.0",
        "torch": "2.13.0+cu130",
    },
    "litellm": {"litellm": "1.81.3"},
    "open-webui": {"open-webui": "0.11.4"},
}
"""By the kind of image."""


def place(site: Path, kind: str) -> None:
    for name, version in PACKAGES[kind].items():
        record = site / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA"
        record.parent.mkdir(parents=True)
        files.write(record, f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
