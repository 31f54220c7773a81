"""The detector, kind by kind: what is a patch, beside what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.model import Kind
from rulebook.parse import parse_file
from rulebook.waivers.detect import MAX_TEXT, scan_file
from rulebook.waivers.patches import Patch, Sureness
from rulebook.waivers.policy import Policy, parse_policy

RULE = "rules/inferencex/IX-P1.md"
POLICY = parse_policy(parse_file(RULE, Kind.RULE, (Path(__file__).parents[1] / RULE).read_text())[0][0])[0]
assert isinstance(POLICY, Policy)


def scan(text: str, path: str = "benchmarks/run.sh") -> list[Patch]:
    return [patch for patch in scan_file(path, text, POLICY).patches if patch.sureness.counts]


def shown(text: str, path: str = "benchmarks/run.sh") -> list[tuple[str, str, int, int]]:
    return [(patch.kind.value, patch.target, patch.line, patch.end_line) for patch in scan(text, path)]


FIND_SPEC = """python3 - <<'PYEOF' || { echo "failed" >&2; exit 1; }
import importlib.util
import pathlib

spec = importlib.util.find_spec("vllm")
target = pathlib.Path(next(iter(spec.submodule_search_locations))) / "models" / "m3.py"
src = target.read_text()
target.write_text(src.replace("a[:, n]", "a[:, n].contiguous()", 1))
PYEOF
"""

POSITIVE = {
    # --- source-rewrite: sed and friends
    "sed-literal": (
        "sed -i '102,108d' /usr/local/lib/python3.12/dist-packages/flashinfer/jit/cubin_loader.py",
        ("source-rewrite", "flashinfer", 1, 1),
    ),
    "sed-variable": (
        "F=/usr/lib/python3/dist-packages/vllm/a.py\necho 1\nsed -i 's/a/b/' \"$F\"",
        ("source-rewrite", "vllm", 3, 3),
    ),
    "sed-split-suffix": (
        "sed -i'' -e 's#a#b#' /opt/venv/lib/python3.10/site-packages/aiter_meta/u.py",
        ("source-rewrite", "aiter", 1, 1),
    ),
    "sed-long-option": (
        "sed --in-place=.bak s/a/b/ /sgl-workspace/sglang/python/sglang/srt/a.py",
        ("source-rewrite", "sglang", 1, 1),
    ),
    "sed-continued": (
        "sed -i \\\n  -e 's/a/b/' \\\n  /sgl-workspace/aiter/aiter/mla.py",
        ("source-rewrite", "aiter", 1, 3),
    ),
    "sed-through-function": (
        'fix() {\n  local f="$1"\n  sed -i \'s/a/b/\' "$f"\n}\nfix /usr/lib/python3/dist-packages/vllm/a.py',
        ("source-rewrite", "vllm", 3, 3),
    ),
    "sed-through-loop": (
        "for f in /usr/lib/python3/dist-packages/vllm/a.py /tmp/x; do sed -i s/a/b/ $f; done",
        ("source-rewrite", "vllm", 1, 1),
    ),
    "sed-python-path": (
        "P=$(python3 -c 'import vllm; print(vllm.__path__[0])')\nsed -i s/a/b/ \"$P/envs.py\"",
        ("source-rewrite", "vllm", 2, 2),
    ),
    "sed-module-file": (
        'api=$(python3 -c "import rixl._api; print(rixl._api.__file__)" 2>/dev/null)\nsed -i s/a/b/ "$api"',
        ("source-rewrite", "nixl", 2, 2),
    ),
    "sed-pip-show": (
        "L=$(pip show vllm | awk '/Location/ {print $2}')\nsed -i s/a/b/ $L/vllm/envs.py",
        ("source-rewrite", "vllm", 2, 2),
    ),
    "sed-find": (
        "find /usr/lib/python3/dist-packages/vllm -name '*.py' -exec sed -i 's/a/b/' {} +",
        ("source-rewrite", "vllm", 1, 1),
    ),
    "sed-xargs": (
        "grep -rl old /sgl-workspace/sglang/python | xargs sed -i 's/old/new/'",
        ("source-rewrite", "sglang", 1, 1),
    ),
    "sed-in-docker-exec": (
        "docker exec box bash -lc \"sed -i 's/a/b/' /usr/lib/python3/dist-packages/vllm/a.py\"",
        ("source-rewrite", "vllm", 1, 1),
    ),
    "sed-in-bash-heredoc": (
        "srun bash <<'EOF'\necho 1\nsed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\nEOF",
        ("source-rewrite", "vllm", 3, 3),
    ),
    "perl": ("perl -pi -e 's/a/b/' /usr/lib/python3/dist-packages/vllm/a.py", ("source-rewrite", "vllm", 1, 1)),
    "rm-installed": ("rm -f /usr/lib/python3/dist-packages/aiter/jit/module.so", ("source-rewrite", "aiter", 1, 1)),
    # --- source-rewrite: Python
    "find-spec-heredoc": (FIND_SPEC, ("source-rewrite", "vllm", 1, 9)),
    "python-c": (
        (
            'python3 -c \'\nt = "/sgl-workspace/sglang/python/sglang/srt/prefill.py"\ns = open(t).read()\n'
            'open(t, "w").write(s.replace("a", "b"))\n\''
        ),
        ("source-rewrite", "sglang", 1, 5),
    ),
    "python-module-file": (
        (
            "python3 - <<'EOF'\nimport vllm.envs as e\nf = e.__file__\ns = open(f).read()\n"
            "with open(f, 'w') as h:\n    h.write(s)\nEOF"
        ),
        ("source-rewrite", "vllm", 1, 7),
    ),
    "python-through-function": (
        (
            "python3 - <<'EOF'\nimport vllm.a as A\ndef put(mod, text):\n    with open(mod.__file__, 'w') as h:\n"
            "        h.write(text)\nput(A, 'x')\nEOF"
        ),
        ("source-rewrite", "vllm", 1, 7),
    ),
    "python-dict-of-paths": (
        (
            "python3 - <<'EOF'\nfrom importlib.util import find_spec\nfrom pathlib import Path\n"
            "root = Path(find_spec('vllm').origin).parent\nedits = {root / 'a.py': [('x', 'y')]}\n"
            "for path, pairs in edits.items():\n    path.write_text(path.read_text())\nEOF"
        ),
        ("source-rewrite", "vllm", 1, 8),
    ),
    "python-argv": (
        (
            "R=$(python -c 'import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec(\"vllm\").origin)))')\n"
            "python - \"$R/vllm/envs.py\" <<EOF\nimport sys\nopen(sys.argv[1], 'w').write('x')\nEOF"
        ),
        ("source-rewrite", "vllm", 2, 5),
    ),
    "python-environment": (
        (
            "export T=/usr/lib/python3/dist-packages/vllm/a.py\npython3 - <<'EOF'\nimport os\n"
            "open(os.environ['T'], 'a').write('x')\nEOF"
        ),
        ("source-rewrite", "vllm", 2, 5),
    ),
    "python-shutil": (
        (
            "python3 - <<'EOF'\nimport shutil, sglang, os\n"
            "shutil.copyfile('/tmp/a.py', os.path.join(os.path.dirname(sglang.__file__), 'a.py'))\nEOF"
        ),
        ("source-rewrite", "sglang", 1, 4),
    ),
    "python-inspect": (
        (
            "python3 - <<'EOF'\nimport inspect, vllm.engine\np = inspect.getsourcefile(vllm.engine)\n"
            "open(p, mode='r+').write('')\nEOF"
        ),
        ("source-rewrite", "vllm", 1, 5),
    ),
    "python-site-packages": (
        (
            "python3 - <<'EOF'\nimport site, pathlib\nroot = pathlib.Path(site.getsitepackages()[0])\n"
            "(root / 'vllm' / 'a.py').write_text('')\nEOF"
        ),
        ("source-rewrite", "vllm", 1, 5),
    ),
    "python-subprocess-sed": (
        (
            "python3 - <<'EOF'\nimport subprocess\n"
            "subprocess.run(['sed', '-i', 's/a/b/', '/usr/lib/python3/dist-packages/vllm/a.py'])\nEOF"
        ),
        ("source-rewrite", "vllm", 1, 4),
    ),
    "python-with-shell-variables": (
        "python3 - <<EOF\nimport vllm\nflag = $UNKNOWN_FLAG if\nopen(vllm.__file__, 'w').write('x')\nEOF",
        ("source-rewrite", "vllm", 1, 5),
    ),
    "python-piped": (
        "cat <<'EOF' | python3\nimport vllm\nopen(vllm.__file__, 'w').write('x')\nEOF",
        ("source-rewrite", "vllm", 1, 4),
    ),
    # --- patch-apply
    "git-apply-cd": (
        "( cd /sgl-workspace/sglang && git apply /tmp/fix.patch )",
        ("patch-apply", "sglang", 1, 1),
    ),
    "git-apply-C": ("git -C /sgl-workspace/aiter apply --3way x.patch", ("patch-apply", "aiter", 1, 1)),
    "patch-d": (
        "R=$(python3 -c 'import vllm,os; print(os.path.dirname(vllm.__file__))')\npatch -p1 -d \"$R\" < x.diff",
        ("patch-apply", "vllm", 2, 2),
    ),
    "patch-file-argument": (
        "patch /usr/lib/python3/dist-packages/vllm/a.py fix.diff",
        ("patch-apply", "vllm", 1, 1),
    ),
    "patch-piped-curl": (
        "cd /sgl-workspace/sglang\ncurl -sL https://example.invalid/1.diff | patch -p1",
        ("patch-apply", "sglang", 2, 2),
    ),
    "patch-heredoc": (
        "patch -p1 <<'EOF'\n--- a/vllm/envs.py\n+++ b/vllm/envs.py\n@@ -1 +1 @@\n-a\n+b\nEOF",
        ("patch-apply", "vllm", 1, 7),
    ),
    "apply-unknown-target": ("git apply /tmp/mystery.patch", ("patch-apply", "unknown", 1, 1)),
    # --- patch-file
    "diff-heredoc": (
        (
            "cat > /tmp/a.diff <<'EOF'\ndiff --git a/vllm/envs.py b/vllm/envs.py\n--- a/vllm/envs.py\n"
            "+++ b/vllm/envs.py\n@@ -1 +1 @@\n-a\n+b\nEOF"
        ),
        ("patch-file", "vllm", 1, 8),
    ),
    # --- file-overlay
    "cp-over": (
        "cp gist/file.txt /usr/local/lib/python3.12/dist-packages/vllm/v1/core/sched/scheduler.py",
        ("file-overlay", "vllm", 1, 1),
    ),
    "curl-over": (
        "curl -sSL https://example.invalid/a.py -o /usr/lib/python3/dist-packages/vllm/a.py",
        ("file-overlay", "vllm", 1, 1),
    ),
    "wget-over": ("wget -qO /sgl-workspace/sglang/python/sglang/a.py https://example.invalid/a.py", None),
    "redirect-over": ("echo 'x = 1' >> /usr/lib/python3/dist-packages/vllm/envs.py", ("file-overlay", "vllm", 1, 1)),
    "cat-heredoc-over": (
        "cat > /usr/lib/python3/dist-packages/vllm/a.py <<'EOF'\nx = 1\nEOF",
        ("file-overlay", "vllm", 1, 3),
    ),
    "tee-over": ("cat a.py | sudo tee /usr/lib/python3/dist-packages/vllm/a.py", ("file-overlay", "vllm", 1, 1)),
    "install-over": ("install -m 644 a.py /usr/lib/python3/dist-packages/vllm/", ("file-overlay", "vllm", 1, 1)),
    "ln-over": ("ln -sf /work/a.py /usr/lib/python3/dist-packages/vllm/a.py", ("file-overlay", "vllm", 1, 1)),
    "docker-cp": ("docker cp fix.py box:/usr/lib/python3/dist-packages/vllm/a.py", ("file-overlay", "vllm", 1, 1)),
    "kubectl-cp": ("kubectl cp fix.py pod:/sgl-workspace/sglang/python/sglang/a.py", ("file-overlay", "sglang", 1, 1)),
    "rsync-over": ("rsync -a src/ /sgl-workspace/sglang/python/", ("file-overlay", "sglang", 1, 1)),
    "tar-over": ("tar -xzf fix.tgz -C /usr/lib/python3/dist-packages/vllm", ("file-overlay", "vllm", 1, 1)),
    "pythonpath-clone": (
        'git clone https://github.com/someone/sglang.git /tmp/s\nexport PYTHONPATH="/tmp/s/python:$PYTHONPATH"',
        ("file-overlay", "sglang", 2, 2),
    ),
    # --- mount
    "mount-v": (
        "docker run -v $PWD/a.py:/usr/lib/python3/dist-packages/vllm/a.py:ro image",
        ("mount", "vllm", 1, 1),
    ),
    "mount-equals": (
        "srun --container-mounts=$W:/workspace,$W/a.py:/sgl-workspace/sglang/python/sglang/a.py x",
        ("mount", "sglang", 1, 1),
    ),
    "mount-long": (
        "docker run --mount type=bind,source=/a.py,target=/usr/lib/python3/dist-packages/vllm/a.py image",
        ("mount", "vllm", 1, 1),
    ),
    "mount-variable": (
        'T=/sgl-workspace/sglang/python/sglang/conn.py\nM="$M -v $PWD/conn.py:$T:ro"\ndocker run $M image',
        ("mount", "sglang", 2, 2),
    ),
    # --- monkey-patch
    "sitecustomize": (
        (
            "cat > \"$D/sitecustomize.py\" <<'EOF'\nimport vllm.engine as e\ne.run = lambda: None\nEOF\n"
            "export PYTHONPATH=$D"
        ),
        ("monkey-patch", "vllm", 1, 4),
    ),
    "setattr": (
        "python3 - <<'EOF'\nfrom vllm.core import Scheduler\nsetattr(Scheduler, 'step', None)\nEOF",
        ("monkey-patch", "vllm", 1, 4),
    ),
    "class-method": (
        'python3 -c "from sglang.srt import Engine; Engine.step = lambda self: 0; import run"',
        ("monkey-patch", "sglang", 1, 1),
    ),
    "sys-modules": (
        "python3 - <<'EOF'\nimport sys\nsys.modules['vllm.attention'] = object()\nEOF",
        ("monkey-patch", "vllm", 1, 4),
    ),
    # --- engine-install
    "pip-git-fork": (
        "pip install --force-reinstall git+https://github.com/someone/vllm.git@branch",
        ("engine-install", "vllm", 1, 1),
    ),
    "pip-git-component": (
        'pip install "git+https://github.com/flashinfer-ai/flashinfer.git@97201824#egg=flashinfer-python"',
        ("engine-install", "flashinfer", 1, 1),
    ),
    "pip-editable-clone": (
        (
            'git clone --filter=blob:none https://github.com/ROCm/ATOM.git "$D"\n(\n  cd "$D"\n'
            "  pip install --no-deps --force-reinstall -e .\n)"
        ),
        ("engine-install", "atom", 4, 4),
    ),
    "pip-subfolder": (
        "D=/tmp/sglang\ngit clone https://github.com/sgl-project/sglang.git $D\ncd $D\npip install -e python/",
        ("engine-install", "sglang", 4, 4),
    ),
    "setup-py": (
        "git clone https://github.com/someone/vllm\ncd vllm && python3 setup.py install",
        ("engine-install", "vllm", 2, 2),
    ),
    "pip-wheel-file": ("pip install /wheels/vllm-0.9.1+fork-cp312-linux_x86_64.whl", ("engine-install", "vllm", 1, 1)),
    "pip-wheel-url": (
        "uv pip install https://example.invalid/sglang-0.5-py3-none-any.whl",
        ("engine-install", "sglang", 1, 1),
    ),
    "pip-variable": (
        'REPO=https://github.com/someone/vllm.git\nREF=main\nVLLM_USE_PRECOMPILED=1 pip install "git+$REPO@$REF"',
        ("engine-install", "vllm", 3, 3),
    ),
    "pip-nightly": (
        "pip install -U vllm --pre --extra-index-url https://wheels.vllm.ai/nightly",
        ("engine-install", "vllm", 1, 1),
    ),
    "pip-other-version": ("pip install -U vllm==0.11.0", ("engine-install", "vllm", 1, 1)),
    "pip-wrapper": ("agentic_pip_install -q git+https://github.com/x/aiter@main", ("engine-install", "aiter", 1, 1)),
    "checkout-of-installed": (
        "cd /sgl-workspace/sglang && git fetch origin pull/1/head && git checkout FETCH_HEAD",
        ("engine-install", "sglang", 1, 1),
    ),
}

NEGATIVE = {
    # beside sed
    "sed-recipe": "sed -i '/FORCE_NUM_ACCEPTED/d' recipes/vllm/run.yaml",
    "sed-config-variable": 'sed -i "s/^name:.*/name: \\"$R\\"/" "${CONFIG_FILE%%:*}"',
    "sed-find-yaml": "find \"$TRTLLM_RECIPES_DIR\" -name '*.yaml' -exec sed -i '/X/d' {} +",
    "sed-not-in-place": "sed 's/a/b/' /usr/lib/python3/dist-packages/vllm/a.py > /tmp/a.py",
    "sed-n": "sed -n '1,20p' /usr/lib/python3/dist-packages/vllm/a.py",
    "sed-commented": "# sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py",
    "sed-echoed": 'echo "sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py"',
    "sed-allowed": "sed -i s/a/b/ /usr/lib/python3/dist-packages/lm_eval/a.py",
    # beside Python
    "python-computes": (
        "python3 << EOF > \"$T\"\nimport yaml\nwith open('models.yaml') as f:\n    print(yaml.safe_load(f))\nEOF"
    ),
    "python-reads-engine": (
        "python3 - <<'EOF'\nimport vllm, inspect\nprint(open(vllm.__file__).read())\n"
        "print(inspect.getsourcefile(vllm))\nEOF"
    ),
    "python-writes-config": (
        "python3 - <<EOF\nimport json\nfrom huggingface_hub import hf_hub_download\n"
        "path = hf_hub_download(repo_id='m', filename='config.json')\nc = json.load(open(path))\n"
        "with open(path, 'w') as f:\n    json.dump(c, f)\nEOF"
    ),
    "python-copies-engine-out": (
        "python3 - <<'EOF'\nimport vllm, pathlib\nsrc = pathlib.Path(vllm.__file__).read_text()\n"
        "pathlib.Path('/tmp/copy.txt').write_text(src)\nEOF"
    ),
    "python-string-replace": (
        "python3 - <<'EOF'\nimport vllm\nname = vllm.__file__.replace('a', 'b')\nprint(name.copy if 0 else name)\nEOF"
    ),
    "python-finds-spec-only": (
        "python3 - <<'EOF'\nimport importlib.util\nspec = importlib.util.find_spec('vllm')\nassert spec\n"
        "open('/tmp/ok', 'w').write('yes')\nEOF"
    ),
    "python-attribute-of-instance": (
        "python3 - <<'EOF'\nfrom vllm import SamplingParams\np = SamplingParams()\np.n = 2\nEOF"
    ),
    "python-own-patch-function": (
        "python3 - <<'EOF'\nimport vllm.a as A\ndef patch(mod, n):\n    print(mod, n)\npatch(A, 1)\nEOF"
    ),
    "python-open-read-mode": "python3 -c \"import vllm; open(vllm.__file__, 'r').read()\"",
    # beside apply and patch
    "apply-to-harness-clone": (
        'git clone https://github.com/NVIDIA/srt-slurm.git "$S"\ncd "$S"\ngit show abc -- x.sh | git apply -'
    ),
    "apply-harness-diff": ("patch -p1 <<'EOF'\n--- a/lm_eval/a.py\n+++ b/lm_eval/a.py\n@@ -1 +1 @@\n-a\n+b\nEOF"),
    "apply-check": "git -C /sgl-workspace/sglang apply --check x.patch",
    "patch-word": "echo 'apply the patch -p1 by hand'\nPATCH=1\nkubectl patch service x",
    # beside overlays
    "cp-from-installed": "cp /usr/lib/python3/dist-packages/vllm/a.py /tmp/a.py",
    "cp-backup": "cp /sgl-workspace/sglang/python/a.py /sgl-workspace/sglang/python/a.py.bak",
    "config-heredoc": "cat > config.yaml <<'EOF'\nbackend: vllm\npath: /usr/lib/python3/dist-packages/vllm\nEOF",
    "config-heredoc-in-clone": (
        "git clone https://github.com/x/triton && cd triton && pip install -e .\ncat > run.yml <<EOF\na: 1\nEOF"
    ).replace("pip install -e .", "ls"),
    "read-installed": "P=$(find /usr/local/lib/python*/dist-packages/nvidia -name ptxas)\nexport PTXAS=$P",
    "log-of-engine": "vllm serve m > /workspace/vllm/server.log 2>&1",
    "pythonpath-of-image": "export PYTHONPATH=/sgl-workspace/aiter:${PYTHONPATH}",
    "library-path": "export LD_LIBRARY_PATH=/opt/lib/python3.10/site-packages/mooncake:/opt/rocm/lib",
    "sitecustomize-of-harness": (
        "cat > \"$D/sitecustomize.py\" <<'EOF'\nfrom lm_eval.models import api_models as a\na.X.y = lambda: 0\nEOF"
    ),
    # beside mounts
    "mount-workspace": "docker run -v $PWD:/workspace -v $HF:/root/.cache/huggingface image",
    "mount-same-place": "docker run -v /usr/lib/python3/dist-packages/vllm:/usr/lib/python3/dist-packages/vllm image",
    # beside installs
    "pip-harness-git": (
        "python3 -m pip install -q --no-deps --force-reinstall \\\n"
        '  "git+https://github.com/EleutherAI/lm-evaluation-harness.git@b315ef3"'
    ),
    "pip-harness-editable": 'agentic_pip_install -q --ignore-installed -e "$AIPERF_DIR"',
    "pip-orchestrator": ("git clone https://github.com/NVIDIA/srt-slurm.git s\ncd s\nuv pip install -e ."),
    "pip-dependency": "pip install datasets pandas 'transformers>=5' amd-quark",
    "pip-component-release": "pip install --upgrade --force-reinstall flashinfer-python==0.3.1.post1",
    "pip-requirements": "pip install -r requirements/build.txt",
    "pip-router": "agentic_pip_install --quiet 'vllm-router==0.1.14'",
    "clone-for-its-benchmark": (
        "git clone -b v0.7.3 https://github.com/vllm-project/vllm.git && cd vllm/benchmarks && python3 b.py"
    ),
    "pip-show": "pip show vllm; pip freeze | grep vllm",
    "uninstall": "pip uninstall -y torchvision",
    "serve": 'vllm serve "$MODEL" --port 8000 > server.log',
}


@pytest.mark.parametrize(("text", "expected"), POSITIVE.values(), ids=POSITIVE.keys())
def test_patches_are_found(text, expected):
    found = shown(text)
    if expected is None:
        assert found
    else:
        assert expected in found


@pytest.mark.parametrize("text", NEGATIVE.values(), ids=NEGATIVE.keys())
def test_look_alikes_are_not(text):
    assert shown(text) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "benchmarks/a.patch",
            "--- a/vllm/envs.py\n+++ b/vllm/envs.py\n@@ -1 +1 @@\n-a\n+b\n",
            [("patch-file", "vllm", 1, 6)],
        ),
        ("benchmarks/h.diff", "--- a/lm_eval/a.py\n+++ b/lm_eval/a.py\n@@ -1 +1 @@\n-a\n+b\n", []),
        (
            "benchmarks/Dockerfile",
            (
                "FROM vllm/vllm-openai:v1\nRUN apt-get update && \\\n    pip install git+https://github.com/x/vllm\n"
                "COPY fix.py /usr/lib/python3/dist-packages/vllm/a.py\n"
            ),
            [("engine-install", "vllm", 3, 3), ("file-overlay", "vllm", 4, 4)],
        ),
        ("benchmarks/Dockerfile", "FROM vllm/vllm-openai:v1\nCOPY run.sh /usr/local/bin/run.sh\n", []),
        (
            ".github/workflows/run.yml",
            (
                "jobs:\n  a:\n    steps:\n      - run: |\n          echo 1\n"
                "          sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\n      - run: echo 2\n"
            ),
            [("source-rewrite", "vllm", 6, 6)],
        ),
        (
            "benchmarks/recipe.yaml",
            "mounts:\n  - /configs/a.py:/sgl-workspace/sglang/python/sglang/a.py\n",
            [("mount", "sglang", 2, 2)],
        ),
        (
            "benchmarks/recipe.yaml",
            "extra_mount:\n  /configs/a.py: /usr/lib/python3/dist-packages/vllm/a.py\n",
            [("mount", "vllm", 2, 2)],
        ),
        (
            "benchmarks/pod.yaml",
            "volumeMounts:\n  - name: fix\n    mountPath: /usr/lib/python3/dist-packages/vllm/a.py\n    subPath: a.py\n",
            [("mount", "vllm", 3, 3)],
        ),
        ("benchmarks/pod.yaml", "volumeMounts:\n  - mountPath: /root/.cache/vllm\n", []),
        ("benchmarks/recipe.yaml", 'env:\n  UCX: "/usr/lib/python3/dist-packages/nixl_cu13.libs/ucx"\n', []),
        ("benchmarks/recipe.yaml", "setup_script: rebuild-deepep.sh\n", [("patch-script", "deep-ep", 1, 1)]),
        ("benchmarks/recipe.yaml", "# setup_script: rebuild-deepep.sh\n", []),
        (
            "benchmarks/multi/patches/conn.py",
            "import os\nfrom sglang.srt.disaggregation import base\nclass Conn(base.Conn):\n    pass\n",
            [("file-overlay", "sglang", 1, 4)],
        ),
        ("benchmarks/multi/client.py", "import os\nfrom vllm import LLM\nprint(LLM)\n", []),
        ("benchmarks/notes.md", "sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\n", []),
        ("benchmarks/run", "#!/usr/bin/env bash\nsed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\n", None),
    ],
    ids=[
        "patch-file",
        "harness-patch-file",
        "dockerfile",
        "dockerfile-own-script",
        "workflow-block",
        "recipe-mount",
        "recipe-mount-mapping",
        "kubernetes-mount",
        "kubernetes-cache",
        "recipe-environment",
        "custom-pattern",
        "custom-pattern-commented",
        "overlay-file",
        "client",
        "prose",
        "shebang",
    ],
)
def test_languages(path, text, expected):
    found = shown(text, path)
    assert found if expected is None else found == expected


def test_a_clone_that_is_edited_counts_once_it_is_installed():
    edit = "git clone https://github.com/x/ATOM.git d\ncd d\nsed -i s/a/b/ atom/m.py\n"
    assert [patch.kind.value for patch in scan(edit + "pip install -e .")] == ["source-rewrite", "engine-install"]
    assert scan("git clone https://github.com/x/ATOM.git d\ncd d\nsed -i s/a/b/ README\nls") == []


def test_the_trace_names_the_lines_that_a_target_comes_by():
    text = "A=/usr/lib/python3/dist-packages\n\nB=$A/vllm/a.py\nsed -i s/a/b/ $B\n"
    (patch,) = scan(text)
    assert [(span.line, span.end_line) for span in patch.trace] == [(1, 1), (3, 3)]
    assert patch.files == ("vllm/a.py",)
    assert patch.excerpt == "sed -i s/a/b/ $B"


def test_a_possible_patch_is_told_and_does_not_count():
    (patch,) = scan_file("benchmarks/a.sh", "pip install triton==3.7.0", POLICY).patches
    assert patch.sureness is Sureness.POSSIBLE
    assert not patch.sureness.counts


def test_commands_that_the_parser_glues_together_are_read_apart():
    # Without help the grammar takes "exit", "fi" and the next lines for arguments of the last "sed".
    text = (
        "if ! grep -q x y; then\n    grep -E '^[A-Za-z]' \"$M\" | sed 's/:.*$//' | sed 's/^/  - /'\n    exit 1\nfi\n"
        "# ${EXTRA:-} is for others\nT=/sgl-workspace/sglang/python/sglang/conn.py\n"
        'M="${M:-} -v $F:${T}:ro"\nfunction f {\n  local a=$(cat x)\n}\n' * 3
    )
    assert ("mount", "sglang", 7, 7) in shown(text)


@pytest.mark.parametrize(
    "text",
    [
        "sed -i s/a/b/ " + "x" * 3_000_000,
        "a" * 30_000 + "\nsed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py",
        "x" * (MAX_TEXT + 1),
        "$(" * 20_000,
        '"' * 99_999,
        "`" * 20_001,
        "x=${a:-" * 5_000,
        "python3 - <<'EOF'\n" + "(" * 50_000 + "\nopen(vllm.__file__, 'w')\nEOF\n",
        "python3 - <<'EOF'\n" + "a = [" * 5_000 + "\nEOF\n",
        "python3 -c '" + "x = x + " * 5_000 + "1'",
        "cat <<E\n" * 5_000,
        "\x00\x01\ufffd" * 1_000,
        "\n".join(f"V{i}=$V{i - 1}$V{i - 1}" for i in range(60)) + "\nsed -i s/a/b/ $V59",
        "if a; then\n" * 5_000,
    ],
    ids=[
        "long",
        "minified",
        "large",
        "substitutions",
        "quotes",
        "backticks",
        "defaults",
        "brackets",
        "lists",
        "sum",
        "heredocs",
        "binary",
        "doubling",
        "unclosed",
    ],
)
def test_hostile_text_is_looked_at(text):
    scan_file("benchmarks/run.sh", text, POLICY)


@given(st.text(alphabet="abc$(){}[]<>|&;'\"\\\n\t `=-/.EOF", max_size=300))
def test_no_text_breaks_the_scanner(text):
    for path in ("a.sh", "a.py", "a.yaml", "Dockerfile", "a.patch"):
        scan_file(path, text, POLICY)


@given(st.integers(0, 30), st.integers(0, 8), st.sampled_from(["", "# note\n", "echo before\n"]))
def test_a_patch_is_found_wherever_it_stands(lines, indent, before):
    text = before * lines + " " * indent + "sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\n"
    (patch,) = scan(text)
    assert patch.line == (before * lines).count("\n") + 1
