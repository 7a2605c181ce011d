import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { DEFAULT_FEATURES, type Features } from "../../../pkg/component/features.ts"
import { replicasController } from "./replicas.ts"

export const replicaSetController = (features: Features = DEFAULT_FEATURES) =>
  replicasController({
    name: "replicaset-controller",
    resource: ReplicaSet,
    selectorOf: ({ spec }) => fromLabelSelector(spec.selector),
    countsTerminating: features.DeploymentReplicaSetTerminatingReplicas,
    features,
  })
