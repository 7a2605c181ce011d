import type { SystemdRoot } from "../debian.ts"
import type { Steps } from "../steps.ts"

/** A test in a machine where the package is installed and serves README's first application. */
export interface Piece {
  readonly debian: SystemdRoot
  /** What it shows, in a line. */
  readonly shows: string
  run(steps: Steps): Promise<void>
}
