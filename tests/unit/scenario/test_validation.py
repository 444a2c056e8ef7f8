"""What a scenario may say, and how a mistake in it is answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

import flowsim
from flowsim.errors import Issue
from flowsim.kinds.data import DATA
from flowsim.kinds.networks import NETWORKS
from flowsim.observe import OBSERVABLES
from flowsim.scenario.explain import nearest
from flowsim.scenario.scenario import DEFAULT_TAGS
from flowsim.scenario.schema import schema

#: What data.supervision = "cluster" asks of other sections.
CLASSES = '[model]\nwidth = 8\n[loss]\nkind = "cross_entropy"\n'
#: Networks that are not two-layer networks with an output weight for each neuron.
LINEAR, MLP = '[model]\nkind = "linear"\n', '[model]\nkind = "mlp"\ndepth = 4\n'


def issues(text: str) -> tuple[Issue, ...]:
    """Everything that is wrong with a text; the comment and the empty line make line numbers worth checking."""
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.loads("# a comment\n\n" + text, name="a.toml")
    return caught.value.issues


@pytest.fixture(autouse=True)
def files_that_the_texts_name(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(folder)
    for name in ("x.csv", "c.csv"):
        (folder / name).touch()


def only_issue(text: str) -> Issue:
    (issue,) = issues(text)
    return issue


def assert_its_last_line_is_wrong(text: str, key: str, message: str) -> None:
    issue = only_issue(text)
    assert issue.key == key
    assert message in issue.message
    assert issue.place == f"a.toml:{3 + text.count(chr(10))}"


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def every_key() -> Iterator[tuple[str, str, str]]:
    """(header, table, key) of all keys of all variants of all sections; the header opens the table of a variant."""
    for name, field in flowsim.Scenario.model_fields.items():
        yield "", "", name
        for model in models_in(field.annotation):
            place, header = (f"{name}[0]", f"[[{name}]]\n") if name == "stage" else (name, f"[{name}]\n")
            if name in DEFAULT_TAGS:
                tag = DEFAULT_TAGS[name][0]
                kind = model.model_fields.get("kind")
                tag = "kind" if tag not in model.model_fields or (kind is not None and kind.is_required()) else tag
                header += f'{tag} = "{get_args(model.model_fields[tag].annotation)[0]}"\n'
            if "path" in model.model_fields:
                header += 'path = "x.csv"\n'
            for key, inner in model.model_fields.items():
                yield header, place, key
                if name == "sweep" and key in ("grid", "zip"):
                    continue  # their keys are those of all other sections: tests/sweep/test_plan.py
                for deeper in models_in(inner.annotation):
                    usual = name != "stage" and key in type(getattr(flowsim.Scenario(), name)).model_fields
                    above, many = "" if usual else header, "tuple[" in str(inner.annotation)
                    table = f"[[{name}.{key}]]" if many else f"[{name}.{key}]"
                    for deepest, last in deeper.model_fields.items():
                        yield f"{above}{table}\n", f"{place}.{key}{'[0]' * many}", last.alias or deepest


def test_an_empty_scenario_is_valid_and_every_section_has_defaults():
    scenario = flowsim.loads("")
    assert (scenario.data.kind, scenario.model.activation, scenario.init.shape) == (
        "gaussian_mixture",
        "prelu",
        "gaussian",
    )
    sections = "".join(f"[{name}]\n" for name, value in scenario if isinstance(value, BaseModel))
    assert flowsim.loads(sections).model_dump() == scenario.model_dump()


def test_a_scenario_is_frozen_in_all_its_parts():
    scenario = flowsim.loads("")
    for part in (scenario, scenario.data, scenario.data.noise, scenario.flow.until):
        for key in type(part).model_fields:
            with pytest.raises(ValidationError, match="frozen"):
                setattr(part, key, getattr(part, key))


def test_a_value_of_the_right_type_is_not_told_of_the_other_types_that_its_key_admits():
    assert only_issue("seed = -1").message == "-1 is not allowed; it should be greater than or equal to 0"
    assert "array" in only_issue('seed = "x"').message


def test_a_scenario_has_a_member_for_each_seed_in_order():
    scenario = flowsim.loads("seed = [5, 2]\n[model]\nwidth = 3\n", name="a.toml")
    assert (scenario.is_ensemble, scenario.seeds) == (True, (5, 2))
    assert [member.seed for member in scenario.members] == [5, 2]
    for member in scenario.members:
        assert not member.is_ensemble
        assert member.model_dump(exclude={"seed"}) == scenario.model_dump(exclude={"seed"})
        # so that what is wrong with one is located
        assert member.error(("model.width", "")).issues[0].place == "a.toml:3"


def test_a_single_seed_is_its_only_member():
    scenario = flowsim.loads("seed = 5\n")
    assert (scenario.is_ensemble, scenario.seeds) == (False, (5,))
    assert [member.seed for member in scenario.members] == [5]


def test_the_schema_names_the_observables_of_the_registry():
    variables = schema()["$defs"]["Observe"]["properties"]["variables"]["anyOf"]
    assert [one["items"]["enum"] for one in variables if "items" in one] == [list(OBSERVABLES)]


@pytest.mark.parametrize(("header", "table", "key"), sorted(set(every_key())))
def test_a_misspelt_key_is_located_and_answered_with_the_nearest_key_of_its_section(header, table, key):
    found = issues(f"{header}{key}x = 0\n")
    (issue,) = (one for one in found if one.message.startswith("unknown key"))  # another may be that a key is missing
    assert issue.place == f"a.toml:{3 + header.count(chr(10))}"
    assert issue.key == f"{table}.{key}x".removeprefix(".")
    assert issue.message.startswith(f'unknown key; did you mean "{key}"? allowed: ')


def test_an_unknown_key_like_no_other_is_answered_with_all_that_are_allowed():
    issue = only_issue("[loss]\nqqq = 1\n")
    assert str(issue) == "a.toml:4: loss.qqq: unknown key; allowed: kind, reduction, regularizer"


@pytest.mark.parametrize(
    ("word", "answer"),
    [("widht", 'did you mean "width"? '), ("WIDTH", ""), ("width", 'did you mean "width"? '), ("", "")],
)
def test_the_nearest_name_is_the_closest_one_or_nothing(word, answer):
    assert nearest(word, ["wide", "width", "depth"]) == answer


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seed = \n", 3),
        ("seed = 1\n[data\n", 4),
        ("[data]\n[data]\n", 4),
        ("seed = 1\n\nseed = 2\n", 5),
        ('[init]\nscale = 1e\n[data]\nkind = "table"\n', 4),
        ("x = [1,\n2,\n", 4),
        ('title = "no end', 3),
    ],
)
def test_a_syntax_error_is_located(text, line):
    issue = only_issue(text)
    assert issue.place == f"a.toml:{line}"
    assert issue.message.startswith("not valid TOML: ")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("activation = relu", '; a text stands in quotes: activation = "relu"'),
        ("  model.activation = leaky_relu # no quotes", 'model.activation = "leaky_relu"'),
        ("balanced = True", "; in small letters: balanced = true"),
    ],
)
def test_a_word_without_quotes_is_answered_with_what_was_meant(line, meant):
    assert only_issue(f"{line}\n").message.endswith(meant)
    assert "; " not in only_issue("scale = 1e\n").message


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ('[data]\ndimension = "12"', "data.dimension", '"12" is not allowed; it should be a valid integer'),
        ("[data]\ndimension = true", "data.dimension", "true is not allowed; it should be a valid integer"),
        ("[data]\nsamples = 40.0", "data.samples", "40.0 is not allowed; it should be a valid integer"),
        ("[data]\nbalanced = 1", "data.balanced", "1 is not allowed; it should be a valid boolean"),
        ('[data]\nradius = "big"', "data.radius", "sqrt_dimension"),
        ("[data]\nradius = -1.0", "data.radius", "greater than 0"),
        ("[data]\nlabel_noise = 1.5", "data.label_noise", "less than or equal to 1"),
        ("[data]\nlabel_noise = nan", "data.label_noise", "nan is not allowed"),
        (
            "[data]\nnoise = 0.1",
            "data.noise",
            "must be a table of keys, such as { total = 0.1 } or { per_coordinate = 0.1 }, not 0.1",
        ),
        ("[evaluate]\ndistance = 3", "evaluate.distance", "must be a table of keys, not 3"),
        ("[data]\nnoise = { total = -0.1 }", "data.noise.total", "greater than or equal to 0"),
        ('[data]\ncenters = "orthonorml"', "data.centers", 'allowed: "orthonormal", "random_sphere", "equicorrelated"'),
        (
            '[data]\nkind = "tabel"',
            "data.kind",
            'did you mean "table"? allowed: gaussian_mixture, xor, sparse_coding, digits, table',
        ),
        (
            '[data]\nkind = "xor"\nlaw = "laplacian"',
            "data.law",
            'did you mean "laplace"? allowed: gaussian, laplace, uniform',
        ),
        ('[data]\nkind = "xor"\ndimension = 1', "data.dimension", "greater than or equal to 2"),
        ('[data]\nsupervision = "clusters"', "data.supervision", 'did you mean "cluster"? allowed: class, cluster'),
        ('[data]\nkind = "digits"\nsamples = 1798', "data.samples", "less than or equal to 1797"),
        ('[data]\nkind = "digits"\nsamples = 9', "data.samples", "greater than or equal to 10"),
        ('[data]\nkind = "table"\npath = "x.txt"', "data.path", "a path that ends with .csv, .npz, .nc"),
        ("data = 3", "data", "must be a table of keys, not 3"),
        ("[[data]]", "data", "must be a table of keys, not an array"),
        ("[init]\nscale = -1e-3", "init.scale", "greater than 0"),
        ("[init]\nscale = 0.0", "init.scale", "greater than 0"),
        ("[init]\nscale = inf", "init.scale", "finite"),
        ("[model]\ndegree = 0.5", "model.degree", "0.5 is not allowed; it should be greater than or equal to 1"),
        ("[model]\nwidth = 0", "model.width", "greater than or equal to 1"),
        ('[model]\nactivation = "prleu"', "model.activation", 'did you mean "prelu"?'),
        ('[loss]\nkind = "squared"', "loss.kind", 'did you mean "square"? allowed: square, logistic, exponential'),
        ("[flow]\nuntil = { time = inf }", "flow.until.time", "finite"),
        ("[flow]\nrtol = 1", "flow.rtol", "less than or equal to 0.1"),
        ("[observe]\ntimes = 1", "observe.times", "greater than or equal to 2"),
        ("[observe]\nsnapshots = 1", "observe.snapshots", "greater than or equal to 2"),
        ('[observe]\nvariables = ["loss", "margn"]', "observe.variables[1]", 'did you mean "margin"?'),
        ("seed = -1", "seed", "greater than or equal to 0"),
        ('seed = "0"', "seed", "valid integer"),
        (f"seed = {2**63}", "seed", "less than 9223372036854775808"),
        ("seed = []", "seed", "must have at least 1, not 0"),
        ("seed = [0,\n1,\n-1]", "seed[2]", "-1 is not allowed; it should be greater than or equal to 0"),
        (f"seed = [\n{2**63}]", "seed[0]", "less than 9223372036854775808"),
        ("seed = [0,\n0.5]", "seed[1]", "0.5 is not allowed; it should be a valid integer"),
        ("seed = [0,\ntrue]", "seed[1]", "true is not allowed; it should be a valid integer"),
        ("title = 1", "title", "valid string"),
    ],
)
def test_a_wrong_value_is_shown_with_what_is_allowed(text, key, message):
    assert_its_last_line_is_wrong(text, key, message)


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("[data]\ndimension = 3", "data.dimension", "need dimension >= positive + negative = 4"),
        ("[data]\nsamples = 10", "data.samples", "use 8 or 12, or balanced = false"),
        ("[data]\nsamples = 3", "data.samples", "use 4, or balanced = false"),
        ('[data]\nkind = "xor"\nsamples = 10', "data.samples", "over 4 clusters; use 8 or 12, or balanced = false"),
        (
            CLASSES + '[data]\nsupervision = "cluster"\nlabel_noise = 0.1',
            "data.label_noise",
            'flips labels +1/-1, so only with supervision = "class"',
        ),
        (
            CLASSES + '[data]\nkind = "xor"\nsupervision = "cluster"\nlabel_noise = 0.1',
            "data.label_noise",
            'flips labels +1/-1, so only with supervision = "class"',
        ),
        ("[data]\nnegative = 0\npositive = 0", "data.positive", "at least one cluster"),
        ("[data]\ncosine = 0.1", "data.cosine", 'only with centers = "equicorrelated"'),
        ('[data]\ncenters = "random_sphere"\nbasis = "axes"', "data.basis", "only with centers"),
        ('[data]\ncenters = "equicorrelated"\ncosine = -0.5', "data.cosine", "impossible for 4 centres"),
        ('[data]\ncenters = "c.csv"\nradius = 2.0', "data.radius", "only for drawn centres"),
        ("[data]\nnoise = { total = 0.1, per_coordinate = 0.1 }", "data.noise", "give exactly one"),
        ("[data]\nnoise = {}", "data.noise", "give exactly one"),
        (
            "[flow]\nuntil = {}",
            "flow.until",
            "give at least one of time, loss, log10_loss, alignment, kkt, regained, steps",
        ),
        ("[model]\noutput_weight = 0.2", "model.output_weight", 'only with output = "fixed"'),
        (
            '[data]\nkind = "table"\npath = "x.csv"\n[loss]\nreduction = "per_cluster"',
            "loss.reduction",
            'not for data.kind = "table"; use "mean" or "sum"',
        ),
        ('[model]\nkind = "mlp"\nwidths = [3, 4]\ndepth = 3', "model.depth", "give either widths, or depth and width"),
        (LINEAR + '[init]\nsigns = "half"', "init.signs", 'not for model.kind = "linear"'),
        (LINEAR + "[init]\nbalanced = true", "init.balanced", "no output weights of their own"),
        (LINEAR + '[init]\nshape = "nudged"', "init.shape", 'use "gaussian" or "sphere"'),
        (LINEAR + '[data]\nsupervision = "cluster"\n[loss]\nkind = "cross_entropy"', "loss.kind", "has one output"),
        (
            CLASSES + '[data]\nsupervision = "cluster"\n[init]\nshape = "nudged"\ntoward = "own"',
            "init.toward",
            "not for an output for every cluster",
        ),
        (MLP + "[init]\nbalanced = false", "init.balanced", "no output weights of their own"),
        (MLP + "[init]\nscale = 1e-70", "init.scale", "with 4 layers, products of the weights would be below 1e-250"),
        (MLP + '[flow]\nengine = "numba"', "flow.engine", 'use "diffrax"'),
        (MLP + '[flow]\ncoordinates = "polar"', "flow.coordinates", 'use "cartesian"'),
        (MLP + '[flow]\nsolver = "kvaerno5"', "flow.solver", "use tsit5, dopri5 or dopri8"),
        (MLP + "[flow]\nuntil = { alignment = 0.9 }", "flow.until.alignment", "no target clusters"),
        (LINEAR + "[evaluate.distance]", "evaluate.distance", "only for two-layer networks"),
        (MLP + '[evaluate]\nclaims = ["li_2025"]', "evaluate.claims", "only for two-layer networks"),
        ("seed = [3, 4,\n3]", "seed[2]", "3 is named twice"),
        ("seed = [0]\n[flow]\nuntil = { loss = 0.1 }", "flow.until", "beside its other conditions it needs time"),
        ('seed = [0, 1]\n[observe]\nspacing = "solver"', "observe.spacing", 'use "linear" or "log"'),
    ],
)
def test_a_broken_rule_between_keys_is_located_at_the_key_to_change(text, key, message):
    assert_its_last_line_is_wrong(text, key, message)


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ('[model]\noutput = "fixed"', "model.output_weight", "required"),
        ('[data]\ncenters = "equicorrelated"', "data.cosine", "required"),
        ('[data]\nkind = "table"', "data.path", "is required"),
    ],
)
def test_a_missing_key_is_located_at_its_table(text, key, message):
    issue = only_issue(text)
    assert (issue.key, issue.place) == (key, "a.toml:3")
    assert message in issue.message


def having(kinds, key):
    names = [f'"{name}"' for name, kind in kinds.items() if key in kind.model_fields]
    assert len(names) > 1
    return f"only with kind = {' or '.join(names)}"


@pytest.mark.parametrize(
    ("text", "key", "variants"),
    [
        ("[init]\nnudge = 0.1", "init.nudge", 'only with shape = "nudged"'),
        ('[init]\nshape = "sphere"\nnudge = 0.1', "init.nudge", 'only with shape = "nudged"'),
        ('[model]\nactivation = "relu"\nslope = 0.1', "model.slope", 'only with activation = "leaky_relu"'),
        ('[model]\nactivation = "tanh"\ndegree = 2', "model.degree", 'only with activation = "prelu" or "relu_power"'),
        (
            '[data]\nkind = "table"\npath = "x.csv"\nsamples = 4',
            "data.samples",
            having(DATA, "samples"),
        ),
        ('[data]\npath = "x.csv"', "data.path", having(DATA, "path")),
        ("[model]\ndepth = 3", "model.depth", having(NETWORKS, "depth")),
        ('[model]\nkind = "mlp"\ndegree = 3', "model.degree", 'only with kind = "two_layer" or "polynomial"'),
        (
            '[model]\nkind = "linear"\nwidth = 3',
            "model.width",
            having(NETWORKS, "width"),
        ),
        ('[model]\nkind = "linear"\noutput = "fixed"', "model.output", 'only with kind = "two_layer"'),
        ('[data]\nlaw = "uniform"', "data.law", 'only with kind = "xor"'),
        (
            '[data]\nkind = "digits"\ndimension = 64',
            "data.dimension",
            having(DATA, "dimension"),
        ),
        ('[data]\nkind = "xor"\npositive = 2', "data.positive", having(DATA, "positive")),
    ],
)
def test_a_key_of_another_variant_names_the_variants_that_have_it(text, key, variants):
    issue = only_issue(text)
    assert issue == Issue(key, variants, f"a.toml:{3 + text.count(chr(10))}")


def test_all_problems_are_found_at_once_in_the_order_of_the_file():
    found = issues(
        """
[observe]
times = 1
variables = ["loss", "los"]

[flow]
until = { time = 1.0,  tiem = 2.0 }

[data]
dimension = 2
samples = 6
centres = "orthonormal"

[init]
scale = -1
nudge = 0.1

[modle]
width = 3
"""
    )
    assert [(issue.place, issue.key) for issue in found] == [
        ("a.toml:5", "observe.times"),
        ("a.toml:6", "observe.variables[1]"),
        ("a.toml:9", "flow.until.tiem"),
        ("a.toml:13", "data.samples"),
        ("a.toml:14", "data.centres"),
        ("a.toml:17", "init.scale"),
        ("a.toml:18", "init.nudge"),
        ("a.toml:20", "modle"),
    ]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("[data]\nsamples = 6\nlabel_noise = 2.0", ["data.samples", "data.label_noise"]),
        (
            '[data]\nkind = "xor"\nsupervision = "cluster"\nlabel_noise = 0.5\nsamples = 6\nlaw = "cauchy"',
            ["loss.kind", "data.label_noise", "data.samples", "data.law"],
        ),
        ('[model]\nactivation = "relux"\nwidht = 3\nbias = 1', ["model.activation", "model.widht", "model.bias"]),
        (
            '[data]\nkind = "table"\npath = "none.csv"\n[loss]\nreduction = "per_cluster"\n[flow]\nrtol = 2.0',
            ["data.path", "loss.reduction", "flow.rtol"],
        ),
        ('[observe]\ntimes = 1\nvariables = ["loss", "loss"]', ["observe.times", "observe.variables[1]"]),
    ],
)
def test_a_wrong_type_hides_no_broken_rule_and_no_missing_file(text, keys):
    assert [issue.key for issue in issues(text)] == keys


@pytest.mark.parametrize(
    ("text", "key"),
    [
        # 7 samples do not split over the default's 4 clusters, but the scenario speaks of other clusters
        ("[data]\npostive = 5\nsamples = 7", "data.postive"),
        ('[data]\npositive = "5"\nsamples = 7', "data.positive"),
        ('[model]\noutput = "fixd"\noutput_weight = 0.2', "model.output"),
        ('[model]\nactivation = "leaky"\nslope = 0.2', "model.activation"),
        ("[flow]\nuntil = { tiem = 3.0 }", "flow.until.tiem"),
        (
            '[flow]\nmethod = "gradient_descent"\nstep = 1e-300\nschedule = { kind = "constant" }\nuntil = { time = 1e22 }',
            "flow.step",
        ),
    ],
)
def test_what_rests_on_a_mistake_is_not_held_against_the_scenario(text, key):
    assert [issue.key for issue in issues(text)] == [key]


def test_all_broken_rules_of_a_section_are_found_at_once():
    found = issues("[data]\ndimension = 2\ncosine = 0.5\nsamples = 6\n")
    assert [issue.key for issue in found] == ["data.dimension", "data.cosine", "data.samples"]


def test_the_error_s_text_has_one_line_per_problem():
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.loads("seed = -1\n[init]\nscale = 0\n", name="dir/a.toml")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [["dir/a.toml:1", "seed"], ["dir/a.toml:3", "init.scale"]]


def test_a_file_that_the_scenario_names_must_exist(tmp_path):
    for text, key in (
        ('[data]\nkind = "table"\npath = "x.csv"', "data.path"),
        ('[data]\ncenters = "x.npy"', "data.centers"),
    ):
        with pytest.raises(flowsim.ScenarioError) as caught:
            flowsim.loads(text, name="a.toml", folder=tmp_path)
        (issue,) = caught.value.issues
        assert issue.key == key
        assert issue.place == f"a.toml:{1 + text.count(chr(10))}"
        assert "no such file" in issue.message


def test_paths_start_at_the_scenario_s_folder(tmp_path):
    (tmp_path / "x.csv").write_text("a,y\n1,1\n")
    file = tmp_path / "a.toml"
    file.write_text('[data]\nkind = "table"\npath = "x.csv"\n')
    assert flowsim.build(flowsim.load(file)).inputs.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("content", "line"), [(None, ""), (b"seed = 1\n\xff\xfe\x00", ":2")], ids=["missing", "not text"]
)
def test_a_file_that_cannot_be_read_is_an_issue_of_that_file(tmp_path, content, line):
    file = tmp_path / "a.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.load(file)
    assert [issue.place for issue in caught.value.issues] == [f"{file}{line}"]
