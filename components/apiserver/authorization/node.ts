/**
 * Authorizes kubelets: a kubelet has access to its own node, lease, CSINode and VolumeAttachments, to the pods on its
 * node, and to the Secrets, ConfigMaps, volumes and tokens that these pods use. For all other kinds the rules of all
 * nodes apply. Source: plugin/pkg/auth/authorizer/node/node_authorizer.go, with AuthorizeNodeWithSelectors. Differs
 * from upstream: instead of a graph, only the pods of each node are indexed; what they use is read from the pods at
 * each request.
 */
import type { PodCertificateRequest } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { parseFieldSelector } from "../../../pkg/apimachinery/selectors/fieldselector.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import type { Authorizer } from "./authorizer.ts"
import { nodeRules } from "./bootstrap-cluster-roles.ts"
import { NodePods } from "./node-pods.ts"
import {
  usesClaim,
  usesConfigMap,
  usesResourceClaim,
  usesSecret,
  volumeUsesSecret,
} from "../../../pkg/api/core/v1/pod/references.ts"
import { RulesByKind } from "./rules-by-kind.ts"
import { allowsName } from "./rules.ts"

/** Where the requests are stored. Their declaration is loaded only where they are served. */
const POD_CERTIFICATE_REQUESTS = {
  group: "certificates.k8s.io",
  version: "v1beta1",
  kind: "PodCertificateRequest",
  plural: "podcertificaterequests",
  scope: "Namespaced",
  prefix: "/registry/certificates.k8s.io/podcertificaterequests/",
} as Resource<PodCertificateRequest>

const USER_PREFIX = "system:node:"
const LEASE_NAMESPACE = "kube-node-lease"
const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" }
const refused = (reason: string): AuthorizationDecision => ({ allowed: false, reason })
const NO_OPINION = refused("")

/**
 * Returns the node of a kubelet's user; undefined for other users, empty for a node that does not name itself. Source:
 * pkg/auth/nodeidentifier.
 */
export const nodeOf = ({ name, groups }: UserInfo): string | undefined =>
  name.startsWith(USER_PREFIX) && groups.includes("system:nodes") ? name.slice(USER_PREFIX.length) : undefined

const READING: readonly string[] = ["get", "list", "watch"]
const WRITING_OWN: readonly string[] = ["get", "create", "update", "patch", "delete"]

export class NodeAuthorizer implements Authorizer {
  readonly #objects: Objects
  readonly #pods: NodePods
  readonly #rules: RulesByKind<{ readonly rule: PolicyRule }>

  /** Whether the kind PodCertificateRequest is on. */
  readonly #allowsCertificates: boolean

  /** `rules` are those of all nodes. */
  constructor({
    storage,
    objects,
    rules = nodeRules(),
  }: {
    readonly storage: Storage
    readonly objects: Objects
    readonly rules?: readonly PolicyRule[]
  }) {
    this.#allowsCertificates = rules.some(({ resources }) => resources?.includes("podcertificaterequests"))
    this.#rules = new RulesByKind(rules.map((rule) => ({ rule })))
    this.#objects = objects
    this.#pods = new NodePods(storage)
  }

  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision {
    const node = nodeOf(request.user)
    if (node === undefined) return NO_OPINION
    if (node === "") return refused(`unknown node for user ${JSON.stringify(request.user.name)}`)
    if ("path" in request) return NO_OPINION
    const { group, resource, subresource, namespace, name = "" } = request
    switch (group === "" ? resource : `${resource}.${group}`) {
      case "secrets":
        return this.#read(request, node, () => this.#usesSecret(node, namespace, name))
      case "configmaps":
        return this.#read(request, node, () => this.#some(node, namespace, (pod) => usesConfigMap(pod, name)))
      case "persistentvolumeclaims":
        return subresource === "status"
          ? this.#updateStatus(request, node, () => this.#some(node, namespace, (pod) => usesClaim(pod, name)))
          : this.#get(request, node, () => this.#some(node, namespace, (pod) => usesClaim(pod, name)))
      case "persistentvolumes":
        return this.#get(request, node, () => this.#usesVolume(node, this.#objects.get(PersistentVolume, { name })))
      case "resourceclaims.resource.k8s.io":
        return this.#get(request, node, () => this.#some(node, namespace, (pod) => usesResourceClaim(pod, name)))
      case "volumeattachments.storage.k8s.io":
        return this.#get(request, node, () => this.#objects.get(VolumeAttachment, { name })?.spec.nodeName === node)
      case "serviceaccounts":
        return this.#serviceAccount(request, node)
      case "leases.coordination.k8s.io":
        return lease(request, node)
      case "csinodes.storage.k8s.io":
        return csiNode(request, node)
      case "resourceslices.resource.k8s.io":
        return this.#resourceSlice(request, node)
      case "podcertificaterequests.certificates.k8s.io":
        return this.#allowsCertificates ? this.#certificateRequest(request, node) : NO_OPINION
      case "nodes":
        return ofNode(request, node)
      case "pods":
        return this.#pod(request, node)
      default:
        return this.#rules.for(request).some(({ rule }) => allowsName(rule, request.name)) ? ALLOWED : NO_OPINION
    }
  }

  /** Allows get, list and watch of a single namespaced object that a pod on the node uses. */
  #read(request: ResourceAttributes, node: string, isUsed: () => boolean): AuthorizationDecision {
    if (!READING.includes(request.verb)) return refused("can only read resources of this type")
    if (hasSubresource(request)) return refused("cannot read subresource")
    if ((request.namespace ?? "") === "") return refused("can only read namespaced object of this type")
    return related(request, node, isUsed)
  }

  #get(request: ResourceAttributes, node: string, isUsed: () => boolean): AuthorizationDecision {
    if (request.verb !== "get") return refused("can only get individual resources of this type")
    if (hasSubresource(request)) return refused("cannot get subresource")
    return related(request, node, isUsed)
  }

  #updateStatus(request: ResourceAttributes, node: string, isUsed: () => boolean): AuthorizationDecision {
    if (request.verb !== "update" && request.verb !== "patch") return refused("can only get/update/patch this type")
    return related(request, node, isUsed)
  }

  #serviceAccount(request: ResourceAttributes, node: string): AuthorizationDecision {
    const { verb, subresource, namespace, name = "" } = request
    const isUsed = () => this.#some(node, namespace, (pod) => pod.spec.serviceAccountName === name)
    if (verb === "get" && !hasSubresource(request)) return this.#read(request, node, isUsed)
    if (verb !== "create" || name === "") return refused("can only create tokens for individual service accounts")
    if (subresource !== "token") return refused("can only create token subresource of serviceaccount")
    return related(request, node, isUsed)
  }

  /** NodeRestriction checks the written pod, because it knows the object. */
  #pod(request: ResourceAttributes, node: string): AuthorizationDecision {
    const { verb, subresource = "", namespace, name = "" } = request
    const isHere = () => this.#objects.get(Pod, { namespace, name })?.spec.nodeName === node
    switch (subresource) {
      case "":
        if (verb === "get") return this.#get(request, node, isHere)
        if (verb === "list" || verb === "watch") {
          if (selects(request, "spec.nodeName", node)) return ALLOWED
          return name === ""
            ? refused("can only list/watch pods with spec.nodeName field selector")
            : related(request, node, isHere)
        }
        return verb === "create" || verb === "delete" ? ALLOWED : NO_OPINION
      case "status":
        return verb === "update" || verb === "patch" ? ALLOWED : NO_OPINION
      case "eviction":
        return verb === "create" ? ALLOWED : NO_OPINION
      default:
        return NO_OPINION
    }
  }

  /** NodeRestriction checks the node of a created slice. */
  #resourceSlice(request: ResourceAttributes, node: string): AuthorizationDecision {
    const { verb, name = "" } = request
    if (hasSubresource(request)) return refused("cannot authorize ResourceSlice subresources")
    switch (verb) {
      case "create":
        return ALLOWED
      case "get":
      case "update":
      case "patch":
      case "delete":
        return related(request, node, () => this.#objects.get(ResourceSlice, { name })?.spec.nodeName === node)
      case "list":
      case "watch":
      case "deletecollection":
        return selects(request, "spec.nodeName", node)
          ? ALLOWED
          : refused("can only list/watch/deletecollection resourceslices with nodeName field selector")
      default:
        return refused(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, " +
            "deletecollection",
        )
    }
  }

  /** NodeRestriction checks for which pod a request is. */
  #certificateRequest(request: ResourceAttributes, node: string): AuthorizationDecision {
    const { verb, namespace, name = "" } = request
    if (hasSubresource(request)) return refused("nodes may not access the status subresource of PodCertificateRequests")
    switch (verb) {
      case "create":
        return ALLOWED
      case "get":
        return related(
          request,
          node,
          () => this.#objects.get(POD_CERTIFICATE_REQUESTS, { namespace, name })?.spec.nodeName === node,
        )
      case "list":
      case "watch":
        return selects(request, "spec.nodeName", node)
          ? ALLOWED
          : refused("can only list/watch podcertificaterequests with nodeName field selector")
      default:
        return refused(`nodes may not ${verb} podcertificaterequests`)
    }
  }

  #some(node: string, namespace: string | undefined, uses: (pod: Pod) => boolean): boolean {
    return this.#pods.someUses(node, namespace, uses)
  }

  /** The volume decides to which claim it belongs: a user could write a claim that names a volume of another claim. */
  #usesVolume(node: string, volume: PersistentVolume | undefined): boolean {
    const { name = "", namespace } = volume?.spec.claimRef ?? {}
    return name !== "" && this.#some(node, namespace, (pod) => usesClaim(pod, name))
  }

  #usesSecret(node: string, namespace: string | undefined, name: string): boolean {
    if (this.#some(node, namespace, (pod) => usesSecret(pod, name))) return true
    return this.#objects
      .list(PersistentVolume)
      .some((volume) => volumeUsesSecret(volume, namespace, name) && this.#usesVolume(node, volume))
  }
}

const hasSubresource = ({ subresource = "" }: ResourceAttributes): boolean => subresource !== ""

function related({ name = "" }: ResourceAttributes, node: string, isUsed: () => boolean): AuthorizationDecision {
  if (name === "") return refused("No Object name found")
  return isUsed() ? ALLOWED : refused(`no relationship found between node '${node}' and this object`)
}

/** NodeRestriction checks the name of a created object. */
function lease({ verb, namespace, name }: ResourceAttributes, node: string): AuthorizationDecision {
  if (!WRITING_OWN.includes(verb)) return refused("can only get, create, update, patch, or delete a node lease")
  if (namespace !== LEASE_NAMESPACE)
    return refused(`can only access leases in the ${JSON.stringify(LEASE_NAMESPACE)} system namespace`)
  if (verb !== "create" && name !== node)
    return refused("can only access node lease with the same name as the requesting node")
  return ALLOWED
}

function csiNode(request: ResourceAttributes, node: string): AuthorizationDecision {
  const { verb, name } = request
  if (!WRITING_OWN.includes(verb)) return refused("can only get, create, update, patch, or delete a CSINode")
  if (hasSubresource(request)) return refused("cannot authorize CSINode subresources")
  if (verb !== "create" && name !== node)
    return refused("can only access CSINode with the same name as the requesting node")
  return ALLOWED
}

/** A kubelet reads its Node before the Node exists, so only the name counts. NodeRestriction checks writes. */
function ofNode({ verb, subresource = "", name = "" }: ResourceAttributes, node: string): AuthorizationDecision {
  const isUpdate = verb === "update" || verb === "patch"
  if (subresource === "status") return isUpdate ? ALLOWED : NO_OPINION
  if (subresource !== "") return NO_OPINION
  if (isUpdate || verb === "create") return ALLOWED
  if (!READING.includes(verb)) return NO_OPINION
  if (name === node) return ALLOWED
  return refused(
    name === ""
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  )
}

/**
 * Whether the request selects only objects with a value in a field. Called for nodes only, so that other requests need
 * not parse their selectors.
 */
function selects({ fieldSelector = "" }: ResourceAttributes, path: string, value: string): boolean {
  if (!fieldSelector.includes(path)) return false
  try {
    return parseFieldSelector(fieldSelector).some(
      (one) => one.path === path && one.operator === "=" && one.value === value,
    )
  } catch {
    return false // the registry refuses the selector with a reason
  }
}
