/**
 * No line is longer than 120 characters. Exempt is what cannot be wrapped, or is found better in one piece: imports,
 * long texts (the words of a message, expected output, addresses), tables and code in Markdown.
 */
import type { SourceFile, Violation } from "./source.ts"

const MOST = 120

/** A text in quotes, a template or an address of 60 characters and more. */
const LONG_TEXT = /"(?:\\.|[^"\\]){60,}"|'(?:\\.|[^'\\]){60,}'|`(?:\\.|[^`\\]){60,}|https?:\/\/\S{60,}/
/** A regular expression that has the line to itself. */
const PATTERN = /^\s*(?:\w+: |const \w+ = )?\/.*\/[a-z]*,?$/
const IMPORT = /^(?:import|export) .* from "/

/** Every line that is too long, in files of any of these kinds: `.ts`, `.sh`, `.md`. */
export function lineViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    const exempt = path.endsWith(".md") ? exemptInMarkdown(text) : path.endsWith(".ts") ? exemptInCode(text) : undefined
    return text.split("\n").flatMap((line, i): Violation[] => {
      if (line.length <= MOST) return []
      if ([IMPORT, PATTERN, LONG_TEXT].some((form) => form.test(line))) return []
      if (exempt?.has(i) === true) return []
      const message = `has ${line.length} characters in a line`
      return [{ path, line: i + 1, message, mend: `wrap it at ${MOST}` }]
    })
  })
}

/** Numbers from 0 of the lines of tables and code. */
function exemptInMarkdown(text: string): ReadonlySet<number> {
  let inCode = false
  const exempt = text.split("\n").flatMap((line, i) => {
    const isFence = line.trimStart().startsWith("```")
    if (isFence) inCode = !inCode
    return inCode || isFence || line.startsWith("|") || line.startsWith("    ") ? [i] : []
  })
  return new Set(exempt)
}

/** Numbers from 0 of the lines within a template that has begun on a line before. */
function exemptInCode(text: string): ReadonlySet<number> {
  let inTemplate = false
  const exempt = text.split("\n").flatMap((line, i) => {
    const began = inTemplate
    if (line.replaceAll("\\`", "").split("`").length % 2 === 0) inTemplate = !inTemplate
    return began ? [i] : []
  })
  return new Set(exempt)
}
