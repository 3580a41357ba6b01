"""A recipe for two nodes on a lab of four: it takes as many as its sizes say, and names those that stay free."""

RECIPE = "extends: openai-gpt-oss-120b\nonly: [cluster]\nargs: {tensor-parallel-size: 2}\n"
SAID = "cluster uses the first 2 nodes of the 4 selected: node1, node2; free: node3, node4"


def test_a_recipe_of_tp_2_takes_two_nodes_of_four_and_says_so(lab_with):
    lab = lab_with(nodes=4)
    recipe = lab.work / "two of four.yml"
    recipe.write_text(RECIPE)
    words = ("--topology", "cluster", "--recipe", recipe)
    assert SAID in lab.cli("plan", *words).err
    assert SAID in lab.cli("preflight", *words, code=None).err
    ran = lab.cli("deploy", *words)
    assert SAID in ran.err
    assert sorted((node, name.rsplit("-", 2)[1]) for node, name in lab.running()) == [
        ("node1", "head"),
        ("node2", "worker"),
    ]
    assert "2 nodes, 2 GPUs" in lab.cli("status", code=0).out
    other = lab.cli("deploy", *words, "--limit", "node4,node3,node2", "--set", "args.tensor-parallel-size=4", code=None)
    assert (other.code, "needs 4 nodes" in other.err) == (2, True)
