"""Videos: what they hold, and what a kill leaves of them."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scalarviz.stage.encoders import encoder_for
from tests.root import ROOT

SIZE = (64, 48)


def frames(count: int) -> np.ndarray:
    random = np.random.default_rng(0)
    coarse = random.integers(0, 256, (count, 3, 4, 3), dtype=np.uint8)
    return coarse.repeat(16, axis=1).repeat(16, axis=2)


def test_a_video_holds_its_pictures_and_begins_with_its_index(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="videos take PyAV")
    path, shown = tmp_path / "a.mp4", frames(30)
    with encoder_for(path, SIZE, 1.0, 10) as encoder:
        for frame in shown:
            encoder.add(frame)
    data = path.read_bytes()
    assert 0 < data.find(b"moov") < data.find(b"mdat")  # a browser can play it from the start
    with av.open(io.BytesIO(data)) as file:
        read = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    apart = [np.abs(a.astype(int) - b).mean() for a, b in zip(read, shown, strict=True)]
    assert max(apart) < 20.0


# A process that writes videos for ever is killed at a random moment, again and again.
KILLS = """
import os, random, signal, sys, time
import numpy as np
from scalarviz.stage.encoders import encoder_for

path, kills = sys.argv[1], int(sys.argv[2])
frames = np.random.default_rng(0).integers(0, 256, (100, 48, 64, 3), dtype=np.uint8)
chance = random.Random(0)
for _ in range(kills):
    child = os.fork()
    while not child:
        with encoder_for(path, (64, 48), 1.0, 10) as encoder:
            for frame in frames[: chance.randrange(1, 100)]:
                encoder.add(frame)
    time.sleep(chance.uniform(0.05, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
with encoder_for(path, (64, 48), 1.0, 10) as encoder:
    encoder.add(frames[0])
"""


@pytest.mark.some(1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as Unix does")
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [".mp4", ".gif"])
def test_a_kill_leaves_no_part_of_a_video(kind: str, kills: int, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="videos take PyAV")
    folder, temporary = tmp_path / "folder", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    command = [sys.executable, "-c", KILLS, str(folder / f"a{kind}"), str(kills)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert [*os.listdir(temporary), *os.listdir(folder)] == [f"a{kind}"]
