import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { ageOf } from "../../../apimachinery/scalars/time.ts"
import { withMetadataOf } from "../../status-metadata.ts"
import { conditionFaults } from "./condition.ts"
import { flowSchemaFaults } from "./flowschema-validation.ts"
import { FlowSchemaSpec, FlowSchemaStatus } from "./flowschemaspec.ts"

/** Source: k8s.io/api flowcontrol/v1/types.go, pkg/registry/flowcontrol/flowschema. */

const fields = {
  spec: f.message(2, FlowSchemaSpec, "Which requests, and at which level.").always(),
  status: f.message(3, FlowSchemaStatus, "The present state.").always(),
}
export interface FlowSchema extends ObjectFor<typeof fields> {}

/** The type of the condition that says whether the priority level of the schema is missing. */
export const DANGLING = "Dangling"

/** Compares schemas by the order in which they are tried. Source: apiserver pkg/util/apihelpers FlowSchemaSequence. */
export const byPrecedence = (a: FlowSchema, b: FlowSchema): number =>
  a.spec.matchingPrecedence - b.spec.matchingPrecedence || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1)

export const FlowSchema = defineResource(
  {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    kind: "FlowSchema",
    plural: "flowschemas",
    scope: "Cluster",
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 1 },
    doc: "Assigns the requests that match its rules to a priority level.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    ageColumn: false,
    rowOrder: byPrecedence,
    columns: [
      {
        name: "PriorityLevel",
        type: "string",
        doc: "Name of the priority level.",
        value: ({ spec }) => spec.priorityLevelConfiguration.name,
      },
      {
        name: "MatchingPrecedence",
        type: "string",
        doc: "Precedence among FlowSchemas; the lowest number is tried first.",
        value: ({ spec }) => spec.matchingPrecedence,
      },
      {
        name: "DistinguisherMethod",
        type: "string",
        doc: "Whether requests of one user or of one namespace are a flow.",
        value: ({ spec }) => spec.distinguisherMethod?.type,
      },
      {
        name: "Age",
        type: "string",
        doc: "Time since the object was created.",
        value: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
      },
      {
        name: "MissingPL",
        type: "string",
        doc: "Whether the priority level is missing.",
        value: ({ status }) => status.conditions?.find(({ type }) => type === DANGLING)?.status ?? "?",
      },
    ],
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        prepareForUpdate: (object, old) => withMetadataOf(object, old),
        validateUpdate: ({ status }) => conditionFaults(status.conditions),
      },
    },
    validate: flowSchemaFaults,
  },
  fields,
)
