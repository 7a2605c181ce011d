import { ApiError, isNotFound } from "../apimachinery/errors.ts"
import { Lease, type LeaseSpec } from "../api/coordination/v1/lease.ts"
import type { Client } from "../client/client.ts"
import { microTimestamp, sleep, type Clock } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import type { Logger } from "../log/log.ts"

/** Options of a leader election, with client-go's names and timings. Source: client-go tools/leaderelection. */
export interface LeaderElectionOptions {
  /** The Lease that the leader holds. */
  readonly name: string
  readonly namespace: string
  /** Must differ between all candidates. */
  readonly identity: string
  /** How long candidates wait after the last renewal that they saw, in milliseconds; 15 s by default. */
  readonly leaseDurationMs?: number
  /** How long the leader tries to renew the Lease before it stops, in milliseconds; 10 s by default. */
  readonly renewDeadlineMs?: number
  /** Delay between two attempts, in milliseconds; 2 s by default. */
  readonly retryPeriodMs?: number
  /**
   * Whether a leader that stops releases the Lease, so that another candidate need not wait. True by default;
   * client-go's default is false.
   */
  readonly releaseOnCancel?: boolean
}

export interface LeaderElectionContext {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /**
   * Calls `seen` with the Lease now and at each change, with undefined when the Lease was deleted, until the returned
   * function is called. If this option is given, candidates wait for the end of the Lease instead of reading it every
   * few seconds.
   */
  readonly watchLease?: (seen: (lease: Lease | undefined) => void) => () => void
}

/**
 * Candidates wait the retry period and up to this many times that period in addition, so that they do not all try at
 * once.
 */
const JITTER_FACTOR = 1.2
/** The leaseDurationSeconds of a released Lease. */
const RELEASED_SECONDS = 1

/**
 * Waits until this candidate leads, then runs `lead` until `signal` aborts or the Lease is lost; the signal passed to
 * `lead` aborts then. Resolves when `lead` has ended, with "cancelled" or "lost". @throws Error when the timings
 * contradict each other; what `lead` throws is thrown too
 */
export async function runLeaderElected(
  options: LeaderElectionOptions,
  context: LeaderElectionContext,
  signal: AbortSignal,
  lead: (leading: AbortSignal) => Promise<void>,
): Promise<"cancelled" | "lost"> {
  const elector = new LeaderElector(options, context)
  if (!(await elector.acquire(signal))) return "cancelled"
  const leading = new AbortController()
  const work = lead(leading.signal)
  // An error of `lead` ends the leadership too.
  const over = AbortSignal.any([signal, leading.signal])
  const watched = work.catch(() => leading.abort(new Error("the leader's work failed")))
  await elector.renew(over)
  leading.abort(new Error("no longer the leader"))
  await watched
  // The Lease is released only after `lead` has ended, so that no other candidate leads before.
  await elector.release()
  await work
  return signal.aborted ? "cancelled" : "lost"
}

class LeaderElector {
  readonly #options: Required<LeaderElectionOptions>
  readonly #context: LeaderElectionContext
  /** The Lease as last seen, and when it was seen by this clock: the times in the Lease are of another clock. */
  #observed: { readonly lease: Lease; readonly at: number } | undefined
  /**
   * When the last successful attempt began. Other candidates see the Lease later than that. So a leader that counts its
   * deadline from this time stops before they begin, however long the answer took.
   */
  #renewed = 0
  /** Aborted when the watched Lease has changed. */
  #changed = new AbortController()

  constructor(options: LeaderElectionOptions, context: LeaderElectionContext) {
    const {
      leaseDurationMs = 15_000,
      renewDeadlineMs = 10_000,
      retryPeriodMs = 2_000,
      releaseOnCancel = true,
    } = options
    if (options.identity === "") throw new Error("Cannot elect a leader: identity is empty")
    if (leaseDurationMs <= renewDeadlineMs)
      throw new Error(
        `Cannot elect a leader: leaseDurationMs (${leaseDurationMs}) must be greater than renewDeadlineMs ` +
          `(${renewDeadlineMs})`,
      )
    if (retryPeriodMs <= 0 || renewDeadlineMs <= retryPeriodMs * JITTER_FACTOR)
      throw new Error(
        `Cannot elect a leader: renewDeadlineMs (${renewDeadlineMs}) must be greater than retryPeriodMs ` +
          `(${retryPeriodMs}) × ${JITTER_FACTOR}, and that greater than zero`,
      )
    this.#options = { ...options, leaseDurationMs, renewDeadlineMs, retryPeriodMs, releaseOnCancel }
    this.#context = context
  }

  /** Resolves with true when this candidate leads, with false when `signal` aborted before. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { watchLease } = this.#context
    const off = watchLease?.((lease) => {
      if (lease === undefined) this.#observed = undefined
      else if (this.#isNews(lease)) this.#observe(lease)
      this.#changed.abort()
    })
    try {
      while (!signal.aborted) {
        if (await this.#tryAcquireOrRenew()) return true
        await this.#untilNextAttempt(signal)
      }
      return false
    } finally {
      off?.()
    }
  }

  /** Waits a retry period; with a watch of the Lease, until the Lease of another candidate has ended. */
  async #untilNextAttempt(signal: AbortSignal): Promise<void> {
    const { clock, random, watchLease } = this.#context
    const { retryPeriodMs } = this.#options
    const jitter = random.next() * JITTER_FACTOR
    // Without a valid Lease of another candidate the attempt has failed, because the API could not be reached.
    if (watchLease === undefined || this.#leftMs() <= 0) return pause(clock, retryPeriodMs * (1 + jitter), signal)
    for (let left = this.#leftMs(); left > 0 && !signal.aborted; left = this.#leftMs()) {
      this.#changed = new AbortController()
      await pause(clock, left, AbortSignal.any([signal, this.#changed.signal]))
    }
    // All candidates see the end of a Lease at the same time, so each waits a random time.
    await pause(clock, (retryPeriodMs / 4) * jitter, signal)
  }

  /** How long the Lease of another candidate is still valid, in milliseconds; 0 or less when there is none. */
  #leftMs(): number {
    if (this.#observed === undefined) return 0
    const { holderIdentity = "", leaseDurationSeconds = 0 } = this.#observed.lease.spec
    if (holderIdentity === "" || holderIdentity === this.#options.identity) return 0
    return this.#observed.at + leaseDurationSeconds * 1000 - this.#context.clock.monotonic()
  }

  #isNews({ metadata }: Lease): boolean {
    return Number(metadata.resourceVersion) > Number(this.#observed?.lease.metadata.resourceVersion ?? 0)
  }

  /**
   * Resolves when the Lease could not be renewed in time, when it belongs to another candidate, or when `signal`
   * aborted.
   */
  async renew(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#context
    const { renewDeadlineMs, retryPeriodMs, name } = this.#options
    while (!signal.aborted) {
      await pause(clock, retryPeriodMs, signal)
      if (signal.aborted) return
      // A request that hangs must not delay the deadline.
      const left = new AbortController()
      const late = pause(clock, Math.max(0, this.#renewed + renewDeadlineMs - clock.monotonic()), left.signal).then(
        () => false,
      )
      const ok = await Promise.race([this.#tryAcquireOrRenew(), late])
      left.abort()
      if (!ok && clock.monotonic() - this.#renewed >= renewDeadlineMs) {
        log.info("Failed to renew lease", { lease: name })
        return
      }
    }
  }

  /** Releases the Lease if it is still held. */
  async release(): Promise<void> {
    const { client, clock, log } = this.#context
    const { name, namespace, identity, releaseOnCancel } = this.#options
    if (!releaseOnCancel) return
    try {
      const lease = await client.get(Lease, { name, namespace })
      if (lease.spec.holderIdentity !== identity) return
      const now = microTimestamp(clock)
      const { leaseTransitions } = lease.spec
      await client.update(Lease, {
        ...lease,
        spec: {
          holderIdentity: "",
          leaseDurationSeconds: RELEASED_SECONDS,
          acquireTime: now,
          renewTime: now,
          leaseTransitions,
        },
      })
    } catch (err) {
      if (!isNotFound(err)) log.warn("Failed to release lease", { lease: name, err })
    }
  }

  /** Returns whether this candidate leads now. Never rejects. */
  async #tryAcquireOrRenew(): Promise<boolean> {
    const { client, clock, log } = this.#context
    const { name, namespace } = this.#options
    const began = clock.monotonic()
    try {
      const lease = await this.#current()
      if (lease === undefined) {
        this.#observe(await client.create(Lease, { metadata: { name, namespace }, spec: this.#record(undefined) }))
        this.#renewed = began
        return true
      }
      if (this.#isNews(lease)) this.#observe(lease)
      if (this.#leftMs() > 0) return false
      this.#observe(await client.update(Lease, { ...lease, spec: { ...lease.spec, ...this.#record(lease.spec) } }))
      this.#renewed = began
      return true
    } catch (err) {
      log.debug("Failed to acquire or renew lease", { lease: name, err, reason: ApiError.from(err).reason })
      return false
    }
  }

  async #current(): Promise<Lease | undefined> {
    const { name, namespace } = this.#options
    try {
      return await this.#context.client.get(Lease, { name, namespace })
    } catch (err) {
      if (isNotFound(err)) return undefined
      throw err
    }
  }

  #observe(lease: Lease): void {
    this.#observed = { lease, at: this.#context.clock.monotonic() }
  }

  /** Returns the spec of the Lease for this candidate; acquireTime and leaseTransitions change only with the holder. */
  #record(old: LeaseSpec | undefined): LeaseSpec {
    const { identity, leaseDurationMs } = this.#options
    const now = microTimestamp(this.#context.clock)
    const mine = old?.holderIdentity === identity
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.floor(leaseDurationMs / 1000),
      renewTime: now,
      acquireTime: mine ? (old.acquireTime ?? now) : now,
      leaseTransitions: old === undefined ? 0 : (old.leaseTransitions ?? 0) + (mine ? 0 : 1),
    }
  }
}

/** Resolves after `ms`, or when `signal` aborts. */
const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  sleep(clock, ms, signal).catch(() => undefined)
