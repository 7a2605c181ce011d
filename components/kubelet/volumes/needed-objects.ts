import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { RecentTexts } from "../../../pkg/cache/recent-texts.ts"
import { contentsIn } from "./api-volume.ts"
import { neededByVariables, type Reference } from "./references.ts"

type Spec = Pod["spec"]

/** An object to which a pod refers: the volumes that need it, and whether environment variables do. */
export interface Need {
  readonly key: string
  readonly reference: Reference
  readonly volumes: readonly string[]
  readonly variables: boolean
}

/** Most pods use the same few objects, and share the texts. */
const keys = new RecentTexts()
export const keyOf = ({ kind, name }: Reference): string => keys.of(`${kind}/${name}`)

/** By the list of volumes, which pods of one template share: so thousands of pods have a few entries. */
const known = new WeakMap<object, Containers & { readonly needs: readonly Need[] }>()
type Containers = Pick<Spec, "containers" | "initContainers" | "ephemeralContainers">

/** Returns the objects to which the volumes and the environment variables of a pod refer. */
export function neededBy(pod: Pod): readonly Need[] {
  const { volumes, containers, initContainers, ephemeralContainers } = pod.spec
  if (volumes === undefined) return needsOf(pod)
  const before = known.get(volumes)
  if (
    before !== undefined &&
    before.containers === containers &&
    before.initContainers === initContainers &&
    before.ephemeralContainers === ephemeralContainers
  )
    return before.needs
  const needs = needsOf(pod)
  known.set(volumes, { containers, initContainers, ephemeralContainers, needs })
  return needs
}

function needsOf(pod: Pod): readonly Need[] {
  const needed = new Map<string, { readonly reference: Reference; readonly volumes: string[]; variables: boolean }>()
  const need = (reference: Reference) => {
    const key = keyOf(reference)
    let found = needed.get(key)
    if (found === undefined) needed.set(key, (found = { reference, volumes: [], variables: false }))
    return found
  }
  for (const volume of pod.spec.volumes ?? [])
    for (const reference of contentsIn(volume)?.references ?? []) need(reference).volumes.push(volume.name)
  for (const reference of neededByVariables(pod)) need(reference).variables = true
  return [...needed].map(([key, found]) => ({ key, ...found }))
}
