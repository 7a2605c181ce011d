import { existsSync } from "node:fs"
import type { Clock } from "../../pkg/clock/clock.ts"
import { sleep } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { EtcdConnection } from "../../pkg/etcd/connection.ts"
import { leaderOf, listMembers, moveLeader, removeMember, type EtcdMember } from "../../pkg/etcd/members.ts"
import { FatalError } from "../../pkg/failure/fatal-error.ts"
import { removeIfPossible } from "../../pkg/files/files.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { untilPortFree } from "../../pkg/process/free-port.ts"
import { issueEtcdCertificates, keepEtcdAuthorities, openEtcdAuthorities } from "./certificates.ts"
import { connectEtcd } from "./connect.ts"
import { peerUrl, type EtcdConfig } from "./etcd-config.ts"
import { EtcdEnded, untilHealthy } from "./health.ts"
import type { Members } from "./member-controller.ts"
import { Invitation, joinMembers, promoteWhenReady } from "./membership.ts"
import { MemberFolder, planOf } from "./member-state.ts"
import { endOrphanedEtcd, launchEtcd, type EtcdEnd, type EtcdProcess, type InitialCluster } from "./process.ts"

export interface EtcdOptions extends EtcdConfig {
  /** The database that this server had before. */
  readonly database: OwnDatabase
  /** Asks a server of the cluster to let this one in; undefined where this server does not join one. Resolves to JSON. */
  readonly askInvitation?: ((signal: AbortSignal) => Promise<string>) | undefined
}

/** A database of one server, in SQLite, from which the first member of a new cluster is filled. */
export interface OwnDatabase {
  readonly exists: () => boolean
  /** Called before anything is written. @throws Error where it cannot be copied */
  readonly refuse: () => void
  /** Copies what it has to etcd, which runs. */
  readonly copy: () => Promise<void>
  /** Renames it, or what is left of it. */
  readonly putAside: () => void
}

type Context = Pick<ComponentContext, "clock" | "random" | "log" | "spawn">

const FIRST_BACKOFF_MS = 100
const LAST_BACKOFF_MS = 10_000
/** The back-off starts anew after etcd has run so long. */
const HEALTHY_AFTER_MS = 30_000

/**
 * Runs the member of etcd of this server, and starts it again when it ends. `start` resolves when the member has its
 * vote and there is a majority. A member that its cluster has removed ends the program; at the next start it joins
 * anew.
 */
export class ManagedEtcd implements Component {
  readonly name = "etcd"
  readonly #options: EtcdOptions
  readonly #clock: Clock
  readonly #random: Random
  readonly #log: Logger
  readonly #spawn: Context["spawn"]
  readonly #folder: MemberFolder
  #process: EtcdProcess | undefined
  #problem: string | undefined = "etcd has not started"
  #stopping = new AbortController()
  #supervision: Promise<void> = Promise.resolve()

  constructor({ clock, random, log, spawn }: Context, options: EtcdOptions) {
    this.#options = options
    this.#clock = clock
    this.#random = random
    this.#log = log.child({ component: "etcd" })
    this.#spawn = spawn
    this.#folder = new MemberFolder(options.folder)
  }

  problem(): string | undefined {
    return this.#problem
  }

  /** @throws Error with etcd's own message; the reason of `signal` */
  async start(signal: AbortSignal): Promise<void> {
    this.#stopping = new AbortController()
    const stopping = AbortSignal.any([signal, this.#stopping.signal])
    const orphan = await endOrphanedEtcd(this.#options.folder, this.#clock)
    if (orphan !== undefined) this.#log.info("Ended the etcd of an earlier run", { pid: orphan })
    const { database, askInvitation } = this.#options
    const plan = planOf(this.#folder.state({ hasDatabase: database.exists(), joins: askInvitation !== undefined }))
    if (plan.action === "begin" && plan.fills) database.refuse()
    const hadCertificates = existsSync(this.#options.tlsFolder)
    await this.#portsFree(stopping)
    try {
      if (plan.action === "join") await this.#join(askInvitation!, stopping)
      else {
        if (plan.action === "begin") this.#folder.empty("filling")
        this.#issueCertificates()
        const members = `${this.memberName}=${peerUrl(this.#options)}`
        await this.#run({ state: "new", members }, stopping)
        if (plan.action === "begin" && plan.fills) await database.copy()
        if (plan.action !== "start") database.putAside()
        this.#folder.unmark("filling")
      }
    } catch (err) {
      await this.#process?.stop()
      // What has begun and not ended is of no use: the database still has everything.
      if (plan.action === "begin" && (!plan.fills || database.exists())) {
        this.#folder.remove()
        if (!hadCertificates) removeIfPossible(this.#options.tlsFolder)
      }
      throw err
    }
    this.#problem = undefined
    const { signal: ending } = this.#stopping
    const supervise = () => {
      const supervised = this.#supervise(ending)
      this.#supervision = supervised.catch(() => undefined)
      return supervised
    }
    this.#spawn("etcd", supervise, ending)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("etcd is being stopped"))
    await this.#process?.stop()
    await this.#supervision
  }

  /** The name of this member. */
  get memberName(): string {
    return this.#folder.name(this.#options.nodeName, this.#random)
  }

  /** Returns what a server needs that joins, as JSON. It holds the keys of the authorities. @throws EtcdError */
  async invitation(): Promise<string> {
    const all = await this.#asking(listMembers)
    const authorities = openEtcdAuthorities(this.#options.tlsFolder, this.#clock.now())
    const members = all.flatMap(({ isLearner, clientURLs }) => (isLearner ? [] : clientURLs))
    return JSON.stringify({ authorities, members } satisfies Invitation)
  }

  /** What the controller of Nodes does with the members. */
  get members(): Members {
    const list = () => this.#asking(listMembers)
    return {
      nodeName: this.#options.nodeName,
      memberName: this.memberName,
      isAlone: async () => (await list()).length === 1,
      remove: async (name) => {
        const all = await list()
        const member = all.find((one) => one.name === name)
        if (member === undefined) return
        await this.#depose(member, all)
        await this.#asking((etcd) => removeMember(etcd, member.id))
      },
    }
  }

  /**
   * Makes the member of this server the leader instead of one that is to be removed: the others would only notice by
   * its silence that it is gone, and take no writes meanwhile.
   */
  async #depose(member: EtcdMember, all: readonly EtcdMember[]): Promise<void> {
    const own = all.find(({ name }) => name === this.memberName)
    if (own === undefined || (await this.#asking(leaderOf)) !== member.id) return
    const etcd = connectEtcd(this.#options, this.#clock, member.clientURLs)
    try {
      await moveLeader(etcd, own.id)
    } catch (error) {
      this.#log.debug("Removing the leader of etcd, which does not resign", { member: member.name, error })
    } finally {
      etcd.close()
    }
  }

  async #asking<T>(run: (etcd: EtcdConnection) => Promise<T>): Promise<T> {
    const etcd = connectEtcd(this.#options, this.#clock)
    try {
      return await run(etcd)
    } finally {
      etcd.close()
    }
  }

  async #join(ask: NonNullable<EtcdOptions["askInvitation"]>, signal: AbortSignal): Promise<void> {
    const { authorities, members } = Invitation.parse(JSON.parse(await ask(signal)))
    const aside = this.#folder.putAside(this.#clock.now())
    if (aside !== undefined) this.#log.info("Moved the data of the removed member aside", { folder: aside })
    this.#folder.empty("joining")
    keepEtcdAuthorities(this.#options.tlsFolder, authorities)
    this.#issueCertificates()
    const etcd = connectEtcd(this.#options, this.#clock, members)
    const tools = { etcd, clock: this.#clock, log: this.#log, signal }
    try {
      const own = { name: this.memberName, peerUrl: peerUrl(this.#options) }
      const { id, initial } = await joinMembers({ ...tools, ...own })
      await this.#run(initial, signal)
      await promoteWhenReady(id, tools)
    } finally {
      etcd.close()
    }
    this.#folder.unmark("joining")
    this.#log.info("This server's etcd is a member of the cluster", { member: this.memberName })
  }

  /** Waits for the ports of an etcd that was killed at the same time as its server. */
  async #portsFree(signal: AbortSignal): Promise<void> {
    const { address, ports } = this.#options
    const tools = { clock: this.#clock, log: this.#log, signal }
    for (const host of ["127.0.0.1", address]) await untilPortFree(host, ports.client, tools)
    await untilPortFree(address, ports.peer, tools)
    await untilPortFree("127.0.0.1", ports.metrics, tools)
  }

  #issueCertificates(): void {
    const { tlsFolder } = this.#options
    const now = this.#clock.now()
    issueEtcdCertificates(tlsFolder, openEtcdAuthorities(tlsFolder, now), this.#options, now)
  }

  /** Starts etcd, and resolves when it is healthy: for a member with a vote, when there is a majority. */
  async #run(initial: InitialCluster, signal: AbortSignal): Promise<void> {
    const { metrics: metricsPort } = this.#options.ports
    const from = this.#clock.monotonic()
    const etcd = this.#launch(initial)
    try {
      await untilHealthy(etcd, { metricsPort, clock: this.#clock, log: this.#log, signal })
    } catch (err) {
      throw err instanceof EtcdEnded ? this.#ended(err.end) : err
    }
    this.#log.info("etcd is ready", { pid: etcd.pid, ms: Math.round(this.#clock.monotonic() - from) })
  }

  #launch(initial: InitialCluster | undefined): EtcdProcess {
    const process = launchEtcd({
      config: this.#options,
      name: this.memberName,
      initial,
      log: this.#log,
      clock: this.#clock,
    })
    this.#process = process
    return process
  }

  /** Starts etcd again whenever it ends, until it is stopped. @throws FatalError when this member has been removed */
  async #supervise(signal: AbortSignal): Promise<void> {
    let backoff = FIRST_BACKOFF_MS
    for (;;) {
      const since = this.#clock.monotonic()
      const end = await this.#process!.exited
      if (signal.aborted) return
      const { message } = this.#ended(end)
      if (end.isRemoved) throw new FatalError(message)
      if (this.#clock.monotonic() - since > HEALTHY_AFTER_MS) backoff = FIRST_BACKOFF_MS
      this.#problem = message
      this.#log.warn("etcd has ended; starting it again", { reason: message, ms: backoff })
      await sleep(this.#clock, backoff, signal).catch(() => undefined)
      if (signal.aborted) return
      backoff = Math.min(2 * backoff, LAST_BACKOFF_MS)
      this.#launch(undefined)
      this.#problem = undefined // whether it has a majority, the store says
    }
  }

  /** Notes what the end of etcd means for the next start. */
  #ended({ reason, isRemoved }: EtcdEnd): Error {
    if (!isRemoved) return new Error(reason)
    this.#folder.mark("removed")
    return new Error(
      "The cluster has removed this server from its etcd, which happens when its Node is deleted. At its next start it " +
        "puts its data aside and joins again, if --server names another server",
    )
  }
}
