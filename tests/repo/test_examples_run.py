"""Examples in pages can fail: a page that prints something else than it shows is red."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = """
```python
>>> 1 + 1
2
```

```{code-block} toml
:caption: folder/some.toml
key = "value"
```

```console
$ cat folder/some.toml
key = "value"
$ echo shown
SHOWN
$ exit 3
[3]
```

```sh
false
```
"""


SHOWN = {"right": "shown", "other": "other", "silent": "", "status": "shown\n[4]"}


def test_a_page_is_red_where_it_shows_something_else(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "conftest.py", tmp_path)
    for name, shown in SHOWN.items():
        (tmp_path / f"{name}.md").write_text(PAGE.replace("SHOWN", shown))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(f"{name}.md" for name in SHOWN)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert set(re.findall(r"FAILED (\w+)\.md", done.stdout)) == {"other", "silent", "status"}
    assert "$ echo shown" in done.stdout
