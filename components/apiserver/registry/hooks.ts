import { MutatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import { MutatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
import { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { ValidatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
import type { PodCertificateRequest } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { Features } from "../../../pkg/component/features.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { ComponentStatus } from "../../../pkg/api/core/v1/componentstatus.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { mutableNodeAffinity } from "./core/persistentvolume.ts"
import { bind } from "./core/pod/binding.ts"
import { Binding } from "../../../pkg/api/core/v1/binding.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { Role } from "../../../pkg/api/rbac/v1/role.ts"
import { RoleBinding } from "../../../pkg/api/rbac/v1/rolebinding.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceClaimTemplate } from "../../../pkg/api/resource/v1/resourceclaimtemplate.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Authorizer } from "../authorization/authorizer.ts"
import { bindingHooks, roleHooks } from "./rbac/escalation.ts"
import { policyBindingHooks, policyHooks } from "./admissionregistration/policy-params.ts"
import type { RbacAuthorizer } from "../authorization/rbac.ts"
import { podCertificateRequestHooks } from "./certificates/podcertificaterequest.ts"
import { definitionHooks } from "./apiextensions/definition.ts"
import type { Objects } from "../cacher/objects.ts"
import type { Registrar } from "../apiextensions/registrar.ts"
import type { KindHooks } from "./context.ts"
import { namespaceHooks } from "./core/namespace/namespace.ts"
import { podHooks } from "./core/pod/pod.ts"
import { serviceHooks, type ServiceHookOptions } from "./core/service/service.ts"
import { serviceAccountHooks, type TokenOptions } from "./core/serviceaccount/token.ts"
import { scalingToZero } from "./autoscaling/horizontalpodautoscaler.ts"
import { claimHooks, claimTemplateHooks } from "./resource/claims.ts"
import { withoutDisruptionMode } from "./scheduling/podgroup.ts"
import { accessReviews } from "./reviews/access.ts"
import { identityReviews, type ReviewToken } from "./reviews/identity.ts"

export interface HookOptions {
  readonly storage: Storage
  readonly objects: Objects
  readonly scheme: Scheme
  readonly clock: Clock
  readonly random: Random
  readonly authorizer: Authorizer
  readonly rbac: RbacAuthorizer
  readonly nodePorts: ServiceHookOptions["nodePorts"]
  readonly serviceFamilies: ServiceHookOptions["serviceFamilies"]
  readonly tokens: TokenOptions
  readonly reviewToken: ReviewToken
  /** Whether webhooks authorize too. */
  readonly hasWebhooks?: () => boolean
  /** The health of the components, as the deprecated ComponentStatus objects. */
  readonly componentStatuses: () => readonly KubeObject[]
  /** Serves custom resources. */
  readonly registrar: () => Registrar
  readonly features?: Features
}

/** Named only: the declarations are loaded where the kinds are served. */
const POD_CERTIFICATE_REQUESTS = { group: "certificates.k8s.io", plural: "podcertificaterequests" }
const POD_GROUPS = { group: "scheduling.k8s.io", plural: "podgroups" }

/** Collects the hooks of all kinds that have any; returns their lookup by resource. */
export function createHooks({
  storage,
  objects,
  scheme,
  clock,
  random,
  authorizer,
  rbac,
  nodePorts,
  serviceFamilies,
  tokens,
  reviewToken,
  hasWebhooks = () => false,
  componentStatuses,
  registrar,
  features,
}: HookOptions): (resource: Resource) => KindHooks | undefined {
  /** By group and plural; looked up for every request. */
  const hooks = new Map<string, Map<string, KindHooks>>()
  const add = <T extends KubeObject>({ group, plural }: Resource<T>, own: KindHooks<T>) => {
    const ofGroup = hooks.get(group) ?? new Map<string, KindHooks>()
    hooks.set(group, ofGroup.set(plural, own))
  }
  add(Pod, podHooks)
  // POST bindings is the older form of POST pods/<name>/binding: the name of the pod is in the body.
  add(Binding, {
    create: (context, request) => bind(context, { ...request, resource: Pod, subresource: "binding" }, request),
  })
  add(Namespace, namespaceHooks)
  add(CustomResourceDefinition, definitionHooks(clock, registrar))
  add(Service, serviceHooks({ storage, clock, random, nodePorts, serviceFamilies }))
  add(ServiceAccount, serviceAccountHooks(tokens))
  add(ResourceClaim, claimHooks(storage))
  add(ResourceClaimTemplate, claimTemplateHooks(storage))
  for (const resource of [Role, ClusterRole]) add(resource, roleHooks(rbac))
  for (const resource of [RoleBinding, ClusterRoleBinding]) add(resource, bindingHooks(rbac))
  add(ValidatingAdmissionPolicy, policyHooks(scheme))
  add(MutatingAdmissionPolicy, policyHooks(scheme))
  const reading = { scheme, objects }
  add(ValidatingAdmissionPolicyBinding, policyBindingHooks(ValidatingAdmissionPolicy as Resource, reading))
  add(MutatingAdmissionPolicyBinding, policyBindingHooks(MutatingAdmissionPolicy as Resource, reading))
  for (const [resource, own] of [
    ...accessReviews(authorizer, (user, namespace) => rbac.rulesOf(user, namespace), hasWebhooks),
    ...identityReviews(reviewToken, clock),
  ])
    add(resource, own)
  if (features?.HPAScaleToZero === true) add(HorizontalPodAutoscaler as Resource, scalingToZero as KindHooks)
  if (features?.MutablePVNodeAffinity === true) add(PersistentVolume, mutableNodeAffinity)
  if (features?.PodCertificateRequest === true)
    add(POD_CERTIFICATE_REQUESTS as Resource<PodCertificateRequest>, podCertificateRequestHooks(clock))
  if (features?.WorkloadAwarePreemption === false) add(POD_GROUPS as Resource<PodGroup>, withoutDisruptionMode)
  add(ComponentStatus, { listVirtual: componentStatuses })
  return ({ group, plural }) => hooks.get(group)?.get(plural)
}
