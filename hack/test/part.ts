import type { Summary } from "./summary.ts"

/** A part of `npm test`: a `bun test` of its own, so that a part that crashes hides no other. */
export interface Part {
  /** The folder or files, as one names them on the command line. */
  readonly name: string
  /** What `bun test` gets: paths that begin with `./`. */
  readonly paths: readonly string[]
  /** The most that one test may take, in milliseconds. */
  readonly timeout: number
  /** The most that all of them may take, in seconds; see run-part.ts. */
  readonly limit: number
  /** Whether the tests run `dist/k3ts`. */
  readonly needsBuild: boolean
  /** Whether all of its tests need root and containerd. */
  readonly needsRoot: boolean
  /**
   * What may run at the same time. A `node` part uses this machine as a node (its network, its runtime's folder, its
   * cgroups), as one part can at a time. An `alone` part compares all of the machine before and after.
   */
  readonly beside: "all" | "no other node" | "nothing"
}

/** What a part has come to. */
export interface Outcome extends Summary {
  /** What failed though no test says so, such as a crash. Each counts as one failure. */
  readonly faults: readonly string[]
  /** Milliseconds that each file took, by its path. */
  readonly files: Readonly<Record<string, number>>
  readonly output: string
  readonly seconds: number
  /** Seconds of the processors' time, of `bun test` and of the children that it waited for. */
  readonly processorSeconds: number
}
