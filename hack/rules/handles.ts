/**
 * The runtime ends the program when an open FileHandle is collected as garbage. So files are opened by
 * pkg/files/owned-file.ts, where each has an owner, and one that is forgotten ends nothing.
 */
import { isTest, lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

const ROOMS = ["cmd/", "components/", "pkg/"]
const OWNER = "pkg/files/owned-file.ts"
const MEND = "use OwnedFile.open() or withOpenFile() of pkg/files/owned-file.ts"

/** What gives or names a handle; `promises` is all of node:fs/promises. */
const HANDLES = /^(?:type\s+)?(open|opendir|FileHandle|Dir|promises)\b/
const IMPORT = /(?<![.\w$])import\s+(?:type\s+)?(\{[^}]*\}|[^{}"';]+)\s*from\s*"(?:node:)?fs(?:\/promises)?"/g

/** Every import by which a file could be opened that has no owner. */
export function handleViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    if (path === OWNER || isTest(path) || !ROOMS.some((room) => path.startsWith(room))) return []
    return [...text.matchAll(IMPORT)].flatMap(({ 0: match, 1: names = "", index }) => {
      const isPromises = match.includes("fs/promises")
      const found = names.startsWith("{")
        ? names
            .slice(1, -1)
            .split(",")
            .map((name) => HANDLES.exec(name.trim())?.[1])
            // `open` and `Dir` of node:fs give numbers and hand over what they opened.
            .filter((name) => name !== undefined && (isPromises || name === "promises"))
        : isPromises
          ? ["all of node:fs/promises"]
          : []
      return found.map((name): Violation => ({
        path,
        line: lineAt(text, index),
        message: `imports ${name}`,
        mend: MEND,
      }))
    })
  })
}
