"""The invoice by workload class: by replica-seconds; what stands idle is a line of its own, so that all add up."""

import math
from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .fleet import Replicas
from .numeric import is_array, where
from .registry import function

InvoiceUsd = Annotated[float, Number("USD", "invoice: what the fleet's month cost in all", example=132_951, ge=0)]
ClassBusy = Annotated[
    float, Number("replica-s/s", "busy replicas of the class: on the mean of the month", example=4, ge=0)
]
AllBusy = Annotated[
    float, Number("replica-s/s", "busy replicas of all classes: on the mean of the month", example=8, ge=0)
]


@function(
    "Charge of a class",
    returns="USD",
    words="invoice x busy replicas of the class / replicas",
    native="{invoice_usd}*{class_busy}/{replicas}",
    derivation="${invoice_usd} x {class_busy} busy replicas of the class / {replicas} replicas = ${result}",
    source="Arithmetic: replica-seconds of the class over all that the invoice pays for",
)
def charge_usd(invoice_usd: InvoiceUsd, class_busy: ClassBusy, replicas: Replicas) -> float:
    """A class's part of the invoice, by the replica time that it takes.

    >>> charge_usd(26000, 4, 26)
    4000.0
    """
    return invoice_usd * class_busy / replicas


@function(
    "Charge for idle time",
    returns="USD",
    words="invoice x (replicas - busy replicas of all classes) / replicas",
    native="{invoice_usd}*(1-{all_busy}/{replicas})/({all_busy}<={replicas})",
    derivation="${invoice_usd} x ({replicas} replicas - {all_busy} busy) / {replicas} = ${result} for idle time",
    source="Arithmetic: ceiling at peak, spares and the hours below the peak; no class has caused it alone",
)
def idle_usd(invoice_usd: InvoiceUsd, all_busy: AllBusy, replicas: Replicas) -> float:
    """What the invoice pays for time in which no class keeps the fleet busy.

    >>> idle_usd(26000, 8, 26)
    18000.0
    """
    idle = replicas - all_busy
    if is_array(idle):
        idle = where(idle < 0, math.nan, idle)  # the registry says where
    elif idle < 0:
        raise Infeasible(f"{all_busy:g} busy replicas are more than the {replicas:g} of the fleet")
    return invoice_usd * idle / replicas
