import type { Invocation } from "../command/command.ts"
import type { Found } from "../command/find.ts"
import type { Flags } from "../command/flag.ts"

/** What a shell does with proposals, as bits. Source: github.com/spf13/cobra completions.go. */
export const DIRECTIVE = { default: 0, noSpace: 2, noFiles: 4, filterExtensions: 8 } as const

export interface Proposals {
  /** Each with a description behind a tab, if it has one. */
  readonly words: readonly string[]
  readonly directive: number
}

/** What is known of the command line that is being written. */
export interface Typing {
  readonly found: Found
  /** The global flags. */
  readonly globals: Flags
  /** The word that is being written. */
  readonly word: string
  readonly invocation: Pick<Invocation, "factory">
}
