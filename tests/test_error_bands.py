"""Error bands as functions: shares of measured over predicted, and the fleets that they mean."""

import pytest

import capacity
from capacity import NotKnown, UnknownName
from capacity.error_bands import CHAINS, bands


def test_the_band_is_that_of_the_fit() -> None:
    """Of either spelling, by any of its shares."""
    for (chain, *names), band in bands().items():
        for share in ("p10", "p50", "p90", "rows"):
            assert capacity.error_band(*names, share.upper(), chain.lower()) == getattr(band, share)
    assert {chain for chain, *_ in bands()} == set(CHAINS)


def test_by_hand() -> None:
    """16.67 busy replicas at 65%: 25.646. Engines at 70% need 36.64 -> 37, at 125% 20.52 -> 21; two spares on top."""
    assert capacity.measured_replicas(16.67, 0.7) == 37
    assert capacity.measured_replicas(16.67, 1.25, 0.65, 2) == 23
    assert capacity.measured_replicas(16.67, 1) == capacity.replicas(16.67) == 26
    assert capacity.band_contingency(74, 52) == pytest.approx(22 / 52)
    assert capacity.band_contingency(44, 52) == 0


def test_a_slower_engine_never_needs_less() -> None:
    needed = [capacity.measured_replicas(16.67, share / 100) for share in range(40, 200, 5)]
    assert needed == sorted(needed, reverse=True)


def test_what_nobody_measured_is_not_known() -> None:
    with pytest.raises(NotKnown, match=r"^ttft_ms of dense offline runs is not known$"):
        capacity.error_band("ttft_ms", "dense", "offline", "p10")
    with pytest.raises(UnknownName, match="no share is called 'p95'"):
        capacity.error_band("ttft_ms", "dense", "closed loop", "p95")
