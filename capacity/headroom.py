"""Spare replicas, each for a reason; and what is called utilization: ceiling at peak, load factor, GPU busy."""

from typing import Annotated, Final

from .arguments import Number
from .errors import Infeasible
from .fleet import BusyReplicas, Gpus, Replicas
from .numeric import ceil, is_array, where
from .registry import function, spec_of
from .terms import Tp
from .traffic import OutputTps

NodeGpus = Annotated[float, Number("GPUs", "GPUs of a node: that fail together", example=8, ge=1, whole=True)]
FailedNodes = Annotated[
    float, Number("count", "failed nodes: that the fleet outlives at once", example=1, ge=0, whole=True)
]
Regions = Annotated[float, Number("count", "regions: that share the load evenly", example=3, ge=1, whole=True)]
LostRegions = Annotated[
    float, Number("count", "lost regions: that the others take over at once", example=1, ge=0, whole=True)
]
PeakToMean = Annotated[
    float, Number("count", "peak to mean: peak rate over the day's mean rate", example=2, default=2, ge=1)
]


@function(
    "Spare replicas for failed nodes",
    returns="replicas",
    words="failed nodes x replicas of a node (GPUs of a node / TP, rounded up)",
    native="{failed_nodes}*ROUNDUP(ROUND({node_gpus}/{tp},9),0)",
    derivation="{failed_nodes} nodes x {node_gpus} GPUs / {tp} GPUs of a replica, rounded up = {result} replicas",
    source="Arithmetic: a failed node takes every replica that has a GPU in it",
)
def node_spares(node_gpus: NodeGpus, tp: Tp, failed_nodes: FailedNodes) -> float:
    """Replicas that go with nodes that fail; a replica over several nodes goes with one of them.

    >>> node_spares(8, 2, 1), node_spares(8, 16, 2)
    (4.0, 2.0)
    """
    return failed_nodes * ceil(node_gpus / tp)


@function(
    "Whole nodes",
    returns="nodes",
    words="GPUs / GPUs of a node, rounded up",
    native="ROUNDUP(ROUND({gpus}/{node_gpus},9),0)",
    derivation="{gpus} GPUs / {node_gpus} GPUs of a node = {unrounded}, rounded up to {result} nodes",
    source="Arithmetic: 52 GPUs stand in 7 nodes of 8",
    unrounded=lambda gpus, node_gpus: gpus / node_gpus,
)
def nodes(gpus: Gpus, node_gpus: NodeGpus) -> float:
    """Whole nodes in which the fleet stands.

    >>> nodes(52, 8)
    7.0
    """
    return ceil(gpus / node_gpus)


@function(
    "Replicas that outlive a lost region",
    returns="replicas",
    words="regions x (replicas / (regions - lost regions), rounded up)",
    native="{regions}*ROUNDUP(ROUND({replicas}/MAX(0,{regions}-{lost_regions}),9),0)",
    derivation="{regions} regions x ({replicas} replicas / ({regions} - {lost_regions}), rounded up)"
    " = {result} replicas",
    source="Arithmetic: the regions that remain must hold what is needed",
)
def region_replicas(replicas: Replicas, regions: Regions, lost_regions: LostRegions) -> float:
    """Replicas of all regions together, the same in each, of which the rest still does the work.

    >>> region_replicas(26, 3, 1), region_replicas(26, 3, 0)
    (39.0, 27.0)
    """
    left = regions - lost_regions
    if is_array(left):
        left = where(left > 0, left, 0.0)  # which leaves no finite number: the registry says where
    elif left <= 0:
        raise Infeasible(f"{lost_regions:g} lost of {regions:g} regions leave none that does the work")
    return regions * ceil(replicas / left)


@function(
    "Load factor",
    returns="fraction",
    words="mean load / peak load = 1 / peak to mean",
    native="1/{peak_to_mean}",
    derivation="1 / {peak_to_mean} = {result} of the peak load, on the mean of the day",
    source="Arithmetic: the plan's rate is the peak's; the mean load is what is sold",
)
def load_factor(peak_to_mean: PeakToMean = 2) -> float:
    """Mean load as a share of the peak's.

    >>> load_factor(2)
    0.5
    """
    return 1 / peak_to_mean


LoadFactor = Annotated[
    float, Number("fraction", "load factor: mean load as a share of the peak's", example=load_factor, gt=0, le=1)
]


@function(
    "Mean output rate",
    returns="tok/s",
    words="output tok/s of the peak x load factor",
    native="{output_tps}*{load_factor}",
    derivation="{output_tps} output tok/s x {load_factor} = {result} output tok/s on the mean of the day",
    source="Arithmetic: load factor = mean load / peak load",
)
def mean_output_tps(output_tps: OutputTps, load_factor: LoadFactor) -> float:
    """Output tokens per second on the mean of the day.

    >>> mean_output_tps(20000, 0.5)
    10000.0
    """
    return output_tps * load_factor


@function(
    "Mean busy replicas",
    returns="replica-s/s",
    words="busy replicas at the peak x load factor",
    native="{busy_replicas}*{load_factor}",
    derivation="{busy_replicas} busy replicas x {load_factor} = {result} busy replicas on the mean of the day",
    source="Arithmetic: load factor = mean load / peak load",
)
def mean_busy_replicas(busy_replicas: BusyReplicas, load_factor: LoadFactor) -> float:
    """Replicas that the mean load of the day keeps 100% busy.

    >>> mean_busy_replicas(16.5, 0.5)
    8.25
    """
    return busy_replicas * load_factor


@function(
    "GPU busy",
    returns="fraction",
    words="busy replicas / replicas",
    native="{busy_replicas}/{replicas}",
    derivation="{busy_replicas} busy replicas / {replicas} replicas = {result} of their time",
    source="Worked example: 16.7 busy replicas on 26 are 64% busy, under the ceiling of 65%",
)
def gpu_busy(busy_replicas: BusyReplicas, replicas: Replicas) -> float:
    """Share of their time in which the fleet's GPUs work: what a monitor of the engines shows.

    >>> gpu_busy(16.5, 30)
    0.55
    """
    return busy_replicas / replicas


# What the headroom is planned for; illustrative until a team enters its own.
HEADROOM_INPUTS: Final[dict[str, Number]] = {
    "drained_replicas": Number(
        "replicas", "draining replicas: that roll-outs and drains hold at once", example=1, ge=0, whole=True
    ),
    **{
        name: argument
        for function_ in (node_spares, region_replicas, load_factor)
        for name, argument in spec_of(function_).args.items()
        if isinstance(argument, Number) and name not in ("tp", "replicas")
    },
}
