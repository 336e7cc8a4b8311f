"""Commands about evidence: predict benchmarks, calibrate by one's own, validate by those published."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import CallError
from .app import CONSTANTS, OWN_MODELS, app
from .output import show, write

if TYPE_CHECKING:
    from .. import catalogue
    from ..evidence import Prediction
    from ..evidence.calibration import Calibration
    from ..evidence.rows import Unusable
    from ..evidence.validation import Score

_SET: Final = typer.Option(
    "--set", metavar="COLUMN=VALUE", help="What rows leave blank, e.g. gpu=H100; may be repeated."
)
REASON: Final = "not_predicted_because"
ASSUMED: Final = "assumed"


@app.command()
def predict(
    rows: Annotated[Path, typer.Argument(metavar="ROWS.csv", help="Benchmark rows, as CSV or JSON.")],
    out: Annotated[Path | None, typer.Option("--csv", metavar="OUT.csv", help="Where to; else printed.")] = None,
    models: Annotated[Path | None, OWN_MODELS] = None,
    constants: Annotated[Path | None, CONSTANTS] = None,
    given: Annotated[list[str] | None, _SET] = None,
) -> None:
    """Predict what benchmarks measure: the given columns, with output tok/s, TPOT, TTFT and their P10 and P90."""
    from ..evidence import predict_rows, read_constants
    from ..evidence import rows as reading
    from ..writing import write_all

    lines = reading.read(rows, settings(given or []))
    fitted = read_constants(constants) if constants else None
    found = predict_rows(reading.rows(lines), models=known(models), constants=fitted)
    text = _table(lines, found)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write(out, ".csv", "predictions", lambda path: write_all({path: text.encode("utf-8")}))
    if bad := sum(isinstance(x, reading.Unusable) for x in found):
        typer.echo(f"{bad} of {len(found)} rows are not predicted: see the column {REASON}", err=True)


def settings(given: Sequence[str]) -> dict[str, str]:
    """COLUMN=VALUE by column."""
    for text in given:
        if not all(part.strip() for part in text.partition("=")):
            raise CallError(f"--set must be COLUMN=VALUE: {text!r}")
    return {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in given)}


def known(models: Path | None) -> "catalogue.Table":
    """The catalogue's models with a team's own."""
    from .. import catalogue

    return catalogue.models(models) if models else catalogue.known_models()


def _table(lines: Sequence[Mapping[str, Any]], found: Sequence["Prediction | Unusable"]) -> str:
    from ..evidence.prediction import COLUMNS
    from ..evidence.rows import Unusable

    added = (*COLUMNS, ASSUMED, REASON)
    header = [*dict.fromkeys(name for line in lines for name in line if name not in added), *added]
    out = io.StringIO()
    writer = csv.DictWriter(out, header, lineterminator="\n")
    writer.writeheader()
    for line, result in zip(lines, found, strict=True):
        ours: dict[str, Any] = dict.fromkeys(added, "")
        if isinstance(result, Unusable):
            ours[REASON] = result.reason
        else:
            ours |= {name: f"{x:.6g}" if isinstance(x, float) else x for name, x in result.cells().items()}
            ours[ASSUMED] = result.assumed
        writer.writerow({**line, **ours})
    return out.getvalue()


@app.command()
def calibrate(
    measurements: Annotated[
        Path, typer.Argument(metavar="MEASUREMENTS", help="Your own benchmark rows, three or more, as CSV or JSON.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.json", help="Where the constants go.")] = Path("constants.json"),
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Predicted against measured.")
    ] = None,
    models: Annotated[Path | None, OWN_MODELS] = None,
    given: Annotated[list[str] | None, _SET] = None,
) -> None:
    """Fit the constants to your own benchmark rows, and say how much better they predict rows that they did not see."""
    from workbook.build import build_date

    from ..evidence import rows as reading
    from ..evidence.calibration import calibrate as fitted_to
    from ..evidence.constants import as_text
    from ..writing import write_all

    found = fitted_to(reading.rows(reading.read(measurements, settings(given or []))), known(models))
    dated = {"calibrated": build_date().isoformat(), **found.fitted.about}
    text = as_text(found.fitted._replace(about=dated))
    write(out, ".json", "constants", lambda path: write_all({path: text.encode("utf-8")}))
    if picture:
        _draw(found, picture)
    _print_calibration(found)


def _draw(found: "Calibration", path: Path) -> None:
    """A picture is beside the point: without it the constants are still there."""
    from ..evidence.plot import plot

    try:
        write(path, ".png", "picture", lambda at: plot(found, at))
    except CallError as error:
        typer.echo(str(error), err=True)


def _print_calibration(found: "Calibration") -> None:
    from ..evidence.batch import errors
    from ..tables import plain_table

    before, after = errors(found.data, found.before), errors(found.data, found.after)
    table = plain_table("Metric", "Rows", "Median error before", "after, rows left out", "Within 20% before", "after")
    for metric, old in before.items():
        new = after[metric]
        shares = (old["median"], new["median"], old["within_20"], new["within_20"])
        table.add_row(metric, f"{old['rows']:g}", *(f"{100 * share:.1f}%" for share in shares))
    show(table)
    if found.kept:
        typer.echo(f"The rows do not tell these constants, which stay as shipped: {', '.join(found.kept)}")
    for place, reason in found.refused.items():
        typer.echo(f"row {place + 1} is not used: {reason}", err=True)


@app.command()
def validate(
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the errors as CSV.")] = False,
    whole: Annotated[bool, typer.Option("--series", help="With each series of a model, GPU and engine.")] = False,
) -> int:
    """Print how far predictions of published benchmarks are off, by group; exit code 1 where a group got bad."""
    from ..evidence.fit import published
    from ..evidence.validation import baseline, drifts, scores

    now = scores(published())
    if as_csv:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(type(now[0])._fields)
        writer.writerows(now)
        typer.echo(out.getvalue(), nl=False)
    else:
        _print_scores([score for score in now if whole or score.dimension != "series"])
        _print_percentiles()
    found = drifts(now, baseline())
    for drift in found:
        typer.echo(str(drift), err=True)
    return int(any(drift.broken for drift in found))


def _print_scores(found: Sequence["Score"]) -> None:
    from ..tables import plain_table

    headers = ("Group", "Metric", "Rows", "MFU 50%, MBU 75%", "Shipped", "Model left out", "Within 20%", "Verdict")
    table = plain_table(*headers)
    for score in found:
        shares = (score.seed, score.shipped, score.left_out, score.within_20)
        verdict = "OK" if score.ok else "look closer"
        table.add_row(score.group, score.metric, str(score.rows), *(f"{share:.1%}" for share in shares), verdict)
    show(table, "Median errors of predictions; within 20%: share of rows, leaving the model out.")


def _print_percentiles() -> None:
    from ..evidence.fit import published
    from ..evidence.percentiles import percentile_baseline, percentile_scores
    from ..tables import plain_table

    found = percentile_scores(published())
    table = plain_table("TTFT of closed loops at", "Runs", "Number", "Shipped", "Model left out", "Source left out")
    for score in found:
        errors = (score.shipped, score.left_out, score.source_out)
        table.add_row(f"{score.percentile:.0%}", score.group, str(score.rows), *(f"{share:.1%}" for share in errors))
    show(table, "Median errors of TTFT_CLOSED_MS with PROMPTS_BEFORE_AT.")
    for now, before in zip(found, percentile_baseline(), strict=True):
        if line := now.worse(before):
            typer.echo(line, err=True)
