import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { decodeMessage, typed } from "../../apimachinery/decoding/decode.ts"
import { builtinResource } from "../patch/builtin-meta.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"

const RBAC = "ClusterRole ClusterRoleBinding Role RoleBinding"
const DEVICES = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
const FLOWS = "FlowSchema PriorityLevelConfiguration"
const VALIDATING = "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
const POLICIES = `MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ${VALIDATING}`
const WEBHOOKS = "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
const REVIEWS = "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
const STORAGE = "CSIStorageCapacity VolumeAttachment VolumeAttributesClass"
const WORKLOADS = "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"

/**
 * The kinds that kubectl has Go types for, also in versions that no server serves any more. Custom resources are not
 * among them, nor are CustomResourceDefinition and APIService. Source: client-go kubernetes/scheme/register.go and
 * kubectl pkg/scheme/install.go of 1.36.
 */
const KINDS: Readonly<Record<string, string>> = {
  v1:
    "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node NodeProxyOptions PersistentVolume " +
    "PersistentVolumeClaim Pod PodAttachOptions PodExecOptions PodLogOptions PodPortForwardOptions PodProxyOptions " +
    "PodStatusResult PodTemplate RangeAllocation ReplicationController ResourceQuota Secret SerializedReference " +
    "Service ServiceAccount ServiceProxyOptions List Status APIVersions APIGroup APIGroupList APIResourceList",
  "admission.k8s.io/v1": "AdmissionReview",
  "admission.k8s.io/v1beta1": "AdmissionReview",
  "admissionregistration.k8s.io/v1": `${POLICIES} ${WEBHOOKS}`,
  "admissionregistration.k8s.io/v1alpha1": POLICIES,
  "admissionregistration.k8s.io/v1beta1": `${POLICIES} ${WEBHOOKS}`,
  "apps/v1": WORKLOADS,
  "apps/v1beta1": "ControllerRevision Deployment DeploymentRollback Scale StatefulSet",
  "apps/v1beta2": `${WORKLOADS} Scale`,
  "authentication.k8s.io/v1": "SelfSubjectReview TokenRequest TokenReview",
  "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
  "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
  "authorization.k8s.io/v1": REVIEWS,
  "authorization.k8s.io/v1beta1": REVIEWS,
  "autoscaling/v1": "HorizontalPodAutoscaler Scale",
  "autoscaling/v2": "HorizontalPodAutoscaler",
  "batch/v1": "CronJob Job",
  "batch/v1beta1": "CronJob",
  "certificates.k8s.io/v1": "CertificateSigningRequest",
  "certificates.k8s.io/v1alpha1": "ClusterTrustBundle",
  "certificates.k8s.io/v1beta1": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
  "coordination.k8s.io/v1": "Lease",
  "coordination.k8s.io/v1alpha2": "LeaseCandidate",
  "coordination.k8s.io/v1beta1": "Lease LeaseCandidate",
  "discovery.k8s.io/v1": "EndpointSlice",
  "discovery.k8s.io/v1beta1": "EndpointSlice",
  "events.k8s.io/v1": "Event",
  "events.k8s.io/v1beta1": "Event",
  "extensions/v1beta1": "DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy ReplicaSet Scale",
  "flowcontrol.apiserver.k8s.io/v1": FLOWS,
  "flowcontrol.apiserver.k8s.io/v1beta1": FLOWS,
  "flowcontrol.apiserver.k8s.io/v1beta2": FLOWS,
  "flowcontrol.apiserver.k8s.io/v1beta3": FLOWS,
  "imagepolicy.k8s.io/v1alpha1": "ImageReview",
  "internal.apiserver.k8s.io/v1alpha1": "StorageVersion",
  "meta.k8s.io/v1": "Table TableOptions PartialObjectMetadata",
  "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
  "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
  "node.k8s.io/v1": "RuntimeClass",
  "node.k8s.io/v1alpha1": "RuntimeClass",
  "node.k8s.io/v1beta1": "RuntimeClass",
  "policy/v1": "Eviction PodDisruptionBudget",
  "policy/v1beta1": "Eviction PodDisruptionBudget",
  "rbac.authorization.k8s.io/v1": RBAC,
  "rbac.authorization.k8s.io/v1alpha1": RBAC,
  "rbac.authorization.k8s.io/v1beta1": RBAC,
  "resource.k8s.io/v1": DEVICES,
  "resource.k8s.io/v1alpha3": "DeviceTaintRule ResourcePoolStatusRequest",
  "resource.k8s.io/v1beta1": DEVICES,
  "resource.k8s.io/v1beta2": `${DEVICES} DeviceTaintRule`,
  "scheduling.k8s.io/v1": "PriorityClass",
  "scheduling.k8s.io/v1alpha2": "PodGroup Workload",
  "scheduling.k8s.io/v1beta1": "PriorityClass",
  "storage.k8s.io/v1": `CSIDriver CSINode StorageClass ${STORAGE}`,
  "storage.k8s.io/v1alpha1": STORAGE,
  "storage.k8s.io/v1beta1": `CSIDriver CSINode StorageClass ${STORAGE}`,
  "storagemigration.k8s.io/v1beta1": "StorageVersionMigration",
}

/** The kinds that every version has. Source: apimachinery pkg/apis/meta/v1/register.go (AddToGroupVersion). */
const IN_EVERY_VERSION =
  "WatchEvent ListOptions GetOptions DeleteOptions CreateOptions UpdateOptions PatchOptions".split(" ")

/** Returns whether kubectl has a Go type for a kind; a list of objects has one if the objects have. */
export function isRegistered(apiVersion: string, kind: string): boolean {
  const kinds = KINDS[apiVersion]?.split(" ")
  if (kinds === undefined) return false
  return (
    kinds.includes(kind) ||
    (kind.endsWith("List") && kinds.includes(kind.slice(0, -"List".length))) ||
    IN_EVERY_VERSION.includes(kind)
  )
}

/** @throws Error for an object of a kind that kubectl has no Go type for, in apimachinery's words */
export function checkRegistered({ apiVersion = "", kind = "" }: Unstructured, scheme: string): void {
  if (!isRegistered(apiVersion, kind))
    throw new Error(
      `no kind ${goQuoted(kind)} is registered for version ${goQuoted(apiVersion)} in scheme ${goQuoted(scheme)}`,
    )
}

/**
 * Checks that an object can be read into the Go type of its kind.
 * @throws Error in the words of Go's decoder. Of versions that no server serves any more, the fields are not checked.
 */
export async function checkTyped(object: Unstructured, scheme: string): Promise<void> {
  const { apiVersion = "", kind = "" } = object
  if (apiVersion === "") throw new Error(`Object 'apiVersion' is missing in '${JSON.stringify(object)}'`)
  checkRegistered(object, scheme)
  const resource = await builtinResource({ ...parseGroupVersion(apiVersion), kind })
  if (resource !== undefined) decodeMessage(typed(resource.schema), object)
}
