"""The cluster centres are what the scenario calls them."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest

import flowsim
from flowsim.kinds.clusters import frame

GIVEN = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 0.5]])


def gram(scenario: flowsim.Scenario) -> np.ndarray:
    centers = flowsim.build(scenario).centers
    return centers @ centers.T


@pytest.mark.parametrize("basis", ["random", "axes"])
@pytest.mark.parametrize("dimension", [4, 12])
def test_orthonormal_centres_are_orthonormal(small, basis, dimension):
    np.testing.assert_allclose(gram(small(data__basis=basis, data__dimension=dimension)), np.eye(4), atol=1e-14)


def test_axes_are_the_coordinate_axes(small):
    np.testing.assert_array_equal(flowsim.build(small(data__basis="axes")).centers, np.eye(4, 12))


def test_a_random_frame_has_no_preferred_direction(small):
    # the mean over frames of the projector onto their span is (clusters / dimension) I
    options = {"data": {"dimension": 3, "positive": 1, "negative": 1, "samples": 2}}
    frames = [flowsim.build(small(seed=seed, **options)).centers for seed in range(300)]
    mean = np.mean([frame.T @ frame for frame in frames], axis=0)
    np.testing.assert_allclose(mean, 2 / 3 * np.eye(3), atol=0.1)
    # and no preferred sign
    np.testing.assert_allclose(np.mean(frames, axis=0), 0, atol=0.2)


def test_a_random_frame_is_the_same_whatever_signs_lapack_gives_its_columns(monkeypatch):
    qr, signs = np.linalg.qr, np.array([1.0, -1.0, -1.0, 1.0])

    def otherwise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns, triangle = qr(matrix)
        return columns * signs, signs[:, None] * triangle

    before = frame(4, 12, None, np.random.default_rng(0))
    monkeypatch.setattr(np.linalg, "qr", otherwise)
    np.testing.assert_array_equal(frame(4, 12, None, np.random.default_rng(0)), before)


@pytest.mark.parametrize("cosine", [-0.33, 0.0, 0.09, 0.9])
@pytest.mark.parametrize("basis", ["random", "axes"])
def test_equicorrelated_centres_have_the_cosine_asked_for(small, cosine, basis):
    scenario = small(data__centers="equicorrelated", data__cosine=cosine, data__basis=basis, data__radius=2.0)
    expected = np.where(np.eye(4) == 1, 1.0, cosine) * 4
    np.testing.assert_allclose(gram(scenario), expected, atol=1e-13)


@pytest.mark.parametrize("cosine", [1e-5, 0.001, 0.09])
def test_ten_equicorrelated_centres_of_the_paper_s_norm_and_noise(small, cosine):
    problem = flowsim.build(
        small(
            data={"positive": 5, "negative": 5, "dimension": 400, "samples": 1000, "centers": "equicorrelated"},
            data__cosine=cosine,
            data__radius="sqrt_dimension",
            data__noise={"per_coordinate": 1.0},
        )
    )
    cosines = problem.centers @ problem.centers.T / 400
    np.testing.assert_allclose(cosines, np.where(np.eye(10) == 1, 1.0, cosine), atol=1e-14)
    noise = problem.inputs - problem.centers[problem.sample_cluster]
    # five standard deviations of the variance of 400 000 normal numbers
    assert noise.var() == pytest.approx(1.0, abs=5 * (2 / noise.size) ** 0.5)


@pytest.mark.parametrize(("radius", "norm"), [(0.25, 0.25), (3.0, 3.0), ("sqrt_dimension", 12**0.5)])
@pytest.mark.parametrize("centers", [{}, {"data__centers": "random_sphere"}], ids=["orthonormal", "random_sphere"])
def test_every_centre_has_the_radius_as_norm(small, centers, radius, norm):
    centers = flowsim.build(small(data__radius=radius, **centers)).centers
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), norm, rtol=1e-14)


def test_there_may_be_more_points_on_a_sphere_than_dimensions(small):
    problem = flowsim.build(small(data__centers="random_sphere", data__dimension=2))
    assert problem.centers.shape == (4, 2)


def test_the_first_clusters_are_positive(small):
    problem = flowsim.build(small(data__positive=3, data__negative=1))
    assert problem.cluster_label.tolist() == [1, 1, 1, -1]


def written(folder, suffix: str, centers: np.ndarray) -> str:
    file = folder / f"c{suffix}"
    if suffix == ".npy":
        np.save(file, centers)
    elif suffix == ".npz":
        np.savez(file, centers=centers, other=np.zeros(1))
    elif suffix == ".csv":
        np.savetxt(file, centers, delimiter=",")
    else:
        with netCDF4.Dataset(file, "w") as dataset:
            for name, size in zip(("cluster", "feature"), centers.shape, strict=True):
                dataset.createDimension(name, size)
            dataset.createVariable("centers", "f8", ("cluster", "feature"))[:] = centers
    return file.name


def explicit(folder, name: str) -> flowsim.Scenario:
    sizes = "[data]\ndimension = 3\npositive = 1\nnegative = 1\nsamples = 4\n"
    text = f'{sizes}centers = "{name}"\nnoise = {{ total = 0.0 }}\n'
    return flowsim.loads(text, name="a.toml", folder=folder)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".nc"])
def test_centres_from_a_file_are_taken_as_they_are(tmp_path, suffix):
    problem = flowsim.build(explicit(tmp_path, written(tmp_path, suffix, GIVEN)))
    np.testing.assert_array_equal(problem.centers, GIVEN)
    np.testing.assert_array_equal(problem.inputs, GIVEN[[0, 0, 1, 1]])


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".nc"])
def test_centres_of_the_wrong_shape_are_refused_at_their_key(tmp_path, suffix):
    scenario = explicit(tmp_path, written(tmp_path, suffix, GIVEN.T))
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:6: data\.centers: array of shape \(3, 2\).*\(2, 3\)$"):
        flowsim.build(scenario)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_centres_that_are_not_finite_are_refused(tmp_path, bad):
    with pytest.raises(flowsim.ScenarioError, match="finite and not zero"):
        flowsim.build(explicit(tmp_path, written(tmp_path, ".npy", np.where(GIVEN == 2, bad, GIVEN))))


def test_a_centre_at_the_origin_is_refused(tmp_path):
    with pytest.raises(flowsim.ScenarioError, match="finite and not zero"):
        flowsim.build(explicit(tmp_path, written(tmp_path, ".npy", GIVEN * [[1], [0]])))


def test_an_archive_without_centres_says_what_it_has(tmp_path):
    np.savez(tmp_path / "c.npz", x=GIVEN, y=np.ones(2))
    with pytest.raises(flowsim.ScenarioError, match="no array 'centers'; it has x, y"):
        flowsim.build(explicit(tmp_path, "c.npz"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"not an array"], ids=["empty", "torn", "text"])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".nc"])
def test_a_file_that_holds_no_array_is_refused_at_its_key(tmp_path, suffix, content):
    (tmp_path / f"c{suffix}").write_bytes(content)
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:6: data\.centers: "):
        flowsim.build(explicit(tmp_path, f"c{suffix}"))
