import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { formatDuration } from "../../../apimachinery/scalars/time.ts"
import { sleep } from "../../../clock/clock.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import type { DryRun } from "../../command/shared-flags.ts"
import type { Environment } from "../../environment/environment.ts"
import { throwAggregate } from "../../errors/aggregate.ts"
import { isForbidden, isNotFound, isTooManyRequests } from "../../errors/status-error.ts"
import type { Output } from "../../printers/output.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { pathSegment } from "../../rest/rest-client.ts"
import { isSkipped, type DrainedPod } from "./pods-to-delete.ts"

const RETRY_MS = 5000
const LOOK_MS = 1000
/** The longest time that Go has. */
const FOREVER_TEXT = "2562047h47m16.854775807s"

export interface EvictOptions {
  readonly client: RestClient
  readonly environment: Environment
  readonly out: Output
  readonly errOut: Output
  readonly dryRun: DryRun
  /** In seconds; negative: as the pod says. */
  readonly gracePeriod: number
  /** 0: for ever. */
  readonly timeoutMs: number
  readonly disableEviction: boolean
  readonly skipOlderThan: number
  /** Called when a pod is gone, or could not be looked at. */
  finished(pod: DrainedPod, evicted: boolean, failed: boolean): Promise<void>
}

/** Evicts pods, or deletes them where there is no eviction, and waits until they are gone. Source: kubectl pkg/drain. */
export async function evictOrDelete(pods: readonly DrainedPod[], options: EvictOptions): Promise<void> {
  if (pods.length === 0) return
  const over = new AbortController()
  const { clock, interrupt } = options.environment
  const timer = options.timeoutMs === 0 ? undefined : clock.setTimeout(() => over.abort(), options.timeoutMs)
  const signal = AbortSignal.any([over.signal, interrupt])
  try {
    if (options.disableEviction || !(await supportsEviction(options.client))) await deleteAll(pods, options, signal)
    else await new Eviction(options, over.signal, signal).run(pods)
  } finally {
    timer?.cancel()
  }
}

async function supportsEviction(client: RestClient): Promise<boolean> {
  const list = await client.object({ method: "GET", path: "/api/v1" })
  const resources = (list["resources"] ?? []) as readonly { readonly name: string; readonly kind: string }[]
  return resources.some(({ name, kind }) => name === "pods/eviction" && kind === "Eviction")
}

const pathOf = ({ metadata }: DrainedPod): string =>
  `/api/v1/namespaces/${pathSegment(metadata?.namespace ?? "")}/pods/${pathSegment(metadata?.name ?? "")}`

const deleteOptions = ({ gracePeriod, dryRun }: EvictOptions): object => ({
  ...(gracePeriod < 0 ? {} : { gracePeriodSeconds: gracePeriod }),
  ...(dryRun === "server" ? { dryRun: ["All"] } : {}),
})

async function deleteAll(pods: readonly DrainedPod[], options: EvictOptions, signal: AbortSignal): Promise<void> {
  for (const pod of pods)
    try {
      const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", ...deleteOptions(options) })
      await options.client.object({ method: "DELETE", path: pathOf(pod), body })
    } catch (err) {
      if (!isNotFound(err)) throw err
    }
  await untilGone(pods, options, false, signal)
}

/** Evicts all pods at once: one that a budget holds back does not keep the others waiting. */
class Eviction {
  readonly #options: EvictOptions
  readonly #timedOut: AbortSignal
  readonly #signal: AbortSignal

  constructor(options: EvictOptions, timedOut: AbortSignal, signal: AbortSignal) {
    this.#options = options
    this.#timedOut = timedOut
    this.#signal = signal
  }

  async run(pods: readonly DrainedPod[]): Promise<void> {
    const ended = await Promise.allSettled(pods.map((pod) => this.#one(pod)))
    throwAggregate(ended.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : [])))
  }

  async #one(first: DrainedPod): Promise<void> {
    const { client, dryRun, out } = this.#options
    const { name = "", namespace = "" } = first.metadata ?? {}
    let pod = first
    for (;;) {
      await out.write(`evicting pod ${namespace}/${name}${dryRun === "server" ? " (server dry run)" : ""}\n`)
      this.#checkTime(name, namespace)
      const next = await this.#try(pod)
      if (next === "gone") return
      if (next === "evicted") break
      await sleep(this.#options.environment.clock, RETRY_MS, this.#signal).catch(() => this.#checkTime(name, namespace))
      pod = await client.object({ method: "GET", path: pathOf(pod) }).catch(() => pod)
    }
    if (dryRun === "server") return
    try {
      await untilGone([pod], this.#options, true, this.#signal)
    } catch (err) {
      const reason = this.#timedOut.aborted ? this.#timeoutText() : errorMessage(err)
      throw new Error(
        `error when waiting for pod ${goQuoted(name)} in namespace ${goQuoted(namespace)} to terminate: ${reason}`,
        { cause: err },
      )
    }
  }

  #timeoutText(): string {
    const { timeoutMs } = this.#options
    return `global timeout reached: ${timeoutMs === 0 ? FOREVER_TEXT : formatDuration(timeoutMs)}`
  }

  #checkTime(name: string, namespace: string): void {
    if (this.#timedOut.aborted)
      throw new Error(`error when evicting pods/${goQuoted(name)} -n ${goQuoted(namespace)}: ${this.#timeoutText()}`)
    this.#signal.throwIfAborted()
  }

  async #try(pod: DrainedPod): Promise<"evicted" | "gone" | "again"> {
    const { client, errOut } = this.#options
    const { name = "", namespace = "" } = pod.metadata ?? {}
    const body = JSON.stringify({
      kind: "Eviction",
      apiVersion: "policy/v1",
      metadata: { name, namespace },
      deleteOptions: deleteOptions(this.#options),
    })
    try {
      await client.object({ method: "POST", path: `${pathOf(pod)}/eviction`, body })
      return "evicted"
    } catch (err) {
      if (isNotFound(err)) return "gone"
      const words = errorMessage(err)
      const retry = `(will retry after ${formatDuration(RETRY_MS)})`
      if (isTooManyRequests(err)) {
        await errOut.write(`error when evicting pods/${goQuoted(name)} -n ${goQuoted(namespace)} ${retry}: ${words}\n`)
        return "again"
      }
      const isEnding =
        isForbidden(err) && err.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
      if (!isEnding)
        throw new Error(`error when evicting pods/${goQuoted(name)} -n ${goQuoted(namespace)}: ${words}`, {
          cause: err,
        })
      if ((pod.metadata?.deletionTimestamp ?? null) !== null) return "evicted"
      await errOut.write(
        `error when evicting pod ${goQuoted(name)} from terminating namespace ${goQuoted(namespace)} ${retry}: ${words}\n`,
      )
      return "again"
    }
  }
}

/** Looks every second until all pods are gone. */
async function untilGone(
  pods: readonly DrainedPod[],
  options: EvictOptions,
  evicted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options.environment
  let left = pods
  for (;;) {
    const still: DrainedPod[] = []
    for (const pod of left) if (await isThere(pod, options, evicted)) still.push(pod)
    if (still.length === 0) return
    left = still
    await sleep(clock, LOOK_MS, signal).catch(() => {
      throw new Error("context deadline exceeded")
    })
  }
}

async function isThere(pod: DrainedPod, options: EvictOptions, evicted: boolean): Promise<boolean> {
  const { client, skipOlderThan, environment, out } = options
  let now: DrainedPod
  try {
    now = await client.object({ method: "GET", path: pathOf(pod) })
  } catch (err) {
    await options.finished(pod, evicted, !isNotFound(err))
    if (isNotFound(err)) return false
    throw err
  }
  if (now.metadata?.uid !== pod.metadata?.uid) {
    await options.finished(pod, evicted, false)
    return false
  }
  if (!isSkipped(now, skipOlderThan, environment.clock)) return true
  const name = goQuoted(pod.metadata?.name ?? "")
  await out.write(`pod ${name} has DeletionTimestamp older than ${skipOlderThan} seconds, skipping\n`)
  return false
}
