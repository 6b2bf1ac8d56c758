"""Hold the embedded judge's design against the plain one, each data set judged by weights that never saw it.

Run: python benchmarks/embedded_fit.py DATA, with scikit-learn installed (it is not needed to judge). Prints, for each
set, AUROC and balanced accuracy of the seven support features alone and of the whole design. The weights for short
answers are fitted here as well, and printed; conflicts keep the weights of `model.json`.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-not-found]  # only this script's
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found]  # only this script's

from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.features import Comparison, compare
from ragtrace.judge.lexical.scoring import Model, load_model
from ragtrace.scorer.labels import read_labels
from ragtrace.stats.agreement import auroc, balanced_accuracy

RISING = {"cov_best1": 1, "cov_best3": 1, "ngram_char": 1, "lcs": 1, "ent_miss": -1, "num_miss": -1, "neg_mis": -1}
"""Whether support grows or falls with a feature."""
NOT_CLAIMS = "nomiracl"
Examples = list[tuple[Comparison, bool]]


def read_set(path: Path) -> Examples:
    found = []
    for row in read_labels(path):
        deliveries = row.call.delivery.passages if row.call.delivery else ()
        evidence = Evidence([delivery.received_text for delivery in deliveries])
        for label in row.labels:
            text = row.call.answer[label.start : label.end]
            found.append((compare(text, evidence, question=row.call.question), label.is_supported))
    return found


def balance(labels: Sequence[bool]) -> list[float]:
    counts = {kind: labels.count(kind) for kind in (True, False)}
    return [0.5 / counts[label] for label in labels]


def fit_trees(sets: Sequence[Examples]) -> HistGradientBoostingClassifier:
    values = [[one.values[name] for name in RISING] for examples in sets for one, _ in examples]
    labels = [label for examples in sets for _, label in examples]
    weights = np.array([weight for examples in sets for weight in balance([label for _, label in examples])])
    trees = HistGradientBoostingClassifier(
        max_iter=120,
        learning_rate=0.06,
        max_leaf_nodes=8,
        min_samples_leaf=40,
        l2_regularization=1,
        monotonic_cst=list(RISING.values()),
        random_state=0,
    )
    return trees.fit(values, labels, sample_weight=weights * len(weights) / weights.sum())


def fit_answers(sets: Sequence[Examples], model: Model) -> LogisticRegression | None:
    answers = [(one, label) for examples in sets for one, label in examples if one.is_answer]
    if len({label for _, label in answers}) < 2:
        return None
    values = [[one.values[name] for name in model.answer_weights] for one, _ in answers]
    weights = [2.0 if label else 1.0 for _, label in answers]
    return LogisticRegression(C=1.0, max_iter=1_000).fit(values, [label for _, label in answers], sample_weight=weights)


def whole_design(
    examples: Examples, support: Sequence[float], answers: LogisticRegression | None, model: Model
) -> list[float]:
    scores = []
    for (one, _), value in zip(examples, support, strict=True):
        conflict = sum(weight * one.values[name] for name, weight in model.conflict_weights.items())
        capped = min(value, model.conflict_cap) if conflict >= model.conflict_from else value
        if one.is_answer and answers is not None:
            scores.append(float(answers.decision_function([[one.values[n] for n in model.answer_weights]])[0]))
        else:
            scores.append(capped - conflict)
    return scores


def left_out(name: str, sets: Mapping[str, Examples]) -> list[Examples]:
    """Return the sets of other families: XQuAD holds the same questions in each language."""
    return [examples for other, examples in sets.items() if other.split("_")[0] != name.split("_")[0]]


def measure(scores: Sequence[float], labels: Sequence[bool]) -> tuple[float, float]:
    """Return AUROC and balanced accuracy; every set has labels of both kinds."""
    return auroc(scores, labels) or 0.0, balanced_accuracy([score > 0 for score in scores], labels) or 0.0


def main(data: Path) -> None:
    model = load_model()
    paths = [path for path in sorted(data.glob("*.jsonl")) if not path.name.startswith(NOT_CLAIMS)]
    sets = {path.stem: read_set(path) for path in paths}
    print(f"{'left out':<20}{'seven features':>16}{'whole design':>16}   (AUROC / BAcc)")
    figures = []
    for name, examples in sets.items():
        others = left_out(name, sets)
        labels = [label for _, label in examples]
        values = [[one.values[feature] for feature in RISING] for one, _ in examples]
        plain = [float(value) for value in fit_trees(others).decision_function(values)]
        whole = whole_design(examples, plain, fit_answers(others, model), model)
        row = [figure for scores in (plain, whole) for figure in measure(scores, labels)]
        figures.append(row)
        print(f"{name:<20}{row[0]:>9.3f}{row[1]:>7.3f}{row[2]:>9.3f}{row[3]:>7.3f}")
    means = [fmean(column) for column in zip(*figures, strict=True)]
    print(f"{'mean':<20}{means[0]:>9.3f}{means[1]:>7.3f}{means[2]:>9.3f}{means[3]:>7.3f}")
    answers = fit_answers(list(sets.values()), model)
    if answers is not None:
        fitted = zip(model.answer_weights, answers.coef_[0], strict=True)
        print("answers:", {name: round(float(w), 2) for name, w in fitted}, round(float(answers.intercept_[0]), 2))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("embedded_fit needs the folder of labelled data; see docs/agreement.md")
    main(Path(sys.argv[1]))
