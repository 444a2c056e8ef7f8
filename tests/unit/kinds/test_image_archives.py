"""Images of one's own: NPZ archives and folders of files, and what is wrong with them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.images import build, wrong


def archive(folder: Path, **arrays) -> Path:
    np.savez_compressed(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


RNG = np.random.default_rng(3)


GRAY, COLOURS = RNG.integers(256, size=(8, 4, 3), dtype=np.uint8), RNG.integers(256, size=(8, 4, 3, 2), dtype=np.uint8)


TWO = np.arange(8) % 2


@pytest.mark.parametrize("pixels", [GRAY, COLOURS, np.asfortranarray(COLOURS)], ids=["gray", "colours", "by columns"])
def test_an_archive_is_read_channel_by_channel(folder, pixels):
    archive(folder, images=pixels, labels=TWO, test_images=pixels[::-1], test_labels=TWO[::-1])
    problem = build(folder, "images", path="mine.npz", test={"standard": True})
    colours = pixels.reshape(8, 4, 3, -1)
    expected = [[image[..., channel] for channel in range(colours.shape[-1])] for image in colours / 255]
    np.testing.assert_array_equal(problem.inputs, np.array(expected).reshape(8, -1))
    np.testing.assert_array_equal(problem.test.inputs, problem.inputs[::-1])
    assert problem.sample_cluster.tolist() == TWO.tolist()
    assert problem.test.sample_cluster.tolist() == TWO[::-1].tolist()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": TWO}, "mine.npz has no array images"),
        ({"images": GRAY}, "mine.npz has no array labels"),
        ({"images": GRAY / 255, "labels": TWO}, "images is float64 of shape"),
        ({"images": TWO, "labels": GRAY}, "expected uint8"),
        ({"images": GRAY, "labels": TWO - 1}, "whole numbers from 0 on"),
        ({"images": GRAY, "labels": TWO + 0.5}, "labels is float64"),
        ({"images": GRAY, "labels": TWO[1:]}, "8 images and 7 labels"),
        ({"images": GRAY[:0], "labels": TWO[:0]}, "images is uint8 of shape"),
        ({"images": GRAY, "labels": TWO.astype(object)}, "labels is object; expected"),
    ],
)
def test_what_is_wrong_with_an_archive_is_answered(folder, arrays, message):
    archive(folder, **arrays)
    key, said = wrong(folder, "images", path="mine.npz")
    assert key == "data.path"
    assert message in said


def test_an_archive_whose_header_claims_more_than_there_is_is_refused(folder):
    file = archive(folder, images=GRAY, labels=TWO)
    with zipfile.ZipFile(file) as there:
        old = {name: there.read(name) for name in there.namelist()}
    with zipfile.ZipFile(file, "w") as changed:
        for name, content in old.items():
            changed.writestr(name, content.replace(b"(8, 4, 3)", b"(9, 4, 3)"))
    assert "speaks of 108 bytes, and 96 are there" in wrong(folder, "images", path="mine.npz")[1]
    file.write_bytes(file.read_bytes()[:-30])
    assert "cannot be read" in wrong(folder, "images", path="mine.npz")[1]


def test_an_archive_without_a_test_set_says_so(folder):
    archive(folder, images=GRAY, labels=TWO)
    key, message = wrong(folder, "images", path="mine.npz", test={"standard": True})
    assert key == "data.test"
    assert "no array test_images and test_labels; give fraction" in message


@pytest.fixture
def pictures(folder) -> Path:
    """Folders of two classes, each with four PNG files of GRAY."""
    image = pytest.importorskip("PIL.Image")
    for index, pixels in enumerate(GRAY):
        place = folder / "own" / ("cats", "dogs")[index % 2]
        place.mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels).save(place / f"{index}.png")
        (place / "notes.txt").write_text("no image")
    return folder / "own"


def test_a_folder_has_a_folder_for_each_class(pictures):
    problem = build(pictures.parent, "images", path="own")
    expected = np.concatenate([GRAY[::2], GRAY[1::2]]).reshape(8, -1) / 255
    np.testing.assert_array_equal(problem.inputs, expected)
    assert problem.sample_cluster.tolist() == [0] * 4 + [1] * 4


def test_a_folder_may_have_its_test_set_beside_the_training_set(pictures):
    key, message = wrong(pictures.parent, "images", path="own", test={"standard": True})
    assert key == "data.test"
    assert "no folders train and test" in message
    whole = pictures.rename(pictures.with_name("train"))
    pictures.mkdir()
    whole.rename(pictures / "train")
    for name in ("cats", "dogs"):
        (pictures / "test" / name).mkdir(parents=True)
    for moved in ("cats/2.png", "dogs/1.png", "dogs/3.png"):
        (pictures / "train" / moved).rename(pictures / "test" / moved)
    problem = build(pictures.parent, "images", path="own", test={"standard": True})
    np.testing.assert_array_equal(problem.inputs, GRAY[[0, 4, 6, 5, 7]].reshape(5, -1) / 255)
    np.testing.assert_array_equal(problem.test.inputs, GRAY[[2, 1, 3]].reshape(3, -1) / 255)
    assert problem.test.sample_cluster.tolist() == [0, 1, 1]
    (pictures / "test" / "cats").rename(pictures / "test" / "bats")
    message = wrong(pictures.parent, "images", path="own", test={"standard": True})[1]
    assert "test has a folder bats, and the training set has none of this name" in message


def test_colours_come_channel_by_channel(folder):
    image = pytest.importorskip("PIL.Image")
    pixels = RNG.integers(256, size=(3, 5, 3), dtype=np.uint8)
    (folder / "own" / "one").mkdir(parents=True)
    image.fromarray(pixels).save(folder / "own" / "one" / "a.png")
    found = build(folder, "images", path="own").inputs
    np.testing.assert_array_equal(
        found[0] * 255, np.concatenate([pixels[..., channel].ravel() for channel in range(3)])
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda image, file: image.fromarray(np.zeros((4, 4), np.uint8)).save(file),
            "has 4 x 4 pixels, the first image 4 x 3",
        ),
        (
            lambda image, file: image.fromarray(np.zeros((4, 3, 3), np.uint8)).save(file),
            "has colours, the first image is gray",
        ),
        (lambda image, file: file.write_bytes(b"nothing"), "cats/4.png cannot be read"),
        (lambda image, file: file.write_bytes(file.read_bytes()[:45]), "cats/4.png cannot be read"),
    ],
    ids=["size", "colours", "no image", "truncated"],
)
def test_what_is_wrong_with_an_image_is_answered(pictures, change, message):
    from PIL import Image

    change(Image, pictures / "cats" / "4.png")
    key, said = wrong(pictures.parent, "images", path="own")
    assert key == "data.path"
    assert message in said


def test_a_place_that_is_no_set_of_images_is_answered(folder):
    (folder / "empty").mkdir()
    assert "has no folders with images" in wrong(folder, "images", path="empty")[1]
    (folder / "file.txt").write_text("")
    assert "neither a folder nor an NPZ file" in wrong(folder, "images", path="file.txt")[1]
