import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"

/** Returns the container of a pod with this name, be it an init container or not. */
export const containerOf = ({ spec }: Pod, name: string): Container | undefined =>
  [...spec.containers, ...(spec.initContainers ?? [])].find((one) => one.name === name)
