"""Periods that cron can keep, conditions on /proc/meminfo, and how memory grows."""

from pathlib import Path

import pytest

from sparkops.core.facts.schedule import Drop, drop, drops
from sparkops.core.growth import TROUBLE_KIB, growth
from sparkops.core.schedule import PERIODS, every, times, when
from sparkops.core.sizes import kib_text
from support import golden

GIB = 1024 * 1024


def read(line: str) -> str:
    word, _, rest = line.partition(": ")
    if word == "every":
        return times(float(rest))
    if word == "size":
        return kib_text(float(rest))
    if word == "when":
        found = when(rest.replace("\\n", "\n"))
        assert when(str(found)) == found
        return f"{found}: {found.field} {found.operator} {found.kib}"
    text = rest.replace("\\n", "\n")
    return "\n".join([f"last {drop(text)}", *(f"{one.time}: {one}" for one in drops(text))])


def test_each_word_is_read_or_refused_as_its_file_says() -> None:
    golden.hold_lines(Path(__file__).with_name("schedule.txt"), lambda line: golden.refusal(read, line))


@pytest.mark.parametrize("seconds", PERIODS)
def test_every_period_is_read_back_from_its_line(seconds: int) -> None:
    assert every(f"{times(seconds)} /bin/sh x # sparkops: cache schedule") == seconds


def test_a_line_that_was_changed_by_hand_has_no_period() -> None:
    assert every("*/7 * * * * /bin/sh x") is None


def log(*available: int, step: int = 1800, cached: int = 0) -> tuple[Drop, ...]:
    return tuple(
        Drop(1_000_000 + step * number, True, "everything", (0, 0), (kib, kib), (cached, 0))
        for number, kib in enumerate(available)
    )


def test_memory_that_is_lost_steadily_has_an_end() -> None:
    found = growth(log(*(20 * GIB - GIB // 2 * number for number in range(9))))
    assert found is not None
    assert (round(found.used), found.cache, found.hours, found.samples) == (GIB, 0, 4.0, 9)
    assert found.seconds_left(TROUBLE_KIB + 2 * GIB) == pytest.approx(7200)
    assert found.seconds_left(0) == 0


def test_memory_that_stays_has_none() -> None:
    found = growth(log(*[20 * GIB] * 5, cached=GIB))
    assert found is not None
    assert (found.used, found.seconds_left(20 * GIB)) == (0, None)
    assert found.cache == pytest.approx(2 * GIB)


def test_only_the_newest_steady_stretch_counts() -> None:
    steady = log(*[20 * GIB] * 4)
    loaded = log(*[110 * GIB] * 5, *[20 * GIB] * 4)
    assert growth(loaded) == growth(loaded[5:])
    set_back = tuple(Drop(one.time - 500_000, *list(vars(one).values())[1:]) for one in steady)
    at_once = tuple(Drop(steady[-1].time, *list(vars(one).values())[1:]) for one in steady[:1])
    for later, samples in ((set_back, 4), ((*at_once, *log(*[20 * GIB] * 9)[4:]), 6)):
        found = growth((*steady, *later))
        assert found is not None
        assert found.samples == samples
    assert growth(log(*[24 * GIB, 20 * GIB] * 3)), "no more than what an engine takes"


@pytest.mark.parametrize(
    ("samples", "booted"),
    [
        ((), 0),
        (log(1, 2), 0),
        (log(1, 2, 3, step=60), 0),
        (log(*[20 * GIB] * 5), 2_000_000),
        (log(*[20 * GIB] * 5), 1_000_000 + 1800 * 2 + 1),
    ],
)
def test_too_short_a_look_tells_nothing(samples: tuple[Drop, ...], booted: int) -> None:
    assert growth(samples, booted=booted) is None
