import type { CommandEntry } from "../../command/command.ts"

/** The commands below `create`, each of which makes an object of its arguments, in the order of kubectl's help. */
export const GENERATORS: readonly CommandEntry[] = []
