"""Which kernels an MXFP4 model runs on is read from the boot log's line about the backend, and from no other."""

from __future__ import annotations

import pytest

from sparkops.core.enginelog import mxfp4_backend

PREFIX = "(EngineCore_DP0 pid=105) INFO 03-22 10:00:00 "
DENSE = (
    "(Worker pid=9) WARNING 08-20 18:04:08 [marlin_utils_fp4.py:196] Your GPU does not have native support for FP4 "
    "computation but FP4 quantization is being used. Weight-only FP4 compression will be used leveraging the Marlin "
    "kernel. This may degrade performance for compute-heavy workloads."
)


@pytest.mark.parametrize(
    ("line", "backend"),
    [
        (f"{PREFIX}[mxfp4.py:165] Using Triton backend", "TRITON"),
        (f"{PREFIX}[mxfp4.py:164] Using Marlin backend", "MARLIN"),
        (f"{PREFIX}[mxfp4.py:161] Using FlashInfer CUTLASS MXFP4 backend (FP8 activations) on SM121", "CUTLASS"),
        (f"{PREFIX}[layer.py:90] Using 'MARLIN' Mxfp4 MoE backend out of potential backends: ['MARLIN'].", "MARLIN"),
        (f"{PREFIX}[cuda.py:351] Using FLASH_ATTN attention backend out of potential backends: ('FLASH_ATTN')", None),
        (f"{PREFIX}[api_utils.py:286] non-default args: {{'quantization': 'mxfp4', 'mxfp4_backend': 'MARLIN'}}", None),
        (DENSE, None),
        ("", None),
    ],
)
def test_a_line_names_the_backend(line: str, backend: str | None) -> None:
    assert mxfp4_backend([line]) == backend


def test_the_image_with_cutlass_logs_marlin_for_its_dense_layers_and_is_not_taken_for_a_fallback() -> None:
    assert mxfp4_backend([f"{PREFIX}[mxfp4.py:161] Using FlashInfer CUTLASS MXFP4 backend", DENSE]) == "CUTLASS"


def test_the_last_start_counts() -> None:
    lines = [f"{PREFIX}[mxfp4.py:164] Using Marlin backend", f"{PREFIX}[mxfp4.py:164] Using Triton backend"]
    assert mxfp4_backend(lines) == "TRITON"
