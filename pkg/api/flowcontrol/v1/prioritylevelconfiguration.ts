import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { withMetadataOf } from "../../status-metadata.ts"
import { conditionFaults } from "./condition.ts"
import { priorityLevelFaults } from "./prioritylevelconfiguration-validation.ts"
import { PriorityLevelConfigurationSpec, PriorityLevelConfigurationStatus } from "./prioritylevelconfigurationspec.ts"

/** Source: k8s.io/api flowcontrol/v1/types.go, pkg/registry/flowcontrol/prioritylevelconfiguration. */

const fields = {
  spec: f.message(2, PriorityLevelConfigurationSpec, "How requests are served.").always(),
  status: f.message(3, PriorityLevelConfigurationStatus, "The present state.").always(),
}
export interface PriorityLevelConfiguration extends ObjectFor<typeof fields> {}

export const PriorityLevelConfiguration = defineResource(
  {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    scope: "Cluster",
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 1 },
    doc: "A priority level: how many of its requests are served at once, and how the rest are handled.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    columns: [
      { name: "Type", type: "string", doc: "Exempt or Limited.", value: ({ spec }) => spec.type },
      {
        name: "NominalConcurrencyShares",
        type: "string",
        doc: "Share of the server's concurrency.",
        value: ({ spec }) => spec.limited?.nominalConcurrencyShares,
      },
      {
        name: "Queues",
        type: "string",
        doc: "Number of queues.",
        value: ({ spec }) => spec.limited?.limitResponse.queuing?.queues,
      },
      {
        name: "HandSize",
        type: "string",
        doc: "Number of queues that a flow may use.",
        value: ({ spec }) => spec.limited?.limitResponse.queuing?.handSize,
      },
      {
        name: "QueueLengthLimit",
        type: "string",
        doc: "Number of requests that may wait in one queue.",
        value: ({ spec }) => spec.limited?.limitResponse.queuing?.queueLengthLimit,
      },
    ],
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        prepareForUpdate: (object, old) => withMetadataOf(object, old),
        validateUpdate: ({ status }) => conditionFaults(status.conditions),
      },
    },
    validate: priorityLevelFaults,
  },
  fields,
)
