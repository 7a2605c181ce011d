import { fromLabelSelector } from "../../../pkg/apimachinery/labels.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { replicasController } from "./replicas.ts"

export const replicaSetController = replicasController({ name: "replicaset-controller", resource: ReplicaSet, selectorOf: ({ spec }) => fromLabelSelector(spec.selector) })
