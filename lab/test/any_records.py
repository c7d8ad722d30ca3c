"""Hypothesis strategies: any records that are valid, the odd ones more often than life has them."""

import math
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from samples import around, comparison_of, msg_replace, profile_of, ratio_of, share_of, side_of

from reap.base.records import Estimate

ANY = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

finite = st.floats(min_value=0, max_value=1e15, allow_nan=False)
any_number = st.one_of(finite, st.sampled_from([0.0, -1.0, math.inf, math.nan, 1e-300, 1e300]))
estimates = st.builds(Estimate, value=any_number, low=any_number, high=any_number)
near_one = st.floats(min_value=0.3, max_value=2).flatmap(
    lambda v: st.floats(min_value=0, max_value=0.3).map(lambda half: around(v, half))
)
names = st.one_of(st.sampled_from(["glibc", "jemalloc", "x"]), st.text(max_size=8))


@st.composite
def ratios(draw: Any, metric: str) -> Any:
    estimate = draw(st.one_of(near_one, near_one, estimates))
    made = ratio_of(metric, 1.0, rounds=1, baseline=draw(st.one_of(finite, any_number)))
    verdict = draw(st.sampled_from(["better", "worse", "inconclusive"]))
    return msgspec.structs.replace(made, ratio=estimate, value=draw(any_number), verdict=verdict)


@st.composite
def sides(draw: Any) -> Any:
    metrics = draw(
        st.lists(st.sampled_from(["cpu", "wall", "peak_resident", "settled_resident", "odd"]), unique=True)
    )
    return side_of(
        draw(names),
        ratios={metric: draw(ratios(metric)) for metric in metrics},
        rounds=draw(st.integers(0, 40)),
        verified=draw(st.booleans()),
        same_exit=draw(st.booleans()),
        same_output=draw(st.sampled_from([True, False, None])),
        provider=draw(st.sampled_from(["", "/usr/lib/x.so", "/a b/x.so"])),
        problem=draw(st.sampled_from(["", "", "", "Crashed."])),
    )


@st.composite
def comparisons(draw: Any) -> Any:
    noise = {
        metric: draw(ratios(metric))
        for metric in draw(st.sampled_from([[], ["cpu"], ["cpu", "peak_resident"]]))
    }
    return (
        comparison_of(
            draw(st.lists(sides(), max_size=4)),
            noise=0.01,
            exit_code=draw(st.sampled_from([0, 1, 127, 139])),
            stopped_early=draw(st.booleans()),
            stdout_varies=draw(st.booleans()),
            objective=draw(st.sampled_from(["time", "settled", "mean", "peak"])),
        )
        if draw(st.booleans())
        else msgspec.structs.replace(comparison_of(draw(st.lists(sides(), max_size=4))), noise=noise)
    )


@st.composite
def profiles(draw: Any) -> Any:
    share = draw(
        st.one_of(
            st.none(),
            st.builds(
                share_of, st.floats(0, 1), st.floats(0, 0.3), st.integers(0, 9999), sees_kernel=st.booleans()
            ),
        )
    )
    made = profile_of(
        objects=draw(st.sampled_from([0, 1, 10**6, 10**15])),
        sites=draw(st.integers(0, 3)),
        points=2,
        depth=draw(st.sampled_from(["triage", "full"])),
    )
    return msg_replace(
        made,
        share=share,
        temporary=draw(estimates),
        seconds=draw(any_number),
        processes=made.processes * draw(st.integers(0, 2)),
    )
