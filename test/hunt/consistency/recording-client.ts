import { ApiError, ConfigMap, type Client, type Cluster } from "../../../components/cluster/testing/testing.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { between, chance, pick } from "../chance.ts"
import type { Operation, Value } from "./linearizable.ts"
import { valueOf, type AcknowledgedWrite } from "./list-watch.ts"

export const NAMESPACE = "default"
export const NAMES = ["a", "b", "c", "d"]

/** The operations that all clients of a run record. */
export class Recording {
  /** The operations on each object. */
  readonly operations = new Map<string, Operation[]>(NAMES.map((name) => [name, []]))
  readonly acknowledged: AcknowledgedWrite[] = []
  /** Errors that no client should see. */
  readonly surprises: string[] = []
  #sequence = 0

  /** How many operations have been recorded. */
  get count(): number {
    return [...this.operations.values()].reduce((sum, { length }) => sum + length, 0)
  }

  tick(): number {
    return ++this.#sequence
  }
}

export interface RecordingClientOptions {
  readonly by: string
  readonly client: Client
  readonly cluster: Pick<Cluster, "mayBeOld">
  readonly recording: Recording
  readonly random: Random
  readonly clock: Clock
  /** The longest pause between two operations, in milliseconds; 1500 unless given. */
  readonly pauseMs?: number
}

/** A client that reads and writes objects at random, and records what it was told. */
export class RecordingClient {
  readonly #options: RecordingClientOptions
  /** Each object as this client has last seen it. */
  readonly #seen = new Map<string, ConfigMap>()
  #count = 0

  constructor(options: RecordingClientOptions) {
    this.#options = options
  }

  /** Works until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { random, clock, pauseMs = 1500 } = this.#options
    while (!signal.aborted) {
      await this.#operate(pick(random, NAMES))
      await sleep(clock, between(random, 20, pauseMs), signal).catch(() => undefined)
    }
  }

  /** Reads an object. An answer that may be old is not recorded. */
  async read(name: string): Promise<void> {
    const { by, client, cluster, recording } = this.#options
    const called = recording.tick()
    let value: Value
    try {
      const found = await client.get(ConfigMap, { namespace: NAMESPACE, name })
      this.#seen.set(name, found)
      if (cluster.mayBeOld(found)) return
      value = valueOf(found)
    } catch (err) {
      this.#surprised(err, "NotFound")
      if (!(err instanceof ApiError) || err.reason !== "NotFound" || cluster.mayBeOld(err)) return
      this.#seen.delete(name)
      value = null
    }
    recording.operations.get(name)!.push({ is: "read", by, called, returned: recording.tick(), value })
  }

  async #operate(name: string): Promise<void> {
    const { client, random, by } = this.#options
    const seen = this.#seen.get(name)
    if (chance(random, 0.4)) return this.read(name)
    const value = `${by}.${this.#count++}`
    const ref = { namespace: NAMESPACE, name }
    if (seen === undefined || chance(random, 0.15))
      return this.#write(name, null, value, () => client.create(ConfigMap, { metadata: ref, data: { v: value } }))
    if (chance(random, 0.15))
      return this.#write(name, undefined, value, () =>
        client.patch(ConfigMap, ref, { type: "merge", body: { data: { v: value } } }),
      )
    const expected = valueOf(seen)
    if (chance(random, 0.25)) {
      const { uid, resourceVersion } = seen.metadata
      const preconditions = { uid: uid!, resourceVersion: resourceVersion! }
      return this.#write(name, expected, null, () => client.delete(ConfigMap, ref, { preconditions }))
    }
    return this.#write(name, expected, value, () => client.update(ConfigMap, { ...seen, data: { v: value } }))
  }

  async #write(name: string, expected: Value | undefined, value: Value, send: () => Promise<unknown>): Promise<void> {
    const { by, recording } = this.#options
    const called = recording.tick()
    const note = (outcome: "done" | "refused" | "unknown") => {
      const returned = outcome === "unknown" ? Infinity : recording.tick()
      recording.operations.get(name)!.push({ is: "write", by, called, returned, expected, value, outcome })
      return returned
    }
    try {
      const answer = await send()
      const returned = note("done")
      if (value === null) {
        this.#seen.delete(name)
        return
      }
      const written = answer as ConfigMap
      this.#seen.set(name, written)
      const revision = Number(written.metadata.resourceVersion)
      recording.acknowledged.push({ by, name, value, revision, called, returned })
    } catch (err) {
      this.#surprised(err, "NotFound", "Conflict", "AlreadyExists")
      const reason = err instanceof ApiError ? err.reason : undefined
      // A request that failed as unavailable has changed nothing. It is not recorded, and no read may see its effect.
      if (reason === "ServiceUnavailable") return
      note(reason === "NotFound" || reason === "Conflict" || reason === "AlreadyExists" ? "refused" : "unknown")
      this.#seen.delete(name)
    }
  }

  #surprised(err: unknown, ...expected: readonly string[]): void {
    const reason = err instanceof ApiError ? err.reason : undefined
    if (reason !== undefined && [...expected, "ServiceUnavailable", "Timeout"].includes(reason)) return
    this.#options.recording.surprises.push(`${this.#options.by}: ${String(err)}`)
  }
}
