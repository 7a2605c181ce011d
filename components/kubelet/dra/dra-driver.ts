import type { DraClaim, DraDevice } from "./dra-service.ts"

/** Has the devices of one driver prepared for claims. */
export interface DraDriver {
  /**
   * Resolves with the devices of each claim, by the claim's uid. May be called again for the same claims.
   * @throws Error whose message users see
   */
  prepare(claims: readonly DraClaim[]): Promise<ReadonlyMap<string, readonly DraDevice[]>>
  /** May be called again for the same claims. @throws Error whose message users see */
  unprepare(claims: readonly DraClaim[]): Promise<void>
}

/** The drivers of a node's devices. */
export interface DraDrivers {
  /** @throws Error that names the driver, when it has not registered */
  get(name: string): DraDriver
  /** Calls `listener` when a driver has registered. Returns what ends that. */
  onRegistered(listener: () => void): () => void
}

/** Drivers of a machine in memory: each has its devices prepared at once, and nothing of them shows in a container. */
export const instantDrivers: DraDrivers = {
  get: () => ({
    prepare: (claims) => Promise.resolve(new Map(claims.map(({ uid = "" }) => [uid, []]))),
    unprepare: () => Promise.resolve(),
  }),
  onRegistered: () => () => {},
}
