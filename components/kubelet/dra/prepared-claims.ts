import { join } from "node:path"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import { CHECKPOINT_FILE, encodeCheckpoint, type ClaimState } from "./claim-checkpoint.ts"
import type { DraDevice } from "./dra-service.ts"

/** A claim that pods of this node use, or that is not yet unprepared after they ended. */
export interface PreparedClaim {
  readonly uid: string
  readonly name: string
  readonly namespace: string
  /** The uids of the pods that use the claim. */
  readonly pods: Set<string>
  /** The prepared devices by driver. A driver that has not answered yet has an empty list. */
  readonly drivers: Map<string, readonly DraDevice[]>
  /** Whether all drivers have prepared the claim since this kubelet process started. */
  isPrepared: boolean
}

/**
 * The claims of this node, in memory and in the checkpoint file. Source: pkg/kubelet/cm/dra/claiminfo.go
 * claimInfoCache.
 */
export class PreparedClaims {
  readonly #files: PodFiles
  readonly #path: string
  readonly #claims = new Map<string, PreparedClaim>()
  /** Why the file cannot be read. No claim is prepared then, since it is not known which devices are in use. */
  #problem: Error | undefined
  /** The last write of the file: writes run one after the other. */
  #writing: Promise<void> = Promise.resolve()

  constructor(files: PodFiles, root: string) {
    this.#files = files
    this.#path = join(root, CHECKPOINT_FILE)
  }

  /** Reads the file, if it exists. After a file that cannot be read each `save` and `check` fails. */
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
      const why = errorMessage(err)
      this.#problem = new Error(
        `cannot read ${this.#path}, which records the prepared claims: ${why}; please drain node and remove DRA state file`,
        { cause: err },
      )
    }
  }

  /** @throws Error when the file could not be read */
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

  /** Writes the claims to the file as they are now. */
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

/** Returns the claim with its drivers, not yet prepared. @throws Error when the claim is not allocated */
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
