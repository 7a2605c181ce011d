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
 * Returns a warning when the name of a pod, or of an object whose pods' names begin with it, is not a valid host name.
 * Source: WarningsOnCreate of the strategies.
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

/** Returns the warnings about a pod template: at creation, and for an update that has changed the generation. */
export const templateWarnings = (
  { metadata }: Workload,
  old: Workload | undefined,
  template: Template | undefined,
  path = "spec.template",
): readonly string[] =>
  template === undefined || (old !== undefined && old.metadata.generation === metadata.generation)
    ? []
    : podSpecWarnings(template, path)
