import { fromLabels, NOTHING } from "../../pkg/apimachinery/selectors/labels.ts"
import { ReplicationController } from "../../pkg/api/core/v1/replicationcontroller.ts"
import type { Features } from "../../pkg/component/features.ts"
import { replicasController } from "./replicaset/replicas.ts"

/** Source: pkg/controller/replication, which wraps the ReplicaSet controller too. */
export const replicationController = (features?: Features) =>
  replicasController({
    features,
    name: "replicationcontroller-controller",
    resource: ReplicationController,
    countsTerminating: false,
    selectorOf: ({ spec: { selector = {} } }) => (Object.keys(selector).length === 0 ? NOTHING : fromLabels(selector)),
  })
