"""How columns and words of benchmark exports are spelled, as data."""

from typing import Final

# field -> names of its column in any case: of several that a file has, the first that is not blank in a row counts.
# vLLM bench, genai-perf, inference-perf, published collections, and this project's own.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "model": ("model_name", "model", "model_id"),
    "gpu": ("gpu_name", "gpu", "accelerator", "hardware"),
    "quant": ("quant", "quantization", "quantisation", "precision"),
    "engine": ("engine", "backend", "endpoint_type", "framework"),
    "gpus": ("n_gpus", "gpus", "num_gpus", "gpu_count"),
    "tp": ("tp", "tensor_parallel_size", "tp_size"),
    "pp": ("pp", "pipeline_parallel_size", "pp_size"),
    "ep": ("ep", "expert_parallel_size", "ep_size"),
    "attention_dp": ("attn_dp", "attention_dp", "dp", "data_parallel_size", "dp_size"),
    "prompt_tokens": (
        *("isl", "prompt_tokens", "input_len", "random_input_len", "mean_input_tokens", "prompt_len_mean"),
        "input_sequence_length",
    ),
    "output_tokens": (
        *("osl", "output_tokens", "output_len", "random_output_len", "mean_output_tokens", "output_len_mean"),
        "output_sequence_length",
    ),
    "concurrency": ("concurrency", "concurrency_or_batch", "max_concurrency", "num_concurrency", "concurrent_requests"),
    "requests": ("requests", "num_prompts", "completed", "request_count", "num_requests"),
    "kv_dtype": ("kv_dtype", "kv_cache_dtype"),
    "output_tokens_per_s": (
        *("output_tokens_per_s", "output_throughput", "output_token_throughput"),
        *("output_tokens_per_sec", "output_tokens_per_second"),
    ),
    "tpot_ms": (
        *("measured_tpot_ms", "tpot_ms", "mean_tpot_ms", "inter_token_latency", "itl_ms", "mean_itl_ms"),
        "time_per_output_token",
    ),
    "ttft_ms": ("measured_ttft_ms", "ttft_ms", "mean_ttft_ms", "time_to_first_token"),
    "suspect": ("suspect",),
    "source": ("source",),
    "id": ("id",),
}

# as written, in any case -> as it is called here; what follows a blank is a remark
QUANTS: Final = {
    **dict.fromkeys(("bf16", "fp16", "bfloat16", "float16", "none"), "bf16"),
    **dict.fromkeys(("fp8", "int8", "w8a8", "fp8_e4m3"), "fp8"),
    **dict.fromkeys(("fp4", "nvfp4", "modelopt_fp4"), "fp4"),
    **dict.fromkeys(("int4", "w4a16", "awq", "gptq"), "int4"),
    "mxfp4": "mxfp4",
    "native": "native",
}
KV_DTYPES: Final = {
    **dict.fromkeys(("bf16", "fp16", "bfloat16", "float16"), "bf16"),
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "int8"), "fp8"),
    "auto": "",
}
ENGINES: Final = {
    "vllm": "vllm",
    "sglang": "sglang",
    **dict.fromkeys(("trtllm", "tensorrt-llm", "tensorrt_llm", "trt-llm", "nim"), "trtllm"),
}
