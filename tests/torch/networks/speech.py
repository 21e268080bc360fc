"""Models of speech: transformers."""

import torch

from networks.network import of_transformers

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
WAVES = {
    "vocab_size": 20, "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    # Draws of numpy's, and layers that are left out by chance: PyTorch itself cannot export these.
    "apply_spec_augment": False, "layerdrop": 0.0, **SMALL,
}  # fmt: skip
WHISPER = {
    "vocab_size": 50, "num_mel_bins": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_model": 32, "max_source_positions": 20,
    "max_target_positions": 16, "use_cache": False, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1,
}  # fmt: skip


def waves(batch):
    return {"input_values": torch.randn(batch, 400)}


def of_waves(name, kind="CTC", **options):
    return of_transformers(f"{name}For{kind}", f"{name}Config", waves, {**WAVES, **options})


SPEECH = {
    "wav2vec2": of_waves("Wav2Vec2"),
    "wav2vec2_classifier": of_waves(
        "Wav2Vec2", "SequenceClassification", feat_extract_norm="layer", do_stable_layer_norm=True
    ),
    "hubert": of_waves("Hubert"),
    "wavlm": of_waves("WavLM", num_buckets=32, max_bucket_distance=64),
    "conformer": of_waves("Wav2Vec2Conformer"),
    "whisper": of_transformers(
        "WhisperForConditionalGeneration", "WhisperConfig",
        lambda batch: {
            "input_features": torch.randn(batch, 16, 40),
            "decoder_input_ids": torch.randint(3, 50, (batch, 6)),
        },
        WHISPER,
    ),
    "ast": of_transformers(
        "ASTForAudioClassification", "ASTConfig", lambda batch: {"input_values": torch.randn(batch, 32, 16)},
        {"max_length": 32, "num_mel_bins": 16, "patch_size": 8, "frequency_stride": 4, "time_stride": 4,
         "num_labels": 5, **SMALL},
    ),
}  # fmt: skip
