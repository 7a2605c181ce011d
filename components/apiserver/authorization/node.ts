/**
 * What a kubelet may do: what every node may, and of secrets, config maps, volumes and tokens only those that pods on it use.
 * Source: plugin/pkg/auth/authorizer/node/node_authorizer.go. Differs from upstream: no graph is kept but which pods are on which node; what they use is looked
 * up in the pods themselves when a node asks.
 */
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import { storagePrefix } from "../cacher/view.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes, UserInfo } from "../request.ts"
import type { Authorizer } from "./authorizer.ts"
import { nodeRules } from "./bootstrap-cluster-roles.ts"
import { RulesByKind } from "./rules-by-kind.ts"
import { allowsName } from "./rules.ts"

const USER_PREFIX = "system:node:"
const NO_OPINION: AuthorizationDecision = { allowed: false, reason: "" }
const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" }

/** The node a user is the kubelet of, or nothing. */
export const nodeOf = ({ name, groups }: UserInfo): string | undefined =>
  name.startsWith(USER_PREFIX) && groups.includes("system:nodes") ? name.slice(USER_PREFIX.length) : undefined

export class NodeAuthorizer implements Authorizer {
  readonly #objects: Objects
  /** By node and by their keys. */
  readonly #pods = new Map<string, Map<string, Pod>>()
  readonly #rules = new RulesByKind(nodeRules().map((rule) => ({ rule })))

  constructor({ storage, objects }: { readonly storage: Storage; readonly objects: Objects }) {
    this.#objects = objects
    const prefix = storagePrefix(Pod, undefined)
    for (const stored of storage.list(prefix)) this.#place(stored.key, stored.object as Pod)
    storage.subscribe((events) => {
      for (const { key, type, stored } of events) {
        if (!key.startsWith(prefix)) continue
        const pod = stored.object as Pod
        if (type === "delete") this.#pods.get(pod.spec.nodeName ?? "")?.delete(key)
        else this.#place(key, pod)
      }
    })
  }

  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision {
    if ("path" in request) return NO_OPINION
    const node = nodeOf(request.user)
    if (node === undefined || !this.#rules.for(request).some(({ rule }) => allowsName(rule, request.name)))
      return NO_OPINION
    const { group, resource, subresource, verb, namespace, name } = request
    if (group !== "") return ALLOWED
    const only = (used: boolean): AuthorizationDecision =>
      used ? ALLOWED : { allowed: false, reason: `no relationship found between node '${node}' and this object` }
    switch (subresource === undefined ? resource : `${resource}/${subresource}`) {
      case "secrets":
        return only(name !== undefined && this.#some(node, namespace, (pod) => usesSecret(pod, name)))
      case "configmaps":
        return only(name !== undefined && this.#some(node, namespace, (pod) => usesConfigMap(pod, name)))
      case "persistentvolumeclaims":
      case "persistentvolumeclaims/status":
        return only(name !== undefined && this.#some(node, namespace, (pod) => usesClaim(pod, name)))
      case "persistentvolumes":
        return only(
          this.#someOn(node, (pod) =>
            claimsOf(pod).some(
              (claim) =>
                this.#objects.get(PersistentVolumeClaim, { namespace: pod.metadata.namespace, name: claim })?.spec
                  .volumeName === name,
            ),
          ),
        )
      case "serviceaccounts":
      case "serviceaccounts/token":
        return only(this.#some(node, namespace, (pod) => pod.spec.serviceAccountName === name))
      case "nodes":
      case "nodes/status":
        return verb === "create" || verb === "list" || verb === "watch" || verb === "get" || name === node
          ? ALLOWED
          : only(false)
      default:
        return ALLOWED
    }
  }

  #place(key: string, pod: Pod): void {
    const { nodeName } = pod.spec
    if (nodeName === undefined || nodeName === "") return
    const pods = this.#pods.get(nodeName)
    if (pods === undefined) this.#pods.set(nodeName, new Map([[key, pod]]))
    else pods.set(key, pod)
  }

  #someOn(node: string, uses: (pod: Pod) => boolean): boolean {
    for (const pod of this.#pods.get(node)?.values() ?? []) if (uses(pod)) return true
    return false
  }

  #some(node: string, namespace: string | undefined, uses: (pod: Pod) => boolean): boolean {
    return this.#someOn(node, (pod) => pod.metadata.namespace === namespace && uses(pod))
  }
}

const containersOf = ({ spec }: Pod) => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
  ...(spec.ephemeralContainers ?? []),
]

const usesSecret = (pod: Pod, name: string): boolean =>
  pod.spec.imagePullSecrets?.some((secret) => secret.name === name) === true ||
  pod.spec.volumes?.some(
    ({ secret, projected }) =>
      secret?.secretName === name || projected?.sources?.some((source) => source.secret?.name === name),
  ) === true ||
  containersOf(pod).some(
    ({ env, envFrom }) =>
      env?.some(({ valueFrom }) => valueFrom?.secretKeyRef?.name === name) === true ||
      envFrom?.some(({ secretRef }) => secretRef?.name === name) === true,
  )

const usesConfigMap = (pod: Pod, name: string): boolean =>
  pod.spec.volumes?.some(
    ({ configMap, projected }) =>
      configMap?.name === name || projected?.sources?.some((source) => source.configMap?.name === name),
  ) === true ||
  containersOf(pod).some(
    ({ env, envFrom }) =>
      env?.some(({ valueFrom }) => valueFrom?.configMapKeyRef?.name === name) === true ||
      envFrom?.some(({ configMapRef }) => configMapRef?.name === name) === true,
  )

const claimsOf = ({ metadata, spec }: Pod): readonly string[] =>
  spec.volumes?.flatMap(
    ({ name, persistentVolumeClaim, ephemeral }) =>
      persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? [] : `${metadata.name ?? ""}-${name}`),
  ) ?? []
const usesClaim = (pod: Pod, name: string): boolean => claimsOf(pod).includes(name)
