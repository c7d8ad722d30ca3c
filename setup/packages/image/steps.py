"""Write the steps of the Dockerfile beside this as two scripts, build.sh and final.sh, into a folder.

    .venv/bin/python setup/packages/image/steps.py FOLDER

Only what the Dockerfile has is understood: RUN is written, WORKDIR changes the folder, COPY and what only an
engine does are left to who runs the scripts.
"""

import re
import sys
from pathlib import Path

text = (Path(__file__).parent / "Dockerfile").read_text()
lines = [line for line in re.sub(r" *\\\n *", " ", text).splitlines() if line and not line.startswith("#")]
scripts: list[list[str]] = []
for line in lines:
    word, _, rest = line.partition(" ")
    if word == "FROM":
        scripts.append([])
    elif word == "RUN":
        scripts[-1].append(rest)
    elif word == "WORKDIR":
        scripts[-1].append(f"mkdir -p {rest} && cd {rest}")
    elif word not in {"COPY", "ENTRYPOINT", "CMD"}:
        sys.exit(f"steps: the Dockerfile has {word}, which is not tried anywhere: add it here")
for name, script in zip(("build", "final"), scripts, strict=True):
    (Path(sys.argv[1]) / f"{name}.sh").write_text("\n".join(script) + "\n")
