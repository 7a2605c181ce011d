import type { DescribeClient } from "./describe-client.ts"
import type { TimeZone } from "../environment/time-zone.ts"

/** What a describer works with. */
export interface Describing {
  readonly client: DescribeClient
  /** Whether the events of the object are part of its description. */
  readonly showEvents: boolean
  /** Most objects in a response to a list; 0 for no limit. */
  readonly chunkSize: number
  /** Milliseconds since the epoch, from which ages are counted. */
  now(): number
  /** The time zone in which times are written. */
  readonly zone: TimeZone
}

/** Returns the description of an object. The namespace is empty for objects of the cluster. */
export type Describer = (describing: Describing, namespace: string, name: string) => Promise<string>
