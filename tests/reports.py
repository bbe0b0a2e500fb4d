"""A report with something in every section, whose words are all alike."""

from sugartag.report.content import (
    Charts,
    Counts,
    Interval,
    MethodRow,
    Picture,
    RecoveryCurve,
    Report,
    Verdict,
    count_added,
    count_scores,
)


def made_report(word: str = "word") -> Report:
    verdicts = (
        Verdict(f"kept {word}", "keep", 0.934, f"why {word}"),
        Verdict(f"doubted {word}", "doubt", 0.04, f"why not {word}"),
        Verdict(f"found {word}", "add", 0.88, f"because {word}", recovered=True),
        Verdict(f"new {word}", "add", 0.5, "", recovered=False),
    )
    rows = (
        MethodRow(f"good {word}", {"map": 0.6, "miap": 0.7}, word, 1.0, 2.0, 300.0,
                  {"map": Interval(0.55, 0.65)}),
        MethodRow(f"poor {word}", {"map": 0.2, "miap": 0.3}, word),
    )  # fmt: skip
    return Report(
        title=f"Title {word}",
        lead=f"Lead {word}",
        evidence=f"looks {word}",
        counts=Counts(1234, 56, 7, 89, 10, hidden=40, recovered=25),
        pictures=(Picture(b"bytes", "image/webp", f"Drawing {word}", f"ann {word}", verdicts),),
        comparison=rows,
        best=rows[0].name,
        protocol=f"Protocol {word}",
        charts=Charts(
            scores=count_scores(verdicts),
            most_added=count_added(verdicts),
            recovery=(RecoveryCurve(f"good {word}", (0.1, 0.4)),),
        ),
        facts=((f"seed {word}", f"0 {word}"),),
        commands=(f"sugartag demo {word}",),
        notes=(f"Note {word}",),
    )
