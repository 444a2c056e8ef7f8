"""The flow in JAX: smooth fields, on whatever device JAX runs on.

What JAX compiles is kept in flowsim's folder on the machine, unless the process keeps it elsewhere already.
"""

from __future__ import annotations

import os
from typing import Any, cast

import jax

from ...machine import folder, writable

#: Keeping what compiles faster than this would take as long, in seconds; no more bytes are kept, of those used last.
QUICK, MOST_KEPT = 0.1, 2**30


def _keep_what_is_compiled() -> None:
    place, config = folder() / "jax", cast(Any, jax.config)
    if config.jax_compilation_cache_dir is not None or not writable(place):
        return
    config.update("jax_compilation_cache_dir", str(place))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        config.update("jax_persistent_cache_min_compile_time_secs", QUICK)
    config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    config.update("jax_compilation_cache_max_size", MOST_KEPT)


_keep_what_is_compiled()
