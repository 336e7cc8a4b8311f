"""The steps of Utilization from a fleet to how busy it is and how long arrivals wait, and where they have no number."""

from typing import Final

from capacity import headroom, queueing
from capacity.plan import NO_OUTPUT, Guard, step_named

from ..plan_table import NO_LOAD

NO_FLEET: Final = Guard(NO_LOAD, lambda v: v["replicas"] == 0, "{replicas}=0")
NO_PRICE: Final = NO_OUTPUT._replace(
    words=lambda v: str(NO_OUTPUT.words) if v["req_per_s"] else NO_LOAD,
    shows=f'CHOOSE(1+({{req_per_s}}=0),"{NO_OUTPUT.words}","{NO_LOAD}")',
)
# A queue has no number without load, nor where the load is all that the replicas can do.
NO_QUEUE: Final = Guard(
    lambda v: "overloaded" if v["busy_replicas"] else NO_LOAD,
    lambda v: v["busy_replicas"] == 0 or v["busy_replicas"] >= v["replicas"],
    "{busy_replicas}*({busy_replicas}<{replicas})=0",
    shows=f'CHOOSE(1+({{busy_replicas}}=0),"overloaded","{NO_LOAD}")',
)
NO_WAIT: Final = Guard(
    lambda v: v["queue_busy"], lambda v: isinstance(v["queue_busy"], str), "ISTEXT({queue_busy})", shows="{queue_busy}"
)
WAITING: Final = (
    step_named("gpu_busy", headroom.gpu_busy, "GPU busy at peak", NO_FLEET),
    step_named("delay_factor", queueing.delay_factor, "Delay factor 1/(1 - ceiling)"),
    step_named("ttft_first_order_ms", queueing.ttft_first_order_ms),
    step_named("queue_busy", headroom.gpu_busy, "Busy share of a queue's servers", NO_QUEUE),
    step_named("erlang_c", queueing.erlang_c, "Erlang C: share that waits", NO_WAIT, servers="replicas"),
    step_named(
        "queue_wait_ms",
        queueing.queue_wait_ms,
        "Erlang C: mean wait",
        NO_WAIT,
        servers="replicas",
        wait_share="erlang_c",
    ),
)
