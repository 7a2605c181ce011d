/** What the table of programs says of each. */
import type { ImageSource } from "../../pkg/oci/image.ts"
import type { Had } from "./origins/had.ts"
import type { Origin } from "./origins/origin.ts"
import type { Scenario } from "./scenario.ts"

export interface Program {
  /** The name on the command line and in the table of docs/ecosystem.md. */
  readonly name: string
  /** Begins with the program that the scenario is about; others are what it needs. */
  readonly from: readonly [Origin, ...Origin[]]
  /** What was done and seen, for the table: words without a full stop. */
  readonly shows: string
  /** `node`: containers run, which needs root. `simulated`: a node in memory, for clients. */
  readonly on: "node" | "simulated"
  /** The images that the node has at its start, made of what was had. */
  readonly images?: (had: Had) => readonly ImageSource[]
  /** Repositories, as `owner/name`, whose checkouts below `--sources` have the manifests or charts. */
  readonly checkouts?: readonly string[]
  /** Flags of `k3ts server` that the program's own documentation asks for. */
  readonly flags?: readonly string[]
  /** Does what a user would do, ends with the removal, and throws where something is not as it must be. */
  readonly run: (at: Scenario) => Promise<void>
}
