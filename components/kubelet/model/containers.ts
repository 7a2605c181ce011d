import type { Container, EphemeralContainer } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { byName } from "../../../pkg/cache/by-name.ts"

/** A container of any type: init, regular or ephemeral. */
export type AnyContainer = Container | EphemeralContainer
export type ContainerType = "init" | "sidecar" | "regular" | "ephemeral"

export interface ContainerOfPod {
  readonly type: ContainerType
  readonly container: AnyContainer
  /** The path of the container for events: `spec.containers{web}`. Source: kubecontainer.GenerateContainerRef. */
  readonly fieldPath: string
}

/** Whether it is a sidecar: an init container that runs beside the regular ones. KEP-753. */
export const isSidecar = (container: Container): boolean => container.restartPolicy === "Always"

/** Returns the container of that name. */
export function containerNamed({ spec }: Pod, name: string): ContainerOfPod | undefined {
  const init = byName(spec.initContainers, name)
  if (init !== undefined) return initContainer(init)
  const regular = byName(spec.containers, name)
  if (regular !== undefined) return regularContainer(regular)
  const ephemeral = byName(spec.ephemeralContainers, name)
  return ephemeral && ephemeralContainer(ephemeral)
}

const initContainer = (container: Container): ContainerOfPod => ({
  type: isSidecar(container) ? "sidecar" : "init",
  container,
  fieldPath: `spec.initContainers{${container.name}}`,
})
const regularContainer = (container: Container): ContainerOfPod => ({
  type: "regular",
  container,
  fieldPath: `spec.containers{${container.name}}`,
})
const ephemeralContainer = (container: EphemeralContainer): ContainerOfPod => ({
  type: "ephemeral",
  container,
  fieldPath: `spec.ephemeralContainers{${container.name}}`,
})

/** All containers of a pod: init containers in their order, then the regular and the ephemeral ones. */
export const containersOf = (pod: Pod): readonly ContainerOfPod[] => [
  ...(pod.spec.initContainers ?? []).map(initContainer),
  ...pod.spec.containers.map(regularContainer),
  ...(pod.spec.ephemeralContainers ?? []).map(ephemeralContainer),
]

/** A container that is to be started, and where it stands in the pod: `spec.containers{web}`. */
export interface ContainerStart {
  readonly type: ContainerType
  readonly container: AnyContainer
  readonly fieldPath: string
}
