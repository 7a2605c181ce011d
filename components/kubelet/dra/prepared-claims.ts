import { join } from "node:path"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import { CHECKPOINT_FILE, encodeCheckpoint, type ClaimState } from "./claim-checkpoint.ts"
import type { DraDevice } from "./dra-service.ts"

/** A claim that pods of this node use, or used when the kubelet was last told of them. */
export interface PreparedClaim {
  readonly uid: string
  readonly name: string
  readonly namespace: string
  /** Uids of the pods that use it. */
  readonly pods: Set<string>
  /** Devices that the drivers told of, by driver; a driver that has told of none yet is there too. */
  readonly drivers: Map<string, readonly DraDevice[]>
  /** Whether all drivers have prepared it since this kubelet started. */
  isPrepared: boolean
}

/** The claims of this node, also on disk. Source: pkg/kubelet/cm/dra/claiminfo.go claimInfoCache. */
export class PreparedClaims {
  readonly #files: PodFiles
  readonly #path: string
  readonly #claims = new Map<string, PreparedClaim>()
  /** Why the file cannot be read: without it nobody knows what is prepared. */
  #problem: Error | undefined
  /** Writes of the file run one after the other. */
  #writing: Promise<void> = Promise.resolve()

  constructor(files: PodFiles, root: string) {
    this.#files = files
    this.#path = join(root, CHECKPOINT_FILE)
  }

  /** Reads the file, if there is one. A file that cannot be read lets each later `save` and `check` fail. */
  async load(): Promise<void> {
    try {
      const text = await this.#files.read(this.#path)
      if (text === undefined) return
      const { decodeCheckpoint } = await import("./decode-checkpoint.ts")
      for (const state of decodeCheckpoint(text)) {
        const claim = claimOf(state)
        this.#claims.set(keyOf(claim), claim)
      }
    } catch (err) {
      const why = err instanceof Error ? err.message : String(err)
      this.#problem = new Error(
        `cannot read ${this.#path}, which says what is prepared: ${why}; please drain node and remove DRA state file`,
        { cause: err },
      )
    }
  }

  /** @throws Error where the file could not be read */
  check(): void {
    if (this.#problem !== undefined) throw this.#problem
  }

  all(): readonly PreparedClaim[] {
    return [...this.#claims.values()]
  }

  get(namespace: string, name: string): PreparedClaim | undefined {
    return this.#claims.get(keyOf({ namespace, name }))
  }

  /** Returns the claims that the pod uses. */
  of(podUid: string): readonly PreparedClaim[] {
    return this.all().filter(({ pods }) => pods.has(podUid))
  }

  add(claim: PreparedClaim): void {
    this.#claims.set(keyOf(claim), claim)
  }

  remove(claim: PreparedClaim): void {
    this.#claims.delete(keyOf(claim))
  }

  /** Writes the claims to disk as they are now. */
  save(): Promise<void> {
    this.check()
    const text = encodeCheckpoint(this.all().map(stateOf))
    const written = this.#writing.then(async () => {
      await this.#files.write(`${this.#path}.tmp`, text, 0o600)
      await this.#files.rename(`${this.#path}.tmp`, this.#path)
    })
    this.#writing = written.catch(() => {})
    return written
  }
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`

/** @throws Error where the claim has no devices */
export function newClaim({ metadata, status }: ResourceClaim): PreparedClaim {
  const { name = "", namespace = "", uid = "" } = metadata
  if (status.allocation === undefined) throw new Error(`ResourceClaim ${name}: not allocated`)
  const drivers = (status.allocation.devices.results ?? []).map(({ driver }) => [driver, []] as const)
  return { uid, name, namespace, pods: new Set(), drivers: new Map(drivers), isPrepared: false }
}

const stateOf = ({ uid, name, namespace, pods, drivers }: PreparedClaim): ClaimState => ({
  ClaimUID: uid,
  ClaimName: name,
  Namespace: namespace,
  PodUIDs: Object.fromEntries([...pods].map((pod) => [pod, {}])),
  DriverState: Object.fromEntries(
    [...drivers].map(([driver, devices]) => [
      driver,
      {
        Devices: devices.map(({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }) => ({
          PoolName: poolName,
          DeviceName: deviceName,
          ShareID: shareId === "" ? null : shareId,
          RequestNames: [...requestNames],
          CDIDeviceIDs: [...cdiDeviceIds],
        })),
      },
    ]),
  ),
})

const claimOf = ({ ClaimUID, ClaimName, Namespace, PodUIDs, DriverState }: ClaimState): PreparedClaim => ({
  uid: ClaimUID,
  name: ClaimName,
  namespace: Namespace,
  pods: new Set(Object.keys(PodUIDs)),
  drivers: new Map(
    Object.entries(DriverState).map(([driver, { Devices }]) => [
      driver,
      (Devices ?? []).map((device) => ({
        poolName: device.PoolName,
        deviceName: device.DeviceName,
        shareId: device.ShareID ?? "",
        requestNames: device.RequestNames ?? [],
        cdiDeviceIds: device.CDIDeviceIDs ?? [],
      })),
    ]),
  ),
  isPrepared: false,
})
