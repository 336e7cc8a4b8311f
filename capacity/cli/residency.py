"""`capacity residency`: how many tokens of KV cache an engine keeps."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .app import OWN_MODELS, app
from .output import show


@app.command()
def residency(
    model: Annotated[str, typer.Option(metavar="NAME", help="A model of the catalogue.")],
    gpu: Annotated[str, typer.Option(metavar="NAME", help="A GPU of the catalogue.")],
    quant: Annotated[
        str, typer.Option(metavar="FORMAT", help="Weights in bf16, fp8, int4, fp4, mxfp4 or native.")
    ] = "fp8",
    kv: Annotated[str, typer.Option(metavar="TYPE", help="KV cache in bf16 or fp8.")] = "bf16",
    engine: Annotated[str, typer.Option(metavar="NAME", help="vllm, sglang or trtllm.")] = "vllm",
    fraction: Annotated[float | None, typer.Option(metavar="F", help="Memory fraction given to the engine.")] = None,
    tp: Annotated[int, typer.Option(metavar="N", help="Tensor-parallel size.")] = 1,
    pp: Annotated[int, typer.Option(metavar="N", help="Pipeline-parallel size.")] = 1,
    attention_dp: Annotated[int, typer.Option(metavar="N", help="Attention-DP groups.")] = 1,
    sequences: Annotated[int | None, typer.Option(metavar="N", help="The most that the engine plans for.")] = None,
    context: Annotated[int | None, typer.Option(metavar="N", help="Tokens of a sequence, for windows.")] = None,
    usable: Annotated[float | None, typer.Option(metavar="GIB", help="Memory of a GPU as CUDA reports it.")] = None,
    available: Annotated[float | None, typer.Option(metavar="GIB", help="Memory for KV per GPU, as logged.")] = None,
    models: Annotated[Path | None, OWN_MODELS] = None,
) -> None:
    """Print the tokens of KV cache that an engine keeps, from its command line or from the memory that it logged."""
    from .. import catalogue
    from ..evidence.residency import GIB, Split, memory, resident_tokens
    from ..selection import KV_TYPES
    from ..tables import plain_table
    from .evidence import known

    for name, value in (("tp", tp), ("pp", pp), ("attention_dp", attention_dp)):
        if value < 1:
            raise InputError(name, value, "must be a whole number >= 1")
    if usable is not None and usable <= 0:
        raise InputError("usable", usable, "must be > 0")
    if kv not in KV_TYPES:
        raise InputError("kv", kv, f"must be one of {', '.join(KV_TYPES)}")
    facts, split = known(models).row(model), Split(tp, pp, attention_dp)
    table = plain_table("Memory of one GPU", "GiB")
    if available is None:
        m = memory(
            facts,
            catalogue.gpus().row(gpu),
            quant,
            engine=engine,
            fraction=fraction,
            split=split,
            sequences=sequences,
            usable=usable and usable * GIB,
        )
        for name, size in (("usable", m.usable), ("weights", m.weights), ("reserve", m.reserve), ("for KV", m.for_kv)):
            table.add_row(name, f"{size / GIB:.2f}")
        available = m.for_kv / GIB
    elif available <= 0:
        raise InputError("available", available, "must be > 0")
    else:
        table.add_row("for KV, as logged", f"{available:.2f}")
    tokens = resident_tokens(facts, available * GIB, kv=kv, split=split, context=context, engine=engine)
    show(table, f"{tokens:,.0f} tokens of KV cache over the replica")
