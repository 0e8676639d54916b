"""What pytest does not look at: kernels for a GPU, where Triton is not there to read them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("triton") else ["src/truelabel/*_kernel*.py"]  # in any folder
