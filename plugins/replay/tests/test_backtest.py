"""``trimtab backtest``: cases, labels, comparison, sweep, gate, shards."""

from __future__ import annotations

import gzip
import json

import pytest

from trimtab_replay._backtest.command import Gate
from trimtab_replay._backtest.output import merged, read_part

from .conftest import call
from .telling import DATA


def loop(identity, count, **facts):
    calls = [call(turn=number) for number in range(count)]
    return {"id": identity, "concerns": "Repeats", "calls": calls, **facts}


CASES = (
    loop("three", 3, expected="fire", at=2),
    loop("two", 2, expected="silent"),
    loop("pair", 2, expected="fire", at=1),
    {"id": "lease", "concerns": "LeaseExtender", "calls": []},
)
REPEATS = ("--enable", "repeats")
ABOUT = ("--provider", "repeats")


@pytest.fixture
def path(write_cases):
    return write_cases(*CASES)


def test_the_table_and_every_failing_case_with_its_reason(run, path):
    status, printed, _ = run("backtest", path, *REPEATS)

    assert status == 0
    assert "missed       repeats  pair: never spoke, due by item 1" in printed
    assert "1 more are about no selected provider" in printed
    assert "0.75" in printed


def test_json_holds_scores_and_runs(run, path):
    _, printed, _ = run("backtest", path, *REPEATS, "--json")
    document = json.loads(printed)
    (score,) = document["scores"]

    assert (document["format"], document["kind"], document["unscored"]) == (1, "cases", 1)
    assert (score["hit"], score["missed"], score["quiet"], score["false_alarm"]) == (1, 1, 1, 0)
    assert score["recall"]["value"] == 0.5
    assert [(run["id"], run["verdict"], run["first"]) for run in document["runs"]] == [
        ("pair", "missed", None),
        ("three", "hit", 2),
        ("two", "quiet", None),
    ]


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        ("balanced_accuracy=0.75", 0),
        ("balanced_accuracy=0.76", 1),
        ("repeats.recall=0.6", 1),
        ("precision=1", 0),
    ],
)
def test_a_gate_fails_where_a_rate_is_below_it(run, path, gate, status):
    found, _, said = run("backtest", path, *REPEATS, "--fail-under", gate)

    assert (found, "below" in said) == (status, bool(status))


@pytest.mark.parametrize(
    "gate", ["accuracy=1", "recall=high", "nobody.recall=1", "recall=90", "recall=nan", "recall=-1"]
)
def test_a_gate_that_means_nothing_is_refused(run, path, gate):
    assert run("backtest", path, *REPEATS, "--fail-under", gate)[0] == 2


def test_a_gate_with_nothing_to_hold_against_fails():
    with pytest.raises(Exception, match="nothing was scored"):
        Gate.parse("recall=1").check([])


def test_a_sweep_shows_each_value(run, path):
    _, printed, _ = run("backtest", path, *REPEATS, "--sweep", "repeats.times=2..4", "--json")
    document = json.loads(printed)

    assert document["sweep"] == "repeats.times"
    assert [
        (one["value"], one["scores"][0]["hit"], one["scores"][0]["false_alarm"])
        for one in document["results"]
    ] == [(2, 2, 1), (3, 1, 0), (4, 0, 0)]


def test_a_sweep_draws_the_trade_off(run, path):
    _, printed, _ = run("backtest", path, *REPEATS, "--sweep", "repeats.times=2,3")

    assert f"|{'=' * 20}| |{' ' * 20}|" in printed
    assert f"|{'=' * 10}{' ' * 10}| |{'-' * 20}|" in printed


def test_a_comparison_says_what_changed_run_by_run(run, path, tmp_path):
    for times in (2, 3):
        provider = f'{{ use = "repeats", options = {{ times = {times} }} }}'
        (tmp_path / f"{times}.toml").write_text(f'[prompts."a/b"]\nguidance = [{provider}]\n')
    arguments = ("backtest", path, "--compare", tmp_path / "3.toml", tmp_path / "2.toml")
    _, printed, _ = run(*arguments)
    changed = json.loads(run(*arguments, "--json")[1])["changed"]

    assert "+ missed → hit  repeats  pair" in printed
    assert "- quiet → false alarm  repeats  two" in printed
    assert [(one["id"], one["first_before"], one["first_after"]) for one in changed] == [
        ("pair", None, 1),
        ("three", 2, 1),
        ("two", None, 1),
    ]


def shards(run, path, tmp_path, *which):
    for shard in which:
        part = run("backtest", path, *REPEATS, "--shard", shard, "--json")[1]
        name = tmp_path / f"part-{shard.replace('/', '-of-')}.json"
        name.write_text(part)
        yield name


def test_merged_shards_are_the_whole(run, path, tmp_path):
    parts = list(shards(run, path, tmp_path, "1/3", "2/3", "3/3"))
    whole = json.loads(run("backtest", path, *REPEATS, "--json")[1])
    together = json.loads(run("backtest", "merge", *parts, "--json")[1])

    assert together["shards"] == [[0, 3], [1, 3], [2, 3]]
    assert {**together, "shards": []} == {**whole, "shards": []}


def test_a_missing_shard_is_not_passed_over(run, path, tmp_path):
    (part,) = shards(run, path, tmp_path, "2/3")
    status, _, said = run("backtest", "merge", part)

    assert (status, "these hold 2/3" in said) == (2, True)


def test_parts_of_other_configurations_are_not_mixed(run, path, tmp_path):
    (part,) = shards(run, path, tmp_path, "1/2")
    other = read_part(part)
    document = json.loads(part.read_text())
    document["providers"][0]["options"] = {"times": 9}
    part.write_text(json.dumps(document))

    with pytest.raises(Exception, match="not results of the same providers"):
        merged({"a": other, "b": read_part(part)})


def labelled(tmp_path, *labels):
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(label) + "\n" for label in labels))
    return path


@pytest.fixture
def runs(write_cases, tmp_path):
    write_cases(loop("a", 6), loop("b", 1), name="runs.jsonl")
    return tmp_path


def label(identity, **facts):
    return {"path": "runs.jsonl", "id": identity, "loop": False, "evident_at": None, **facts}


def test_labels_are_scored_by_the_first_nudge(run, runs):
    path = labelled(
        runs,
        label("a", loop=True, evident_at=4),
        label("b"),
        label("gone", confidence="borderline"),
    )
    status, printed, _ = run("backtest", path, *REPEATS, *ABOUT, "--json")
    document = json.loads(printed)

    assert (status, document["kind"], document["scores"][0]["delay"]) == (0, "labels", -2)
    assert [row["verdict"] for row in document["runs"]] == ["hit", "quiet"]


def test_a_labelled_run_that_is_not_there_is_named(run, runs):
    status, _, said = run("backtest", labelled(runs, label("gone")), *REPEATS, *ABOUT)

    assert (status, "no run 'gone'" in said) == (1, True)


def test_a_label_may_name_a_run_by_its_file(run, tmp_path):
    path = labelled(tmp_path, {"path": "claude-code.jsonl", "id": "claude-code", "loop": False})
    arguments = (*ABOUT, "--runs", DATA, "--json")
    status, printed, _ = run("backtest", path, *REPEATS, *arguments)

    assert (status, json.loads(printed)["runs"][0]["verdict"]) == (0, "quiet")


@pytest.mark.parametrize(
    "row",
    [
        '{"path": "p", "id": 1, "loop": true}',
        '{"path": "p", "loop": true, "id": "x", "evident_at": "y"}',
        '{"path": "p", "loop": true, "id": "x", "evident_at": -1}',
        '{"path": "first", "loop": true, "id": "first"}',
        '["path", "loop"]',
        "not JSON",
        "\udcff{}",
    ],
)
def test_a_wrong_label_is_refused_by_its_line(run, tmp_path, row):
    path = labelled(tmp_path, label("first", path="first"))
    path.write_text(path.read_text() + row + "\n", errors="surrogateescape")
    status, _, said = run("backtest", path, *REPEATS, *ABOUT)

    assert (status, f"{path}:2: " in said) == (2, True)


def test_labels_may_be_packed(run, runs):
    path = labelled(runs, label("b"))
    packed = runs / "labels.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    status, printed, _ = run("backtest", packed, *REPEATS, *ABOUT, "--json")

    assert (status, [row["id"] for row in json.loads(printed)["runs"]]) == (0, ["b"])


def test_labels_about_someone_who_is_not_asked_are_not_scored_as_missed(run, runs):
    status, _, said = run("backtest", labelled(runs, label("b")), *REPEATS, "--provider", "repeat")

    assert (status, "Did you mean 'repeats'" in said) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--jobs", "-1"),
        ("--jobs", "0"),
        ("--shard", "0/2"),
        ("--shard", "3/2"),
        ("--shard", "a/b"),
        ("--compare", "a", "b", "--fail-under", "recall=1"),
        ("--compare", "a", "b", "--sweep", "repeats.times=1,2"),
        ("--sweep", "repeats.times=1,2", "--fail-under", "recall=1"),
    ],
)
def test_nothing_that_was_asked_for_is_passed_over(run, path, capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        run("backtest", path, *arguments)

    assert arguments[0] in capsys.readouterr().err.splitlines()[-1]


def test_a_comparison_takes_no_option(run, path):
    arguments = ("--compare", "a.toml", "b.toml", "--set", "repeats.times=2")

    assert run("backtest", path, *arguments)[0] == 2


def test_a_comparison_tells_of_runs_that_only_one_is_scored_on(run, path, tmp_path):
    for name in ("repeats", "points"):
        (tmp_path / f"{name}.toml").write_text(f'[prompts."a/b"]\nguidance = ["{name}"]\n')
    files = (tmp_path / "repeats.toml", tmp_path / "points.toml")
    _, printed, _ = run("backtest", path, "--compare", *files)

    assert "only one of the two scored 3 runs" in printed


ROW = {"id": "a", "path": "p", "about": "x", "expected": True, "verdict": "hit"}
DOCUMENT = {
    "format": 1,
    "kind": "cases",
    "shards": [[0, 1]],
    "providers": [],
    "unscored": 0,
    "runs": [ROW],
}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"shards": []},
        {"shards": [[0]]},
        {"shards": 5},
        {"unscored": "x"},
        {"runs": [{}]},
        {"runs": [{**ROW, "due": "x"}]},
        {"runs": [{**ROW, "verdict": "good"}]},
        {"runs": None},
    ],
)
def test_a_part_of_a_wrong_shape_is_refused_by_name(run, tmp_path, change):
    path = tmp_path / "part.json"
    path.write_text(json.dumps({**DOCUMENT, **change}))
    status, printed, said = run("backtest", "merge", path)

    assert (status, printed, said.startswith("trimtab: ")) == (2, "", True)


def test_a_part_of_a_newer_version_may_hold_more(run, tmp_path):
    path = tmp_path / "part.json"
    path.write_text(json.dumps({**DOCUMENT, "runs": [{**ROW, "mood": "good"}], "new": 1}))

    assert run("backtest", "merge", path)[0] == 0


def test_a_merge_of_nothing_is_refused(run):
    status, _, said = run("backtest", "merge")

    assert (status, "name the files" in said) == (2, True)


def test_cases_that_are_not_there_are_an_error(run, tmp_path):
    status, _, said = run("backtest", tmp_path / "none.jsonl", *REPEATS)

    assert (status, "none.jsonl" in said) == (1, True)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "hello\n" * 50,
        '[\n {"role": "user", "content": "x"}\n]\n',
        '{"a": 1}\n' * 50,
        'hello\n{"path": "p", "id": "a", "loop": true}\n',
        '{"format": 1, "runs": []}',
    ],
)
def test_a_file_of_another_kind_is_refused_with_one_line(run, tmp_path, content):
    path = tmp_path / "stuck.json"
    path.write_text(content)
    status, printed, said = run("backtest", path, *REPEATS)

    assert (status, printed) == (2, "")
    (line,) = said.splitlines()
    assert line.startswith(f"trimtab: {path} holds neither cases nor labels. A line is a case")
    assert line.endswith("`trimtab replay` reads recorded runs.")


@pytest.mark.parametrize("content", ['{"id": "x", "calls": [', '[{"role": "user"},\n{"ro'])
def test_a_file_that_was_cut_off_is_refused_with_its_line(run, tmp_path, content):
    path = tmp_path / "torn.json"
    path.write_text(content)
    status, printed, said = run("backtest", path, *REPEATS)

    assert (status, printed) == (2, "")
    assert said.startswith(f"trimtab: {path}:{len(content.splitlines())}: not JSON: it was cut off")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('[{"role": "user"}]', "it is not an object"),
        ('{"a": 1}', "it lacks 'format', 'kind', 'shards', 'providers', 'unscored', 'runs'"),
        ('{"a": 1}\n{"a": 1}\n', "it is not one document of JSON"),
        ("", "it is not one document of JSON"),
        ("[" * 100_000, "it is not one document of JSON"),
    ],
)
def test_a_merge_says_why_a_file_is_no_part(run, tmp_path, content, why):
    path = tmp_path / "stuck.json"
    path.write_text(content)
    status, printed, said = run("backtest", "merge", path)

    assert (status, printed) == (2, "")
    (line,) = said.splitlines()
    assert line.startswith(f"trimtab: {path} is not a result of `trimtab backtest")
    assert line.endswith(why)


def test_a_merge_of_a_missing_file_says_so(run, tmp_path):
    _, _, said = run("backtest", "merge", tmp_path / "none.json")

    assert said == f"trimtab: can't read {tmp_path / 'none.json'}: No such file or directory\n"
