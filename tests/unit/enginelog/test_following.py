"""Lines of logs that are followed come whole; `logs --follow` itself is in `tests/world/transcripts/evening.txt`."""

from sparkops.verbs.status.follow import LogLines


def test_lines_come_whole_whatever_the_pieces_are_and_of_a_progress_bar_the_last_state() -> None:
    shown: list[str] = []
    lines = LogLines(shown.append)
    for piece in (
        b"2026-01-01T00:00:01Z on",
        b"e\n2026-01-01T00:00:02Z 1%\r50%\r100%\r\n2026-01-01T00:00:02Z h",
        b"\xc3\xa9\n2026-",
    ):
        lines.take(piece)
    assert shown == ["one", "100%", "hé"]
    lines.again()
    assert lines.latest == "2026-01-01T00:00:02Z"
    lines.take(b"2026-01-01T00:00:02Z h\xc3\xa9\n2026-01-01T00:00:03Z new\n")
    assert shown[3:] == ["new"]
