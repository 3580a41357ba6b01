"""node/bandwidth.sh in real shells: what it asks ib_write_bw, and that a sender waits for its receiver."""

TABLE = " 65536 882805 0.00 92.57 0.176554"
TOOL = f"""
echo "$*" >>"$HOME/asked"
case $(wc -l <"$HOME/asked") in 1 | 2) echo "Couldn't connect to 192.0.2.2:18515"; exit 1 ;; esac
echo '{TABLE}'
"""


def test_a_sender_tries_again_until_its_receiver_is_there(node):
    node.tool("ib_write_bw", TOOL)
    ended = node.run("bandwidth", "send", "rocep1s0f0", "18515", "192.0.2.2")
    assert (ended.returncode, ended.stdout) == (0, f"{TABLE}\n")
    asked = (node.home / "asked").read_text().splitlines()
    assert asked == ["-d rocep1s0f0 -i 1 -p 18515 -F --report_gbits -D 2 192.0.2.2"] * 3


def test_a_sender_gives_up_with_what_the_tool_said(node):
    node.tool("ib_write_bw", "echo 'No such device'; exit 7")
    node.tool("sleep", "")
    ended = node.run("bandwidth", "send", "rocep1s0f0", "18515", "192.0.2.2")
    assert (ended.returncode, ended.stdout) == (7, "No such device\n")


def test_a_receiver_that_does_not_answer_at_all_is_asked_once(node):
    node.tool("timeout", 'echo asked >>"$HOME/asked"; exit 124')
    node.tool("ib_write_bw", "")
    ended = node.run("bandwidth", "send", "rocep1s0f0", "18515", "192.0.2.2")
    assert (ended.returncode, ended.stdout) == (1, "no answer from 192.0.2.2 port 18515: a firewall?\n")
    assert (node.home / "asked").read_text() == "asked\n"


def test_a_node_without_the_tool_says_so(node):
    ended = node.run("bandwidth", "there")
    assert (ended.returncode, ended.stderr) == (127, "ib_write_bw: not found\n")
