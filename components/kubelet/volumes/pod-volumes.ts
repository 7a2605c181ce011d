import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { FewByKey } from "../../../pkg/cache/few-by-key.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import { settleFew, type Pace } from "../../../pkg/flow/settle-few.ts"
import type { KubeletContext } from "../context.ts"
import type { CsiVolumes } from "./csi/csi-volumes.ts"
import type { TrustBundles } from "../objects/trust-bundles.ts"
import type { ObjectChange, ObjectUse, ObjectUser, WatchedObjects } from "../objects/watched-objects.ts"
import { MountMessage, NotAttached, VolumeError } from "../model/start-error.ts"
import type { ImageManager } from "../images/image-manager.ts"
import type { MountedVolume, MountedVolumes } from "../model/mounted-volume.ts"
import { contentsIn } from "./api-volume.ts"
import { ApiVolumeWriter, type ReadObject, type WrittenPod } from "./api-volume-writer.ts"
import { JITTER, VolumeExpansionCheck } from "./volume-expansion-check.ts"
import { mountVolume } from "./mount-volume.ts"
import type { LazyPodCertificates } from "../podcertificate/lazy-pod-certificates.ts"
import type { PathUsers } from "./path-users.ts"
import { keyOf, neededBy, type Need } from "./needed-objects.ts"
import type { Reference } from "./references.ts"
import type { TokenHolder, TokenRenewals } from "./token-renewals.ts"
import type { ServiceAccountTokens } from "./types/service-account-token.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

export interface PodVolumesParts {
  readonly context: KubeletContext
  readonly objects: WatchedObjects
  readonly trustBundles: TrustBundles
  readonly certificates: LazyPodCertificates
  readonly tokens: ServiceAccountTokens
  readonly renewals: TokenRenewals
  readonly users: PathUsers
  readonly images: Pick<ImageManager, "ensure">
  /** The volumes of CSI drivers; undefined where the machine can have no driver. */
  readonly csi: CsiVolumes | undefined
  /** Called when an object without which the pod could not start has changed, so that a new attempt may succeed. */
  readonly worthTrying: (podUid: string) => void
}

/**
 * The volumes of one pod, from its first mount on.
 * Invariants: the objects to which the pod refers are watched from the first mount to `stop`, so that no change between
 * a failed mount and the next is missed.
 */
export class PodVolumes implements ObjectUser, TokenHolder, WrittenPod {
  readonly #parts: PodVolumesParts
  /** As it is now. */
  pod: Pod
  /** What was needed at the first mount. */
  readonly #needs: readonly Need[]
  readonly #uses = new FewByKey<ObjectUse<ReadObject>>(({ about }) => about)
  readonly #mounted = new FewByKey<MountedVolume>(({ name }) => name)
  /** Exists once a volume can grow, which most cannot. */
  #sizeCheck: VolumeExpansionCheck | undefined
  /** Volumes whose files are not up to date; undefined when there are none, as in most pods at most times. */
  #stale: Set<string> | undefined
  #scheduled = false
  /** When the kubelet last synchronized the pod, in milliseconds of the monotonic clock. */
  #syncedAt: number
  /** The timer of the next synchronization; undefined when no change waits for it. */
  #nextSync: Timer | undefined
  /**
   * Whether a mount was attempted. From then on changes are written, also to volumes that could not be mounted, since
   * their pod may be running since before a restart.
   */
  #tried = false
  readonly #writer: ApiVolumeWriter
  /** When the first token of each volume that has some must be renewed. */
  #renewals: Renewal[] = []
  /** The last reported error of each volume that could not be updated, so that each error is reported once. */
  #reported: Map<string, string> | undefined

  /** Whether `stop` was called. */
  isStopped = false

  constructor(parts: PodVolumesParts, pod: Pod) {
    this.#parts = parts
    this.pod = pod
    this.#writer = new ApiVolumeWriter(parts, this)
    this.#syncedAt = parts.context.clock.monotonic()
    this.#needs = neededBy(pod)
    for (const { reference } of this.#needs) this.#uses.set(this.#follow(reference))
  }

  #follow(reference: Reference): ObjectUse<ReadObject> {
    const { objects, trustBundles, certificates } = this.#parts
    const { kind, name } = reference
    const namespace = this.pod.metadata.namespace ?? ""
    switch (kind) {
      case "ConfigMap":
        return objects.use(ConfigMap, namespace, name, this, keyOf(reference))
      case "Secret":
        return objects.use(Secret, namespace, name, this, keyOf(reference))
      case "ClusterTrustBundles":
        return trustBundles.use(this, keyOf(reference))
      case "PodCertificates":
        return certificates.use(this.#uid, this, keyOf(reference))
    }
  }

  /** Called by WatchedObjects. */
  objectChanged(about: string, { exists, existed }: ObjectChange): void {
    const { volumes, variables } = this.#needs.find(({ key }) => key === about)!
    for (const volume of volumes) this.#makeStale(volume)
    if (!this.#isReady || (variables && exists && !existed)) this.#parts.worthTrying(this.#uid)
    if (this.#isReady) this.#scheduleAtSync()
    else this.#schedule()
  }

  #makeStale(volume: string): void {
    this.#stale ??= new Set()
    this.#stale.add(volume)
  }

  get #uid(): string {
    return this.pod.metadata.uid!
  }

  get #isReady(): boolean {
    return this.#tried && (this.pod.spec.volumes ?? []).every(({ name }) => this.#isMounted(name))
  }

  #isMounted(volume: string): boolean {
    return this.#mounted.has(volume)
  }

  /** The volumes that are mounted now. */
  get mounted(): readonly MountedVolume[] {
    return this.#mounted.items
  }

  /**
   * Mounts the missing volumes, and updates files that show fields of the pod. @throws VolumeError for the first volume
   * that cannot be mounted; NotAttached when all others are
   */
  async mount(pod: Pod, signal: AbortSignal): Promise<MountedVolumes> {
    this.podChanged(pod)
    const missing = (pod.spec.volumes ?? []).filter(({ name }) => !this.#isMounted(name))
    const mountOne = async (volume: Volume) => {
      const isWritten = contentsIn(volume) !== undefined
      const mounted = isWritten ? this.#writer.write(volume) : mountVolume({ ...this.#parts, pod, volume, signal })
      this.#mounted.set(await mounted)
    }
    const results = await settleFew(missing, mountOne, MOUNTS, this.#parts.context.clock)
    this.#tried = true
    if (this.mounted.some(({ grow }) => grow !== undefined))
      (this.#sizeCheck ??= new VolumeExpansionCheck(this.#parts.context, () => this.mounted)).start()
    this.#schedule()
    signal.throwIfAborted()
    let waits: NotAttached | undefined
    const failures = results.flatMap((result, index) => {
      if (result.status === "fulfilled") return []
      if (result.reason instanceof NotAttached) {
        waits = result.reason
        return []
      }
      const { name } = missing[index]!
      return [new VolumeError(name, failedMount(name, result.reason), { cause: result.reason })]
    })
    const [first, ...others] = failures
    // The caller reports the error that is thrown; the others are reported here.
    for (const { message } of others) this.#parts.context.events.event(pod, "Warning", "FailedMount", message)
    if (first !== undefined) throw first
    if (waits !== undefined) throw waits
    return new Map(this.mounted.map((mounted) => [mounted.name, mounted]))
  }

  /**
   * Called with a new state of the pod: updates files that show its labels, annotations or resources if these changed.
   */
  podChanged(pod: Pod): void {
    const old = this.pod
    if (pod === old) return
    this.pod = pod
    const fromPod = (pod.spec.volumes ?? []).filter((volume) => contentsIn(volume)?.fromPod === true)
    if (fromPod.length === 0) return
    const sources = ({ metadata: { labels, annotations }, spec: { containers, resources } }: Pod) => [
      labels,
      annotations,
      resources,
      containers.map((container) => container.resources),
    ]
    if (deepEqual(sources(pod), sources(old))) return
    for (const { name } of fromPod) this.#makeStale(name)
    this.#schedule()
  }

  /** Called when the kubelet synchronizes the pod: writes the changes that waited for it. */
  sync(): void {
    this.#syncedAt = this.#parts.context.clock.monotonic()
    this.#nextSync?.cancel()
    this.#nextSync = undefined
    this.#schedule()
  }

  /**
   * Schedules the update of a running pod's volumes for the kubelet's next periodic synchronization, as upstream, where
   * volumes follow their objects only then. The synchronization has no timer of its own while no change waits for it.
   * Source: pkg/kubelet/pod_workers.go completeWork, resyncInterval with jitter.
   */
  #scheduleAtSync(): void {
    const {
      config: { syncFrequencyMs },
      clock,
      random,
    } = this.#parts.context
    if (syncFrequencyMs === 0) return this.#schedule()
    if (this.#nextSync !== undefined || this.isStopped) return
    const period = syncFrequencyMs * (1 + JITTER * random.next())
    const since = clock.monotonic() - this.#syncedAt
    // If the last synchronization was longer ago than the period, later ones had no timer here; any moment of the
    // period is equally likely for the next.
    const wait = since < period ? period - since : period * random.next()
    this.#nextSync = clock.setTimeout(() => this.sync(), wait)
  }

  /** Stops the watches; resolves when no file is being written. Files remain. */
  async stop(): Promise<void> {
    this.isStopped = true
    this.#nextSync?.cancel()
    this.#sizeCheck?.stop()
    for (const object of this.#uses.items) object.release()
    await this.#writer.filesAtRest()
  }

  /** Writes stale volumes at the end of the turn, so that several changes in one turn are one update. */
  #schedule(): void {
    if (this.#scheduled || this.isStopped || !this.#tried || this.#stale === undefined) return
    this.#scheduled = true
    const { clock, spawn } = this.#parts.context
    clock.afterTurn(() => {
      this.#scheduled = false
      if (!this.isStopped) spawn("volume update", () => this.#update())
    })
  }

  async #update(): Promise<void> {
    const { events, log, clock } = this.#parts.context
    const stale = this.#stale ?? NONE
    this.#stale = undefined
    for (const volume of this.pod.spec.volumes ?? []) {
      if (!stale.has(volume.name) || this.isStopped) continue
      try {
        this.#mounted.set(await this.#writer.write(volume))
        this.#reported?.delete(volume.name)
      } catch (err) {
        if (contentsIn(volume)?.hasToken === true && !this.#renewals.some((renewal) => renewal.volume === volume.name))
          this.renewAt(volume.name, clock.monotonic() + TOKEN_RETRY_MS)
        // The caller of `mount` reports the error of a volume that was never mounted.
        if (!this.#isMounted(volume.name)) continue
        const message = failedMount(volume.name, err)
        if (this.#reported?.get(volume.name) === message) continue
        this.#reported ??= new Map()
        this.#reported.set(volume.name, message)
        // The deletion of an object is usually intended: often its pods are about to be deleted too.
        log[(await this.#lacksObject(volume)) ? "debug" : "warn"](
          "Failed to update a volume; its files stay as they were",
          {
            pod: `${this.pod.metadata.namespace ?? ""}/${this.pod.metadata.name ?? ""}`,
            volume: volume.name,
            err,
          },
        )
        events.event(this.pod, "Warning", "FailedMount", message)
      }
    }
  }

  /** Whether an object to which the volume refers is known not to exist. */
  async #lacksObject(volume: Volume): Promise<boolean> {
    const found = await Promise.allSettled(
      (contentsIn(volume)?.references ?? []).map(async (reference) => this.readObject(reference)),
    )
    return found.some((result) => result.status === "fulfilled" && result.value === undefined)
  }

  async readObject(reference: Reference): Promise<ReadObject | undefined> {
    return this.#uses.get(keyOf(reference))?.read()
  }

  /** Called by the writer. */
  writing(volume: string): void {
    this.#stale?.delete(volume)
    if (this.#stale?.size === 0) this.#stale = undefined
    this.#renewals = this.#renewals.filter((renewal) => renewal.volume !== volume)
  }

  /** A volume is written as a whole when the first of its tokens, of which it may have any number, must be renewed. */
  renewAt(volume: string, at: number): void {
    const known = this.#renewals.find((renewal) => renewal.volume === volume)
    if (known === undefined) this.#renewals.push({ volume, at })
    else known.at = Math.min(known.at, at)
    if (!this.isStopped) this.#parts.renewals.arm(at)
  }

  get nextRenewal(): number {
    return this.isStopped ? Infinity : smallest(this.#renewals.map(({ at }) => at))
  }

  renewDue(now: number): void {
    for (const { volume, at } of this.#renewals) if (at <= now) this.#makeStale(volume)
    this.#renewals = this.#renewals.filter(({ at }) => at > now)
    this.#schedule()
  }
}

interface Renewal {
  readonly volume: string
  /** Milliseconds of the monotonic clock. */
  at: number
}

/** An object of 1.5 MB can have 100,000 volumes, and each mount that has begun takes a kilobyte. */
const MOUNTS: Pace = { atOnce: 100, inTurn: 100 }

/** The delay before a failed token request is tried again, in milliseconds. */
const TOKEN_RETRY_MS = 10_000

const NONE: ReadonlySet<string> = new Set()

/** Returns the message of the event FailedMount. Source: pkg/volume/util/operationexecutor. */
const failedMount = (volume: string, err: unknown): string =>
  err instanceof MountMessage
    ? err.message
    : `MountVolume.SetUp failed for volume ${JSON.stringify(volume)} : ${errorMessage(err)}`
