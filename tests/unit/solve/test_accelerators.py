"""What accelerators gain by, as far as a processor can tell: narrow products, memory used again, nothing moved."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import flowsim
from flowsim.problem import reduce
from flowsim.solve import choose
from flowsim.solve.diffrax.integrator import DiffraxIntegrator

#: Samples, neurons and dimensions that no other numbers of a program equal.
SAMPLES, NEURONS, DIMENSION = 46, 18, 37
DOT = re.compile(r"stablehlo\.dot_general .* : \(tensor<([^>]+)>, tensor<([^>]+)>\)")


@pytest.fixture(scope="module")
def integrator():
    """Of so many samples in so many dimensions; more: overrides."""

    def make(**more: object) -> DiffraxIntegrator:
        values = {
            "data": {"samples": SAMPLES, "dimension": DIMENSION, "positive": 1, "negative": 1},
            "model": {"width": NEURONS},
            "flow": {"engine": "diffrax", "solver": "tsit5", "rtol": 2e-5, "until": {"time": 5.0}, **more},
        }
        scenario = flowsim.Scenario(values)
        reduced = reduce(flowsim.build(scenario))
        return DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))

    return make


def lowered(integrator: DiffraxIntegrator) -> str:
    """The program of a chunk, before it is optimised."""
    stepper = integrator._stepper
    with jax.enable_x64(True):
        carry = jax.eval_shape(stepper.begin, integrator._start, integrator._constants)
        aims = *integrator._aims, *integrator._spread.everywhere((1.0, 3))
        return stepper.advance.lower(stepper, carry, integrator._constants, integrator._watch, *aims).as_text()


@pytest.mark.parametrize(("precision", "type_"), [("mixed", "f32"), ("float64", "f64")])
def test_products_with_the_samples_are_as_narrow_as_asked(integrator, precision, type_):
    operands = DOT.findall(lowered(integrator(precision=precision)))
    samples = {str(SAMPLES), str(DIMENSION)}
    with_samples = [pair for pair in operands if any(samples < {*part.split("x")} for part in pair)]
    assert with_samples
    assert {part.split("x")[-1] for pair in with_samples for part in pair} == {type_}


def test_state_and_control_are_wide_whatever_the_products(integrator):
    carry = integrator(precision="mixed").begin()
    floats = {leaf.dtype for leaf in jax.tree.leaves(carry) if np.issubdtype(leaf.dtype, np.floating)}
    assert floats == {np.dtype(float)}


def test_a_chunk_takes_the_memory_of_the_one_before(integrator):
    made = integrator()
    leaves = len(jax.tree.leaves(made.begin()))
    assert lowered(made).count("tf.aliasing_output") == leaves
    carry = made.begin()
    after = made.advance(carry, 1.0, 3)
    assert carry.state.hidden.is_deleted()
    assert not after.state.hidden.is_deleted()


def test_what_was_read_of_a_carry_stays_when_its_memory_is_taken(integrator):
    made = integrator()
    carry = made.advance(made.begin(), 1.0, 3)
    read = made.now(carry), made.save(carry)
    kept = [np.array(array) for array in (read[0].direction, read[0].log_norm, *read[1].values())]
    made.advance(carry, 2.0, 3)
    for before, now in zip(kept, (read[0].direction, read[0].log_norm, *read[1].values()), strict=True):
        np.testing.assert_array_equal(now, before)


def test_an_integrator_begins_as_often_as_it_is_asked(integrator):
    made = integrator()
    ends = [made.report(made.advance(made.begin(), 1.0, 30)).time for _ in range(2)]
    assert ends[0] == ends[1]


def test_within_a_chunk_nothing_is_moved_between_host_and_device(integrator):
    made = integrator()
    carry = made.begin()
    with jax.transfer_guard("disallow"):
        carry = made.advance(carry, 1.0, 3)
        carry = made.advance(carry, 2.0, 5)
    assert made.report(carry).steps > 3
