"""Judge rows of a data set from Python, without Langfuse; inside a running event loop use `ajudge_calls`."""

from ragtrace.scorer import judge_calls

rows = [
    {
        "question": "公司年假几天",
        "contexts": ["公司考勤制度规定员工入职满一年后每年享有5天带薪年假。"],
        "answer": "员工入职满一年后享有5天年假。公司还提供额外3天福利假。",
        "reference": "员工入职满一年后每年享有5天带薪年假。",
    },
    {"question": "Who founded the firm?", "contexts": [], "answer": "It was founded by two brothers in 1987."},
]

for output in judge_calls(rows):
    for name, score in output["scores"].items():
        print(name, score["value"] if score["value"] is not None else f"unscored: {score['reason']}")
    print()
