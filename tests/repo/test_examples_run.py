"""Examples in pages can fail: a page that prints something else than it shows is red."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("shown", "status"), [("shown", 0), ("other", 1), ("", 1), ("shown\n[4]", 1)]
)
def test_a_page_is_as_right_as_what_it_shows(
    root: Path, tmp_path: Path, shown: str, status: int
) -> None:
    shutil.copy(root / "conftest.py", tmp_path)
    (tmp_path / "page.md").write_text(PAGE.replace("SHOWN", shown))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "page.md"], cwd=tmp_path, capture_output=True, text=True
    )

    assert status == done.returncode, done.stdout
    assert ("$ echo shown" in done.stdout) == bool(status)
