import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api core/v1/types.go, pkg/registry/core/componentstatus. */

export const ComponentCondition = message("core.v1.ComponentCondition", "One aspect of a component's health.", {
  type: f.string(1, "Name of the aspect: Healthy.").required(),
  status: f.string(2, "True, False or Unknown.").required(),
  message: f.string(3, "Message of the component."),
  error: f.string(4, "Error of the health check."),
})
export interface ComponentCondition extends ObjectOf<typeof ComponentCondition> {}

const fields = {
  conditions: f.list(2, ComponentCondition, "Aspects of the health.").listMap("type").merge("type"),
}
export interface ComponentStatus extends ObjectFor<typeof fields> {}

export const ComponentStatus = defineResource(
  {
    group: "",
    version: "v1",
    kind: "ComponentStatus",
    plural: "componentstatuses",
    shortNames: ["cs"],
    scope: "Cluster",
    verbs: ["get", "list"],
    doc: "Deprecated: the health of a component of the control plane. Not stored; made when asked for.",
    ageColumn: false,
    columns: [
      {
        name: "Status",
        type: "string",
        doc: "Whether the component is healthy.",
        value: ({ conditions }) =>
          healthy(conditions)?.status === "True"
            ? "Healthy"
            : healthy(conditions) === undefined
              ? "Unknown"
              : "Unhealthy",
      },
      {
        name: "Message",
        type: "string",
        doc: "Message of the component.",
        value: ({ conditions }) => healthy(conditions)?.message ?? "",
      },
      {
        name: "Error",
        type: "string",
        doc: "Error of the health check.",
        value: ({ conditions }) => healthy(conditions)?.error ?? "",
      },
    ],
    deprecated: "v1 ComponentStatus is deprecated in v1.19+",
  },
  fields,
)

const healthy = (conditions: readonly ComponentCondition[] = []): ComponentCondition | undefined =>
  conditions.find(({ type }) => type === "Healthy")
