"""What optax makes of the keys of [flow]."""

from __future__ import annotations

import optax

from ...scenario.flow import ADAM, Flow, Schedule

#: As Kingma & Ba (2015) have them.
BETAS, EPSILON = (0.9, 0.999), 1e-8


def optimizer(flow: Flow) -> optax.GradientTransformation:
    """From gradients to updates."""
    assert flow.step is not None, "descent has a step"
    rate = _rate(flow.step, flow.schedule, flow.last_iteration)
    decay = optax.add_decayed_weights(flow.weight_decay) if flow.weight_decay else optax.identity()
    if flow.method not in ADAM:
        return optax.chain(decay, optax.sgd(rate, flow.momentum, bool(flow.nesterov)))
    first, second = flow.betas or BETAS
    moments = optax.scale_by_adam(first, second, EPSILON if flow.epsilon is None else flow.epsilon)
    return optax.chain(moments, decay, optax.scale_by_learning_rate(rate))


def _rate(step: float, schedule: Schedule | None, iterations: int | None) -> optax.ScalarOrSchedule:
    """The step of each iteration."""
    if schedule is None:
        return step
    assert iterations is not None, "a schedule goes by the last iteration"
    falling = max(iterations - schedule.warmup, 1)
    later: optax.Schedule
    if schedule.kind == "cosine":
        later = optax.cosine_decay_schedule(step, falling, schedule.final)
    elif schedule.kind == "linear":
        later = optax.linear_schedule(step, schedule.final * step, falling)
    else:
        later = optax.constant_schedule(step)
    if not schedule.warmup:
        return later
    rising = optax.linear_schedule(step / schedule.warmup, step, schedule.warmup - 1)
    return optax.join_schedules([rising, later], [schedule.warmup])
