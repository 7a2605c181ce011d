import { replaceFile } from "../../pkg/files/files.ts"

/** The words that start this program: its file, or the runtime and the file of the source. */
export function ownProgram(): readonly string[] {
  const [, main = ""] = process.argv
  return main.startsWith("/$bunfs/") ? [process.execPath] : [process.execPath, main]
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** Writes a script that runs a command of this program. */
export function writeScript(path: string, command: readonly string[]): void {
  const words = [...ownProgram(), ...command].map(quoted).join(" ")
  // Somebody may be starting the script that is there; and a link to one that others use is replaced.
  replaceFile(path, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
}
