"""Docstrings for the web: their formulas and references become plain code, so that nothing is loaded from elsewhere.

mkdocstrings hands every docstring to ``Readable`` before it reads it as Markdown (see ``extensions`` in mkdocs.yml).
"""

import re
from typing import Any

import griffe

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "lambda": "λ",
    "mu": "μ", "pi": "π", "sigma": "σ", "Sigma": "Σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω", "ell": "ℓ",
    "sum": "Σ", "prod": "Π", "int": "∫", "log": "log", "exp": "exp", "max": "max", "min": "min", "cos": "cos",
    "sin": "sin", "sim": "~", "propto": "∝", "approx": "≈", "ne": "≠", "le": "≤", "ge": "≥", "in": "∈", "to": "→",
    "mid": "|", "cdot": "·", "times": "×", "odot": "⊙", "partial": "∂", "infty": "∞", "top": "ᵀ", "quad": "   ",
    "qquad": "    ", "rho": "ρ", "xi": "ξ", "kappa": "κ", "varepsilon": "ε", "Delta": "Δ", "nabla": "∇", "sqrt": "√",
    "det": "det", "mp": "∓", "pm": "±", "lVert": "‖", "rVert": "‖", "left": "", "right": "", "ldots": "…", "dots": "…",
    "Vert": "‖", "lfloor": "⌊", "rfloor": "⌋", "leftarrow": "←",
}  # fmt: skip
ACCENTS = {"tilde": "\u0303", "hat": "\u0302", "bar": "\u0304"}
GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"  # braces, with two more levels inside
ROLE = re.compile(r":(?P<role>[a-z]+):`(?P<text>[^`]+)`")
BLOCK = re.compile(r"^(?P<indent> *)\.\. math::(?P<tex>.*(?:\n(?P=indent) +\S.*)*)$", re.MULTILINE)
TABLE = re.compile(r"^=+ +=+\n(?P<head>.+)\n=+ +=+\n(?P<body>(?:.+\n)+?)=+ +=+$", re.MULTILINE)


class Readable(griffe.Extension):
    """Rewrites every docstring of the package."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring whose formulas, references and tables are Markdown."""
    text = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE)  # the name that is shown as code
    return TABLE.sub(_table, ROLE.sub(_role, BLOCK.sub(_block, text)))


def plain(tex: str) -> str:
    r"""A formula as text: ``\sum_k \tilde y_k`` is ``Σ_k ỹ_k``. What is not known stays as it is."""
    tex = re.sub(rf"\\t?frac{GROUP}{GROUP}", lambda f: f"{_group(f[1])} / {_group(f[2])}", tex)
    tex = re.sub(r"\\t?frac *(\w)(\w)", r"\1/\2", tex)
    tex = re.sub(rf"\\(?:text|mathrm|mathbb|mathbf|mathcal|operatorname)(?:{GROUP}| (\w))", lambda f: f[1] or f[2], tex)
    tex = re.sub(r"\\(tilde|hat|bar)(?: (\w)|\{(\w)\})", lambda f: (f[2] or f[3]) + ACCENTS[f[1]], tex)
    tex = re.sub(r"\\([A-Za-z]+)", lambda found: SYMBOLS.get(found[1], found[0]), tex)
    while (inner := re.sub(r"(?<=[_^√])\{([^{}]*)\}", lambda f: _group(f[1]), tex)) != tex:
        tex = inner
    return re.sub(
        r"(?<=\S) {1,2}(?=\S)", " ", tex.replace(r"\,", " ").replace(r"\!", "").replace(r"\{", "{").replace(r"\}", "}")
    )


def _group(tex: str) -> str:
    """In brackets, unless it is one word, in brackets already, or between bars."""
    return tex if re.fullmatch(r"[\w\u0303\u0302\u0304]+|\(\w+\)|\|\w+\|", tex) else f"({tex})"


def _block(found: re.Match[str]) -> str:
    lines = [plain(line.strip().removesuffix(r"\\").replace("&", "")) for line in found["tex"].splitlines()]
    return "\n".join(found["indent"] + line for line in ("```text", *filter(None, lines), "```"))


def _role(found: re.Match[str]) -> str:
    text = plain(found["text"]) if found["role"] == "math" else found["text"]
    return f"`{text.rpartition('.')[2] if text.startswith('~') else text}`"


def _table(found: re.Match[str]) -> str:
    rows = [
        re.split(r"  +", line.replace("``", "`"), maxsplit=1) for line in (found["head"], *found["body"].splitlines())
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|---|", *lines[1:]])
