"""The sheet Mix: figures by hand, one class as the plan, one pool or two, chunks, words, four ways, edits."""

import math
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, held, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from workbook.sheets import mix_tables as at
from workbook.sheets import refined
from workbook.sheets.blocks import CLASSES

PREFILL_S = 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # of a prompt token
WEIGHTS_GB = 70.553706496 / 2
KV_GB = 327_680 / 2 / 1e9  # of a token on one GPU
NA = ExcelError("#N/A")


def step_s(batch: float, context: float) -> float:
    return (WEIGHTS_GB + batch * context * KV_GB) / (4_800 * 0.75)


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits."""
    return {cell: x for (sheet, cell), x in recalculate(template, changes=changes).items() if sheet == "Mix"}


def master(template: Path, changes: Values) -> Any:
    return recalculate(template, changes=changes)["About", "B3"]


def edit(row: int, **figures: float | str) -> Values:
    """Edits of a class, counted from 0."""
    columns = dict(
        zip(("request_share", "prompt_tokens", "output_tokens", "cache_hit", "multiple"), "CDEFG", strict=True)
    )
    return {("Mix", f"{columns[name]}{6 + row}"): x for name, x in figures.items()}


def only(**figures: float) -> Values:
    """One class of all requests, the others with none."""
    others = [edit(row, request_share=0.0) for row in range(1, len(CLASSES))]
    return edit(0, request_share=1.0, **figures) | {k: x for e in others for k, x in e.items()}


def setting(**figures: float) -> Values:
    return {("Mix", f"C{at.LINES.rows[name]}"): x for name, x in figures.items()}


def line(values: dict[str, Any], name: str) -> Any:
    return values[f"C{at.LINES.rows[name]}"]


def pool(values: dict[str, Any], name: str, row: int = 0) -> Any:
    return values[at.POOL_BLOCK.at(name, at.POOLS_FIRST + row)]


def work(values: dict[str, Any], name: str, row: int) -> Any:
    return values[at.WORK_BLOCK.at(name, at.WORK_FIRST + row)]


def test_few_requests_are_most_of_the_work(template: Path) -> None:
    """RAG: 10% of the requests, 5/s of 18,000 + 300 tokens, 42% of the work."""
    values = shown(template)
    replica_tps = 64 / step_s(64, 2_750)
    busy = 150_000 * PREFILL_S + 20_000 / replica_tps
    rag = 18_000 * PREFILL_S + 300 / replica_tps
    assert work(values, "request_replica_s", 1) == pytest.approx(rag, rel=1e-12)
    assert work(values, "work_share", 1) == pytest.approx(5 * rag / busy, rel=1e-12)
    assert round(work(values, "work_share", 1), 2) == 0.42
    assert sum(work(values, "work_share", row) for row in range(6)) == pytest.approx(1, rel=1e-12)


def test_the_context_is_weighted_by_time_in_decode(template: Path) -> None:
    """(30 x 400 x 900 + 5 x 300 x 18,150 + 10 x 300 x 3,150 + 5 x 700 x 2,150) / 20,000 = 2,750; plain mean 3,200."""
    values = shown(template)
    assert pool(values, "decode_context") == pytest.approx(
        (30 * 400 * 900 + 5 * 300 * 18_150 + 10 * 300 * 3_150 + 5 * 700 * 2_150) / 20_000, rel=1e-12
    )
    assert round(pool(values, "decode_context"), 6) == 2_750
    assert pool(values, "decode_step_ms") == pytest.approx(step_s(64, 2_750) * 1e3, rel=1e-12)
    assert pool(values, "max_seqs") == math.floor((141 * 0.92 - 3 - WEIGHTS_GB) / (2_750 * KV_GB))
    assert capacity.decode_context(capacity.kv_read_tps(1_000, 500) + capacity.kv_read_tps(3_000, 100), 4_000) == 200


def test_one_class_is_the_plan(template: Path) -> None:
    """A single class of the worked example's lengths gives the plan's figures, to the last bit."""
    every = recalculate(template, changes=only(prompt_tokens=3_000.0, output_tokens=400.0))
    values = {cell: x for (sheet, cell), x in every.items() if sheet == "Mix"}

    def plan(name: str) -> Any:
        sheet, _, cell = refined.cell(name).replace("$", "").partition("!")
        return every[sheet, cell]

    for name in ("decode_step_ms", "busy_replicas", "replicas", "gpus", "cost_per_hour", "tpot_worst_ms", "max_seqs"):
        assert pool(values, name) == plan(name), name
    assert pool(values, "decode_context") == 3_200
    assert work(values, "request_replica_s", 0) == plan("request_replica_s")
    assert work(values, "work_share", 0) == pytest.approx(1, rel=1e-12)
    assert values[f"{at.FLOOR}{at.WORK_FIRST}"] == plan("ttft_floor_ms")
    assert pool(values, "replicas") == 26
    assert every["About", "B3"] == "All checks PASS"


def test_one_class_is_the_refined_plan(template: Path) -> None:
    """The same with refinements that depend on lengths, hits and the batch."""
    on = ("attention_flops", "fixed_time", "peak_residency", "kv_layout", "communication", "usable_memory")
    edits = cells({"prompt_tokens": 9_000.0, "output_tokens": 500.0, "cache_hit": 0.4}, dict.fromkeys(on, True))
    edits |= only(prompt_tokens=9_000.0, output_tokens=500.0, cache_hit=0.4)
    every = recalculate(template, changes=edits)
    values = {cell: x for (sheet, cell), x in every.items() if sheet == "Mix"}
    for name in ("decode_step_ms", "busy_replicas", "replicas", "tpot_worst_ms", "max_seqs"):
        sheet, _, cell = refined.cell(name).replace("$", "").partition("!")
        assert pool(values, name) == pytest.approx(every[sheet, cell], rel=1e-12), name


def test_a_pool_for_long_prompts(template: Path) -> None:
    """RAG alone: 5 x 18,000 tokens in, 1,500 tok/s out at 18,150 tokens, of which 30 sequences fit, not 64."""
    values = shown(template)
    fit = math.floor((141 * 0.92 - 3 - WEIGHTS_GB) / (18_150 * KV_GB))
    assert fit == 30
    assert values[f"{at.BATCH}{at.POOLS_FIRST + 2}"] == 30
    assert values[f"{at.KV_FIT}{at.POOLS_FIRST + 2}"] == "batch cut"
    busy = 90_000 * PREFILL_S + 1_500 * step_s(30, 18_150) / 30
    assert pool(values, "busy_replicas", 2) == pytest.approx(busy, rel=1e-12)
    assert pool(values, "replicas", 2) == math.ceil(busy / 0.65) == 13
    short = (30 * 400 * 900 + 10 * 300 * 3_150 + 5 * 700 * 2_150) / 18_500
    busy = 60_000 * PREFILL_S + 18_500 * step_s(64, short) / 64
    assert pool(values, "busy_replicas", 1) == pytest.approx(busy, rel=1e-12)
    assert pool(values, "gpus", 1) == 2 * math.ceil(busy / 0.65) == 26
    assert [values[f"{c}{at.BOTH_ROW}"] for c in "IJK"] == [26, 52, 182]
    assert values[f"C{at.APART_ROW}"] == "as many GPUs"


def test_the_threshold_moves_classes(template: Path) -> None:
    """A class of exactly the threshold is short; above all prompts the pool for long ones has no load and no spares."""
    values = shown(template, setting(long_prompt_tokens=3_000.0))
    assert pool(values, "req_per_s", 2) == 5
    values = shown(template, setting(long_prompt_tokens=2_999.0))
    assert pool(values, "req_per_s", 2) == 15
    values = shown(template, setting(long_prompt_tokens=20_000.0) | cells({"spares": 2.0}, {}))
    assert [pool(values, "replicas", row) for row in range(3)] == [28, 28, 0]
    assert pool(values, "decode_context", 2) == "no output tokens"


def test_time_to_first_token_at_p50_and_p99(template: Path) -> None:
    """Agent: 3,000 tokens, at p99 9,000: floors of 214 and 642 ms, and 1 / (1 - 0.65) of them."""
    values = shown(template)
    assert values[f"{at.FLOOR}{at.WORK_FIRST + 2}"] == pytest.approx(3_000 * PREFILL_S * 1e3, rel=1e-12)
    assert work(values, "ttft_first_order_ms", 2) == pytest.approx(3_000 * PREFILL_S * 1e3 / 0.35, rel=1e-12)
    assert work(values, "ttft_floor_ms", 2) == pytest.approx(9_000 * PREFILL_S * 1e3, rel=1e-12)
    assert work(values, "p99_first_order_ms", 2) == pytest.approx(9_000 * PREFILL_S * 1e3 / 0.35, rel=1e-12)


def test_chunks_by_hand(template: Path) -> None:
    """Step 17.81 ms, 71.30 us a token: 512 take 54.3 ms, 451 fit into 50 ms, 480 arrive while 64 are decoded."""
    values = shown(template)
    step = step_s(64, 2_750)
    mixed_ms = (step + 512 * PREFILL_S) * 1e3
    assert line(values, "chunk_tpot_ms") == pytest.approx(mixed_ms, rel=1e-12)
    assert line(values, "chunk_tpot_best_ms") == pytest.approx(512 * PREFILL_S * 1e3, rel=1e-12)
    assert line(values, "chunk_verdict") == "needs a measurement"
    assert line(values, "max_chunk_tokens") == math.floor((0.05 - step) / PREFILL_S) == 451
    assert line(values, "keep_up_chunk_tokens") == 64 * 150_000 / 20_000
    assert line(values, "request_chunk_tokens") == 0.25 * (512 + 64)
    # RAG at p99: 36,000 tokens in 71 steps of 512, under the cap in 250 of 144
    assert work(values, "p99_chunked_ms", 1) == pytest.approx(71 * mixed_ms, rel=1e-12)
    assert work(values, "p99_capped_ms", 1) == pytest.approx(250 * mixed_ms, rel=1e-12)


@pytest.mark.parametrize(
    ("chunk", "verdict"), [(451, "safe at any overlap"), (452, "needs a measurement"), (702, "fails")]
)
def test_verdicts_on_a_chunk(chunk: float, verdict: str, template: Path) -> None:
    """451 tokens are the largest chunk inside 50 ms; 702 x 71.30 us alone take longer."""
    assert line(shown(template, setting(chunk_tokens=chunk)), "chunk_verdict") == verdict


def test_the_chunk_that_keeps_up_has_the_worst_case_tpot(template: Path) -> None:
    """Two ways to one figure: prefill that does not hide, per step and per second."""
    values = shown(template, setting(chunk_tokens=480.0))
    assert line(values, "chunk_tpot_ms") == pytest.approx(pool(values, "tpot_worst_ms"), rel=1e-12)


def test_chunks_against_a_simulated_replica() -> None:
    """One replica, busy all the time: each step gives 64 tokens and computes what has arrived, at most a chunk."""

    def left_over(chunk: float) -> tuple[float, float]:
        waiting = now = out = 0.0
        for _ in range(20_000):
            done = min(chunk, waiting)
            waiting -= done
            seconds = 0.02 + done * 70e-6
            now, out = now + seconds, out + 64
            waiting += 64 * 7.5  # 7.5 prompt tokens arrive for each token that leaves
        return waiting, now / out * 64 * 1e3

    keeps_up = capacity.keep_up_chunk_tokens(64, 150_000, 20_000)
    waiting, tpot_ms = left_over(keeps_up)
    assert waiting <= keeps_up
    assert tpot_ms == pytest.approx(capacity.chunk_tpot_ms(20, keeps_up, 70), rel=1e-3)
    assert left_over(keeps_up - 5)[0] > 20 * keeps_up


def test_chunk_functions_by_hand() -> None:
    assert capacity.chunk_tpot_ms(20, 400, 75) == 50  # 20 + 400 x 0.075
    assert capacity.chunk_tpot_best_ms(20, 200, 75) == 20  # 15 ms hide under 20
    assert capacity.max_chunk_tokens(50, 20, 75) == 400
    assert capacity.max_chunk_tokens(50, 20.001, 75) == 399
    assert capacity.max_chunk_tokens(20, 20, 75) == 0
    assert capacity.request_chunk_tokens(400, 464, 1) == 400
    assert capacity.mixed_steps(4_000, 400) == 10
    assert capacity.mixed_steps(4_001, 400) == 11
    assert capacity.mixed_steps(4_000, 400, 1) == 0
    assert capacity.chunked_ttft_ms(10, 50) == 500
    assert capacity.work_share(5, 1.3, 16.25) == 0.4
    assert capacity.mix_prefill_us(10.5, 150_000) == pytest.approx(70)
    with pytest.raises(capacity.Infeasible, match=r"^a target of 15 ms is below the decode step of 20 ms: no chunk"):
        capacity.max_chunk_tokens(15, 20, 75)


def test_the_chart_tells_two_series_apart(template: Path) -> None:
    """Requests beside work, each with a color and an entry in the legend."""
    (chart,) = held(template)["Mix"]._charts
    assert [s.tx.v for s in chart.series] == ["Share of requests", "Share of work"]
    assert len({s.graphicalProperties.solidFill.srgbClr for s in chart.series}) == 2
    assert chart.legend is not None
    for series, cells_ in zip(chart.series, ("C", "E"), strict=True):
        assert series.val.numRef.f == f"'Mix'!${cells_}${at.WORK_FIRST}:${cells_}${at.WORK_LAST}"


def test_shares_must_be_all_requests(template: Path) -> None:
    edits = edit(1, request_share=0.05)
    values = shown(template, edits)
    assert values[f"C{at.SHARES_ROW}"] == pytest.approx(0.05)
    assert values[f"D{at.SHARES_ROW}"] == "are missing: raise a share"
    assert values[f"{at.CHECK}{at.SHARES_ROW}"] == "FAIL"
    assert pool(values, "replicas") == NA
    assert master(template, edits) != "All checks PASS"
    assert shown(template, edit(1, request_share=0.3))[f"D{at.SHARES_ROW}"] == "are too many: lower a share"


def test_words_where_there_is_no_number(template: Path) -> None:
    def state(values: dict[str, Any], row: int) -> Any:
        return values[f"{at.STATE}{at.WORK_FIRST + row}"]

    values = shown(template, edit(2, output_tokens=0.0))
    assert [state(values, row) for row in (1, 2, 4)] == [
        "long prompts",
        "short: no output tokens",
        "short: no requests",
    ]
    values = shown(template, only(output_tokens=0.0))
    assert pool(values, "decode_context") == pool(values, "tpot_worst_ms") == "no output tokens"
    assert line(values, "keep_up_chunk_tokens") == "no output tokens"
    # nothing is decoded, so nothing has a TPOT
    for name in ("chunk_tpot_ms", "chunk_tpot_best_ms", "chunk_verdict"):
        assert line(values, name) == "no output tokens", name
    assert line(values, "max_chunk_tokens") == "no chunk"
    assert pool(values, "busy_replicas") == pytest.approx(50 * 700 * PREFILL_S)
    values = shown(template, cells({"req_per_s": 0.0}, {}))
    assert work(values, "work_share", 0) == "no load"
    assert pool(values, "replicas") == 0
    values = shown(template, only(cache_hit=1.0))
    assert (
        line(values, "mix_prefill_us") == line(values, "chunk_tpot_ms") == line(values, "chunk_verdict") == "no prefill"
    )
    assert work(values, "p99_chunked_ms", 0) == "no prefill"
    assert values[f"{at.FLOOR}{at.WORK_FIRST}"] == 0
    assert line(shown(template, cells({"target_ms": 15.0}, {})), "max_chunk_tokens") == "no chunk"
    values = shown(template, cells({"gpu_gb": 20.0}, {}))
    assert pool(values, "max_seqs") == "weights do not fit"
    assert values[f"{at.KV_FIT}{at.POOLS_FIRST}"] == "does not fit"


@pytest.mark.parametrize(
    ("edits", "row"),
    [
        (edit(0, request_share=1.1), 6),
        (edit(0, request_share=-0.1), 6),
        (edit(0, request_share="half"), 6),
        (edit(0, prompt_tokens=-1.0), 6),
        (edit(0, output_tokens="long"), 6),
        (edit(0, cache_hit=1.5), 6),
        (edit(0, multiple=0.5), 6),
        (setting(chunk_tokens=0.5), at.LINES.rows["chunk_tokens"]),
        (setting(budget_share=0.0), at.LINES.rows["budget_share"]),
        (setting(long_prompt_tokens=-1.0), at.LINES.rows["long_prompt_tokens"]),
    ],
)
def test_bad_inputs_show_no_result(edits: Values, row: int, template: Path) -> None:
    values = shown(template, edits)
    assert values[f"{at.INPUT_CHECK if row == 6 else at.CHECK}{row}"] == "FAIL"
    assert pool(values, "gpus") == NA
    assert work(values, "work_share", 0) == NA
    assert master(template, edits) != "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "one class": only(prompt_tokens=3_000.0, output_tokens=400.0),
    "no output": only(output_tokens=0.0),
    "all hit, refined": only(cache_hit=1.0) | cells({}, {"attention_flops": True, "fixed_time": True}),
    "no load": cells({"req_per_s": 0.0, "spares": 1.0}, {}),
    "does not fit, target below the step": cells({"gpu_gb": 20.0, "target_ms": 15.0}, {}),
    "shares missing": edit(0, request_share=0.5),
    "settings, refined": setting(long_prompt_tokens=1_000.0, chunk_tokens=300.0, budget_share=1.0)
    | edit(1, cache_hit=0.6)
    | cells({}, {"attention_flops": True, "kv_layout": True, "peak_residency": True, "communication": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
