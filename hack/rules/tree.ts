/**
 * All rules on all of our sources. `bun hack/rules/tree.ts` prints what breaks them and ends with 1 if anything does.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { circleViolations } from "./circles.ts"
import { commentViolations } from "./comments.ts"
import { globalViolations } from "./globals.ts"
import { handleViolations } from "./handles.ts"
import { importViolations } from "./imports.ts"
import { joinedKeyViolations } from "./joined-keys.ts"
import { lineViolations } from "./lines.ts"
import { memberViolations } from "./members.ts"
import { promiseViolations } from "./promises.ts"
import { SourceFile, type Violation } from "./source.ts"
import { spreadViolations } from "./spreads.ts"
import { trustViolations } from "./trust.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const ROOMS = ["cmd", "components", "pkg", "test", "hack", "docs"]
const TEXTS = ["README.md", "CHANGELOG.md"]

/** The files of the repository that rules look at: TypeScript, scripts and texts. */
export function sourceFiles(): SourceFile[] {
  return readdirSync(ROOT)
    .filter((room) => ROOMS.includes(room))
    .flatMap((room) =>
      readdirSync(join(ROOT, room), { recursive: true, encoding: "utf8" }).map((name) => `${room}/${name}`),
    )
    .concat(TEXTS)
    .filter((path) => [".ts", ".sh", ".md"].some((ending) => path.endsWith(ending)))
    .sort()
    .map((path) => new SourceFile(path, readFileSync(join(ROOT, path), "utf8")))
}

export function ruleViolations(files: readonly SourceFile[]): Violation[] {
  const code = files.filter(({ path }) => path.endsWith(".ts"))
  return [
    ...importViolations(code),
    ...circleViolations(code),
    ...globalViolations(code),
    ...handleViolations(code),
    ...trustViolations(code),
    ...memberViolations(code),
    ...joinedKeyViolations(code),
    ...spreadViolations(code),
    ...promiseViolations(code),
    ...commentViolations(code),
    ...lineViolations(files),
  ]
}

export const describeViolation = ({ path, line, message, mend }: Violation): string =>
  `${path}:${line}: ${message}; ${mend}`

if (import.meta.main) {
  const files = sourceFiles()
  const violations = ruleViolations(files)
  for (const violation of violations) console.error(describeViolation(violation))
  console.error(
    violations.length === 0
      ? `The rules of imports, time, chance, open files, members, keys, spreads, promises, comments and lines hold in ${files.length} files`
      : `${violations.length} broken rules`,
  )
  if (violations.length > 0) process.exit(1)
}
