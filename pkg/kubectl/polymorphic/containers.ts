import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { Output } from "../printers/output.ts"
import type { Container, Pod } from "./pod.ts"

/** The annotation with the container that commands mean if they name none. */
export const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"

/** A container of a pod, and its path in the pod: `spec.containers{main}`. */
export interface FoundContainer {
  readonly container: Container
  readonly path: string
}

/** Source of this file: kubectl pkg/cmd/util/podcmd/podcmd.go. */
export function findContainer({ spec }: Pod, name: string): FoundContainer | undefined {
  for (const field of ["containers", "initContainers", "ephemeralContainers"] as const) {
    const container = spec?.[field]?.find((one) => one.name === name)
    if (container !== undefined) return { container, path: `spec.${field}{${name}}` }
  }
  return undefined
}

/** All containers of a pod, as messages list them. */
export const containerNames = ({ spec }: Pod): string =>
  [
    ...(spec?.containers ?? []).map(({ name }) => name),
    ...(spec?.ephemeralContainers ?? []).map(({ name }) => `${name} (ephem)`),
    ...(spec?.initContainers ?? []).map(({ name }) => `${name} (init)`),
  ].join(", ")

/** Whether a pod has others beside its first container. */
export const hasSeveral = ({ spec }: Pod): boolean =>
  (spec?.containers ?? []).length > 1 ||
  (spec?.initContainers ?? []).length > 0 ||
  (spec?.ephemeralContainers ?? []).length > 0

export const notValid = (name: string, pod: Pod): Error =>
  new Error(`container ${name} is not valid for pod ${pod.metadata?.name ?? ""} out of: ${containerNames(pod)}`)

/** Returns the container of that name, the pod's default, or the first, which is told if there are others. */
export async function findOrDefault(pod: Pod, name: string, quiet: boolean, errOut: Output): Promise<Container> {
  const { name: podName = "", namespace = "", annotations } = pod.metadata ?? {}
  const first = pod.spec?.containers[0]
  if (first === undefined) throw new Error(`pod ${namespace}/${podName} does not have any containers`)
  const wanted = name === "" ? (annotations?.[DEFAULT_CONTAINER] ?? "") : name
  if (wanted !== "") {
    const found = findContainer(pod, wanted)
    if (found === undefined) throw notValid(wanted, pod)
    return found.container
  }
  if (!quiet && hasSeveral(pod))
    await errOut.write(`Defaulted container ${goQuoted(first.name)} out of: ${containerNames(pod)}\n`)
  return first
}
