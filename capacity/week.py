"""The hours of a week: a fleet that stands for the busiest hour, one that follows the load, work for the valleys."""

from typing import Annotated

from .arguments import Number
from .fleet import BusyReplicas, Replicas
from .headroom import LoadFactor
from .numeric import maximum, minimum
from .registry import function
from .terms import Tp, Utilization

PeakLoad = Annotated[float, Number("count", "peak load: of the busiest hour, in any unit", example=50, gt=0)]
MeanLoad = Annotated[float, Number("count", "mean load: of all hours, in the same unit", example=25, gt=0)]


@function(
    "Peak to mean",
    returns="count",
    words="peak load / mean load",
    native="{peak_load}/{mean_load}",
    derivation="{peak_load} at the peak / {mean_load} on the mean = {result}",
    source="DeepSeek's published day: 278 nodes at the peak, 226.75 on average: 1.226, a load factor of 81.6%",
)
def peak_to_mean(peak_load: PeakLoad, mean_load: MeanLoad) -> float:
    """How many times the mean the busiest hour has; its inverse is the load factor.

    >>> peak_to_mean(50, 25), round(1 / peak_to_mean(278, 226.75), 3)
    (2.0, 0.816)
    """
    return peak_load / mean_load


HourShare = Annotated[float, Number("count", "share of an hour: its load, in any unit", example=25, ge=0)]


@function(
    "Busy replicas of an hour",
    returns="replica-s/s",
    words="busy replicas at the peak x load of the hour / peak load",
    native="{busy_replicas}*{hour_share}/{peak_load}",
    derivation="{busy_replicas} busy replicas at the peak x {hour_share} / {peak_load} = {result} in this hour",
    source="Arithmetic: at the same batch and lengths the work goes with the request rate",
)
def hour_busy_replicas(busy_replicas: BusyReplicas, hour_share: HourShare, peak_load: PeakLoad) -> float:
    """Replicas that an hour of the week would keep 100% busy.

    >>> hour_busy_replicas(16, 25, 50)
    8.0
    """
    return busy_replicas * hour_share / peak_load


WarmReplicas = Annotated[
    float, Number("replicas", "warm replicas: that stay up even when nobody asks", example=2, ge=0, whole=True)
]


@function(
    "Replicas with the warm minimum",
    returns="replicas",
    words="the larger of the replicas needed and the warm minimum",
    native="MAX({replicas},{warm_replicas})",
    derivation="the larger of {replicas} replicas needed and {warm_replicas} kept warm: {result}",
    source="Arithmetic: the first request of a night must not wait for a replica to start",
)
def running_replicas(replicas: Replicas, warm_replicas: WarmReplicas) -> float:
    """Replicas that are up in an hour: never fewer than are kept warm.

    >>> running_replicas(26, 2), running_replicas(0, 2)
    (26.0, 2.0)
    """
    return maximum(replicas, warm_replicas)


RunningReplicas = Annotated[
    float, Number("replicas", "running replicas: of an hour", example=running_replicas, ge=0, whole=True)
]
RunningBefore = Annotated[
    float, Number("replicas", "running before: replicas of the hour before", example=20, ge=0, whole=True)
]
StartMinutes = Annotated[
    float, Number("minutes", "start-up: minutes from the order to the first request served", example=10, ge=0)
]


@function(
    "Replica-hours of starting",
    returns="replica-h",
    words="replicas more than the hour before, at least 0, x start-up minutes / 60",
    native="MAX(0,{running_replicas}-{running_before})*{start_minutes}/60",
    derivation="from {running_before} to {running_replicas} replicas, {start_minutes} min each: {result} replica-h",
    source="Arithmetic: a replica that starts is paid for before it serves",
)
def starting_replica_hours(
    running_replicas: RunningReplicas, running_before: RunningBefore, start_minutes: StartMinutes
) -> float:
    """Time paid for while replicas load weights; they must be ordered that much earlier.

    >>> starting_replica_hours(26, 20, 10), starting_replica_hours(20, 26, 10)
    (1.0, 0.0)
    """
    return maximum(0.0, running_replicas - running_before) * start_minutes / 60


HourBusyReplicas = Annotated[float, Number("replica-s/s", "busy replicas of an hour", example=hour_busy_replicas, ge=0)]


@function(
    "Room in a valley",
    returns="replica-h",
    words="replicas x ceiling at peak - busy replicas of the hour, at least 0",
    native="MAX(0,{replicas}*{utilization}-{hour_busy_replicas})",
    derivation="{replicas} replicas x {utilization} - {hour_busy_replicas} busy = {result} replica-h in this hour",
    source="Arithmetic: what a fleet that stands for the peak can still do, below the same ceiling",
)
def valley_room(replicas: Replicas, hour_busy_replicas: HourBusyReplicas, utilization: Utilization = 0.65) -> float:
    """Work for which a fleet has time in an hour, beside the requests that people wait for.

    >>> valley_room(26, 6.5, 0.5)
    6.5
    """
    return maximum(0.0, replicas * utilization - hour_busy_replicas)


ValleyRoom = Annotated[float, Number("replica-h", "room: for batch work in the hour", example=valley_room, ge=0)]
BatchLeft = Annotated[float, Number("replica-h", "batch work left: of the week, before the hour", example=500, ge=0)]


@function(
    "Batch work in a valley",
    returns="replica-h",
    words="the smaller of the room and the batch work left",
    native="MIN({valley_room},{batch_left})",
    derivation="room for {valley_room} replica-h, {batch_left} replica-h left: {result} are done in this hour",
    source="Arithmetic: batch work takes what is free, hour by hour, until it is done",
)
def valley_work(valley_room: ValleyRoom, batch_left: BatchLeft) -> float:
    """Batch work that an hour takes.

    >>> valley_work(6.5, 500), valley_work(6.5, 2)
    (6.5, 2.0)
    """
    return minimum(valley_room, batch_left)


BatchReplicas = Annotated[
    float, Number("replica-s/s", "batch replicas: that batch work keeps busy, on the mean", example=1, ge=0)
]


@function(
    "Busy replicas with batch work",
    returns="replica-s/s",
    words="the larger of the peak and of the mean with batch work: peak x load factor + batch",
    native="MAX({busy_replicas},{busy_replicas}*{load_factor}+{batch_replicas})",
    derivation="the larger of {busy_replicas} busy at the peak and {load_factor} of it + {batch_replicas} for batch"
    " = {result}",
    source="Arithmetic: batch work that can wait goes into the valleys; only what they cannot hold needs more replicas",
)
def busy_with_batch(busy_replicas: BusyReplicas, load_factor: LoadFactor, batch_replicas: BatchReplicas) -> float:
    """Busy replicas to build for when batch work waits for the valleys.

    >>> busy_with_batch(16, 0.5, 4), busy_with_batch(16, 0.5, 10)
    (16.0, 18.0)
    """
    return maximum(busy_replicas, busy_replicas * load_factor + batch_replicas)


ReplicaHours = Annotated[float, Number("replica-h", "replica-hours: of a span of time", example=4368, ge=0)]


@function(
    "GPU-hours",
    returns="GPU-h",
    words="replica-hours x TP",
    native="{replica_hours}*{tp}",
    derivation="{replica_hours} replica-h x {tp} GPUs = {result} GPU-h",
    source="Arithmetic: a replica-hour takes as many GPU-hours as the replica has GPUs",
)
def gpu_hours(replica_hours: ReplicaHours, tp: Tp) -> float:
    """GPU-hours that are paid for; 26 replicas for a week of 168 h are 4,368 replica-hours.

    >>> gpu_hours(4368, 2)
    8736.0
    """
    return replica_hours * tp


StaticGpuHours = Annotated[
    float, Number("GPU-h", "static GPU-hours: of a fleet that stands for the peak", example=gpu_hours, ge=0)
]
FollowingGpuHours = Annotated[
    float, Number("GPU-h", "following GPU-hours: of a fleet that follows the load", example=7_000, ge=0)
]


@function(
    "GPU-hours saved by following the load",
    returns="GPU-h",
    words="static GPU-hours - following GPU-hours, at least 0",
    native="MAX(0,{static_gpu_hours}-{following_gpu_hours})",
    derivation="{static_gpu_hours} GPU-h static - {following_gpu_hours} following the load = {result} saved",
    source="Arithmetic: saved only where the provider takes GPUs back by the hour",
)
def saved_gpu_hours(static_gpu_hours: StaticGpuHours, following_gpu_hours: FollowingGpuHours) -> float:
    """GPU-hours that need not be paid for when the fleet follows the load.

    >>> saved_gpu_hours(8736, 7000)
    1736.0
    """
    return maximum(0.0, static_gpu_hours - following_gpu_hours)
