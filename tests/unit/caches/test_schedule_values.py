"""Periods that cron can keep, conditions on /proc/meminfo, and how memory grows."""

from __future__ import annotations

import pytest

from sparkops.core.facts.schedule import Drop, drop, drops
from sparkops.core.growth import TROUBLE_KIB, growth
from sparkops.core.schedule import EVEN, When, every, size, times, when
from sparkops.errors import UsageError

GIB = 1024 * 1024
LINE = "page cache dropped (everything): MemFree 3 -> 40, MemAvailable 50 -> 60, Cached 70 -> 8 KiB"


@pytest.mark.parametrize(
    ("seconds", "fields"),
    [
        (60, "* * * * *"),
        (300, "*/5 * * * *"),
        (1800, "*/30 * * * *"),
        (3600, "0 * * * *"),
        (21600, "0 */6 * * *"),
        (86400, "0 0 * * *"),
    ],
)
def test_a_period_that_a_clock_keeps_is_a_line_of_cron(seconds: int, fields: str) -> None:
    assert times(seconds) == fields


@pytest.mark.parametrize("minutes", EVEN)
def test_every_period_is_read_back_from_its_line(minutes: int) -> None:
    assert every(f"{times(minutes * 60)} /bin/sh x # sparkops: cache schedule") == minutes * 60


@pytest.mark.parametrize(
    ("seconds", "nearest"), [(45 * 60, "30m"), (7 * 60, "6m"), (5400, "1h"), (5 * 3600, "4h"), (172_800, "24h")]
)
def test_another_period_is_refused_with_the_nearest(seconds: float, nearest: str) -> None:
    with pytest.raises(UsageError) as refused:
        times(seconds)
    assert f"--every {nearest} " in str(refused.value.hint)


@pytest.mark.parametrize("seconds", [0.5, 59, 61])
def test_cron_counts_in_minutes(seconds: float) -> None:
    with pytest.raises(UsageError, match="cron counts in minutes"):
        times(seconds)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("MemAvailable < 10GiB", When("MemAvailable", "-lt", 10 * GIB)),
        ("memfree<=512 MiB", When("MemFree", "-le", 512 * 1024)),
        (" Cached  >  1.5T ", When("Cached", "-gt", 3 * 512 * GIB)),
        ("SwapFree>=1024 kB", When("SwapFree", "-ge", 1024)),
    ],
)
def test_a_condition_is_a_field_a_sign_and_a_size(text: str, meant: When) -> None:
    assert when(text) == meant
    assert when(str(meant)) == meant


@pytest.mark.parametrize(
    "text",
    ["", "MemAvailable", "MemAvailable < ", "MemAvailable < 10", "Mem < 1GiB", "MemFree == 1GiB", "MemFree < -1GiB",
     "$(reboot) < 1GiB", "MemFree < 1GiB; reboot", "MemFree < 1GiB\n* * * * * true"],
)  # fmt: skip
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        when(text)
    assert refused.value.hint


@pytest.mark.parametrize(("kib", "text"), [(0, "0 KiB"), (1023, "1023 KiB"), (1024, "1 MiB"), (GIB * 3 / 2, "1.5 GiB")])
def test_a_size_is_told_in_its_largest_unit(kib: float, text: str) -> None:
    assert size(kib) == text


def test_a_drop_is_read_from_what_the_node_printed_and_from_its_log() -> None:
    assert drop(f"noise\n{LINE}\n") == Drop(0, True, "everything", (3, 40), (50, 60), (70, 8))
    assert [one.time for one in drops(f"5 x {LINE}\n6 x {LINE}\nhalf a li")] == [5, 6]
    assert drop("nothing of ours") is None


def log(*available: int, step: int = 1800, cached: int = 0) -> tuple[Drop, ...]:
    return tuple(
        Drop(1_000_000 + step * number, True, "everything", (0, 0), (kib, kib), (cached, 0))
        for number, kib in enumerate(available)
    )


def test_memory_that_is_lost_steadily_has_an_end() -> None:
    found = growth(log(*(20 * GIB - GIB // 2 * number for number in range(9))))
    assert found is not None
    assert (round(found.used), found.hours, found.samples) == (GIB, 4.0, 9)
    assert found.seconds_left(TROUBLE_KIB + 2 * GIB) == pytest.approx(7200)
    assert found.seconds_left(0) == 0


def test_memory_that_stays_has_none() -> None:
    found = growth(log(*[20 * GIB] * 5, cached=GIB))
    assert found is not None
    assert (found.used, found.seconds_left(20 * GIB)) == (0, None)
    assert found.cache == pytest.approx(2 * GIB)


def test_what_came_before_a_load_or_a_reboot_does_not_count() -> None:
    before = [110 * GIB] * 5
    after = log(*before, *[20 * GIB] * 4)
    assert growth(after) == growth(after[5:])
    assert growth(log(*[20 * GIB] * 5), booted=2_000_000) is None


def test_too_short_a_look_tells_nothing() -> None:
    assert growth(()) is None
    assert growth(log(1, 2)) is None
    assert growth(log(1, 2, 3, step=60)) is None


def test_a_clock_that_was_set_back_ends_the_stretch() -> None:
    late = log(*[20 * GIB] * 4)
    early = tuple(Drop(one.time - 500_000, *list(vars(one).values())[1:]) for one in late)
    found = growth((*late, *early))
    assert found is not None
    assert found.samples == 4
