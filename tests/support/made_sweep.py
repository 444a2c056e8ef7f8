"""The dataset of a sweep that nothing ran: three keys, laws that are known, two phases and two trajectories."""

from __future__ import annotations

import numpy as np
import xarray as xr

NOISE, WORD = "data.noise.total", "model.activation"


def made_sweep(noises: int = 5, seeds: int = 4, instants: int = 9) -> xr.Dataset:
    """Of each activation a loss noise^2 or 3 noise^(1/2), up to a factor that depends on the seed. The second half of the
    loss's decay is the same for all points. Points of the largest noise and the last seed have failed."""
    noise, seed, time = np.geomspace(0.01, 1.0, noises), np.arange(seeds), np.linspace(0.0, 8.0, instants)
    wobble = np.exp(0.1 * np.random.default_rng(0).standard_normal((2, noises, seeds)))
    of_noise = np.stack([noise**2, 3 * noise**0.5])[:, :, None] * wobble
    dims = (WORD, NOISE, "seed")
    failed = np.zeros(of_noise.shape, bool)
    failed[:, -1, -1] = True
    alignment = 1.0 + of_noise
    decay = np.exp(-time) + of_noise[..., None] * (1 - np.exp(-time))
    cosine = np.tanh(time)[:, None, None] * np.eye(3, 2) + of_noise[..., None, None, None] / 10
    return xr.Dataset(
        {
            "final_loss": (dims, np.where(failed, np.nan, of_noise), {"long_name": "training loss, at the end"}),
            "final_accuracy": (dims, np.where(failed, np.nan, 1 - 0.1 * wobble), {"long_name": "accuracy"}),
            "phase_instant": ((*dims, "phase"), np.stack([alignment, 2 * alignment], axis=-1)),
            "seconds": (dims, np.ones(of_noise.shape)),
            "status": (dims, np.where(failed, "non_finite", "done")),
            "exit_code": (dims, np.where(failed, 3, 0)),
            "loss": ((*dims, "time"), decay, {"long_name": "training loss"}),
            "cosine": (
                (*dims, "time", "neuron", "cluster"),
                cosine,
                {"long_name": "cosine between neuron and centre", "units": "1"},
            ),
        },
        {WORD: ["relu", "prelu"], NOISE: noise, "seed": seed, "phase": ["alignment", "growth"], "time": time},
        {"sweep_keys": f"{WORD}\n{NOISE}\nseed", "title": "A made sweep", "scenario": "", "flowsim_version": "0"},
    )
