import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { isDNS1123Label } from "../../../../apimachinery/validation/names.ts"
import type { PodSpec } from "../pod/podspec.ts"
import { podSpecWarnings } from "../pod/podspec-warnings.ts"

interface Workload {
  readonly metadata: ObjectMeta
}
interface Template {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
}

/**
 * The name of an object after which pods are called, or of a pod itself. Source: WarningsOnCreate of the strategies.
 */
export function nameWarnings(
  { metadata: { name = "" } }: Workload,
  use = "Pod names and hostnames",
): readonly string[] {
  const problems = [isDNS1123Label(name) ?? []].flat()
  return problems.length === 0
    ? []
    : [
        `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is ` +
          `recommended: [${problems.join(" ")}]`,
      ]
}

/** Of a template of pods: at creation, and when its owner has got another generation since. */
export const templateWarnings = (
  { metadata }: Workload,
  old: Workload | undefined,
  template: Template | undefined,
  path = "spec.template",
): readonly string[] =>
  template === undefined || (old !== undefined && old.metadata.generation === metadata.generation)
    ? []
    : podSpecWarnings(template, path)
