import type { Container, EphemeralContainer } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

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

/** All containers of a pod: init containers in their order, then the regular and the ephemeral ones. */
export const containersOf = (pod: Pod): readonly ContainerOfPod[] => [
  ...(pod.spec.initContainers ?? []).map((container) => ({
    type: isSidecar(container) ? ("sidecar" as const) : ("init" as const),
    container,
    fieldPath: `spec.initContainers{${container.name}}`,
  })),
  ...pod.spec.containers.map((container) => ({
    type: "regular" as const,
    container,
    fieldPath: `spec.containers{${container.name}}`,
  })),
  ...(pod.spec.ephemeralContainers ?? []).map((container) => ({
    type: "ephemeral" as const,
    container,
    fieldPath: `spec.ephemeralContainers{${container.name}}`,
  })),
]
