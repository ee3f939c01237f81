"""`zdx acp-agent` started by Neovim (interop/acp_agent.lua), with the scripted model behind it. Usage: acp_agent_nvim.py PATH_OF_ZDX"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "acp"))
from model import Model  # noqa: E402

ZDX = str(pathlib.Path(sys.argv[1]).resolve())

with tempfile.TemporaryDirectory(prefix="zdx-nvim-") as folder:
    root, home = pathlib.Path(folder).resolve() / "root", pathlib.Path(folder).resolve() / "home"
    for made in (root, home / ".zdx"):
        made.mkdir(parents=True)
    model = Model("write", {"path": "new.txt", "content": "changed\n"})
    config = f'model = "mock/m"\n[providers.mock]\nwire = "openai-chat"\nbase_url = "{model.url}/v1"\n'
    (home / ".zdx" / "config.toml").write_text(config)
    env = {"HOME": str(home), "ZDX_HOME": str(home / ".zdx"), "PATH": os.environ["PATH"], "ZDX": ZDX, "ROOT": str(root)}
    script = ["nvim", "--headless", "--clean", "-c", f"luafile {HERE / 'acp_agent.lua'}"]
    sys.exit(subprocess.run(script, env=env, stdin=subprocess.DEVNULL, timeout=120).returncode)
