"""Spare replicas, each for a reason; and what is called utilization: ceiling at peak, load factor, GPU busy."""

from typing import Annotated, Final

from .arguments import Number
from .errors import Infeasible
from .fleet import BusyReplicas, Gpus, Replicas
from .numeric import ceil, floor, is_array, maximum, where
from .registry import function, spec_of
from .terms import Tp
from .traffic import OutputTps

ReplicaGpus = Annotated[
    float, Number("GPUs", "GPUs of one replica: its tensor-parallel size", example=2, default=1, ge=1, whole=True)
]
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


def replicas_of_node(node_gpus: float, tp: float) -> float:
    """Whole replicas that a node holds; 1 where one takes several nodes."""
    return maximum(1.0, floor(node_gpus / tp))


@function(
    "Spare replicas for failed nodes",
    returns="replicas",
    words="failed nodes x replicas of a node (GPUs of a node / TP, rounded down, at least 1)",
    native="{failed_nodes}*MAX(1,INT({node_gpus}/{tp}))",
    derivation="{failed_nodes} nodes x {node_gpus} GPUs / {tp} GPUs of a replica, rounded down, at least 1"
    " = {result} replicas",
    source="Arithmetic: a failed node takes every replica that has a GPU in it, and none hangs over a node's edge",
)
def node_spares(node_gpus: NodeGpus, tp: Tp, failed_nodes: FailedNodes) -> float:
    """Replicas that go with nodes that fail; a replica over several nodes goes with one of them.

    >>> node_spares(8, 2, 1), node_spares(8, 16, 2)
    (4.0, 2.0)
    """
    return failed_nodes * replicas_of_node(node_gpus, tp)


@function(
    "Whole nodes",
    returns="nodes",
    words="replicas / whole replicas of a node, rounded up; a replica over several nodes takes them whole",
    native="ROUNDUP(ROUND({gpus}/{replica_gpus}/MAX(1,INT({node_gpus}/{replica_gpus})),9),0)"
    "*ROUNDUP({replica_gpus}/{node_gpus},0)",
    derivation="{gpus} GPUs as replicas of {replica_gpus} in nodes of {node_gpus} = {result} nodes",
    source="Arithmetic: 52 GPUs stand in 7 nodes of 8; a node of 8 holds 2 replicas of 3 GPUs, and 2 GPUs idle",
)
def nodes(gpus: Gpus, node_gpus: NodeGpus, replica_gpus: ReplicaGpus = 1) -> float:
    """Whole nodes in which the fleet stands; with replicas of 1 a node fills up to its last GPU.

    >>> nodes(52, 8, 2), nodes(78, 8, 3), nodes(48, 8, 12)
    (7.0, 13.0, 8.0)
    """
    return ceil(gpus / replica_gpus / replicas_of_node(node_gpus, replica_gpus)) * ceil(replica_gpus / node_gpus)


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
