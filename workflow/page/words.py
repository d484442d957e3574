"""Number, rank and direction words: the one list from which the page writes and against which its lint reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from workflow.page.errors import PageError
from workflow.yaml_file import Strict

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def english(words: list[str]) -> re.Pattern:
    """Whole words, case ignored; `word*` stands for any ending."""
    parts = [re.escape(word).replace(r"\*", r"[a-z]*").replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True)]
    return re.compile(rf"(?<![A-Za-z])(?:{'|'.join(parts)})(?![A-Za-z])", re.IGNORECASE)


def chinese(words: list[str]) -> re.Pattern:
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


@dataclass(frozen=True)
class Words:
    """Parsed `templates/words.yaml`."""

    data: dict

    @classmethod
    def load(cls, path: Path = TEMPLATES / "words.yaml") -> Words:
        data = yaml.load(path.read_text("utf8"), Loader=Strict)
        for name in ("cardinal", "ordinal", "numbers", "ranks", "directions", "opposites", "outcomes"):
            if name not in data:
                raise PageError.at(str(path), 0, f"section `{name}` is missing", "words")
        return cls(data)

    def cardinal(self, count: int, language: str) -> str | None:
        """`five` / `五`; None above ten, where digits are written."""
        table = self.data["cardinal"][language]
        return table[count] if 0 <= count < len(table) else None

    def ordinal(self, count: int, language: str) -> str | None:
        table = self.data["ordinal"][language]
        return table[count] if 0 <= count < len(table) else None

    @cached_property
    def number_patterns(self) -> dict[str, re.Pattern]:
        numbers = self.data["numbers"]
        digits, classifiers = numbers["zh_digits"], numbers["zh_classifiers"]
        several = f"[一{digits}]*[{digits}][一{digits}]*"
        return {
            "en": english(numbers["en"]),
            "zh": re.compile(
                rf"第(?!一(?![{digits}]))[一{digits}]+|[一{digits}]+分之[一{digits}]+|{several}(?=[{classifiers}])|"
                + "|".join(numbers["zh"])
            ),
        }

    @cached_property
    def classes(self) -> dict[str, dict[str, re.Pattern]]:
        """Class name -> language -> pattern, ranks and directions together."""
        table = {**self.data["ranks"], **self.data["directions"]}
        return {name: {"en": english(entry["en"]), "zh": chinese(entry["zh"])} for name, entry in table.items()}

    def unmeasured_in(self, text: str, language: str) -> list[str]:
        """Phrases that say of something that it was not measured."""
        told = self.data.get("unmeasured")
        if not told:
            return []
        read = {"en": english, "zh": chinese}[language]
        return [found[0] for found in read(told[language]).finditer(read(told["except"][language]).sub(" ", text))]

    def denied_in(self, text: str, language: str) -> list[str]:
        """Words that deny something."""
        return self._listed("denied", text, language)

    def left_open_in(self, text: str, language: str) -> list[str]:
        """Phrases that say why a claim was left open."""
        return self._listed("left_open", text, language)

    def trends_in(self, text: str, language: str) -> list[str]:
        """Words of direction or trend, as far as they are no part of a phrase that says nothing of it."""
        text = self._ignored[language].sub(" ", text)
        found = [match[0] for name in self._near(text, language) if name in self.data["directions"] for match in self.classes[name][language].finditer(text)]
        return found + self._listed("trends", text, language)

    def _listed(self, name: str, text: str, language: str) -> list[str]:
        """What stands in a text of a list of phrases; nothing where there is no such list."""
        told = self.data.get(name)
        return [found[0] for found in {"en": english, "zh": chinese}[language](told[language]).finditer(text)] if told else []

    @cached_property
    def _ignored(self) -> dict[str, re.Pattern]:
        return {"en": english(self.data["ignore"]["en"]), "zh": chinese(self.data["ignore"]["zh"])}

    def classes_in(self, text: str, language: str) -> dict[str, str]:
        """Classes of rank and direction words found in a text, each with the first word found."""
        # the same text stands on several pages and under several verdicts, and is read by several checks
        known = self._read.setdefault(language, {})
        if text not in known:
            known[text] = self._search(text, language)
        return known[text]

    @cached_property
    def _read(self) -> dict[str, dict[str, dict[str, str]]]:
        return {}

    def _search(self, text: str, language: str) -> dict[str, str]:
        if not (near := self._near(text, language)):
            return {}
        text = self._ignored[language].sub(" ", text)
        return {name: match.group() for name in near if (match := self.classes[name][language].search(text))}

    def _near(self, text: str, language: str) -> list[str]:
        """Classes of which some word begins in a text: a text with none needs no pattern, and most texts have none."""
        folded = text.casefold()
        return [name for name, stems in self._stems[language].items() if any(map(folded.__contains__, stems))]

    @cached_property
    def _stems(self) -> dict[str, dict[str, list[str]]]:
        """Language -> class -> beginnings of its words, cases folded."""
        return {
            language: {name: [re.split(r"[* ]", word)[0].casefold() for word in self.of_class(name, language)] for name in self.classes}
            for language in ("en", "zh")
        }

    def ranks_in(self, text: str, language: str) -> list[str]:
        """Words of rank or universality, which need a claim or a mark."""
        return [word for name, word in self.classes_in(text, language).items() if name in self.data["ranks"]]

    @cached_property
    def polar(self) -> frozenset[str]:
        """Classes that have an opposite: a text that uses one instead of the other says the contrary."""
        return frozenset(name for pair in self.data["opposites"] for name in pair)

    @cached_property
    def _outcomes(self) -> dict[str, re.Pattern]:
        return {name: english(words) for name, words in self.data["outcomes"].items()}

    def polar_order(self, text: str, language: str) -> list[tuple[str, str]]:
        """Words with an opposite as they stand in a text, each as (class, word)."""
        text = self._ignored[language].sub(" ", text)
        patterns = [(name, self.classes[name][language]) for name in self._near(text, language) if name in self.polar]
        if language == "en":
            patterns += self._outcomes.items()
        found = sorted((match.start(), name, match.group()) for name, pattern in patterns for match in pattern.finditer(text))
        return [(name, word) for _, name, word in found]

    def numbers_in(self, text: str, language: str) -> list[str]:
        known = self._counted.setdefault(language, {})
        if text not in known:
            known[text] = [match.group() for match in self.number_patterns[language].finditer(text)]
        return known[text]

    @cached_property
    def _counted(self) -> dict[str, dict[str, list[str]]]:
        return {}

    def parity_classes(self, with_claim: bool) -> set[str]:
        """Classes that both languages of a block must show: ranks always, directions where a result is stated."""
        ranks = set(self.data["ranks"]) - set(self.data["free_in_translation"])
        return ranks | set(self.data["directions"]) if with_claim else ranks

    def of_class(self, name: str, language: str) -> list[str]:
        return {**self.data["ranks"], **self.data["directions"]}[name][language]
