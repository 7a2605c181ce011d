import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Node } from "../../api/core/v1/node/node.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import type { ConfigMap } from "../../api/core/v1/configmap.ts"
import type { Secret } from "../../api/core/v1/secret/secret.ts"
import type { Namespace } from "../../api/core/v1/namespace.ts"
import type { Event } from "../../api/core/v1/event/event.ts"
import type { PersistentVolumeClaim } from "../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { PersistentVolume } from "../../api/core/v1/persistentvolume/persistentvolume.ts"
import type { ResourceQuota } from "../../api/core/v1/resourcequota/resourcequota.ts"
import type { LimitRange } from "../../api/core/v1/limitrange/limitrange.ts"
import type { ServiceAccount } from "../../api/core/v1/serviceaccount.ts"
import type { ReplicationController } from "../../api/core/v1/replicationcontroller.ts"
import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import type { StatefulSet } from "../../api/apps/v1/statefulset.ts"
import type { DaemonSet } from "../../api/apps/v1/daemonset.ts"
import type { Job } from "../../api/batch/v1/job.ts"
import type { CronJob } from "../../api/batch/v1/cronjob.ts"
import type { HorizontalPodAutoscaler } from "../../api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { PodDisruptionBudget } from "../../api/policy/v1/poddisruptionbudget.ts"
import type { Ingress } from "../../api/networking/v1/ingress.ts"
import type { IngressClass } from "../../api/networking/v1/ingressclass.ts"
import type { NetworkPolicy } from "../../api/networking/v1/networkpolicy.ts"
import type { EndpointSlice } from "../../api/discovery/v1/endpointslice.ts"
import type { StorageClass } from "../../api/storage/v1/storageclass.ts"
import type { PodGroup } from "../../api/scheduling/v1alpha2/podgroup.ts"
import type { PriorityClass } from "../../api/scheduling/v1/priorityclass.ts"
import type { APIService } from "../../api/apiregistration/v1/apiservice.ts"
import type { CustomResourceDefinition } from "../../api/apiextensions/v1/customresourcedefinition.ts"
import type { CertificateSigningRequest } from "../../api/certificates/v1/certificatesigningrequest.ts"
import type { Role } from "../../api/rbac/v1/role.ts"
import type { RoleBinding } from "../../api/rbac/v1/rolebinding.ts"
import type { ClusterRole } from "../../api/rbac/v1/clusterrole.ts"
import type { ClusterRoleBinding } from "../../api/rbac/v1/clusterrolebinding.ts"
import type { MutatingWebhookConfiguration } from "../../api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
import type { ValidatingAdmissionPolicy } from "../../api/admissionregistration/v1/validatingadmissionpolicy.ts"
import type { ValidatingAdmissionPolicyBinding } from "../../api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
import type { ValidatingWebhookConfiguration } from "../../api/admissionregistration/v1/validatingwebhookconfiguration.ts"
import type { DeviceClass } from "../../api/resource/v1/deviceclass.ts"
import type { ResourceClaim } from "../../api/resource/v1/resourceclaim.ts"
import type { ResourceSlice } from "../../api/resource/v1/resourceslice.ts"
import type { ResourceClaimTemplate } from "../../api/resource/v1/resourceclaimtemplate.ts"
import type { CSINode } from "../../api/storage/v1/csinode.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import type { ObjectRef } from "../answer.ts"

/** A kind as it is read: by its path. `T` is the type of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  /** Has no value: it holds the type. */
  readonly of?: T
}

const kind = <T extends KubeObject>(
  apiVersion: string,
  name: string,
  plural: string,
  namespaced: boolean,
  shortNames: readonly string[] = [],
): Kind<T> => ({ apiVersion, kind: name, plural, namespaced, shortNames })

export const PODS = kind<Pod>("v1", "Pod", "pods", true, ["po"])
export const NODES = kind<Node>("v1", "Node", "nodes", false, ["no"])
export const SERVICES = kind<Service>("v1", "Service", "services", true, ["svc"])
export const CONFIG_MAPS = kind<ConfigMap>("v1", "ConfigMap", "configmaps", true, ["cm"])
export const SECRETS = kind<Secret>("v1", "Secret", "secrets", true)
export const NAMESPACES = kind<Namespace>("v1", "Namespace", "namespaces", false, ["ns"])
export const EVENTS = kind<Event>("v1", "Event", "events", true, ["ev"])
export const CLAIMS = kind<PersistentVolumeClaim>("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true, [
  "pvc",
])
export const VOLUMES = kind<PersistentVolume>("v1", "PersistentVolume", "persistentvolumes", false, ["pv"])
export const QUOTAS = kind<ResourceQuota>("v1", "ResourceQuota", "resourcequotas", true, ["quota"])
export const LIMIT_RANGES = kind<LimitRange>("v1", "LimitRange", "limitranges", true, ["limits"])
export const ACCOUNTS = kind<ServiceAccount>("v1", "ServiceAccount", "serviceaccounts", true, ["sa"])
export const CONTROLLERS = kind<ReplicationController>("v1", "ReplicationController", "replicationcontrollers", true, [
  "rc",
])
export const DEPLOYMENTS = kind<Deployment>("apps/v1", "Deployment", "deployments", true, ["deploy"])
export const REPLICA_SETS = kind<ReplicaSet>("apps/v1", "ReplicaSet", "replicasets", true, ["rs"])
export const STATEFUL_SETS = kind<StatefulSet>("apps/v1", "StatefulSet", "statefulsets", true, ["sts"])
export const DAEMON_SETS = kind<DaemonSet>("apps/v1", "DaemonSet", "daemonsets", true, ["ds"])
export const JOBS = kind<Job>("batch/v1", "Job", "jobs", true)
export const CRON_JOBS = kind<CronJob>("batch/v1", "CronJob", "cronjobs", true, ["cj"])
export const AUTOSCALERS = kind<HorizontalPodAutoscaler>(
  "autoscaling/v2",
  "HorizontalPodAutoscaler",
  "horizontalpodautoscalers",
  true,
  ["hpa"],
)
export const BUDGETS = kind<PodDisruptionBudget>("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true, [
  "pdb",
])
export const INGRESSES = kind<Ingress>("networking.k8s.io/v1", "Ingress", "ingresses", true, ["ing"])
export const INGRESS_CLASSES = kind<IngressClass>("networking.k8s.io/v1", "IngressClass", "ingressclasses", false)
export const POLICIES = kind<NetworkPolicy>("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true, [
  "netpol",
])
export const SLICES = kind<EndpointSlice>("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true)
export const STORAGE_CLASSES = kind<StorageClass>("storage.k8s.io/v1", "StorageClass", "storageclasses", false, ["sc"])
export const PRIORITY_CLASSES = kind<PriorityClass>("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false, [
  "pc",
])
/** Served only where an alpha version is turned on, so a user's word for it is found by asking the server. */
export const POD_GROUPS = kind<PodGroup>("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups", true)
export const API_SERVICES = kind<APIService>("apiregistration.k8s.io/v1", "APIService", "apiservices", false)
export const DEFINITIONS = kind<CustomResourceDefinition>(
  "apiextensions.k8s.io/v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  false,
  ["crd", "crds"],
)
export const SIGNING_REQUESTS = kind<CertificateSigningRequest>(
  "certificates.k8s.io/v1",
  "CertificateSigningRequest",
  "certificatesigningrequests",
  false,
  ["csr"],
)
export const ROLES = kind<Role>("rbac.authorization.k8s.io/v1", "Role", "roles", true)
export const ROLE_BINDINGS = kind<RoleBinding>("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true)
export const CLUSTER_ROLES = kind<ClusterRole>("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false)
export const CLUSTER_ROLE_BINDINGS = kind<ClusterRoleBinding>(
  "rbac.authorization.k8s.io/v1",
  "ClusterRoleBinding",
  "clusterrolebindings",
  false,
)
export const VALIDATING_POLICIES = kind<ValidatingAdmissionPolicy>(
  "admissionregistration.k8s.io/v1",
  "ValidatingAdmissionPolicy",
  "validatingadmissionpolicies",
  false,
)
export const POLICY_BINDINGS = kind<ValidatingAdmissionPolicyBinding>(
  "admissionregistration.k8s.io/v1",
  "ValidatingAdmissionPolicyBinding",
  "validatingadmissionpolicybindings",
  false,
)
export const VALIDATING_WEBHOOKS = kind<ValidatingWebhookConfiguration>(
  "admissionregistration.k8s.io/v1",
  "ValidatingWebhookConfiguration",
  "validatingwebhookconfigurations",
  false,
)
export const MUTATING_WEBHOOKS = kind<MutatingWebhookConfiguration>(
  "admissionregistration.k8s.io/v1",
  "MutatingWebhookConfiguration",
  "mutatingwebhookconfigurations",
  false,
)
export const RESOURCE_CLAIMS = kind<ResourceClaim>("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", true)
export const RESOURCE_CLAIM_TEMPLATES = kind<ResourceClaimTemplate>(
  "resource.k8s.io/v1",
  "ResourceClaimTemplate",
  "resourceclaimtemplates",
  true,
)
export const DEVICE_CLASSES = kind<DeviceClass>("resource.k8s.io/v1", "DeviceClass", "deviceclasses", false)
export const RESOURCE_SLICES = kind<ResourceSlice>("resource.k8s.io/v1", "ResourceSlice", "resourceslices", false)
export const CSI_NODES = kind<CSINode>("storage.k8s.io/v1", "CSINode", "csinodes", false)

/** The kinds that are known without asking the server. */
export const KINDS: readonly Kind[] = [
  PODS,
  NODES,
  SERVICES,
  CONFIG_MAPS,
  SECRETS,
  NAMESPACES,
  EVENTS,
  CLAIMS,
  VOLUMES,
  QUOTAS,
  LIMIT_RANGES,
  ACCOUNTS,
  CONTROLLERS,
  DEPLOYMENTS,
  REPLICA_SETS,
  STATEFUL_SETS,
  DAEMON_SETS,
  JOBS,
  CRON_JOBS,
  AUTOSCALERS,
  BUDGETS,
  INGRESSES,
  INGRESS_CLASSES,
  POLICIES,
  SLICES,
  STORAGE_CLASSES,
  PRIORITY_CLASSES,
  API_SERVICES,
  DEFINITIONS,
  SIGNING_REQUESTS,
  ROLES,
  ROLE_BINDINGS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  VALIDATING_POLICIES,
  POLICY_BINDINGS,
  VALIDATING_WEBHOOKS,
  MUTATING_WEBHOOKS,
  RESOURCE_CLAIMS,
  RESOURCE_CLAIM_TEMPLATES,
  DEVICE_CLASSES,
  RESOURCE_SLICES,
  CSI_NODES,
]

/** Returns the path of a kind's objects, of one namespace or of all, or of one object. */
export function pathOf({ apiVersion, plural, namespaced }: Kind, namespace?: string, name?: string): string {
  const parts = [apiVersion.includes("/") ? "/apis" : "/api", apiVersion]
  if (namespaced && namespace !== undefined) parts.push("namespaces", encodeURIComponent(namespace))
  parts.push(plural)
  if (name !== undefined) parts.push(encodeURIComponent(name))
  return parts.join("/")
}

/** Whether a user means the kind by a word: `po`, `pods`, `Pod`, `deployments.apps`. */
export function isMeant({ apiVersion, kind: name, plural, shortNames }: Kind, word: string): boolean {
  const [first = "", ...group] = word.toLowerCase().split(".")
  const ofGroup = group.length === 0 || group.join(".") === (apiVersion.includes("/") ? apiVersion.split("/")[0] : "")
  return ofGroup && [name.toLowerCase(), plural, ...shortNames].includes(first)
}

/** Returns how an object of a kind is referred to. */
export const refTo = (kind: Kind, namespace: string | undefined, name: string): ObjectRef => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  name,
  ...(kind.namespaced && namespace !== undefined ? { namespace } : {}),
})

/** Returns how an object that was read is referred to. */
export const refOf = ({ apiVersion, kind, metadata: { name = "", namespace } }: KubeObject): ObjectRef => ({
  apiVersion,
  kind,
  name,
  ...(namespace === undefined ? {} : { namespace }),
})
