"""[evaluate]: what is computed from the trained network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Broken, Section, as_tuple, refuse

Name = Literal[
    "frei_2022",
    "frei_2022.condition_4_7",
    "frei_2022.condition_4_8",
    "frei_2022.lemma_4_1",
    "frei_2022.lemma_4_2",
    "frei_2022.lemma_4_10",
    "frei_2022.proposition_3_2",
    "frei_2022.theorem_3_1",
    "frei_vardi_2023",
    "frei_vardi_2023.assumption_2_2",
    "frei_vardi_2023.lemma_2_1",
    "frei_vardi_2023.theorem_2_1",
    "frei_vardi_2023.theorem_3_1",
    "frei_vardi_2023.theorem_4_1",
    "frei_vardi_2023.theorem_4_2",
    "li_2025",
    "li_2025.lemma_5_1",
    "li_2025.lemma_5_2",
    "li_2025.lemma_5_3",
    "li_2025.lemma_5_5",
    "li_2025.lemma_c_5",
    "li_2025.proposition_4_8",
    "li_2025.theorem_4_5",
    "li_2025.theorem_4_6",
    "li_2025.theorem_4_7",
]


class Evaluate(Section):
    claims: Annotated[tuple[Name, ...], as_tuple] = Field(
        (), description="theorems to hold the run against; a paper's name stands for all of its claims that apply"
    )

    limit: bool = Field(
        False,
        description="find the KKT point that the flow ends at, from where it stopped, and write it as the group limit",
    )

    @model_validator(mode="after")
    def _rules(self) -> Evaluate:
        refuse(
            Broken(f"claims[{index}]", f'"{name}" is named twice')
            for index, name in enumerate(self.claims)
            if name in self.claims[:index]
        )
        return self
