/** A volume, as the calls of a driver's node service name it. Source: the CSI specification, Node Service RPC. */
export interface CsiNodeVolume {
  readonly handle: string
  /** The folder at which the node has the volume, for all of its pods. */
  readonly stagingPath: string
}

/**
 * A CSI driver on a node. Each call is idempotent, and rejects with an Error whose message users see, as gRPC words it:
 * `rpc error: code = Internal desc = …`.
 */
export interface CsiNodeDriver {
  /** The driver's own name of this node. */
  readonly nodeId: string
  /** How many volumes the node can have; undefined for no limit. */
  readonly mostVolumes: number | undefined
  /** NodeStageVolume: makes an attached volume ready for the pods of the node. */
  stage(volume: CsiNodeVolume, signal: AbortSignal): Promise<void>
  /** NodePublishVolume: shows the staged volume to a pod, at `target`. */
  publish(volume: CsiNodeVolume, target: string, signal: AbortSignal): Promise<void>
  unpublish(handle: string, target: string): Promise<void>
  unstage(volume: CsiNodeVolume): Promise<void>
}

/** The CSI drivers that are registered on a node, by their names. */
export type CsiDrivers = ReadonlyMap<string, CsiNodeDriver>
