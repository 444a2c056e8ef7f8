"""Sets of labelled images: what is read, which are taken, how they are moved, and what is wrong with files."""

from __future__ import annotations

import gzip
import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from support.images import build, scenario, wrong
from support.pictures import idx, write_cifar, write_mnist

import flowsim
from flowsim.cli import main
from flowsim.errors import ScenarioError
from flowsim.kinds import images as of_images
from flowsim.kinds.data.cifar10 import Cifar10

#: What FLOWSIM_DATA named before the tests gave it tiny files.
DATA = Path(os.environ.get("FLOWSIM_DATA", ""))


MNIST, CIFAR = "train-images-idx3-ubyte.gz", "data_batch_1.bin"


def by_struct(folder: Path, part: str) -> tuple[np.ndarray, list[int]]:
    """(pixels, labels) of four files, byte by byte."""
    content = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    magic, count, height, width = struct.unpack_from(">IIII", content)
    assert magic == 2051
    size = height * width
    pixels = [struct.unpack_from(f"{size}B", content, 16 + size * index) for index in range(count)]
    return np.array(pixels) / 255, list(gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())[8:])


@pytest.mark.parametrize("part", ["train", "t10k"])
def test_idx_is_read_as_it_is(folder, part):
    problem = build(folder, test={"standard": True})
    samples = problem.samples if part == "train" else problem.test
    pixels, label = by_struct(folder / "mnist", part)
    np.testing.assert_array_equal(samples.inputs, pixels)
    assert samples.sample_cluster.tolist() == label
    np.testing.assert_array_equal(samples.targets, [1.0 if one < 5 else -1.0 for one in label])


def test_idx_need_not_be_gzipped_and_may_be_called_otherwise(folder):
    expected = build(folder, test={"standard": True})
    write_mnist(folder / "plain", prefix="emnist-", packed=False)
    files = (folder / "plain").glob("emnist-t10k*")
    for file in list(files):  # with a dot, and "test"
        file.rename(file.with_name(file.name.replace("t10k", "test").replace("-idx", ".idx")))
    found = build(folder, folder="plain", prefix="emnist-", test={"standard": True})
    for one, other in ((found, expected), (found.test, expected.test)):
        np.testing.assert_array_equal(one.inputs, other.inputs)
        np.testing.assert_array_equal(one.targets, other.targets)


def test_cifar10_is_read_as_it_is(folder):
    problem = build(folder, "cifar10", test={"standard": True})
    batches = folder / "cifar-10-batches-bin"
    for samples, names in (
        (problem.samples, [f"data_batch_{n}.bin" for n in range(1, 6)]),
        (problem.test, ["test_batch.bin"]),
    ):
        content = b"".join((batches / name).read_bytes() for name in names)
        records = [content[begin : begin + 3073] for begin in range(0, len(content), 3073)]
        assert samples.sample_cluster.tolist() == [record[0] for record in records]
        np.testing.assert_array_equal(samples.inputs * 255, [list(record[1:]) for record in records])


@pytest.mark.parametrize(("labels", "classes"), [("fine", 100), ("coarse", 20)])
def test_cifar100_has_classes_and_superclasses(folder, labels, classes):
    write_cifar(folder / "cifar-100-binary", classes=100)
    problem = build(folder, "cifar100", labels=labels, test={"samples": 60})
    content = (folder / "cifar-100-binary" / "train.bin").read_bytes()
    column = 1 if labels == "fine" else 0
    assert problem.sample_cluster.tolist() == [content[begin + column] for begin in range(0, len(content), 3074)]
    np.testing.assert_array_equal(problem.inputs[1] * 255, list(content[3076 : 3076 + 3072]))
    assert problem.centers.shape == (classes, 3072)
    assert len(problem.test.targets) == 60


def test_clusters_are_classes_and_centres_their_means(folder):
    problem = build(folder, supervision="cluster")
    pixels, label = by_struct(folder / "mnist", "train")
    means = [pixels[np.array(label) == value].mean(axis=0) for value in range(10)]
    np.testing.assert_allclose(problem.centers, means, rtol=1e-13)
    assert problem.targets.tolist() == label


def test_classes_are_chosen_ordered_and_merged(folder):
    problem = build(folder, classes=[7, [0, 3], 2], positive=2, test={"standard": True})
    for samples, part in ((problem.samples, "train"), (problem.test, "t10k")):
        pixels, label = by_struct(folder / "mnist", part)
        kept = [index for index, value in enumerate(label) if value in (7, 0, 3, 2)]
        np.testing.assert_array_equal(samples.inputs, pixels[kept])
        cluster = [{7: 0, 0: 1, 3: 1, 2: 2}[label[index]] for index in kept]
        assert samples.sample_cluster.tolist() == cluster
        assert samples.label.tolist() == [-1.0 if one == 2 else 1.0 for one in cluster]
    assert problem.cluster_label.tolist() == [1, 1, -1]


def rows_of(problem: flowsim.Problem, folder: Path, part: str = "train") -> list[int]:
    pixels, _ = by_struct(folder / "mnist", part)
    samples = problem.samples if part == "train" else problem.test
    return [int(np.flatnonzero((pixels == one).all(axis=1))[0]) for one in samples.inputs]


def test_a_subset_keeps_shares_or_is_even_and_comes_from_streams_of_its_own(folder):
    keys = {"classes": [[0, 1, 2], 3], "test": {"samples": 8}}
    kept = build(folder, samples=20, **keys)
    assert np.bincount(kept.sample_cluster).tolist() == [15, 5]
    assert np.bincount(kept.test.sample_cluster).tolist() == [6, 2]
    even = build(folder, samples=12, balanced=True, **keys)
    assert np.bincount(even.sample_cluster).tolist() == [6, 6]
    again = build(folder, samples=20, classes=keys["classes"], test={"samples": 4})
    assert rows_of(again, folder) == rows_of(kept, folder) == sorted(rows_of(kept, folder))
    other = flowsim.build(scenario(folder, samples=20, **keys).replace({"seed": 1}))
    assert rows_of(other, folder) != rows_of(kept, folder)
    assert rows_of(other, folder, "t10k") != rows_of(kept, folder, "t10k")


@pytest.mark.parametrize("keys", [{"samples": 20}, {}], ids=str)
def test_only_the_images_that_are_taken_become_floats(folder, keys, monkeypatch):
    taken = []
    taken_of = of_images.Images.taken
    monkeypatch.setattr(of_images.Images, "taken", lambda self, rows: taken.append(len(rows)) or taken_of(self, rows))
    build(folder, "cifar10", test={"samples": 10}, **keys)
    assert taken == [keys.get("samples", 60), 10]


@pytest.mark.parametrize("center", [None, "pixel", "channel"])
@pytest.mark.parametrize("scale", [None, "pixel", "channel", "image"])
@pytest.mark.parametrize("radius", [None, 2.0])
def test_images_are_centred_and_scaled_by_those_that_are_trained_on(folder, center, scale, radius):
    keys = {key: value for key, value in (("center", center), ("scale", scale), ("radius", radius)) if value}
    plain, moved = (build(folder, "cifar10", samples=40, test={"samples": 20}, **one) for one in ({}, keys))
    over = {"pixel": (0,), "channel": (0, 2), None: None}
    training, test = (x.inputs.reshape(-1, 3, 1024) for x in (plain, plain.test))
    mean = training.mean(axis=over[center], keepdims=True) if center else 0.0
    deviation = training.std(axis=over[scale], keepdims=True) if scale in ("pixel", "channel") else 1.0
    found = [((x - mean) / deviation).reshape(-1, 3072) for x in (training, test)]
    if scale == "image":
        found = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in found]
    factor = radius / np.linalg.norm(found[0], axis=1).mean() if radius else 1.0
    np.testing.assert_allclose(moved.inputs, factor * found[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(moved.test.inputs, factor * found[1], rtol=1e-8, atol=1e-10)


def test_a_pixel_that_never_changes_is_not_divided_by_rounding(folder):
    problem = build(folder, center="pixel", scale="pixel")
    np.testing.assert_allclose(problem.inputs[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(problem.inputs[:, 1:].std(axis=0), 1, rtol=1e-9)


def test_a_part_of_the_training_set_may_be_held_out(folder):
    problem = build(folder, test={"fraction": 0.25})
    pixels, _ = by_struct(folder / "mnist", "train")
    both = np.concatenate([problem.inputs, problem.test.inputs])
    assert (len(problem.targets), len(problem.test.targets)) == (45, 15)
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(pixels, axis=0))


def test_files_are_found_beside_the_scenario_and_where_the_environment_says(folder, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    key, message = wrong(elsewhere)
    assert key == "data.folder"
    assert 'there is no "mnist"' in message
    assert "FLOWSIM_DATA is not set" in message
    assert "train-images-idx3-ubyte" in message
    assert "own page" in message
    expected = build(folder)
    monkeypatch.setenv("FLOWSIM_DATA", str(folder))
    np.testing.assert_array_equal(build(elsewhere).inputs, expected.inputs)
    assert str(folder) in wrong(elsewhere, folder="nist")[1]
    monkeypatch.delenv("FLOWSIM_DATA")
    np.testing.assert_array_equal(build(elsewhere, folder=str(folder / "mnist")).inputs, expected.inputs)


def packed(content: bytes) -> bytes:
    return gzip.compress(content)


LABELS = np.arange(60) % 10


BROKEN_IDX = {
    "truncated gzip": (MNIST, lambda old: old[: len(old) // 2], "cannot be read"),
    "no gzip": (MNIST, lambda old: b"plain", "cannot be read"),
    "truncated before it was packed": (
        MNIST,
        lambda old: packed(gzip.decompress(old)[:-3]),
        "fewer than the 1800 bytes",
    ),
    "too long": (MNIST, lambda old: packed(gzip.decompress(old) + b"more"), "more than the 1800 bytes"),
    "nothing": (MNIST, lambda old: packed(b""), "begins with the number 0, not with 2051"),
    "within the header": (MNIST, lambda old: packed(gzip.decompress(old)[:9]), "ends within its header"),
    "no images": (MNIST, lambda old: packed(idx(np.zeros((0, 6, 5)))), "header says 0 x 6 x 5"),
    "other magic": (MNIST, lambda old: packed(idx(np.zeros((60, 6, 5)), magic=0xD03)), "begins with the number 3331"),
    "swapped": (MNIST, lambda old: packed(idx(LABELS)), "are images and labels swapped?"),
    "swapped labels": (
        "train-labels-idx1-ubyte.gz",
        lambda old: packed(idx(np.zeros((60, 6, 5)))),
        "are images and labels swapped?",
    ),
    "other counts": ("train-labels-idx1-ubyte.gz", lambda old: packed(idx(LABELS[:-1])), "60 images, and .* 59 labels"),
    "unknown test label": (
        "t10k-labels-idx1-ubyte.gz",
        lambda old: packed(idx(np.arange(30) + 3)),
        "the test set has the label 10 to 32, which no training image has",
    ),
    "a bomb": (MNIST, lambda old: packed(struct.pack(">4I", 2051, 2**31, 2**16, 2**16)), "is truncated"),
}


@pytest.mark.parametrize(("name", "change", "message"), BROKEN_IDX.values(), ids=BROKEN_IDX)
def test_broken_idx_files_are_answered(folder, name, change, message):
    file = folder / "mnist" / name
    file.write_bytes(change(file.read_bytes()))
    key, said = wrong(folder, test={"standard": True})
    assert key == "data.folder"
    assert name in said or "test set" in said
    assert re.search(message, said), said


def test_cifar_files_that_end_behind_a_record_are_answered(folder):
    for name, keys in ((CIFAR, {}), ("test_batch.bin", {"test": {"standard": True}})):
        file = folder / "cifar-10-batches-bin" / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-3073])
        key, said = wrong(folder, "cifar10", **keys)
        assert key == "data.folder"
        assert name in said
        assert 'not whole; unpack them again; images of one\'s own are for data.kind = "images"' in said
        file.write_bytes(whole)


def test_a_part_of_every_cluster_keeps_it_and_the_others_are_clusters_of_their_label(folder):
    keys = {"supervision": "cluster", "classes": [7, 2, [0, 1], 3], "positive": 2, "test": {"standard": True}}
    problem, plain = build(folder, fine=0.5, width=42, **keys), build(folder, **keys)
    assert np.bincount(problem.sample_cluster).tolist() == [3, 3, 6, 3, 6, 9]
    assert problem.cluster_label.tolist() == [1, 1, -1, -1, 1, -1]
    np.testing.assert_array_equal(problem.targets, problem.sample_cluster)
    np.testing.assert_array_equal(problem.inputs, plain.inputs)
    np.testing.assert_array_equal(problem.label, plain.label)
    kept = problem.sample_cluster < 4
    np.testing.assert_array_equal(problem.sample_cluster[kept], plain.sample_cluster[kept])
    np.testing.assert_array_equal(problem.test.sample_cluster, plain.test.sample_cluster)
    np.testing.assert_allclose(problem.centers[5], problem.inputs[problem.sample_cluster == 5].mean(axis=0))


def test_missing_files_are_named(folder):
    (folder / "mnist" / MNIST).unlink()
    assert re.search(
        "mnist has no train-images-idx3-ubyte, gzipped or not: the images of the training", wrong(folder)[1]
    )
    (folder / "cifar-10-batches-bin" / CIFAR).unlink()
    assert "has no data_batch_1.bin. Expected: the folder of CIFAR-10" in wrong(folder, "cifar10")[1]
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    write_mnist(folder / "mnist", packed=False)
    (folder / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    assert wrong(folder, test={"standard": True})[0] == "data.test"


def records(labels: list[int]) -> bytes:
    return np.column_stack([labels, np.zeros((len(labels), 3072))]).astype(np.uint8).tobytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (records([1] * 12)[:-5], "no multiple of the 3073 of a record: it is truncated, or not of the binary version"),
        (b"", "has 0 bytes"),
        (records([1, 2, 10]), "record 2 has the label 10; allowed: 0 to 9"),
    ],
    ids=["truncated", "empty", "label"],
)
def test_broken_cifar_files_are_answered(folder, content, message):
    (folder / "cifar-10-batches-bin" / CIFAR).write_bytes(content)
    key, said = wrong(folder, "cifar10")
    assert key == "data.folder"
    assert CIFAR in said
    assert message in said


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"classes": [0, [1, 0]]}, "data.classes", r"names \[0\] more than once"),
        ({"fine": 0.5}, "data.fine", 'only with supervision = "cluster"'),
        ({"classes": []}, "data.classes", "at least 1"),
        ({"classes": [0, 12]}, "data.classes", "no image has the label 12; there are 0 to 9"),
        ({"classes": [0, 1], "positive": 3}, "data.positive", "is 3 of 2 clusters"),
        ({"positive": 11}, "data.positive", "is 11 of 10 clusters"),
        ({"balanced": True}, "data.balanced", "needs samples"),
        ({"balanced": True, "samples": 7, "classes": [0, 1]}, "data.samples", "7 cannot be split evenly over 2"),
        ({"balanced": True, "samples": 7}, "data.samples", "7 cannot be split evenly over 10"),
        (
            {"balanced": True, "samples": 14, "classes": [[0, 1], 2]},
            "data.samples",
            "7 of each cluster, and cluster 1 has 6",
        ),
        ({"samples": 61}, "data.samples", "61 of 60 images"),
        ({"samples": 9}, "data.samples", "leaves no images of clusters"),
        ({"test": {"samples": 31}}, "data.test.samples", "31 of 30 images"),
        ({"test": {"samples": 3, "standard": True}}, "data.test", "give exactly one"),
        ({"center": "all"}, "data.center", '"all" is not allowed'),
        ({"class": [1]}, "data.class", 'did you mean "classes"?'),
    ],
)
def test_what_makes_no_sense_is_refused(folder, keys, key, message):
    found, said = wrong(folder, **keys)
    assert found == key
    assert re.search(message, said), said


def test_a_table_has_no_test_set_of_its_own():
    with pytest.raises(ScenarioError, match='only with kind = "cifar10" or "cifar100" or "idx" or "images"'):
        flowsim.loads('[data]\nkind = "digits"\ntest = { standard = true }\n')


def test_more_than_memory_is_refused_before_anything_is_read(folder, monkeypatch):
    monkeypatch.setenv("FLOWSIM_LIMITS", "memory=180000")
    key, message = wrong(folder, "cifar10")
    assert key == "data.folder"
    assert "60 images of 3072 bytes" in message
    assert build(folder, "cifar10", samples=4, classes=[0, 1], width=2).inputs.shape == (4, 3072)


def test_who_sees_all_images_at_once_needs_memory_for_their_numbers(folder, monkeypatch):
    monkeypatch.setenv("FLOWSIM_LIMITS", "memory=1200000")
    key, message = wrong(folder, "cifar10")
    assert key == "data.samples"
    assert "needs 1.406 MiB" in message
    assert "at most about 48 fits" in message
    conv = {"model": {"kind": "conv", "channels": [2]}, "init.shape": "he"}
    by_batches = {"method": "sgd", "step": 0.1, "batch": 10, "iterations": 1}
    assert len(flowsim.build(scenario(folder, "cifar10").replace({**conv, "flow": by_batches})).targets) == 60


def test_the_shell_is_answered_in_one_line(folder, capsys):
    (folder / "mnist" / MNIST).write_bytes(packed(idx(LABELS)))
    file = folder / "a.toml"
    file.write_text('[data]\nkind = "idx"\nfolder = "mnist"\n')
    assert main(["check", str(file)]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith(f"{file}:3: data.folder: {MNIST} holds labels (magic number 2049)")


def test_a_run_is_reopened_and_trained_by_batches(folder, tmp_path):
    flow = {"method": "sgd", "step": 0.5, "batch": 10, "iterations": 12}
    asked = {"radii": [0.0, 0.1], "attacks": ["pgd"], "samples": 5, "steps": 3}
    one = scenario(folder, supervision="cluster", test={"samples": 20}).replace(
        {"flow": flow, "evaluate.robustness": asked}
    )
    flowsim.run(one, tmp_path / "run.nc", warn=lambda message: None)
    with flowsim.reopen(tmp_path / "run.nc") as case:
        again = case.scenario
    assert again.model_dump() == one.model_dump()
    absolute = one.replace({"data.folder": str(folder / "mnist")})
    flowsim.run(absolute, tmp_path / "run.nc", overwrite=True, warn=lambda message: None)
    with flowsim.reopen(tmp_path / "run.nc") as case:
        np.testing.assert_array_equal(case.problem.inputs, flowsim.build(one).inputs)
        np.testing.assert_array_equal(case.problem.test.inputs, flowsim.build(one).test.inputs)
        assert case.tree["robustness"].attrs["samples"] == "test"


def test_members_of_an_ensemble_share_what_does_not_depend_on_the_seed(folder):
    members = scenario(folder, test={"standard": True}).replace({"seed": [0, 1]}).members
    first = flowsim.build(members[0])
    from flowsim.problem import build as build_member

    assert build_member(members[1], first).samples is first.samples
    drawn = scenario(folder, samples=20).replace({"seed": [0, 1]}).members
    first = flowsim.build(drawn[0])
    assert rows_of(build_member(drawn[1], first), folder) != rows_of(first, folder)


real = pytest.mark.skipif(
    not (DATA / "cifar-10-batches-bin").is_dir(), reason="FLOWSIM_DATA names no folder with the real images"
)


@real
def test_the_first_labels_of_cifar10_and_the_means_of_its_channels():
    images = Cifar10(kind="cifar10").read(DATA / "cifar-10-batches-bin", "train")
    assert images.label[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    parts = [images.taken(np.arange(begin, begin + 10_000)) / 255 for begin in range(0, 50_000, 10_000)]
    means = np.mean([part.reshape(-1, 3, 1024).mean(axis=(0, 2)) for part in parts], axis=0)
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=5e-5)


@real
def test_the_real_mnist_is_read_as_it_is(monkeypatch):
    monkeypatch.setenv("FLOWSIM_DATA", str(DATA))
    problem = flowsim.build(flowsim.loads('[data]\nkind = "idx"\nsamples = 500\ntest = { standard = true }\n'))
    pixels, label = by_struct(DATA / "mnist", "t10k")
    np.testing.assert_array_equal(problem.test.inputs, pixels)
    assert problem.test.sample_cluster.tolist() == label
    assert np.bincount(problem.sample_cluster).tolist() == [49, 56, 50, 51, 49, 45, 49, 52, 49, 50]
