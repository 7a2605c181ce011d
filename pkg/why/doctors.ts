import { networkPolicyDoctor } from "./network/network-policy.ts"
import { policyBindingDoctor, validatingPolicyDoctor } from "./policy/admission-policy.ts"
import { clusterRoleBindingDoctor, roleBindingDoctor } from "./policy/role-binding.ts"
import { mutatingWebhookDoctor, validatingWebhookDoctor } from "./policy/webhook-configuration.ts"
import { apiServiceDoctor } from "./any/apiservice.ts"
import type { Doctor } from "./doctor.ts"
import { namespaceDoctor } from "./namespace.ts"
import { ingressDoctor } from "./network/ingress.ts"
import { serviceDoctor } from "./network/service.ts"
import { nodeDoctor } from "./node.ts"
import { podDoctor } from "./pod/pod.ts"
import { podGroupDoctor } from "./podgroup.ts"
import { budgetDoctor } from "./policy/budget.ts"
import { secretDoctor } from "./policy/certificate.ts"
import { signingRequestDoctor } from "./policy/signing-request.ts"
import { claimDoctor } from "./storage/claim.ts"
import { volumeDoctor } from "./storage/volume.ts"
import { autoscalerDoctor } from "./workloads/autoscaler.ts"
import { cronJobDoctor } from "./workloads/cronjob.ts"
import { daemonSetDoctor } from "./workloads/daemonset.ts"
import { deploymentDoctor } from "./workloads/deployment.ts"
import { jobDoctor } from "./workloads/job.ts"
import { replicaSetDoctor, replicationControllerDoctor } from "./workloads/replicaset.ts"
import { statefulSetDoctor } from "./workloads/statefulset.ts"

/** Every doctor, one for each kind; objects of other kinds are judged by their conditions. */
export const DOCTORS: readonly Doctor[] = [
  podDoctor,
  nodeDoctor,
  namespaceDoctor,
  deploymentDoctor,
  replicaSetDoctor,
  replicationControllerDoctor,
  statefulSetDoctor,
  daemonSetDoctor,
  jobDoctor,
  podGroupDoctor,
  cronJobDoctor,
  autoscalerDoctor,
  claimDoctor,
  volumeDoctor,
  serviceDoctor,
  ingressDoctor,
  budgetDoctor,
  secretDoctor,
  signingRequestDoctor,
  apiServiceDoctor,
  roleBindingDoctor,
  clusterRoleBindingDoctor,
  validatingWebhookDoctor,
  mutatingWebhookDoctor,
  validatingPolicyDoctor,
  policyBindingDoctor,
  networkPolicyDoctor,
]
