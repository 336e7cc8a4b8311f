"""The sheets Offers, Options and Compare: as the Python side has it, a team's own GPUs and prices, edits, four ways."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest
from sheets import FourWays, Values, cells, engines_differ, pattern, programs_differ, recalculate

from capacity import catalogue
from capacity.call import ExcelError
from capacity.compare import TPS, Option, compare, on_demand
from workbook.sheets import checks, gpus, inputs, offers, option_cells, options, prices
from workbook.sheets import compare as sheet
from workbook.sheets.blocks import BATCH_LIMIT_ROW, OPTION_TPS

NA = ExcelError("#N/A")
ROWS = (*sheet.TEN_ROWS, *sheet.REST_ROWS)
OWN_GPU = gpus.SHEET.first_own_row
OWN_PRICE = prices.SHEET.first_own_row


def shown(values: Values, row: int) -> dict[str, Any]:
    """A row of Compare by the names of an option."""
    columns = {"gpu": "B", "tp": "C", "status": "D", "batch": "E", "usd_per_gpu_hour": "K"}
    columns |= {name: letter for name, (letter, _) in sheet.SHOWN.items()}
    return {name: values["Compare", f"{letter}{row}"] for name, letter in columns.items()}


def table(values: Values) -> list[dict[str, Any]]:
    return [shown(values, row) for row in ROWS]


def find(values: Values, gpu: str, tp: float) -> dict[str, Any]:
    return next(row for row in table(values) if (row["gpu"], row["tp"]) == (gpu, tp))


def failing(values: Values, template: Path) -> set[str]:
    book = openpyxl.load_workbook(template)
    return {
        book["Checks"][f"B{row}"].value for row in range(6, checks.LAST + 1) if values["Checks", f"K{row}"] != "PASS"
    }


def assert_same(rows: list[dict[str, Any]], expected: list[Option]) -> None:
    """The rows of the sheet are the options in their order; a dash stands where there is no figure."""
    for row, option in zip(rows, expected, strict=False):
        assert (row["gpu"], row["tp"], row["status"]) == (option.gpu, option.tp, option.status)
        for name in ("batch", "max_seqs", *(n for n in sheet.SHOWN if n != "max_seqs")):
            figure = getattr(option, name)
            if figure is not None:
                assert row[name] == pytest.approx(figure, rel=1e-12), (option, name)
            elif option.status != "no sequence fits" and not option.status.startswith("TPOT"):
                assert row[name] == "-", (option, name)


def own_gpu(row: int = OWN_GPU, **facts: Any) -> Values:
    return {("GPUs", f"{gpus.column(field)}{row}"): x for field, x in facts.items()}


def own_price(row: int = OWN_PRICE, **facts: Any) -> Values:
    return {("Prices", f"{prices.column(field)}{row}"): x for field, x in facts.items()}


def test_the_tps_are_those_of_python() -> None:
    assert OPTION_TPS == TPS
    assert option_cells.SHARED_ROWS["batch_limit"] == BATCH_LIMIT_ROW


def test_all_options_as_python_has_them(template: Path) -> None:
    """Every row, in the same order; then the free rows."""
    rows = table(recalculate(template))
    expected = compare("Llama-3.3-70B")
    assert_same(rows, expected)
    assert [row["status"] for row in rows[len(expected) :]] == ["free row"] * 40


@pytest.mark.parametrize(
    ("edits", "given"),
    [
        ({"req_per_s": 2.0, "prompt_tokens": 500.0, "output_tokens": 900.0}, {}),
        ({"target_ms": 12.0, "cache_hit": 0.5, "spares": 2.0}, {}),
        ({"mfu": 0.4, "mbu": 0.6, "utilization": 0.8, "memory_fraction": 0.85, "reserved_gb": 5.0}, {}),
        ({}, {"quant": "bf16", "kv": "fp8"}),
        ({}, {"quant": "fp4"}),
        ({}, {"quant": "mxfp4"}),
        ({}, {"quant": "int4"}),
    ],
)
def test_after_edits_as_python_has_them(edits: dict[str, float], given: dict[str, str], template: Path) -> None:
    names = {"quant": "quantization", "kv": "kv_type"}
    changes = cells(edits, {}) | {("Inputs", f"F{inputs.ROWS[names[n]]}"): x for n, x in given.items()}
    changes["Inputs", f"F{inputs.ROWS['gpu']}"] = "B200"  # which has all of these types
    values = recalculate(template, changes=changes)
    assert_same(table(values), compare("Llama-3.3-70B", edits, **given))
    assert not {name for name in failing(values, template) if "ption" in name or "Compare" in name}


def test_another_model_with_its_refinements(template: Path) -> None:
    """Latent attention, active parameters: with both refinements on, the sheet has what Python has."""
    changes = cells({}, {"kv_layout": True, "active_params": True})
    changes["Inputs", f"F{inputs.ROWS['model']}"] = "DeepSeek-R1"
    values = recalculate(template, changes=changes)
    assert_same(table(values), compare("DeepSeek-R1"))


def test_medians_and_dates(template: Path) -> None:
    """Of each GPU that has an offer; no price for the others."""
    values, found = recalculate(template), on_demand()
    for row, name in enumerate(catalogue.gpus().names, offers.GPUS_FIRST):
        price = found.get(name)
        median, newest = values["Offers", f"L{row}"], values["Offers", f"M{row}"]
        assert values["Offers", f"H{row}"] == (price.offers if price else 0)
        assert median == (price.usd_per_gpu_hour if price else "no price"), name
        if price:
            assert openpyxl.utils.datetime.from_excel(newest).date().isoformat() == price.date


def test_an_offer_of_ones_own(template: Path) -> None:
    """Ten offers of an H200 now: the middle is between 4.50 and 4.59; what is no price of a GPU counts nowhere."""
    mine = {"name": "Ours", "gpu": "H200 SXM", "usd_per_gpu_hour_low": 2.5, "commitment": "On demand", "date": 46400.0}
    values = recalculate(template, changes=own_price(**mine))
    price = find(values, "H200 SXM", 2)["usd_per_gpu_hour"]
    assert price == pytest.approx((4.50 + 4.59) / 2)
    for change in ({"commitment": "reserved"}, {"usd_per_gpu_hour_high": 3.0}, {"usd_per_gpu_hour_low": "2 to 3"}):
        values = recalculate(template, changes=own_price(**{**mine, **change}))
        assert find(values, "H200 SXM", 2)["usd_per_gpu_hour"] == 4.59
    values = recalculate(template, changes=own_price(**{**mine, "gpu": "H2000"}))
    assert failing(values, template) == {"Offers that count, and that no median takes"}


def test_a_gpu_of_ones_own(template: Path) -> None:
    """Named only: its facts are missing; with facts and a price it is ranked."""
    name = {"name": "Ours"}
    values = recalculate(template, changes=own_gpu(**name))
    assert find(values, "Ours", 1)["status"] == "no peak for fp8 weights"
    values = recalculate(template, changes=own_gpu(**name, fp8_tflops=1979.0, bandwidth_tb_s=4.8))
    assert find(values, "Ours", 1)["status"] == "memory or bandwidth not known"
    facts = own_gpu(**name, fp8_tflops=1979.0, bandwidth_tb_s=4.8, memory_gb=141.0, max_gpus_fast_domain=2.0)
    offer = own_price(name="Our offer", gpu="Ours", usd_per_gpu_hour_low=1.0, commitment="on-demand", date=46400.0)
    values = recalculate(template, changes=facts | offer)
    own, same = find(values, "Ours", 2), find(values, "H200 SXM", 2)
    assert own["status"] == "fits"
    assert (own["batch"], own["gpus"], own["cost_per_hour"]) == (same["batch"], same["gpus"], same["gpus"])
    assert find(values, "Ours", 4)["status"] == "TP beyond the fast domain"
    assert values["About", "B3"] == "All checks PASS"


def test_tps_and_batch_limit_are_edited(template: Path) -> None:
    values = recalculate(template, changes={("Options", "B9"): 16.0, ("Options", f"C{BATCH_LIMIT_ROW}"): 32.0})
    assert find(values, "GB200", 16)["batch"] == 32
    assert find(values, "H200 SXM", 16)["status"] == "TP beyond the fast domain"
    assert find(values, "H200 SXM", 2)["batch"] == 32


@pytest.mark.parametrize(
    "edit",
    [
        {("Options", "B9"): 1.5},
        {("Options", "B9"): "eight"},
        {("Options", f"C{BATCH_LIMIT_ROW}"): 0.0},
        {("Options", f"C{BATCH_LIMIT_ROW}"): "many"},
        {("Inputs", "F7"): -1.0},
    ],
)
def test_bad_inputs_show_no_result(edit: Values, template: Path) -> None:
    values = recalculate(template, changes=edit)
    assert {shown(values, row)["cost_per_hour"] for row in ROWS} == {NA}
    assert values["About", "B3"] != "All checks PASS"


@pytest.mark.parametrize(
    "edit", [{"req_per_s": 0.0}, {"output_tokens": 0.0}, {"prompt_tokens": 0.0, "output_tokens": 0.0}]
)
def test_words_where_there_is_no_output(edit: dict[str, float], template: Path) -> None:
    values = recalculate(template, changes=cells(edit, {}))
    rows = table(values)
    assert {row["status"] for row in rows} == {"no output tokens", "free row"}
    assert {row["cost_per_hour"] for row in rows} == {"-"}
    assert not [x for (title, _), x in values.items() if title in ("Options", "Compare") and isinstance(x, ExcelError)]


def test_the_plan_is_an_option(template: Path) -> None:
    """At its batch of 64 the figures of the article; a plan of another batch and price, too; a fault is found."""
    values = recalculate(template)
    row = option_cells.PLAN_ROW
    by_hand = {"max_seqs": 174, "replicas": 26, "gpus": 52, "cost_per_hour": 182, "billed_gpus": 56}
    for name, figure in by_hand.items():
        assert values["Options", option_cells.at(name, "D", row)] == figure
        assert values["Options", option_cells.at(name, "E", row)] == figure
    edits = cells({"batch": 32.0, "usd_per_gpu_hour": 2.0, "tp": 4.0}, {})
    values = recalculate(template, changes=edits)
    assert "Steps in which the plan as an option differs from the plan" not in failing(values, template)
    wrong = {("Options", option_cells.at(name, engine, row)): 53.0 for name in ("gpus",) for engine in "DE"}
    assert "Steps in which the plan as an option differs from the plan" in failing(
        recalculate(template, changes=wrong), template
    )


def test_an_option_takes_whole_nodes(template: Path) -> None:
    """TP 3 as in test_plan_sheet: 18 replicas, two to a node of 8: 9 nodes, 72 GPUs; the plan, and H200 at TP 3."""
    values = recalculate(template, changes=cells({"tp": 3.0}, {}))
    for engine in "DE":
        assert values["Options", option_cells.at("gpus", engine, option_cells.PLAN_ROW)] == 54
        assert values["Options", option_cells.at("billed_gpus", engine, option_cells.PLAN_ROW)] == 72


def test_engines_that_differ_are_found(template: Path) -> None:
    row = option_cells.BLOCKS[1][13]  # H200 SXM, TP 2
    values = recalculate(template, changes={("Options", option_cells.at("replicas", "E", row)): 28.0})
    assert failing(values, template) == {"Options whose engines differ", "Rows of Compare that fail"}


def test_one_pattern_per_column(template: Path) -> None:
    book = openpyxl.load_workbook(template)
    blocks = [("Offers", range(6, offers.LAST + 1)), ("Offers", range(offers.GPUS_FIRST, offers.GPUS_LAST + 1))]
    blocks += [("Options", rows) for rows in option_cells.BLOCKS] + [("Compare", sheet.TEN_ROWS)]
    blocks.append(("Compare", sheet.REST_ROWS))
    for title, rows in blocks:
        for column in book[title].iter_cols(min_row=rows[0], max_row=rows[-1], min_col=2):
            if column[0].data_type == "f":
                assert len({pattern(c) for c in column}) == 1, (title, column[0].coordinate)


CASES: dict[str, Values] = {
    "as built": {},
    "no load": cells({"req_per_s": 0.0}, {}),
    "a tight target": cells({"target_ms": 11.0, "prompt_tokens": 200.0}, {}),
    "int4, another model": {
        ("Inputs", f"F{inputs.ROWS['quantization']}"): "int4",
        ("Inputs", f"F{inputs.ROWS['model']}"): "Llama-3.1-8B",
    },
    "one's own": own_gpu(name="Ours", fp8_tflops=1979.0, bandwidth_tb_s=4.8, memory_gb=141.0, max_gpus_fast_domain=8.0)
    | own_price(name="Our offer", gpu="Ours", usd_per_gpu_hour_low=1.0, commitment="On demand", date=46400.0),
    "a bad TP": {("Options", "B7"): 0.5},
    "native": {("Inputs", f"F{inputs.ENGINE_ROW}"): "Native", ("Options", f"C{BATCH_LIMIT_ROW}"): 100.0},
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)


def test_cells_of_the_addin_are_named() -> None:
    """Twice seventeen steps in 181 rows, of which half are the add-in's."""
    assert len(options.addin_cells()) > 17 * 181
