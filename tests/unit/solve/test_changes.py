"""What becomes of images before a gradient of descent sees them: crops, flips and noise, drawn anew each time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from support.pictures import write_sets

import flowsim
from flowsim.errors import ScenarioError
from flowsim.kinds.augmentation import Augmentation
from flowsim.kinds.trees import in_float64
from flowsim.problem.operations import BESIDE
from flowsim.run.estimate import integrators, outlook
from flowsim.run.prepare import Prepared
from flowsim.solve.optax.attacker import Attacker
from flowsim.solve.optax.changes import Changes, copies

SHAPE = (2, 3, 4)
PIXELS = 24


@in_float64
def augmented(images, crop, flip, seed=0):
    changes = Changes(Augmentation(SHAPE, crop, flip), 0.0, 1)
    return np.asarray(changes.augmented(images, jax.random.key(seed))).reshape(-1, *SHAPE)


def test_images_are_moved_with_zeros_at_the_edges_and_mirrored():
    image = np.random.default_rng(0).standard_normal(SHAPE)
    images = np.tile(image.ravel(), (300, 1))
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    moved = [padded[:, row : row + 3, column : column + 4] for row in range(3) for column in range(3)]
    for flip, possible in ((False, moved), (True, [*moved, *(one[..., ::-1] for one in moved)])):
        counts = np.array([(augmented(images, 1, flip) == one).all(axis=(1, 2, 3)).sum() for one in possible])
        assert counts.sum() == 300
        # each is as likely: six standard deviations
        assert np.abs(counts - 300 / len(possible)).max() < 6 * np.sqrt(300 / len(possible))


def test_without_keys_images_stay_as_they_are():
    images = np.random.default_rng(0).standard_normal((5, PIXELS))
    np.testing.assert_array_equal(augmented(images, 0, False).reshape(5, PIXELS), images)


def test_a_warmup_lets_the_radius_rise():
    attacker = Attacker("l2", 2.0, 1, 2.0, warmup=4)
    parts = [float(attacker.part(np.asarray(iteration))) for iteration in (0, 1, 4, 9)]
    assert parts == [0.0, 0.25, 1.0, 1.0]

    @in_float64
    def size(part):
        moved = attacker.moved(np.zeros((1, 3)), lambda at: np.array([[3.0, 0.0, 4.0]]), part)
        return float(np.linalg.norm(moved))

    assert [size(part) for part in parts[:3]] == pytest.approx([0.0, 0.5, 2.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_sets(tmp_path_factory.mktemp("sets"))


STAGE = {"name": "noisy", "method": "sgd", "step": 0.05, "batch": 8, "iterations": 12}
NOISE = {"noise": {"deviation": 0.5, "draws": 2}}
PGD = {"kind": "pgd", "radius": 0.5, "steps": 2, "warmup": 6}


def scenario(folder, augment=None, **stage):
    keys = {
        "data": {"kind": "idx", "folder": str(folder / "mnist"), "supervision": "cluster", "center": "channel"},
        "model": {"kind": "conv", "channels": [2], "image": [1, 6, 5]},
        "init": {"shape": "he"},
        "loss": {"kind": "cross_entropy"},
        "stage": [{**STAGE, **stage}],
        "observe": {"times": 3, "variables": ["loss"]},
    }
    if augment is not None:
        keys["data"]["augment"] = augment
    return flowsim.Scenario(keys)


@pytest.fixture(scope="module")
def plain(folder):
    return flowsim.run(scenario(folder))["output"].values[-1]


@pytest.mark.parametrize(
    ("augment", "stage"),
    [({"crop": 1, "flip": True}, {}), (None, NOISE), (None, {**NOISE, "attack": PGD, "precision": "mixed"})],
    ids=["augment", "noise", "attack in float32"],
)
def test_what_chance_changes_is_the_same_after_a_resume_to_the_last_bit(folder, plain, tmp_path, augment, stage):
    whole = scenario(folder, augment, **stage)
    short = whole.replace({"stage[0].until.steps": 5})
    assert flowsim.run(short, tmp_path / "run.nc").attrs["status"] == "step_limit"
    resumed, straight = flowsim.run(whole, tmp_path / "run.nc", resume=True), flowsim.run(whole)
    xr.testing.assert_equal(resumed.to_dataset(), straight.to_dataset())
    assert not np.array_equal(straight["output"].values[-1], plain)


def test_an_attacker_lowers_the_mean_probability_of_noisy_copies(folder):
    asked = scenario(folder, None, **NOISE, attack=PGD)
    prepared = Prepared(asked)
    (integrator,) = integrators(prepared)
    steps, data = integrator._steps, integrator._data
    images, targets = integrator._inputs[:4], integrator._targets[:4]

    @in_float64
    def both():
        noises = steps.changes.noises(images, jax.random.key(1))

        def loss_of_mean(x):
            logs = steps.loss.value(
                steps.network.outputs(integrator._start, copies(x, noises)), np.tile(targets, 2), jnp
            )
            return -jnp.log(jnp.exp(-logs.reshape(2, 4)).mean(axis=0)).sum()

        few = data._replace(inputs=images, targets=targets)
        return steps._ascent(integrator._start, few, noises)(images), jax.grad(loss_of_mean)(images)

    found, expected = both()
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_no_noise_and_no_crop_change_nothing(folder, plain):
    found = flowsim.run(scenario(folder, {"crop": 0}))["output"].values[-1]
    np.testing.assert_array_equal(found, plain)


def test_only_descent_of_networks_of_images_knows_of_changes(folder):
    with pytest.raises(ScenarioError) as caught:
        scenario(folder, {"flip": True}, **NOISE).replace(
            {"model": {"kind": "two_layer", "width": 20}, "init": {"shape": "gaussian"}}
        )
    assert [issue.key for issue in caught.value.issues] == ["data.augment", "stage[0].noise"]
    with pytest.raises(ScenarioError, match="only for descent of networks without neurons"):
        scenario(folder, None, method="gradient_flow", step=None, batch=None, iterations=None, **NOISE)


def test_what_a_run_takes_goes_by_batches_and_layers(folder):
    prepared = Prepared(scenario(folder))
    longer = Prepared(scenario(folder, batch=16, iterations=24))
    deeper = Prepared(scenario(folder).replace({"model.channels": [2, 2]}))
    first, second, third = map(outlook, (prepared, longer, deeper))
    assert second.running == pytest.approx(4 * first.running - 2 * 12 * BESIDE, rel=0.01)
    assert third.compiling == pytest.approx(1.5 * first.compiling)
