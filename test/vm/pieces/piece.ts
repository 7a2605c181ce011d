import type { SystemdRoot } from "../debian.ts"
import type { Steps } from "../steps.ts"

/**
 * A test in a machine where the package is installed and serves README's first application; or in a new one where
 * nothing starts services, with the package in its folder.
 */
export interface Piece {
  readonly debian: SystemdRoot
  readonly services?: "none"
  /** What it shows, in a line. */
  readonly shows: string
  run(steps: Steps): Promise<void>
}
