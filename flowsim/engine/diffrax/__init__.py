"""The flow in JAX: smooth fields, on whatever device JAX runs on.

What JAX compiles is kept in flowsim's folder on the machine, unless the process keeps it elsewhere already.
"""

from __future__ import annotations

import os

import jax

from ... import machine

#: Keeping what compiles faster than this would take as long, in seconds; no more bytes are kept, of those used last.
QUICK, MOST_KEPT = 0.1, 2**30


def _keep_what_is_compiled() -> None:
    folder = machine.folder() / "jax"
    if jax.config.jax_compilation_cache_dir is not None or not machine.writable(folder):
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", QUICK)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_compilation_cache_max_size", MOST_KEPT)


_keep_what_is_compiled()
