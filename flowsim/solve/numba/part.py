"""How Numba compiles a function that only compiled code calls: up to code that is not optimised yet.

By itself it would optimise each function together with all that it calls, and make machine code of that which nobody runs;
then again for each of its callers, up to the entry. Here a function's code waits until an entry has it linked, which is
optimised as a whole. This reaches below what Numba promises to keep: its version is bounded in pyproject.toml, and
tests/unit/solve/test_compiled.py says what has to hold.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes

#: The linkage of functions that may be there more than once, and be dropped where all calls of them are inlined.
SHARED = "linkonce_odr"


class Part(JITCodeLibrary):
    """A function's code before it is optimised, without what it calls until an entry asks for both."""

    @property
    def codegen(self) -> Part:
        return self

    def set_env(self, name: str, env: object) -> None:
        """What Python would need to call it."""

    def get_pointer_to_function(self, name: str) -> int:
        """None, as of any function that Python does not call."""
        return 0

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = SHARED
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        """By itself, which is quick; what it calls is not there."""
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._module_pass_manager()
        passes.run(module, builder)

    def _get_module_for_linking(self) -> Any:
        """Its code, and all that it calls."""
        if self._shared_module is None:
            module, seen, left = self._final_module.clone(), set(), list(self._linking_libraries)
            while left:
                library = left.pop()
                if library in seen:
                    continue
                seen.add(library)
                self._reload_init.update(library._reload_init)
                part = isinstance(library, Part)
                module.link_in(library._final_module if part else library._get_module_for_linking(), preserve=True)
                left += library._linking_libraries if part else ()
            self._shared_module = module
        return self._shared_module


@register_pass(mutates_CFG=False, analysis_only=False)
class IntoPart(LoweringPass):
    """Where the next pass, lowering, puts a function's code."""

    _name = "flowsim_into_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class PartCompiler(CompilerBase):
    """Numba's own compiler but for that."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(IntoPart, AnnotateTypes)
        passes.finalize()
        return [passes]
