import { ComponentStatus } from "../../pkg/api/core/v1/componentstatus.ts"
import { decodeObject } from "../../pkg/apimachinery/decode.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"

/** What a component is not well for. */
export interface ComponentHealth {
  readonly problem: string | undefined
}

/**
 * The objects that `kubectl get componentstatuses` shows, by name. A component that has told nothing of itself does not
 * run. Source: pkg/registry/core/componentstatus/rest.go.
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
