"""Models of texts: transformers."""

import torch

from networks.network import of_transformers

WORDS, LENGTH = 50, 10


def ids(length):
    return lambda batch: torch.randint(3, WORDS, (batch, length))


def text(masked=True, **more):
    """Ids and, as tokenizers give it, which of them are words and which padding."""

    def inputs(batch):
        mask = (torch.arange(LENGTH) < torch.randint(LENGTH // 2, LENGTH + 1, (batch, 1))).long()
        given = {"input_ids": ids(LENGTH)(batch), **({"attention_mask": mask} if masked else {})}
        return given | {name: make(batch) for name, make in more.items()}

    return inputs


def segments(batch):
    return (torch.arange(LENGTH) > 3).long().expand(batch, -1).contiguous()


SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
BERT = {"vocab_size": WORDS, "num_labels": 5, **SMALL, **SPECIAL}
LLAMA = {"vocab_size": WORDS, "num_key_value_heads": 2, **SMALL, **SPECIAL}
GPT = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32, **SPECIAL}
T5 = {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, **SPECIAL}
BART = {
    "vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_start_token_id": 1, **SPECIAL,
}  # fmt: skip
CLIP = {
    "text_config": {"vocab_size": WORDS, "max_position_embeddings": 16, **SMALL, **SPECIAL},
    "vision_config": {"image_size": 32, "patch_size": 8, **SMALL},
    "projection_dim": 16,
}


def classifier(name, config, **options):
    return of_transformers(f"{name}ForSequenceClassification", config, text(), {**BERT, **options})


def writer(name, config, options, **more):
    """A model that says which word comes next; as by default, it gives its keys and values too."""
    return of_transformers(name, config, text(), {**options, **more})


TEXT = {
    "bert": classifier("Bert", "BertConfig"),
    "bert_of_masked_words": of_transformers("BertForMaskedLM", "BertConfig", text(), BERT),
    "minilm": of_transformers("BertModel", "BertConfig", text(token_type_ids=segments), BERT),
    "roberta": of_transformers("RobertaForTokenClassification", "RobertaConfig", text(), BERT),
    "distilbert": of_transformers(
        "DistilBertForSequenceClassification", "DistilBertConfig", text(),
        {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "num_labels": 5},
    ),
    "albert": classifier("Albert", "AlbertConfig", embedding_size=16),
    "electra": of_transformers("ElectraForPreTraining", "ElectraConfig", text(), {**BERT, "embedding_size": 16}),
    "mpnet": classifier("MPNet", "MPNetConfig"),
    "deberta": classifier("DebertaV2", "DebertaV2Config", relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "modernbert": classifier("ModernBert", "ModernBertConfig", cls_token_id=1, sep_token_id=2),
    "xlnet": of_transformers(
        "XLNetForSequenceClassification", "XLNetConfig", text(),
        {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "num_labels": 5},
    ),
    "gpt2": writer("GPT2LMHeadModel", "GPT2Config", GPT),
    "gpt_neox": writer("GPTNeoXForCausalLM", "GPTNeoXConfig", BERT),
    "llama": writer("LlamaForCausalLM", "LlamaConfig", LLAMA),
    "llama_in_parts": writer("LlamaForCausalLM", "LlamaConfig", LLAMA, attn_implementation="eager", use_cache=False),
    "mistral": writer("MistralForCausalLM", "MistralConfig", LLAMA, sliding_window=4, use_cache=False),
    "qwen2": writer("Qwen2ForCausalLM", "Qwen2Config", LLAMA),
    "qwen3": writer("Qwen3ForCausalLM", "Qwen3Config", LLAMA, head_dim=8),
    "gemma": writer("GemmaForCausalLM", "GemmaConfig", LLAMA, head_dim=8),
    "gemma2": writer("Gemma2ForCausalLM", "Gemma2Config", LLAMA, head_dim=8, sliding_window=4, use_cache=False),
    "falcon": writer("FalconForCausalLM", "FalconConfig", LLAMA),
    "phi": writer("PhiForCausalLM", "PhiConfig", LLAMA),
    "phi3": writer("Phi3ForCausalLM", "Phi3Config", LLAMA),
    "opt": writer("OPTForCausalLM", "OPTConfig", LLAMA, ffn_dim=64, word_embed_proj_dim=32),
    "bloom": writer("BloomForCausalLM", "BloomConfig", LLAMA, n_layer=2, n_head=4, use_cache=False),
    "codegen": writer("CodeGenForCausalLM", "CodeGenConfig", GPT, rotary_dim=4),
    "t5": of_transformers(
        "T5ForConditionalGeneration", "T5Config", text(decoder_input_ids=ids(6)), {**T5, "use_cache": False}
    ),
    "t5_encoder": of_transformers("T5EncoderModel", "T5Config", text(), {**T5, "use_cache": False}),
    "bart": of_transformers(
        "BartForConditionalGeneration", "BartConfig", text(decoder_input_ids=ids(6)), {**BART, "use_cache": False}
    ),
    "mamba": of_transformers(
        "MambaForCausalLM", "MambaConfig", text(masked=False),
        {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "use_cache": False},
    ),
    "clip": of_transformers(
        "CLIPModel", "CLIPConfig",
        lambda batch: {"input_ids": ids(8)(batch), "pixel_values": torch.randn(batch, 3, 32, 32)}, CLIP,
    ),
}  # fmt: skip
