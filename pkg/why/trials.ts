/** What of an answer is recommended after its mends were tried. */
import type { Answer, Finding, Mend, Trial } from "./answer.ts"

/** Returns the answer with what came of each mend. One that does not help is a hint with the reason, and no mend. */
export function withTrials(answer: Answer, trialOf: (mend: Mend) => Trial | undefined): Answer {
  return { ...answer, findings: answer.findings.map((one) => tried(one, trialOf)) }
}

function tried(finding: Finding, trialOf: (mend: Mend) => Trial | undefined): Finding {
  const mends: Mend[] = []
  const hints = [...finding.hints]
  for (const mend of finding.mends) {
    const trial = trialOf(mend)
    if (trial === undefined) mends.push(mend)
    else if (trial.verdict === "does-not-help") hints.push(`${mend.command} does not help: ${trial.says}`)
    else mends.push({ ...mend, tried: trial })
  }
  return { ...finding, mends, hints }
}

/** Returns what a trial says behind a mend. */
export const trialText = ({ verdict, says }: Trial): string =>
  verdict === "not-known" ? `tried in a copy, which cannot tell whether it helps: ${says}` : `tried in a copy: ${says}`
