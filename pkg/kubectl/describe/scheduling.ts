import type { PodSpec } from "../../api/core/v1/pod/podspec.ts"
import { by } from "./containers.ts"
import { selectorText } from "./metadata.ts"
import type { PrefixWriter } from "./prefix-writer.ts"

/** Writes tolerations by their keys, one a line. */
export function describeTolerations(
  w: PrefixWriter,
  title: string,
  tolerations: NonNullable<PodSpec["tolerations"]> | undefined = [],
): void {
  w.write(0, `${title}:\t`)
  if (tolerations.length === 0) return w.line("<none>")
  const sorted = tolerations.toSorted((a, b) => by("key")({ key: a.key ?? "" }, { key: b.key ?? "" }))
  for (const [i, { key = "", value = "", effect = "", operator, tolerationSeconds }] of sorted.entries()) {
    const which = `${key}${value === "" ? "" : `=${value}`}${effect === "" ? "" : `:${effect}`}`
    // A toleration of everything has neither key nor effect.
    const exists = operator === "Exists" && value === "" ? `${key === "" && effect === "" ? "" : " "}op=Exists` : ""
    const seconds = tolerationSeconds === undefined ? "" : ` for ${tolerationSeconds}s`
    w.write(0, `${i === 0 ? "" : "\t"}${which}${exists}${seconds}\n`)
  }
}

/** Writes topology spread constraints, one a line. */
export function describeSpread(
  w: PrefixWriter,
  indent: string,
  constraints: PodSpec["topologySpreadConstraints"],
): void {
  if (constraints === undefined || constraints.length === 0) return
  w.write(0, `${indent}Topology Spread Constraints:\t`)
  for (const [i, constraint] of constraints.toSorted(by("topologyKey")).entries()) {
    const { topologyKey, whenUnsatisfiable, maxSkew, labelSelector } = constraint
    const pods = labelSelector ? ` for selector ${selectorText(labelSelector)}` : ""
    const line = `${topologyKey}:${whenUnsatisfiable} when max skew ${maxSkew} is exceeded${pods}`
    w.write(0, `${i === 0 ? "" : `${indent}\t`}${line}\n`)
  }
}

export function describeSchedulingGroup(w: PrefixWriter, indent: string, { schedulingGroup }: PodSpec): void {
  if (!schedulingGroup) return
  w.row(0, `${indent}SchedulingGroup:`)
  w.row(1, "PodGroupName:", schedulingGroup.podGroupName ?? "")
}
