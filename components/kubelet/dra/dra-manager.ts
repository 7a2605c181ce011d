import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ResourceStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import {
  isClaimOf,
  isReservedFor,
  resourceClaimName,
  type PodResourceClaim,
} from "../../../pkg/pods/resource-claims.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import { deviceKey, type DeviceHealths } from "./device-health.ts"
import type { DraDriver, DraDrivers } from "./dra-driver.ts"
import type { DraDevice } from "./dra-service.ts"
import { newClaim, PreparedClaims, type PreparedClaim } from "./prepared-claims.ts"
import { resourceStatus } from "./resource-health.ts"

export interface DraManagerOptions extends Pick<ComponentContext, "client" | "clock" | "log" | "spawn"> {
  readonly drivers: DraDrivers
  readonly healths: DeviceHealths
  /** Called when the health of a device of the pod changed. */
  readonly healthChanged: (podUid: string) => void
  readonly files: PodFiles
  /** The kubelet's root folder. */
  readonly root: string
}

/**
 * Milliseconds between searches for pods that ended while no kubelet ran. Source: manager.go defaultReconcilePeriod.
 */
const RECONCILE_MS = 60_000

/**
 * Has drivers prepare the devices of claims before the containers of a pod start, and unprepare them after they have
 * ended. A claim that several pods share is prepared once. Calls for the same claim run one after the other. Errors
 * have upstream's words, since users see them. Source: pkg/kubelet/cm/dra/manager.go.
 */
export class DraManager {
  readonly #options: DraManagerOptions
  readonly #claims: PreparedClaims
  /** By `<namespace>/<name>` of a claim, the end of the call that is running for it. */
  readonly #busy = new Map<string, Promise<void>>()
  #reconciling: Timer | undefined
  #stopped = false

  constructor(options: DraManagerOptions) {
    this.#options = options
    this.#claims = new PreparedClaims(options.files, options.root)
    options.healths.onChanged((driver, devices) => this.#tellHealth(driver, devices))
  }

  /** Reads the claims that an earlier kubelet process prepared. */
  start(): Promise<void> {
    return this.#claims.load()
  }

  stop(): void {
    this.#stopped = true
    this.#reconciling?.cancel()
  }

  /** Prepares the devices of the pod's claims. @throws Error with a message for users */
  async prepare(pod: Pod): Promise<void> {
    const claims = claimsOf(pod)
    if (claims.length === 0) return
    try {
      this.#claims.check()
      const found = await this.#allowed(pod, claims)
      await this.#alone(found, () => this.#prepare(pod, found))
    } catch (err) {
      throw worded("prepare dynamic resources", err)
    }
  }

  /** Returns the ids of the CDI devices that the container gets. @throws Error for a claim that is not prepared */
  cdiDevices(pod: Pod, container: AnyContainer): readonly string[] {
    return this.devicesOf(pod, container).flatMap(({ cdiDeviceIds }) => cdiDeviceIds)
  }

  /** Returns the devices that the container gets. @throws Error for a claim that is not prepared */
  devicesOf(pod: Pod, container: AnyContainer): readonly DraDevice[] {
    return requestsOf(pod, container).flatMap(({ claimName, request }) => {
      const claim = this.#claims.get(pod.metadata.namespace ?? "", claimName)
      if (claim === undefined)
        throw new Error(
          `internal error: unable to get claim info for ResourceClaim ${claimName} in namespace ${pod.metadata.namespace}`,
        )
      const devices = [...claim.drivers.values()].flat()
      return devices.filter(
        ({ requestNames }) => request === "" || requestNames.length === 0 || requestNames.includes(request),
      )
    })
  }

  /** Returns the prepared claims whose devices the container gets. */
  claimsOf(pod: Pod, container: AnyContainer): readonly PreparedClaim[] {
    const names = new Set(requestsOf(pod, container).map(({ claimName }) => claimName))
    return [...names].flatMap((name) => this.#claims.get(pod.metadata.namespace ?? "", name) ?? [])
  }

  /** Returns the health of the devices that the container gets by its claims, as its status shows it. */
  resourceStatuses(pod: Pod, { resources }: AnyContainer): readonly ResourceStatus[] {
    return (resources.claims ?? []).flatMap((used) => {
      const name = claimNameOf(pod, used.name)
      const claim = name === undefined ? undefined : this.#claims.get(pod.metadata.namespace ?? "", name)
      const status = claim === undefined ? undefined : resourceStatus(used, claim.drivers, this.#options.healths)
      return status ?? []
    })
  }

  /** Returns whether the pod has devices that were not released yet. */
  holds(podUid: string): boolean {
    return this.#claims.of(podUid).length > 0
  }

  /** Unprepares the claims of a pod that no other pod uses. @throws Error with a message for users */
  async unprepare(podUid: string): Promise<void> {
    const claims = this.#claims.of(podUid)
    if (claims.length === 0) return
    try {
      await this.#alone(claims, () => this.#unprepare(podUid))
    } catch (err) {
      throw worded("unprepare dynamic resources", err)
    }
  }

  /**
   * Unprepares the claims of pods that ended while no kubelet ran, and tries again until none is left. `isHere` returns
   * whether a pod still runs on this node.
   */
  async reconcile(isHere: (podUid: string) => boolean): Promise<void> {
    const { log, clock, spawn } = this.#options
    const pods = new Set(this.#claims.all().flatMap((claim) => [...claim.pods]))
    for (const uid of pods) {
      if (isHere(uid)) continue
      try {
        await this.unprepare(uid)
      } catch (err) {
        log.warn("Failed to release the devices of a pod that has ended; will retry", { podUid: uid, err })
      }
    }
    if (this.#stopped || this.#claims.all().every((claim) => [...claim.pods].every(isHere))) return
    this.#reconciling = clock.setTimeout(
      () => spawn("devices of pods that ended", () => this.reconcile(isHere)),
      RECONCILE_MS,
    )
  }

  /**
   * Checks all claims of a pod before any is recorded, so that a pod that fails here can be deleted without a driver.
   */
  async #allowed(pod: Pod, claims: readonly PodResourceClaim[]): Promise<readonly PreparedClaim[]> {
    const { client, drivers } = this.#options
    const { name: podName, namespace = "", uid } = pod.metadata
    const allowed: PreparedClaim[] = []
    for (const podClaim of claims) {
      const name = resourceClaimName(pod, podClaim)
      if (name === undefined) throw new Error(`pod "${namespace}/${podName}": ResourceClaim not created yet`)
      if (name === null) continue
      const claim = await client.get(ResourceClaim, { namespace, name }).catch((err: unknown) => {
        throw worded(`fetch ResourceClaim ${name}`, err)
      })
      if (podClaim.resourceClaimTemplateName !== undefined && !isClaimOf(pod, claim))
        throw new Error(
          `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`,
        )
      if (!isReservedFor(claim, pod))
        throw new Error(`pod ${podName} (${uid}) is not allowed to use ResourceClaim ${name} (${claim.metadata.uid})`)
      const fresh = newClaim(claim)
      // A prepared claim needs its drivers too: without them the claim could not be unprepared.
      for (const driver of fresh.drivers.keys()) drivers.get(driver)
      allowed.push(fresh)
    }
    return allowed
  }

  async #prepare(pod: Pod, found: readonly PreparedClaim[]): Promise<void> {
    const claims = found.map((fresh) => this.#noted(fresh))
    for (const claim of claims) claim.pods.add(pod.metadata.uid ?? "")
    // Saved before a driver is called: if the pod or the kubelet ends meanwhile, the devices are still unprepared.
    await this.#claims.save()
    const open = claims.filter(({ isPrepared }) => !isPrepared)
    for (const [driver, asked] of this.#byDriver(open)) {
      const prepared = await this.#options.drivers.get(driver).prepare(asked)
      for (const claim of asked) claim.drivers.set(driver, prepared.get(claim.uid) ?? [])
    }
    for (const claim of open) claim.isPrepared = true
    if (open.length > 0) await this.#claims.save()
  }

  #tellHealth(driver: string, changed: ReadonlySet<string>): void {
    if (this.#stopped) return
    const claims = this.#claims
      .all()
      .filter(({ drivers }) => drivers.get(driver)?.some((device) => changed.has(deviceKey(device))) === true)
    for (const uid of new Set(claims.flatMap(({ pods }) => [...pods]))) this.#options.healthChanged(uid)
  }

  #noted(fresh: PreparedClaim): PreparedClaim {
    const known = this.#claims.get(fresh.namespace, fresh.name)
    if (known === undefined) {
      this.#claims.add(fresh)
      return fresh
    }
    if (known.uid === fresh.uid) return known
    throw new Error(
      `old ResourceClaim with same name ${known.name} and different UID ${known.uid} still exists (previous pod ` +
        "force-deleted?!)",
    )
  }

  async #unprepare(podUid: string): Promise<void> {
    const claims = this.#claims.of(podUid)
    const last = claims.filter(({ pods }) => pods.size === 1)
    const drivers: [DraDriver, readonly PreparedClaim[]][] = [...this.#byDriver(last)].map(([driver, asked]) => [
      this.#options.drivers.get(driver),
      asked,
    ])
    for (const [driver, asked] of drivers) await driver.unprepare(asked)
    for (const claim of claims) claim.pods.delete(podUid)
    for (const claim of last) this.#claims.remove(claim)
    await this.#claims.save()
  }

  #byDriver(claims: readonly PreparedClaim[]): ReadonlyMap<string, readonly PreparedClaim[]> {
    const drivers = new Set(claims.flatMap((claim) => [...claim.drivers.keys()]))
    return new Map([...drivers].map((driver) => [driver, claims.filter((claim) => claim.drivers.has(driver))]))
  }

  /** Calls `run` when no other call is running for one of the claims. */
  async #alone<T>(claims: readonly PreparedClaim[], run: () => Promise<T>): Promise<T> {
    const keys = claims.map(({ namespace, name }) => `${namespace}/${name}`)
    const blocker = () => keys.map((key) => this.#busy.get(key)).find((promise) => promise !== undefined)
    for (let busy = blocker(); busy !== undefined; busy = blocker()) await busy
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const key of keys) this.#busy.set(key, promise)
    try {
      return await run()
    } finally {
      for (const key of keys) this.#busy.delete(key)
      resolve()
    }
  }
}

/** Returns the pod's claims, including the one that the scheduler made for extended resources. */
function claimsOf({ spec, status }: Pod): readonly PodResourceClaim[] {
  const claims = spec.resourceClaims ?? []
  const extended = status.extendedResourceClaimStatus
  return extended === undefined ? claims : [...claims, { name: "", resourceClaimName: extended.resourceClaimName }]
}

interface ContainerRequest {
  readonly claimName: string
  /** Empty for all requests of the claim. */
  readonly request: string
}

/** Returns the requests whose devices the container gets. */
function requestsOf(pod: Pod, { name, resources }: AnyContainer): readonly ContainerRequest[] {
  const own = (resources.claims ?? []).flatMap((used) => {
    const claimName = claimNameOf(pod, used.name)
    return claimName === undefined ? [] : [{ claimName, request: used.request ?? "" }]
  })
  const { resourceClaimName: claimName, requestMappings = [] } = pod.status.extendedResourceClaimStatus ?? {}
  if (claimName === undefined) return own
  const isAsked = (resource: string) => resources.requests?.[resource] !== undefined
  const extended = requestMappings.filter((one) => one.containerName === name && isAsked(one.resourceName))
  return [...own, ...extended.map(({ requestName }) => ({ claimName, request: requestName }))]
}

/** Returns the name of the ResourceClaim that the pod calls `name`; undefined while it has none. */
function claimNameOf(pod: Pod, name: string): string | undefined {
  const podClaim = pod.spec.resourceClaims?.find((claim) => claim.name === name)
  return podClaim === undefined ? undefined : (resourceClaimName(pod, podClaim) ?? undefined)
}

const worded = (what: string, err: unknown): Error => new Error(`${what}: ${errorMessage(err)}`, { cause: err })
