"""Models: what planning needs to know of each, counted from its config.json; a team's own below."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import catalogue
from capacity.errors import CallError

from .facts import DATE, KIND, NAME, OWN_ROWS, POSITIVE, TEXT, YES, Fact, FactSheet, Rule, at_least

__all__ = ["COLUMNS", "FIRST_ROW", "KIND", "LAST_ROW", "NAME_COLUMN", "PURPOSE", "TITLE", "cells", "column", "write"]

TITLE: Final = "Models"
PURPOSE: Final = "Parameters, layers, KV cache and weights of models; room for your own"

_UP_TO_TOTAL: Final = "AND(ISNUMBER({at}),{at}%s0,{at}<={total_params})"
_ANY: Final = at_least(0, whole=True)
_SOME: Final = at_least(1, whole=True)
_NUMBER: Final = at_least(0)


def _weights(form: str, header: str, meaning: str) -> Fact:
    return Fact(f"weight_bytes_{form}", f"{header} [GB]", 11, f"bytes of the weights {meaning}", "GB", POSITIVE, 1e9)


FACTS: Final = (
    Fact("name", "Model", 30, "what the plan calls the model", "text", NAME),
    Fact("model_type", "Kind", 20, "model_type of its config.json", "text", TEXT),
    Fact("total_params", "Total [billion]", 10, "all parameters of the text model", "billion", POSITIVE, 1e9),
    Fact(
        "active_params",
        "Active [billion]",
        10,
        "parameters that one token meets: without the input embedding, with the LM head, of the experts those chosen",
        "billion",
        Rule("a number > 0 and <= the total", "custom", _UP_TO_TOTAL % ">"),
        1e9,
    ),
    Fact(
        "routed_expert_params",
        "Routed experts [billion]",
        10,
        "parameters of all routed experts together; 0 for a dense model",
        "billion",
        Rule("a number >= 0 and <= the total", "custom", _UP_TO_TOTAL % ">="),
        1e9,
    ),
    Fact("num_hidden_layers", "Layers", 8, "transformer layers", "layers", _SOME),
    Fact(
        "kv_bytes_per_token_full",
        "KV that grows [B/token]",
        10,
        "KV cache in BF16 of all layers that see the whole context",
        "B/token",
        _ANY,
    ),
    Fact(
        "kv_bytes_per_token_windowed",
        "KV in windows [B/token]",
        10,
        "KV cache in BF16 of all layers that see a window only",
        "B/token",
        _ANY,
    ),
    Fact("kv_window_tokens", "Window [tokens]", 10, "length of that window; 0 for none", "tokens", _ANY),
    Fact(
        "state_bytes_per_sequence",
        "State [B/sequence]",
        13,
        "state of fixed size of all linear-attention and Mamba layers; 0 for none",
        "B/sequence",
        _ANY,
    ),
    Fact(
        "indexer_bytes_per_token",
        "Indexer [B/token]",
        10,
        "cache of sparse attention's indexer, not in the KV cache; 0 for none",
        "B/token",
        _ANY,
    ),
    Fact(
        "kv_replicated_per_rank",
        "Same KV on each rank",
        9,
        "is the KV cache the same on each tensor-parallel rank (MLA), not divided among them?",
        "count",
        YES,
    ),
    _weights("native", "Weights as stored", "as the checkpoint stores them"),
    Fact("native_quantization", "Stored as", 13, "how the checkpoint stores its weights", "text", TEXT),
    Fact(
        "native_format",
        "Multiplies as",
        11,
        "the type of weights on Inputs in which most are stored; blank for another: native cannot be chosen then",
        "text",
        TEXT,
    ),
    Fact("max_context_config", "Longest context [tokens]", 12, "positions in the config.json", "tokens", _SOME),
    Fact("source", "Source", 72, "where the config.json or the figures are from", "text", TEXT),
    Fact("date", "As of", 12, "when they were read", "date", DATE),
    Fact("note", "Note", 52, "what else a reader should know", "text", TEXT),
    Fact("hidden_size", "Hidden size", 9, "elements of a hidden state", "elements", _SOME),
    Fact("vocab_size", "Vocabulary", 11, "entries of the vocabulary", "count", _SOME),
    Fact(
        "embedding_params",
        "Embedding [billion]",
        11,
        "parameters of the input embedding, which is looked up",
        "billion",
        _NUMBER,
        1e9,
    ),
    Fact(
        "lm_head_params",
        "LM head [billion]",
        10,
        "parameters of the LM head; 0 where the embedding is the head",
        "billion",
        _NUMBER,
        1e9,
    ),
    Fact("full_attention_layers", "Full attention layers", 10, "layers that see the whole context", "layers", _ANY),
    Fact("windowed_attention_layers", "Windowed layers", 10, "layers that see a window only", "layers", _ANY),
    Fact("linear_attention_layers", "Layers with a state", 10, "linear-attention and Mamba layers", "layers", _ANY),
    Fact("num_attention_heads", "Query heads", 8, "query heads of a layer", "heads", _SOME),
    Fact("num_key_value_heads", "KV heads", 8, "KV heads of a layer, as the config.json has it", "heads", _SOME),
    Fact("full_key_value_heads", "KV heads, full layers", 11, "KV heads of a full layer; 0 for none", "heads", _ANY),
    Fact(
        "windowed_key_value_heads",
        "KV heads, windowed layers",
        11,
        "KV heads of a layer with a window; 0 for none",
        "heads",
        _ANY,
    ),
    Fact("head_dim", "Head size", 8, "elements of a key", "elements", _SOME),
    Fact(
        "attention_width",
        "Attention width, full layers",
        18,
        "sum over the full layers of query heads x (size of a key + of a value) / 2",
        "elements",
        _ANY,
    ),
    Fact(
        "windowed_attention_width",
        "Attention width, windowed layers",
        18,
        "the same sum over the layers with a window",
        "elements",
        _ANY,
    ),
    Fact("qk_norm", "QK norm", 8, "are queries and keys normalized?", "count", YES),
    Fact("moe_layers", "MoE layers", 8, "layers with routed experts", "layers", _ANY),
    Fact("dense_ffn_layers", "Dense layers", 8, "layers with a dense feed-forward network", "layers", _ANY),
    Fact("n_experts", "Experts", 9, "routed experts of a layer", "experts", _ANY),
    Fact("experts_per_token", "Experts per token", 9, "routed experts that a token meets in a layer", "experts", _ANY),
    Fact("moe_intermediate_size", "Expert width", 9, "inner size of a routed expert", "elements", _ANY),
    Fact("shared_experts", "Shared experts", 9, "experts of a layer that every token meets", "experts", _ANY),
    Fact("mtp_layers", "MTP layers", 8, "layers that draft tokens (MTP)", "layers", _ANY),
    Fact("mtp_params", "MTP [billion]", 10, "parameters of those layers, not in the total", "billion", _NUMBER, 1e9),
    Fact("kernels_bf16", "Kernels, BF16", 9, "kernels that a decode step launches with BF16 weights", "kernels", _ANY),
    Fact("kernels_quantized", "Kernels, quantized", 9, "the same with quantized weights", "kernels", _ANY),
    Fact(
        "native_dense_bytes_per_param",
        "Dense as stored [B/param]",
        11,
        "bytes per parameter outside routed experts, embedding and LM head, which count as BF16",
        "B/param",
        POSITIVE,
    ),
    Fact(
        "native_expert_bytes_per_param",
        "Experts as stored [B/param]",
        11,
        "bytes per parameter of the routed experts; of a dense model as its other weights",
        "B/param",
        POSITIVE,
    ),
    _weights("bf16", "Weights, BF16", "in BF16"),
    _weights("fp8", "Weights, FP8", "all in FP8"),
    _weights("fp8_bf16_head", "Weights, FP8, head BF16", "in FP8, embedding and LM head in BF16"),
    _weights("int4", "Weights, INT4", "in INT4 with scales, embedding and LM head in BF16"),
    _weights("fp4", "Weights, FP4", "in FP4 with scales, embedding and LM head in BF16"),
    _weights("mxfp4", "Weights, MXFP4", "in MXFP4 with scales, embedding and LM head in BF16"),
)

# what a plan needs of a model
NEEDED: Final = (
    *("name", "total_params", "active_params", "num_hidden_layers", "hidden_size"),
    *("full_key_value_heads", "head_dim"),
)
_PACKAGED: Final = len(catalogue.models().names)
SHEET: Final = FactSheet(TITLE, FACTS, _PACKAGED, last_printed="note")
COLUMNS: Final = SHEET.columns
FIRST_ROW: Final = SHEET.first_row
LAST_ROW: Final = SHEET.last_row  # the free rows included
NAME_COLUMN: Final = SHEET.column("name")
column, cells = SHEET.column, SHEET.cells


def write(ws: Worksheet, models: catalogue.Table | None = None) -> None:
    """Write the sheet, with the models of a table that begins with the package's; raises CallError for too many."""
    rows = (models or catalogue.models()).rows
    if len(rows) > _PACKAGED + OWN_ROWS:
        raise CallError(f"the workbook has room for {OWN_ROWS} models of your own: {len(rows) - _PACKAGED} are given")
    SHEET.write(
        ws,
        "Models",
        "The text model, counted from its config.json: no vision tower, no draft layers. In a free row a plan needs "
        f"columns {', '.join(map(SHEET.column, NEEDED))}; what else is blank, refinements need.",
        rows,
    )
