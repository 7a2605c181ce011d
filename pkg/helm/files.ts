import { posix } from "node:path"
import { GoObject } from "../go-fmt/go-object.ts"
import type { ChartFile } from "./chart.ts"
import { attempt, text } from "./functions/convert.ts"
import { compileRe2 } from "../re2/re2.ts"
import { yamlOf } from "./functions/encoding.ts"
import { textOf } from "../go-fmt/go-bytes.ts"

/** Returns what `.Files` of a chart is. Source of names and rules: helm.sh/helm/v3/pkg/engine/files.go. */
export function filesObject(files: readonly ChartFile[]): GoObject {
  const byName = new Map(files.map(({ name, data }) => [name, data]))
  const get = (name: unknown): string => textOf(byName.get(text(name)) ?? new Uint8Array(0))
  const flat = (of: (data: Uint8Array) => string): string =>
    byName.size === 0
      ? "{}"
      : yamlOf(Object.fromEntries([...byName].map(([name, data]) => [posix.basename(name), of(data)])))
  return new GoObject({
    type: "engine.files",
    text: "map[]",
    get entries() {
      return Object.fromEntries([...byName].map(([name, data]) => [name, textOf(data)]))
    },
    methods: {
      Get: get,
      GetBytes: get,
      Glob(pattern) {
        const matches = globPattern(text(pattern))
        return filesObject(files.filter(({ name }) => matches(name)))
      },
      AsConfig: () => flat(textOf),
      AsSecrets: () => flat((data) => Buffer.from(data).toString("base64")),
      Lines(name) {
        const whole = get(name)
        return whole === "" ? [] : whole.replace(/\n$/, "").split("\n")
      },
    },
  })
}

/**
 * Compiles a pattern in which `*` stands for what has no slash, and `**` for anything. One that is no pattern matches
 * all. Source: gobwas/glob.
 */
function globPattern(pattern: string): (name: string) => boolean {
  let out = ""
  let depth = 0
  for (let i = 0; i < pattern.length; i++) {
    const sign = pattern[i]!
    if (sign === "*" && pattern[i + 1] === "*") {
      out += ".*"
      while (pattern[i + 1] === "*") i++
    } else if (sign === "*") out += "[^/]*"
    else if (sign === "?") out += "[^/]"
    else if (sign === "{") {
      out += "(?:"
      depth++
    } else if (sign === "}" && depth > 0) {
      out += ")"
      depth--
    } else if (sign === "," && depth > 0) out += "|"
    else if (sign === "[") {
      const end = pattern.indexOf("]", i + 1)
      if (end < 0) return () => true
      out += `[${pattern
        .slice(i + 1, end)
        .replace(/^!/, "^")
        .replaceAll("\\", "\\\\")}]`
      i = end
    } else out += sign.replace(/[\\^$.|+()[\]{}]/, String.raw`\$&`)
  }
  if (depth !== 0) return () => true
  // In linear time, whatever the pattern.
  const compiled = attempt(() => compileRe2(`(?s)^(?:${out})$`))
  return (name) => compiled.matcher(name).find()
}
