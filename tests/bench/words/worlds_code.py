"""Worlds about code, data and files."""

from __future__ import annotations

import sqlite3

from words.world import Answer, World, failed, tool


class Editing(World):
    """The text to replace is not in the file as the task suggests: it has to be read first."""

    def set_up(self) -> None:
        self.path = self.random.choice(["app.py", "shop.py", "bill.py", "cart.py"])
        self.name, self.bad, self.good = self.random.choice(
            [("total", "-", "+"), ("area", "+", "*"), ("rest", "+", "-"), ("double", "-", "+")]
        )
        gap = "\t" if self.trap else " "
        self.lines = [f"def {self.name}(a, b):", f"    return{gap}a{gap}{self.bad}{gap}b"]
        self.task = (
            f"{self.name}(a, b) in {self.path} must return a {self.good} b, but its line is "
            f"'return a {self.bad} b'. Mend the file, run the tests, then finish."
        )

    @tool("Replace old text in a file; it must match exactly.")
    def edit_file(self, path: str, old: str, new: str) -> Answer:
        text = "\n".join(self.lines)
        if path != self.path:
            return failed(f"error: no file {path}")
        if not old or old not in text:
            return failed("error: old text not found in the file")
        self.lines = text.replace(old, new, 1).split("\n")
        return self._edited()

    @tool("Read a file, with line numbers.")
    def read_file(self, path: str) -> Answer:
        if path != self.path:
            return failed(f"error: no file {path}")
        shown = "\n".join(f"{n}| {line}" for n, line in enumerate(self.lines, 1))
        return self.reach("read", shown.replace("\t", "<TAB>"))

    @tool("Replace a whole line, given its number.")
    def replace_line(self, path: str, line: str, text: str) -> Answer:
        if path != self.path or not line.isdigit() or not 0 < int(line) <= len(self.lines):
            return failed("error: no such line")
        self.lines[int(line) - 1] = ("    " if int(line) > 1 else "") + text.strip()
        return self._edited()

    def _edited(self) -> Answer:
        return self.reach("edited", "changed") if self._correct() else Answer("changed")

    def _correct(self) -> bool:
        return "".join(self.lines[-1].split()) == f"returna{self.good}b"

    @tool("Run the tests.")
    def run_tests(self) -> Answer:
        if self._correct():
            return self.reach("tested", "1 passed")
        return failed(f"1 failed: test_{self.name}")

    @tool("Delete a line, given its number.")
    def delete_line(self, path: str, line: str) -> Answer:
        return failed("error: the file would not parse any more")

    @tool("List the files of the project.")
    def list_files(self) -> Answer:
        return Answer(f"{self.path} test_{self.path} README.md")

    @tool("Search for a word in all files.")
    def search_text(self, word: str) -> Answer:
        return Answer(f"{self.path}:1" if word in self.lines[0] else "nothing found")

    @tool("Show what is not committed yet.")
    def git_diff(self) -> Answer:
        return Answer("no changes" if "tested" not in self.reached else "1 line changed")

    @tool("Show the last commits.")
    def git_log(self) -> Answer:
        return Answer("4f1c2aa Add tests; 09be77d First version")

    @tool("Format a file.")
    def format_file(self, path: str) -> Answer:
        return failed("error: no formatter is configured")

    @tool("Rename a file.")
    def rename_file(self, path: str, new_path: str) -> Answer:
        return failed("error: the file is in use by the tests")

    @property
    def solved(self) -> bool:
        return self._correct()


class Database(World):
    """The column is not called what the task calls it."""

    def set_up(self) -> None:
        self.who = self.random.choice(["Ada", "Linus", "Grace", "Ken"])
        self.city = self.random.choice(["Oslo", "Turin", "Ghent", "Porto"])
        column = self.random.choice(["place_code", "residence", "loc"]) if self.trap else "city"
        self.column = column
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute(f"CREATE TABLE customers (id INTEGER, name TEXT, {column} TEXT)")
        rows = [(1, self.who, self.city), (2, "Mary", "Lyon"), (3, "Alan", "Kiel")]
        self.db.executemany("INSERT INTO customers VALUES (?, ?, ?)", rows)
        self.task = (
            f"Table customers: find the city of {self.who} with run_query (SQL). "
            "Finish with the name of the city."
        )

    @tool("Run an SQL query.")
    def run_query(self, sql: str) -> Answer:
        if not sql.lower().lstrip().startswith("select"):
            return failed("error: only SELECT is allowed")
        try:
            rows = self.db.execute(sql).fetchmany(3)
        except sqlite3.Error:
            return failed("error: query failed: no such column")
        found = "; ".join(", ".join(map(str, row)) for row in rows) or "0 rows"
        return self.reach("found", found) if self.city in found else Answer(found)

    @tool("Show the columns of a table.")
    def describe_table(self, table: str) -> Answer:
        if table.lower() != "customers":
            return failed("error: no such table")
        return self.reach("described", f"id INTEGER, name TEXT, {self.column} TEXT")

    @tool("List the tables.")
    def list_tables(self) -> Answer:
        return Answer("customers")

    @tool("Show some rows of a table.")
    def sample_rows(self, table: str) -> Answer:
        if table.lower() != "customers":
            return failed("error: no such table")
        return self.reach("described", f"(id, name, {self.column}): (2, Mary, Lyon)")

    @tool("Count the rows of a table.")
    def count_rows(self, table: str) -> Answer:
        return Answer("3") if table.lower() == "customers" else failed("error: no such table")

    @tool("List the indexes of a table.")
    def list_indexes(self, table: str) -> Answer:
        return Answer("none")

    @tool("Show how a query would be run.")
    def explain_query(self, sql: str) -> Answer:
        return failed("error: query can't be planned")

    @tool("List the users of the database.")
    def list_users(self) -> Answer:
        return Answer("admin, reader")

    @tool("Show the settings of the database.")
    def show_settings(self) -> Answer:
        return Answer("encoding utf-8; read only")

    @tool("Export a table to a file.")
    def export_table(self, table: str, path: str) -> Answer:
        return failed("error: the disk is read only")

    @tool("List the saved queries.")
    def list_saved_queries(self) -> Answer:
        return Answer("none")

    @property
    def solved(self) -> bool:
        return self.city in self.said


class Packages(World):
    """The version that the task suggests does not exist."""

    def set_up(self) -> None:
        self.package = self.random.choice(["parsekit", "webframe", "plotbox", "netcore"])
        self.version = f"{self.random.randint(3, 9)}.{self.random.randint(1, 9)}"
        self.installed = False
        self.task = (
            f"Install the package {self.package}, version "
            f"{'2.0' if self.trap else self.version} or later. Finish when it is installed."
        )

    @tool("Install a package in one exact version.")
    def install_package(self, package: str, version: str) -> Answer:
        if self.package not in package:
            return failed("error: unknown package")
        if self.version not in version:
            return failed(f"error: could not install {self.package}: no matching version")
        self.installed = True
        return self.reach("installed", f"installed {self.package} {self.version}")

    @tool("List the versions of a package that exist.")
    def list_versions(self, package: str) -> Answer:
        if self.package not in package:
            return failed("error: unknown package")
        return self.reach("versions", f"1.4, {self.version}")

    @tool("Show what a package is for.")
    def show_package(self, package: str) -> Answer:
        return Answer(f"{self.package}: a library")

    @tool("List what is installed.")
    def list_installed(self) -> Answer:
        return Answer(f"corelib 1.0{f', {self.package}' if self.installed else ''}")

    @tool("Remove a package.")
    def uninstall_package(self, package: str) -> Answer:
        return failed("error: it is not installed")

    @tool("Search packages by word.")
    def search_packages(self, word: str) -> Answer:
        return Answer(f"{self.package}, {self.package}-docs")

    @tool("Refresh the index of packages.")
    def update_index(self) -> Answer:
        return Answer("the index is up to date")

    @tool("Check what is installed for conflicts.")
    def check_conflicts(self) -> Answer:
        return Answer("no conflicts")

    @tool("Empty the cache of downloads.")
    def clean_cache(self) -> Answer:
        return Answer("0 files removed")

    @tool("Keep a package at its version.")
    def pin_package(self, package: str) -> Answer:
        return failed("error: it is not installed")

    @tool("Show the interpreter and its folders.")
    def show_environment(self) -> Answer:
        return Answer("python 3.12 in /opt/env")

    @tool("List known security problems of a package.")
    def audit_package(self, package: str) -> Answer:
        return Answer("none known")

    @property
    def solved(self) -> bool:
        return self.installed


class Permissions(World):
    """The folder can't be written to before its mode is changed."""

    def set_up(self) -> None:
        self.folder = self.random.choice(["reports", "exports", "public"])
        self.file = f"{self.folder}/{self.random.choice(['may', 'june', 'july'])}.txt"
        self.writable = not self.trap
        self.text: str | None = None
        self.task = f"Write the word 'ready' into {self.file}, then finish."

    @tool("Write text into a file.")
    def write_file(self, path: str, text: str) -> Answer:
        if self.folder not in path:
            return failed("error: no such folder")
        if not self.writable:
            return failed(f"error: {path}: could not be written")
        self.text = text
        return self.reach("written", "written") if "ready" in text else Answer("written")

    @tool("Show who may read and write a folder.")
    def show_permissions(self, path: str) -> Answer:
        mode = "read-write" if self.writable else "read-only"
        return self.reach("permissions", f"{self.folder}: {mode}, owner you")

    @tool("Set the mode of a folder: read-only or read-write.")
    def change_mode(self, path: str, mode: str) -> Answer:
        if self.folder not in path or "write" not in mode:
            return failed("error: wrong path or mode")
        self.writable = True
        return self.reach("mode", f"{self.folder}: read-write")

    @tool("Read a file.")
    def read_file(self, path: str) -> Answer:
        return Answer(self.text) if self.text else failed("error: no such file")

    @tool("List a folder.")
    def list_folder(self, path: str) -> Answer:
        return Answer(self.file if self.text else "empty")

    @tool("Make a folder.")
    def make_folder(self, path: str) -> Answer:
        return failed("error: it exists")

    @tool("Copy a file.")
    def copy_file(self, source: str, target: str) -> Answer:
        return failed("error: no such file")

    @tool("Move a file.")
    def move_file(self, source: str, target: str) -> Answer:
        return failed("error: no such file")

    @tool("Delete a file.")
    def delete_file(self, path: str) -> Answer:
        return failed("error: no such file")

    @tool("Show how much room is left.")
    def disk_usage(self) -> Answer:
        return Answer("41 % used")

    @tool("Find files by name.")
    def find_files(self, name: str) -> Answer:
        return Answer("nothing found")

    @tool("Compress a folder.")
    def compress_folder(self, path: str) -> Answer:
        return failed("error: the folder is empty")

    @property
    def solved(self) -> bool:
        return self.text is not None and "ready" in self.text
