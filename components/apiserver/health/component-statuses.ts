import { ComponentStatus } from "../../../pkg/api/core/v1/componentstatus.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"

/** The health that a component reports about itself; `problem` is undefined when it is healthy. */
export interface ComponentHealth {
  readonly problem: string | undefined
}

/**
 * Returns the objects of `kubectl get componentstatuses` by name. A component that has reported nothing does not run.
 * Source: pkg/registry/core/componentstatus/rest.go.
 */
export const componentStatuses = (
  components: Readonly<Record<string, ComponentHealth | undefined>>,
): readonly KubeObject[] =>
  Object.entries(components).map(
    ([name, health = NOT_RUNNING]) =>
      decodeObject(ComponentStatus, { metadata: { name }, conditions: [healthy(health)] }).object,
  )

const NOT_RUNNING: ComponentHealth = { problem: "it is not running" }

const healthy = ({ problem }: ComponentHealth) => ({
  type: "Healthy",
  status: problem === undefined ? "True" : "False",
  message: problem ?? "ok",
})
