import type { Doctor } from "./doctor.ts"
import { nodeDoctor } from "./node.ts"
import { podDoctor } from "./pod/pod.ts"
import { claimDoctor } from "./storage/claim.ts"
import { deploymentDoctor } from "./workloads/deployment.ts"
import { replicaSetDoctor, replicationControllerDoctor } from "./workloads/replicaset.ts"

/** Every doctor, one for each kind; objects of other kinds are judged by their conditions. */
export const DOCTORS: readonly Doctor[] = [
  podDoctor,
  nodeDoctor,
  claimDoctor,
  deploymentDoctor,
  replicaSetDoctor,
  replicationControllerDoctor,
]
