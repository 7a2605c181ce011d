import type { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import type { NetworkPolicy } from "../../pkg/api/networking/v1/networkpolicy.ts"
import type { Labels } from "../../pkg/apimachinery/selectors/labels.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { SyncRunner } from "../../pkg/component/sync-runner.ts"
import { contain } from "../../pkg/failure/contain.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Value } from "../../pkg/metrics/registry.ts"
import { FlushWatch } from "../../pkg/netfilter/flush-watch.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { findRefused } from "../../pkg/netfilter/find-refused.ts"
import { accepts, removeTable, transact } from "../../pkg/netfilter/nft.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import type { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { Seam } from "../../pkg/quarantine/seam.ts"
import type { PodFacts } from "./pod-facts.ts"
import { isolating, isolatingPods, policyRules, type PolicyRules } from "./policy-rules.ts"
import { DIRECTIONS, isolated, LINK_LOCAL, TABLE } from "./base-chains.ts"
import { PolicyTable, type PolicyTableOptions } from "./policy-table.ts"
import { filterBridges, unenforceable } from "./support.ts"

/** The longest time that the start of a pod waits for its rules. */
const GATE_MS = 10_000
/** The delay before another attempt after a failure. */
const RETRY_MS = 1000

export interface EnforcerParts extends PolicyTableOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly host: Host
  /** Whether `host` is the machine whose kernel settings are in this process's /proc. */
  readonly ownsMachine: boolean
  /** Returns everything from which a table is made. */
  everything(): {
    readonly namespaces: readonly Namespace[]
    readonly policies: readonly NetworkPolicy[]
    readonly pods: readonly PodFacts[]
  }
  /** Called once when it turns out that policies cannot be enforced. */
  unenforceable(why: string): void
  /** Called when the kernel refuses the rules of a policy, whose pods are isolated until it is changed. */
  refused(policy: NetworkPolicy, why: string): void
  readonly quarantine: Quarantine | undefined
  /** Called when no rules can be made of a policy, whose pods are isolated until they can. */
  leftOut(policy: NetworkPolicy, reason: string, why: string): void
  /** Shows the number of policies whose pods are isolated because their rules are not in force. */
  readonly refusals: Pick<Value, "set">
}

/**
 * Keeps the kernel's table up to date with policies, namespaces and pods. There is a table only while there is a
 * policy; without one, nothing is kept in memory and no program is run.
 * One transaction runs at a time; later changes are in the next one. After a failed transaction the whole table is
 * written again, since its content is unknown. Policies because of which the kernel refuses the table, and those of
 * which no rules can be made, are left out: the pods that they select are isolated, and all other policies stay in
 * force.
 */
export class Enforcer {
  readonly #parts: EnforcerParts
  readonly #policies = new Map<string, NetworkPolicy>()
  /** The policies that the kernel refuses, by key, each in the state that was refused. */
  readonly #refused = new Map<string, NetworkPolicy>()
  /** What is made of each policy. */
  readonly #rules = new Map<string, PolicyRules>()
  /** The keys of policies of which no rules can be made. */
  readonly #leftOut = new Set<string>()
  readonly #seam: Seam
  /** The policies that have changed since the kernel last took the rules, by key: the first to be suspected. */
  readonly #untried = new Set<string>()
  #table: PolicyTable | undefined
  /** Whether the kernel has what was written last. */
  #isWritten = false
  /** Whether the table lacks a change, because of a failure. */
  #isLacking = false
  /** Whether the kernel may have a table from an earlier process. */
  #isLeftOver = true
  #unenforceable: string | undefined
  #filtersBridges = false
  readonly #runner: SyncRunner
  readonly #flushes: FlushWatch
  #waiting: PromiseWithResolvers<void>[] = []

  constructor(parts: EnforcerParts) {
    this.#parts = parts
    this.#seam = new Seam({
      place: "network policy",
      part: "network-policy",
      quarantine: parts.quarantine,
      clock: parts.clock,
      log: parts.log,
      again: (key) => this.#again(key),
      leftOut: (key, reason, why) => {
        const policy = this.#policies.get(key)
        if (policy !== undefined) parts.leftOut(policy, reason, why)
      },
    })
    this.#runner = new SyncRunner({
      clock: parts.clock,
      sync: () => this.#syncForWaiting(),
      failed(err) {
        parts.log.error("Failed to write the rules of network policies; will retry", { err })
        return RETRY_MS
      },
    })
    this.#flushes = new FlushWatch({
      clock: parts.clock,
      isIntact: () => this.#isIntact(),
      flushed: () => {
        if (this.#runner.isRunning || !this.#isWritten) return
        parts.log.warn("Another program removed the rules of network policies; writing them again")
        this.#isWritten = false
        this.#runner.request()
      },
      failed: (err) => parts.log.warn("Failed to check the rules of network policies; will retry", { err }),
    })
  }

  /** Why the kernel's table is out of date; undefined when it is not. */
  get problem(): string | undefined {
    return this.#runner.problem
  }

  /** Why policies cannot be enforced on this machine; undefined when they can. */
  get unenforceable(): string | undefined {
    return this.#unenforceable
  }

  /** Begins to write. Resolves after the first attempt if there is a policy; a failed attempt is repeated. */
  async start(): Promise<void> {
    this.#runner.request()
    const tried = this.#runner.start()
    // Without a policy there is no need to wait until an old table is removed.
    if (this.#table !== undefined) await tried
  }

  async stop(): Promise<void> {
    this.#seam.stop()
    await this.#runner.stop()
    this.#flushes.stop()
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("network policies are not enforced any more"))
  }

  setPolicy(policy: NetworkPolicy): void {
    const key = keyFrom(policy.metadata)
    if (this.#policies.get(key) === policy) return
    this.#policies.set(key, policy)
    this.#untried.add(key)
    this.#refused.delete(key)
    if (this.#table === undefined) this.#build()
    else this.#take(this.#table, key, policy)
    this.#runner.request()
  }

  removePolicy(key: string): void {
    this.#policies.delete(key)
    for (const keys of [this.#untried, this.#refused, this.#leftOut, this.#rules]) keys.delete(key)
    this.#change((table) => table.setPolicy(key, undefined))
    if (this.#policies.size === 0) this.#table = undefined
    this.#runner.request()
  }

  setNamespace(name: string, labels: Labels | undefined): void {
    this.#change((table) => table.setNamespace(name, labels))
  }

  setPod(facts: PodFacts): void {
    this.#change((table) => table.setPod(facts))
  }

  removePod(key: string): void {
    this.#change((table) => table.removePod(key))
  }

  /** Resolves when the kernel has everything that was changed until now. @throws Error when that takes too long */
  async inForce(): Promise<void> {
    if (this.#table === undefined || this.#unenforceable !== undefined) return
    if (this.#isWritten && !this.#table.table.isChanged && !this.#runner.isRunning) return
    const waiter = Promise.withResolvers<void>()
    this.#waiting.push(waiter)
    const timer = this.#parts.clock.setTimeout(
      () =>
        waiter.reject(
          new Error(
            `network policies are not in force after ${GATE_MS / 1000} s: ${this.#runner.problem ?? "nft is busy"}`,
          ),
        ),
      GATE_MS,
    )
    this.#runner.request()
    await waiter.promise.finally(() => timer.cancel())
  }

  /** Changes the table, if there is one. After a failure it is made anew, so that no change is lost. */
  #change(work: (table: PolicyTable) => void): void {
    if (this.#table === undefined) return
    try {
      work(this.#table)
    } catch (err) {
      contain("network policy", err, this.#parts.log)
      this.#isLacking = true
      this.#runner.request()
    }
    if (this.#table.table.isChanged) this.#runner.request()
  }

  #build(): void {
    for (const policy of this.#parts.everything().policies) this.#policies.set(keyFrom(policy.metadata), policy)
    this.#isWritten = false
    const table = (this.#table = this.#tableOf([], () => true))
    for (const [key, policy] of this.#policies) this.#take(table, key, policy)
  }

  /** Adds the rules of a policy to a table, or isolates its pods where no rules can be made. */
  #take(table: PolicyTable, key: string, policy: NetworkPolicy): void {
    const wasLacking = this.#isLacking
    const done = this.#seam.run(
      key,
      () => editionOf(policy),
      () => {
        const rules = policyRules(policy)
        // Tried apart first: a table that has a part of a policy cannot be changed any more.
        new PolicyTable(this.#parts).setPolicy(key, rules)
        this.#rules.set(key, rules)
        this.#isLacking = true
        table.setPolicy(key, rules)
        this.#isLacking = wasLacking
      },
    )
    if (done !== undefined) return void this.#leftOut.delete(key)
    this.#leftOut.add(key)
    this.#put(table, key, isolatingPods(policy))
  }

  #put(table: PolicyTable, key: string, rules: PolicyRules): void {
    this.#rules.set(key, rules)
    this.#change(() => table.setPolicy(key, rules))
  }

  #again(key: string): void {
    const policy = this.#policies.get(key)
    if (policy === undefined || this.#table === undefined || this.#refused.has(key)) return
    this.#take(this.#table, key, policy)
    this.#runner.request()
  }

  /** Returns a table of these policies; those that are not taken isolate their pods only. */
  #tableOf(keys: Iterable<string>, isTaken: (key: string) => boolean): PolicyTable {
    const { namespaces, pods } = this.#parts.everything()
    const table = new PolicyTable(this.#parts)
    for (const { metadata } of namespaces) table.setNamespace(metadata.name!, metadata.labels ?? {})
    for (const pod of pods) table.setPod(pod)
    for (const key of keys) {
      const rules = this.#rules.get(key)
      if (rules !== undefined) table.setPolicy(key, isTaken(key) ? rules : isolating(rules))
    }
    return table
  }

  /** Sets aside the policies because of which the kernel refuses the table. Returns whether it has found any. */
  async #setAside(err: unknown): Promise<boolean> {
    const { host, log } = this.#parts
    const suspects = [...this.#policies.keys()].filter((key) => !this.#refused.has(key) && !this.#leftOut.has(key))
    const states = new Map(this.#policies)
    const bad = await findRefused(suspects, this.#untried, (taken) => {
      const text = this.#tableOf(this.#policies.keys(), (key) => taken.has(key)).table.whole()
      return accepts(host, text)
    })
    for (const key of bad) {
      const policy = this.#policies.get(key)
      if (policy === undefined || policy !== states.get(key)) continue // it was changed meanwhile
      this.#refused.set(key, policy)
      if (this.#table !== undefined) this.#put(this.#table, key, isolatingPods(policy))
      log.error("The kernel refuses the rules of a network policy; its pods are isolated", { policy: key, err })
      this.#parts.refused(policy, errorMessage(err).split("\n")[0]!)
    }
    return bad.length > 0
  }

  /** Writes the changes, and resolves the promises of those who wait for them. */
  async #syncForWaiting(): Promise<void> {
    const waiting = this.#waiting.splice(0)
    try {
      await this.#sync().catch(async (err: unknown) => {
        this.#isWritten = false
        if (!(await this.#setAside(err))) throw err
        await this.#sync()
      })
      for (const { resolve } of waiting) resolve()
    } catch (err) {
      this.#isWritten = false
      this.#waiting = [...waiting, ...this.#waiting]
      throw err
    } finally {
      this.#parts.refusals.set(this.#refused.size + this.#leftOut.size)
    }
  }

  async #sync(): Promise<void> {
    const { host } = this.#parts
    if (this.#isLacking && this.#table !== undefined) {
      this.#isWritten = false
      this.#table = this.#tableOf(this.#policies.keys(), () => true)
    }
    this.#isLacking = false
    const table = this.#table
    if (table === undefined) {
      this.#flushes.stop()
      if (this.#isWritten || this.#isLeftOver) await removeTable(host, "inet", TABLE)
      this.#isWritten = this.#isLeftOver = false
      return
    }
    if (this.#unenforceable !== undefined) return
    if (this.#isWritten) {
      const changes = table.table.changes()
      if (changes !== "") await transact(host, changes)
      this.#untried.clear()
      return
    }
    if (this.#isLeftOver) for (const address of await this.#leftOver()) table.closeUnknown(address)
    try {
      await transact(host, table.table.whole())
    } catch (err) {
      // Whether the machine supports the rules is only checked after an attempt has failed.
      const why = await unenforceable(host)
      if (why === undefined) throw err
      this.#unenforceable = why
      return this.#tell(why)
    }
    this.#untried.clear()
    this.#isLeftOver = false
    this.#isWritten = true
    this.#flushes.start()
    await this.#filterBridges()
  }

  /** Once. Without it policies still apply to traffic with pods of other nodes and with the world. */
  async #filterBridges(): Promise<void> {
    if (this.#filtersBridges || !this.#parts.ownsMachine) return
    this.#filtersBridges = true
    const why = await filterBridges()
    if (why !== undefined) this.#tell(why)
  }

  #tell(why: string): void {
    this.#parts.log.warn("Network policies are not enforced", { why })
    this.#parts.unenforceable(why)
  }

  /**
   * Returns addresses of pods that were isolated when the program stopped. Such a pod may run without being visible in
   * the API, if its address was not written into its status yet.
   */
  async #leftOver(): Promise<readonly string[]> {
    const { host, families } = this.#parts
    const known = new Set(this.#parts.everything().pods.flatMap(({ addresses }) => addresses))
    const maps = families.flatMap((family) => DIRECTIONS.map((direction) => isolated(direction, family, "here")))
    const texts = await Promise.all(
      maps.map((map) => host.run("nft", ["list", "map", "inet", TABLE, map]).catch(() => "")),
    )
    return texts
      .flatMap((text) => [...text.matchAll(/([0-9a-f.:]{2,45}) : goto/g)].map(([, address]) => address!))
      .filter((address) => !known.has(address))
  }

  /** `nft` fails where the table is missing. */
  async #isIntact(): Promise<boolean> {
    const chain = await this.#parts.host.run("nft", ["list", "chain", "inet", TABLE, LINK_LOCAL]).catch(() => "")
    return chain.includes("drop")
  }
}
