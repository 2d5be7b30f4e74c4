"""A rooted filesystem, and how prompts find it."""

import os

import pytest

from trimtab import Filesystem, ResourceError, Resources, RootedFilesystem


@pytest.fixture
def files(tmp_path):
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("print()", encoding="utf-8")
    (root / "README.md").write_text("Hällo", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return RootedFilesystem(root)


def test_it_reads_what_lies_below_its_root(files):
    assert files.exists("README.md")
    assert files.exists("src")
    assert not files.exists("src/b.py")
    assert files.read_text("README.md") == "Hällo"
    assert files.glob("**/*.py") == ["src/a.py"]


def test_an_absolute_path_below_the_root_is_taken(files):
    assert files.read_text(str(files.root / "src" / "a.py")) == "print()"


def test_a_name_longer_than_any_file_s_is_not_there(files):
    assert not files.exists("x" * 5_000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_what_never_ends_is_not_read(files):
    os.mkfifo(files.root / "pipe")

    with pytest.raises(ResourceError, match="not a regular file"):
        files.read_text("pipe")


@pytest.mark.parametrize(
    "path", ["../secret.txt", "src/../../secret.txt", "/etc/passwd", "a\0b", "a\ud800"]
)
@pytest.mark.parametrize("ask", ["exists", "read_text"])
def test_a_path_that_leads_out_is_refused(files, path, ask):
    with pytest.raises(ResourceError, match="path"):
        getattr(files, ask)(path)


@pytest.mark.parametrize("pattern", ["../*", "src/../../*", "/etc/*", ""])
def test_a_pattern_that_leads_out_is_refused(files, pattern):
    with pytest.raises(ResourceError, match="pattern"):
        files.glob(pattern)


def test_links_that_lead_out_are_refused_and_others_followed(files):
    (files.root / "out.txt").symlink_to(files.root.parent / "secret.txt")
    (files.root / "in.txt").symlink_to(files.root / "README.md")
    with pytest.raises(ResourceError, match=r"out\.txt"):
        files.read_text("out.txt")
    assert files.read_text("in.txt") == "Hällo"
    assert files.glob("*.txt") == ["in.txt"]


def test_a_linked_folder_that_leads_out_hides_its_files(files):
    (files.root / "up").symlink_to(files.root.parent)
    with pytest.raises(ResourceError):
        files.exists("up/secret.txt")
    assert files.glob("up/*.txt") == []


def test_a_root_that_is_a_link_itself_works(files, tmp_path):
    (tmp_path / "link").symlink_to(files.root)
    assert RootedFilesystem(tmp_path / "link").read_text("README.md") == "Hällo"


def test_resources_find_it_by_class_and_by_protocol(files):
    resources = Resources.of(files)
    assert resources.get(RootedFilesystem) is files
    assert resources.get_optional(Filesystem) is files


def test_any_object_with_the_methods_is_a_filesystem():
    class Memory:
        def exists(self, path):
            return path == "a"

        def read_text(self, path):
            return ""

        def glob(self, pattern):
            return []

    found = Resources.of(Memory()).get_optional(Filesystem)
    assert found is not None
    assert found.exists("a")


def test_a_mapping_binds_under_the_type_it_names(files):
    other = RootedFilesystem(files.root.parent)
    assert Resources({Filesystem: other, RootedFilesystem: files}).get(Filesystem) is other


def test_a_missing_resource_says_what_to_do():
    with pytest.raises(ResourceError, match="bind"):
        Resources().get(RootedFilesystem)


def test_two_resources_of_one_class_are_refused(files):
    with pytest.raises(ResourceError, match="mapping"):
        Resources.of(files, files)
