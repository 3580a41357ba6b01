"""Write the tiny model that the lab serves under any name: a Llama with random weights and its own tokenizer.

No weights are stored: the engine is told to make them up. It can be split by tensor parallel size 2, 3 or 4 and by
pipeline parallel size 2 or 3. A token's keys and values take 768 bytes, so that a Spark's context lengths fit in
a cache of some MiB.
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

ROLES = ("user", "assistant", "system", "developer", "tool")
SPECIAL = [f"<|{name}|>" for name in ("pad", "bos", "eos", *ROLES, "end")]
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
VOCABULARY = 3840
"""A multiple of 192 and of 256: the ranks of tensor parallelism have equal parts, in blocks of 64 tokens."""

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": VOCABULARY,
    "hidden_size": 192,
    "intermediate_size": 384,
    "num_hidden_layers": 3,
    "num_attention_heads": 12,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 262144,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
}


def tokenizer():
    """Byte-level BPE, trained on the licences that every Debian system carries."""
    text = [
        path.read_text(errors="ignore")
        for path in sorted(Path("/usr/share/common-licenses").iterdir())
        if path.is_file()
    ]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        text, trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    return made


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    about = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": SPECIAL[0],
        "bos_token": SPECIAL[1],
        "eos_token": SPECIAL[2],
        "model_max_length": CONFIG["max_position_embeddings"],
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(about, indent=1))
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1))


main(Path(sys.argv[1]))
