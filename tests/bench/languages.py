"""What tools say in thirteen languages, and agents in 24; all sentences are made up here.

`phrases.tsv` has a line for a phrase of tools in English and twelve other languages, longer phrases
before what they hold; `courtesies.txt` a line for what agents end with.
"""

from __future__ import annotations

import csv
from pathlib import Path

_HERE = Path(__file__).parent

with (_HERE / "phrases.tsv").open(encoding="utf-8", newline="") as _file:
    PHRASES = {row.pop("en"): row for row in csv.DictReader(_file, delimiter="\t")}
"""English phrase → language → translation, in the order in which they are to be replaced."""

LANGUAGES = tuple(next(iter(PHRASES.values())))
COURTESIES = tuple((_HERE / "courtesies.txt").read_text(encoding="utf-8").splitlines())

BUSY = (
    "Installing dependencies: ",
    "Running the build step, pending checks: ",
    "Waiting for the registry, still starting: ",
    "Processing (in progress): ",
)
"""Words of progress that a failure may hold."""

TASKS = (
    "Fix the retry logic. ",
    "Add a watch mode. ",
    "The poll interval is wrong. ",
    "Do not read it again and again. ",
    "monitor.py crashes on start. ",
)
"""Tasks of users in which no repeat is asked for."""

NAMES = {
    "read": "lire", "write": "ecrire", "edit": "bearbeiten", "file": "datei", "search": "buscar",
    "get": "pobierz", "list": "liste", "run": "uitvoeren", "fetch": "hakae", "send": "skicka",
    "web": "red", "page": "seite", "order": "zamowienie", "check": "pruefe", "create": "crear",
    "update": "frissit", "delete": "loeschen", "find": "hledej", "query": "abfrage",
    "status": "zustand", "task": "oppgave", "user": "kayttaja", "build": "bygg", "test": "prova",
}  # fmt: skip
"""Words in names of tools, and words that no list of English words holds."""

FIELDS = {
    "status": "zustand", "state": "etat", "error": "fehler", "message": "mensaje",
    "result": "wynik", "results": "wyniki", "output": "ausgabe", "data": "donnees",
    "items": "elementos",
    "count": "anzahl", "total": "insgesamt", "id": "kennung", "name": "nombre", "text": "texto",
    "content": "inhalt", "title": "titre", "success": "erfolg", "ok": "gut", "code": "kod",
    "progress": "fortschritt", "path": "ruta", "url": "adresse", "query": "consulta",
    "file": "datei", "file_path": "ruta_fichero", "page": "seite", "offset": "versatz",
    "limit": "hoechstens", "line": "zeile", "next": "siguiente", "value": "wert",
}  # fmt: skip
"""Fields of answers and arguments, and names of theirs in other languages."""
