"""What optax makes of the keys of [flow]."""

from __future__ import annotations

from typing import NamedTuple

import optax

from ...scenario.flow import ADAM, Flow, Schedule

#: As Kingma & Ba (2015) have them.
BETAS, EPSILON = (0.9, 0.999), 1e-8


class Recipe(NamedTuple):
    """The keys of [flow] that make an optimiser, hashable; rates: of each array."""

    method: str
    step: float
    momentum: float | None
    nesterov: bool
    weight_decay: float
    betas: tuple[float, float]
    epsilon: float
    schedule: Schedule | None
    last_iteration: int | None
    rates: tuple[float, ...]

    @classmethod
    def of(cls, flow: Flow, rates: tuple[float, ...]) -> Recipe:
        assert flow.step is not None, "descent has a step"
        return cls(
            method=flow.method,
            step=flow.step,
            momentum=flow.momentum,
            nesterov=bool(flow.nesterov),
            weight_decay=flow.weight_decay or 0.0,
            betas=flow.betas or BETAS,
            epsilon=EPSILON if flow.epsilon is None else flow.epsilon,
            schedule=flow.schedule,
            last_iteration=flow.last_iteration,
            rates=rates,
        )

    def optimizer(self) -> optax.GradientTransformation:
        """From gradients to updates, both tuples of arrays."""
        of_arrays = optax.stateless(
            lambda updates, _: tuple(rate * update for rate, update in zip(self.rates, updates, strict=True))
        )
        decay = optax.add_decayed_weights(self.weight_decay) if self.weight_decay else optax.identity()
        if self.method not in ADAM:
            return optax.chain(decay, optax.sgd(self._steps(), self.momentum, self.nesterov), of_arrays)
        moments = optax.scale_by_adam(*self.betas, self.epsilon)
        return optax.chain(moments, decay, optax.scale_by_learning_rate(self._steps()), of_arrays)

    def _steps(self) -> optax.ScalarOrSchedule:
        """The step of each iteration."""
        schedule, step = self.schedule, self.step
        if schedule is None:
            return step
        assert self.last_iteration is not None, "a schedule goes by the last iteration"
        falling = max(self.last_iteration - schedule.warmup, 1)
        later: optax.Schedule = {
            "constant": optax.constant_schedule(step),
            "cosine": optax.cosine_decay_schedule(step, falling, schedule.final),
            "linear": optax.linear_schedule(step, schedule.final * step, falling),
        }[schedule.kind]
        if not schedule.warmup:
            return later
        rising = optax.linear_schedule(step / schedule.warmup, step, max(schedule.warmup - 1, 1))
        return optax.join_schedules([rising, later], [schedule.warmup])
