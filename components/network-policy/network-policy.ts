import { type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import { removeTable } from "../../pkg/netfilter/nft.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { AddressOwners } from "./address-owners.ts"
import { Enforcer } from "./enforcer.ts"
import { TABLE } from "./base-chains.ts"
import { isSubject, podFacts, reportedAddresses, type PodFacts } from "./pod-facts.ts"

export interface NetworkPolicyConfig {
  readonly nodeName: string
  /** Families of pods' addresses. */
  readonly families: readonly Family[]
  /** The bridge of this node's pods. */
  readonly bridge: string
  /** Addresses of the cluster's DNS, which has no pod: policies see one that CoreDNS would have. */
  readonly dnsAddresses?: readonly string[]
  readonly metrics?: Registry
  /** Where nft acts; the machine itself unless given. */
  readonly host?: Host
}

/** The methods that the kubelet calls. */
export interface NetworkPolicyComponent extends Component {
  /**
   * Resolves when the kernel has the rules for a pod that is about to start with these addresses; at once when there
   * are no policies, or when they cannot be enforced.
   * @throws Error when that takes longer than ten seconds
   */
  admit(pod: Pod, addresses: readonly string[]): Promise<void>
  /** Resolves when the kernel has all changes that the component knows. @throws Error as `admit` */
  inForce(): Promise<void>
}

/** Source: k8s.io/api core/v1 annotation_key_constants.go. */
const MIRROR = "kubernetes.io/config.mirror"

/**
 * Enforces NetworkPolicies in the kernel: policy-table.ts makes the rules, enforcer.ts writes them. The rules stay when
 * the program stops, so that a restart leaves no gap.
 */
export function createNetworkPolicy(context: ComponentContext, config: NetworkPolicyConfig): NetworkPolicyComponent {
  return new NetworkPolicies(context, config)
}

/** Takes the place of the component when policies are not to be enforced: removes the rules of an earlier run. */
export const removeNetworkPolicies = (log: Logger, host: Host = hostIn()): Component => ({
  name: "network-policy",
  start: () =>
    removeTable(host, "inet", TABLE).catch((err: unknown) =>
      log.warn("Failed to remove the rules of network policies", { err }),
    ),
  stop: () => Promise.resolve(),
})

class NetworkPolicies implements NetworkPolicyComponent {
  readonly name = "network-policy"
  readonly #context: ComponentContext
  readonly #config: NetworkPolicyConfig
  readonly #owners = new AddressOwners()
  readonly #enforcer: Enforcer
  #events: EventRecorder | undefined
  #unsubscribe: readonly (() => void)[] = []
  #started = false

  constructor(context: ComponentContext, config: NetworkPolicyConfig) {
    this.#context = context
    this.#config = config
    const { metrics = new Registry() } = config
    this.#enforcer = new Enforcer({
      clock: context.clock,
      log: context.log.child({ component: this.name }),
      host: config.host ?? hostIn(),
      ownsMachine: config.host === undefined,
      families: config.families,
      bridge: config.bridge,
      everything: () => this.#everything(),
      unenforceable: (why) => this.#tell(why),
      refused: (policy, why) =>
        this.#events?.event(
          policy,
          "Warning",
          "PolicyRefused",
          `The kernel of this node refuses the rules, so the selected pods are isolated until the policy is changed: ${why}`,
        ),
      quarantine: context.quarantine,
      leftOut: (policy, reason, why) =>
        this.#events?.event(policy, "Warning", reason, `${why}. Until then the selected pods are isolated`),
      refusals: metrics
        .gauge(
          "k3ts_network_policies_refused",
          "NetworkPolicies whose rules are not in force on this node: the selected pods are isolated",
        )
        .with(),
    })
  }

  problem(): string | undefined {
    return this.#started ? this.#enforcer.problem : "not started"
  }

  async start(signal: AbortSignal): Promise<void> {
    const { informers } = this.#context
    const [policies, namespaces, pods] = [informers.of(NetworkPolicy), informers.of(Namespace), informers.of(Pod)]
    await informers.whenSynced()
    signal.throwIfAborted()
    this.#events = createEventRecorder(this.#context, this.name, this.#config.nodeName)
    for (const pod of pods.list()) this.#report(pod)
    const seen = ({ metadata }: Namespace) => this.#enforcer.setNamespace(metadata.name!, metadata.labels ?? {})
    this.#unsubscribe = [
      namespaces.on({
        added: seen,
        updated: seen,
        deleted: ({ metadata }) => this.#enforcer.setNamespace(metadata.name!, undefined),
      }),
      pods.on({
        added: (pod) => this.#see(pod),
        updated: (pod, old) => {
          if (pod.metadata.uid !== old.metadata.uid) this.#forget(old)
          this.#see(pod)
        },
        deleted: (pod) => this.#forget(pod),
      }),
      // Last, since the first policy creates the table.
      policies.on({
        added: (policy) => {
          this.#enforcer.setPolicy(policy)
          const why = this.#enforcer.unenforceable
          if (why !== undefined) this.#tellOf(policy, why)
        },
        updated: (policy) => this.#enforcer.setPolicy(policy),
        deleted: ({ metadata }) => this.#enforcer.removePolicy(keyFrom(metadata)),
      }),
    ]
    await this.#enforcer.start()
    this.#started = true
  }

  /** The rules stay. */
  async stop(): Promise<void> {
    this.#started = false
    for (const off of this.#unsubscribe) off()
    this.#unsubscribe = []
    await Promise.all([this.#enforcer.stop(), this.#events?.stop()])
  }

  async admit(pod: Pod, addresses: readonly string[]): Promise<void> {
    if (!isSubject(pod)) return
    const key = keyFrom(pod.metadata)
    for (const loser of this.#owners.claim(key, addresses)) this.#place(loser)
    // The informer's version of the pod may be newer, or may not exist yet.
    const known = this.#context.informers.of(Pod).get(key)
    const newest = known !== undefined && known.metadata.uid === pod.metadata.uid ? known : pod
    this.#enforcer.setPod(this.#facts(newest, addresses))
    await this.#enforcer.inForce()
  }

  inForce(): Promise<void> {
    return this.#enforcer.inForce()
  }

  #see(pod: Pod): void {
    const key = keyFrom(pod.metadata)
    if (!isSubject(pod)) return this.#forget(pod)
    this.#report(pod)
    this.#place(key)
  }

  #report(pod: Pod): void {
    if (!isSubject(pod)) return
    const since = Date.parse(pod.metadata.creationTimestamp ?? "") || 0
    for (const loser of this.#owners.report(keyFrom(pod.metadata), reportedAddresses(pod), since)) this.#place(loser)
  }

  /** A static pod continues to run without its mirror pod; its addresses are released when another pod gets them. */
  #forget({ metadata }: Pod): void {
    if (metadata.annotations?.[MIRROR] !== undefined) return
    this.#owners.release(keyFrom(metadata))
    this.#enforcer.removePod(keyFrom(metadata))
  }

  #place(key: string): void {
    const pod = this.#context.informers.of(Pod).get(key)
    if (pod === undefined || !isSubject(pod)) this.#enforcer.removePod(key)
    else this.#enforcer.setPod(this.#facts(pod, this.#owners.of(key)))
  }

  #facts(pod: Pod, addresses: readonly string[]): PodFacts {
    return podFacts(pod, addresses, this.#config.nodeName)
  }

  /** Returns everything from which the table is made with the first policy. */
  #everything() {
    const { informers } = this.#context
    return {
      namespaces: informers.of(Namespace).list(),
      policies: informers.of(NetworkPolicy).list(),
      pods: [
        ...informers
          .of(Pod)
          .list()
          .filter(isSubject)
          .map((pod) => this.#facts(pod, this.#owners.of(keyFrom(pod.metadata)))),
        ...this.#dns(),
      ],
    }
  }

  #dns(): readonly PodFacts[] {
    const { dnsAddresses = [] } = this.#config
    if (dnsAddresses.length === 0) return []
    return [
      {
        key: "kube-system/ dns",
        namespace: "kube-system",
        labels: { "k8s-app": "kube-dns" },
        addresses: dnsAddresses,
        ports: [
          { name: "dns", protocol: "UDP", number: 53 },
          { name: "dns-tcp", protocol: "TCP", number: 53 },
          { name: "metrics", protocol: "TCP", number: 9153 },
        ],
        isHere: true,
      },
    ]
  }

  /** Records an event for every policy. */
  #tell(why: string): void {
    for (const policy of this.#context.informers.of(NetworkPolicy).list()) this.#tellOf(policy, why)
  }

  #tellOf(policy: NetworkPolicy, why: string): void {
    this.#events?.event(policy, "Warning", "NotEnforced", `The policy is not enforced on this node: ${why}`)
  }
}
