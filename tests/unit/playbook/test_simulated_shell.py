"""The shell of simulated nodes says what a real one says."""

import subprocess

from sparkops.core.plan import Command
from sparkops.testing import SimulatedWorld

TEXTS = (
    "echo no; exit 3",
    "touch a b; test -e a && echo there || echo gone",
    "test -e none || echo gone; test -e none && echo there",
    "rm none; echo after",
    "touch 'a name'; test -e \"a name\" && rm 'a name'; test -e 'a name'",
    "touch ~/x; test -e ~/x && test -e $HOME/x && echo ok",
    "word=$(echo 'a  b'); echo \"$word\"; echo $word; echo '$word'; echo ${word}c",
    'word=$(echo a) && test "$word" = a && echo same; test "$word" != a',
    "false && echo no; false || echo yes; true && false",
    "nothing-like-it",
    "env A=b C=d echo x; cat none",
    "echo '; && ||'; echo \"$1 $0\"",
)


def test_it_answers_as_a_real_shell_does(tmp_path):
    world = SimulatedWorld(["spark1"])
    node = world.nodes["spark1"]
    wrong = {}
    for at, text in enumerate(TEXTS):
        home = tmp_path / str(at)
        home.mkdir()
        node.home = str(home)
        words = ("sh", "-c", text, "name", "word")
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        real = subprocess.run(words, cwd=home, env=env, capture_output=True, text=True, check=False)
        told = node.run(Command(words), "", 0.0)
        if (told.code, told.stdout) != (real.returncode, real.stdout):
            wrong[text] = (told.code, told.stdout), (real.returncode, real.stdout)
    assert wrong == {}
    assert node.run(Command(("sh", "-c", "echo a | cat")), "", 0.0).code == 2, "what it does not know it refuses"
